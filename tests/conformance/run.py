"""Recorded calls made again on a public mount, and what differs."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct

from judges.strict import THINKINGBOX, comparison_form, state_hash
from sandbox import Domain, Refused, Request, Row, Snapshot, World, plain
from tests.conformance.records import ANY, KINDS, Answer, Records, Step, Trajectory, Wordings, refusal_class

START = "2025-10-01T13:00:00Z"
"""When every scenario says that it begins."""

Rows = Mapping[str, Mapping[str, Row]]


class Exempt(Struct, frozen=True):
    """A recorded fact that differs by design."""

    kind: str
    trajectory: str
    at: int
    """The step, from 0; -1 for the trajectory as a whole."""
    what: str
    reason: str


class Business(Struct, frozen=True):
    """A business to compare: its name in the records, and its public mount."""

    name: str
    domain: Callable[[Mapping[str, Sequence[Mapping[str, Any]]]], Domain]
    exempt: tuple[Exempt, ...] = ()
    prose: Mapping[str, frozenset[str]] = {}
    """Fields of results, by tool, that are free words to a person and so not compared."""
    wordings: Wordings = ()
    """How this business words refusals, where the patterns for all businesses do not tell their class."""


class Difference(Struct, frozen=True):
    """Where a public mount and the records part."""

    kind: str
    trajectory: str
    at: int
    what: str
    """`answer`, `changes`, `initial_hash`, `final_hash`, `golden_hash` or `verdict`."""
    recorded: str
    ours: str

    def __str__(self) -> str:
        return f"{self.trajectory}[{self.at}] {self.what}\n  recorded {self.recorded}\n  ours     {self.ours}"


class Report(Struct, frozen=True):
    """What comparing the trajectories of one kind found."""

    business: str
    kind: str
    trajectories: int
    calls: int
    agreed: int
    differences: tuple[Difference, ...]
    exempted: tuple[Difference, ...]
    retimed: tuple[str, ...]
    """Calls recorded by the host's clock, compared with what they give at the scenario's time."""


def compared(business: Business) -> dict[str, Report]:
    """A report for each kind of records."""
    comparison = Comparison(business)
    return {kind: comparison.report(kind) for kind in KINDS}


def table(reports: Mapping[str, Report]) -> str:
    """The reports as lines for a terminal, each exception and each retimed call listed below."""
    columns = ("records", "trajectories", "calls", "agreed", "exceptions", "retimed")
    head = "\n" + f"{'business':<12}" + "".join(f"{name:>14}" for name in columns)
    lines = []
    for r in reports.values():
        values = (r.kind, r.trajectories, r.calls, r.agreed, len(r.exempted), len(r.retimed))
        lines.append(f"{r.business:<12}" + "".join(f"{value:>14}" for value in values))
    listed = [f"  exception: {d.trajectory}[{d.at}] {d.what}" for r in reports.values() for d in r.exempted]
    listed += [f"  by the scenario's clock: {call}" for r in reports.values() for call in r.retimed]
    return "\n".join([head, *lines, *listed])


class Comparison:
    """One business's records against its public mount."""

    def __init__(self, business: Business) -> None:
        self.business = business
        self.records = Records(business.name)
        self.domain = business.domain(self.records.seed)
        self._searches = {tool["name"] for tool in self.records.interface["tools"] if tool["needs_search"]}
        self._exempt = {(e.kind, e.trajectory, e.at, e.what) for e in business.exempt}
        self._golden = {t.task: t for t in self.records.trajectories("golden")}
        self._hashes: dict[str, str] = {}

    def report(self, kind: str) -> Report:
        """What differs in the trajectories of one kind."""
        found: list[Difference] = []
        retimed: list[str] = []
        trajectories = calls = 0
        for trajectory in self.records.trajectories(kind):
            trajectories += 1
            calls += len(trajectory.steps)
            found += self.differences(trajectory)
            steps = enumerate(trajectory.steps)
            retimed += [f"{trajectory.name}[{at}]" for at, step in steps if step.at_scenario_clock]
        bad_calls = len({(d.trajectory, d.at) for d in found if d.at >= 0})
        exempted = tuple(d for d in found if self._is_exempt(d))
        differences = tuple(d for d in found if not self._is_exempt(d))
        agreed = calls - bad_calls
        return Report(self.business.name, kind, trajectories, calls, agreed, differences, exempted, tuple(retimed))

    def _is_exempt(self, found: Difference) -> bool:
        return (found.kind, found.trajectory, found.at, found.what) in self._exempt

    def differences(self, trajectory: Trajectory) -> Iterator[Difference]:
        """Make the recorded calls; how answers, changed rows, hashes and verdict differ."""
        if not trajectory.steps:
            return
        world = self.world(trajectory.patch)
        yield from _hash_difference(trajectory, "initial_hash", trajectory.initial_hash, world)
        for at, step in enumerate(trajectory.steps):
            before = _rows(world) if step.changes is not UNSET else {}
            recorded, ours = self._answers(world, step)
            if recorded != ours:
                yield Difference(trajectory.kind, trajectory.name, at, "answer", recorded, ours)
            if step.changes is not UNSET:
                recorded, ours = _recorded_changes(step.changes), _changes(before, _rows(world))
                if recorded != ours:
                    yield Difference(trajectory.kind, trajectory.name, at, "changes", recorded, ours)
        yield from _hash_difference(trajectory, "final_hash", trajectory.final_hash, world)
        if trajectory.equal is not None:
            yield from self._verdict_differences(trajectory, _hash(world))

    def world(self, patch: Mapping[str, Any]) -> World:
        """A fresh world with the seed rows and a patch."""
        layers = [self.domain.seed, *([self.domain.layer(patch)] if patch else [])]
        return World(self.domain, Snapshot(layers), START)

    def _verdict_differences(self, trajectory: Trajectory, final: str) -> Iterator[Difference]:
        golden = self._golden_hash(trajectory.task)
        if golden != trajectory.golden_hash:
            yield Difference(trajectory.kind, trajectory.name, -1, "golden_hash", str(trajectory.golden_hash), golden)
        if (final == golden) != trajectory.equal:
            yield Difference(
                trajectory.kind, trajectory.name, -1, "verdict", str(trajectory.equal), str(final == golden)
            )

    def _golden_hash(self, task: str) -> str:
        if task not in self._hashes:
            golden = self._golden[task]
            world = self.world(golden.patch)
            for step in golden.steps:
                _answer(world, step)
            self._hashes[task] = _hash(world)
        return self._hashes[task]

    def _answers(self, world: World, step: Step) -> tuple[str, str]:
        """The recorded answer and ours, as text to compare."""
        recorded, ours = self._shown(step, step.answer), _answer(world, step)
        if isinstance(ours.error, str):
            return recorded, ours.error if recorded != ANY else ANY
        return recorded, self._shown(step, ours)

    def _shown(self, step: Step, answer: Answer) -> str:
        if isinstance(answer.error, str):
            return refusal_class(answer.error, self.business.wordings)
        if step.tool in self._searches:
            return str({name: type(value).__name__ for name, value in answer.result.items()})
        left_out = self.business.prose.get(step.tool, frozenset())
        return json.dumps(_without(answer.result, left_out), sort_keys=True)


def _without(result: Any, names: frozenset[str]) -> Any:
    return {name: value for name, value in result.items() if name not in names} if names else result


def _answer(world: World, step: Step) -> Answer:
    """Our answer; a refusal as its class."""
    try:
        return Answer(result=world.ask(Request(step.tool, json.dumps(step.arguments))))
    except Refused as refused:
        return Answer(error=refused.kind)


def _rows(world: World) -> Rows:
    return {name: dict(world.overlay.items(name)) for name in world.domain.tables}


def _changes(before: Rows, after: Rows) -> str:
    """The net change of rows, as text to compare with the recorded one."""
    found = []
    for name, rows in after.items():
        for key in {**before[name], **rows}:
            old, new = before[name].get(key), rows.get(key)
            if old is not new and old != new:
                op = "create" if old is None else "delete" if new is None else "update"
                found.append([name, key, op, old and plain(old), new and plain(new)])
    return json.dumps(sorted(found, key=lambda change: change[:3]), sort_keys=True)


def _recorded_changes(changes: Sequence[Mapping[str, Any]]) -> str:
    found = [
        [change["table"], str(change["pk"]), change["op"], change["before"], change["after"]]
        for change in changes
        if change["op"] != "reorder_or_delete"
    ]
    return json.dumps(sorted(found, key=lambda change: change[:3]), sort_keys=True)


def _hash(world: World) -> str:
    return state_hash(comparison_form(world.rows, THINKINGBOX))


def _hash_difference(trajectory: Trajectory, what: str, recorded: str | None, world: World) -> Iterator[Difference]:
    if recorded is not None and recorded != (ours := _hash(world)):
        yield Difference(trajectory.kind, trajectory.name, -1, what, recorded, ours)
