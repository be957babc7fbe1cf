"""A task's world where stored calls and golden calls are made again, and what came of it is judged. No model."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct

from judges.rules import events_of
from judges.verdict import Evidence, judged
from replay.calls import Made, calls_in, new_names, renamed
from replay.courts import bundle_for, evidence_on, furnished, is_right, kept_task
from replay.trials import Recording
from sandbox.archive import Archive
from sandbox.fold import rebuilt
from sandbox.records import Chain, Record, TrialKey
from sandbox.refusals import SandboxFault
from sandbox.task import visible_tools
from sandbox.world import Decision, Request, World, request


class Golden(Struct, frozen=True):
    """One accepted outcome, and what its calls did when they were made alone."""

    outcome: str
    calls: tuple[Made, ...]


class Planned(Struct, frozen=True):
    """A call to be made again."""

    made: Made
    is_golden: bool
    clock: int | None = None
    """Calls before it, as virtual time counts them; None: as many as there were."""


class Workshop:
    """
    The world of one task.

    Raises:
        UserFault: the store keeps no expectation of the task.
        TaskInvalid: today's code cannot judge it.
    """

    def __init__(self, archive: Archive, task: str) -> None:
        self.archive = archive
        self.domain = furnished(archive)
        self.snapshot = archive.snapshots[task]
        self.task = archive.tasks[task]
        self.bundle = bundle_for(archive, task)
        self.goldens = [
            Golden(accepted.name, tuple(self._played([(call.tool, call.arguments) for call in accepted.calls])))
            for accepted in kept_task(archive, task).expectation.outcomes
        ]
        self.refusal = kept_task(archive, task).expectation.refusal

    def writes(self, made: Made) -> bool:
        """Whether the call's tool may change something."""
        tool = self.domain.tools.get(made.tool)
        return tool is not None and not tool.is_read

    def calls(self, records: Sequence[Record]) -> list[Made]:
        """The calls of a trial of this task."""
        return calls_in(self.domain, self.snapshot, records)

    def evidence(self, trial: Recording) -> Evidence:
        """What the trial left behind."""
        return evidence_on(self.archive, trial)

    def is_right(self, evidence: Evidence | None) -> bool:
        """Whether every check that needs no opinion says yes."""
        return evidence is not None and is_right(judged(self.bundle, evidence))

    def redone(
        self,
        plan: Iterable[Planned],
        trial: Evidence,
        prefix: Sequence[Record] = (),
        names: Mapping[str, str] = MappingProxyType({}),
    ) -> Evidence | None:
        """
        What is left when the calls are made on a fresh world, or after the first records of a trial.

        A call that names a row which an earlier one created gets the id that the row has now. A refused call changes
        nothing, and the next one is made.

        Args:
            trial: whose words are kept.
            names: ids that the first records gave to rows which golden calls create, by the golden ids.

        Returns:
            None if a tool broke on the way.
        """
        world = self._world()
        own, golden = dict[str, str](), dict(names)
        if prefix:
            rebuilt(world, prefix)
        chain = Chain(_KEY.id, len(prefix), b"redone")
        records = list(prefix)
        try:
            for planned in plan:
                known = golden if planned.is_golden else own
                records += self._redone(world, chain, planned, known)
            return Evidence(world.effects, events_of(self.domain, records), trial.answer, trial.dialogue)
        except SandboxFault:
            return None

    def _redone(self, world: World, chain: Chain, planned: Planned, known: dict[str, str]) -> list[Record]:
        made = planned.made
        if planned.clock is not None:
            world.calls = planned.clock
        decision = world.decide(Request(made.tool, with_names(made.arguments, known), key=made.key))
        created = _created(world, decision)
        known |= new_names(made.created, created)
        world.apply(decision)
        records = chain.sealed(decision.drafts, b"")
        chain.advance(records)
        return records

    def _played(self, calls: Sequence[tuple[str, Any]]) -> list[Made]:
        world, chain, records = self._world(), Chain(_KEY.id), list[Record]()
        for tool, arguments in calls:
            decision = world.decide(request(tool, msgspec.json.encode(arguments).decode()))
            world.apply(decision)
            sealed = chain.sealed(decision.drafts, b"")
            chain.advance(sealed)
            records += sealed
        return self.calls(records)

    def _world(self) -> World:
        return World(self.domain, self.snapshot, self.task.instant, visible_tools(self.domain, self.task))


_KEY = TrialKey("workshop", "", 0, 1)


def _created(world: World, decision: Decision) -> list[tuple[str, str]]:
    if decision.scratch is None:
        return []
    touched = decision.scratch.touched()
    return [(table, key) for table, key, row, _ in touched if row is not None and world.overlay.get(table, key) is None]


def with_names(arguments: str, names: Mapping[str, str]) -> str:
    """Arguments with other ids, as written where there is nothing to rename."""
    if all(then == now for then, now in names.items()):
        return arguments
    try:
        given = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        return arguments
    changed = renamed(given, names)
    return arguments if changed == given else msgspec.json.encode(changed).decode()
