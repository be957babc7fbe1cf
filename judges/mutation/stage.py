"""A task's world as a place to make calls on again and again: what each call did, and what all left for a judge."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from judges.changes import Place
from judges.expectation import GoldenCall
from judges.rules import Happened, events_of
from judges.verdict import Evidence
from sandbox.breakage import decided
from sandbox.domain import Domain
from sandbox.effects import Effects
from sandbox.records import Chain
from sandbox.snapshot import Snapshot
from sandbox.task import Task, snapshot_of, visible_tools
from sandbox.values import plain
from sandbox.world import World, request

_STREAM = UUID(int=0)


class Written(Struct, frozen=True):
    """A row that a call wrote, before and after it, in its plain JSON form; None where there is none."""

    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


class Move(Struct, frozen=True):
    """One call, and what became of it."""

    call: GoldenCall
    refusal: str
    """The class of the refusal; empty for a success."""
    written: Mapping[Place, Written]
    events: tuple[Happened, ...]

    @property
    def created(self) -> tuple[Place, ...]:
        """Rows that were not there before."""
        return tuple(place for place, row in self.written.items() if row.before is None)


class Play(Struct, frozen=True):
    """What a sequence of calls did."""

    moves: tuple[Move, ...]
    effects: Effects

    @property
    def evidence(self) -> Evidence:
        """What a trial that made these calls, and said nothing, would leave behind."""
        return Evidence(self.effects, self.events, "", ())

    @property
    def events(self) -> tuple[Happened, ...]:
        """All domain events, in order."""
        return tuple(event for move in self.moves for event in move.events)

    @property
    def refused(self) -> list[Move]:
        """The calls that were declined."""
        return [move for move in self.moves if move.refusal]


class Stage:
    """A task's world as every trial finds it."""

    def __init__(self, domain: Domain, task: Task) -> None:
        self.domain = domain
        self.task = task
        self.snapshot: Snapshot = snapshot_of(domain, task)
        self.tools = {name: domain.tools[name] for name in visible_tools(domain, task)}

    def played(self, calls: Sequence[GoldenCall]) -> Play:
        """Make the calls on a fresh world; a refused one changes nothing, and the next one is made."""
        world = World(self.domain, self.snapshot, self.task.instant, self.tools)
        chain = Chain(_STREAM)
        moves = [self._moved(world, chain, call) for call in calls]
        return Play(tuple(moves), world.effects)

    def writes(self, call: GoldenCall) -> bool:
        """Whether the call's tool may change something; an unknown one may not."""
        return call.tool in self.tools and not self.tools[call.tool].is_read

    def _moved(self, world: World, chain: Chain, call: GoldenCall) -> Move:
        decision = decided(world, request(call.tool, msgspec.json.encode(call.arguments).decode()))
        written: dict[Place, Written] = {}
        if decision.scratch is not None:
            for table, key, row, _ in decision.scratch.touched():
                written[table, key] = Written(_plain(world.overlay.get(table, key)), _plain(row))
        world.apply(decision)
        records = chain.sealed(decision.drafts, b"")
        chain.advance(records)
        return Move(call, decision.answer.refusal, written, events_of(self.domain, records))


def _plain(row: Any) -> Any:
    return None if row is None else plain(row)
