"""Fold: recorded events through today's handlers, rows at any position. No tool is run."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from sandbox.call import apply
from sandbox.declarations import Event
from sandbox.domain import Domain, Handling
from sandbox.records import (
    OWN_TOPICS,
    Record,
    ToolCalled,
    ToolRefused,
    ToolReturned,
    TrialEnded,
    decoded,
)
from sandbox.refusals import SandboxFault
from sandbox.snapshot import Overlay, Snapshot
from sandbox.world import Answer, World


class UnknownTopic(SandboxFault):
    """A record that nothing here can read; reading stops there."""


class FoldDiffers(SandboxFault):
    """The fold does not give the effects that were recorded: never a verdict."""


class Write(Struct, frozen=True):
    """Which event wrote a row, and which call emitted it."""

    table: str
    key: str
    position: int
    cause: int


def event_of(domain: Domain, record: Record) -> tuple[Handling, Event]:
    """
    A domain event's handling and payload, upcast to today's version.

    Raises:
        UnknownTopic: no handler, and no chain of upcasters to one; the text names position and topic.
    """
    handling = domain.handlings.get(record.topic)
    if handling is not None:
        return handling, _payload(handling.shape.decoded, record.payload, record)
    topic, payload = record.topic, None
    while topic in domain.upcasters:
        payload = msgspec.msgpack.decode(record.payload) if payload is None else payload
        topic, upcaster = domain.upcasters[topic]
        payload = upcaster(payload)
    handling = domain.handlings.get(topic)
    if handling is None or payload is None:
        raise UnknownTopic(
            f"record {record.position} has topic {record.topic!r}, which domain {domain.name} does not know; "
            f"restore its event class or declare an upcaster"
        )
    event_type = handling.event_type
    return handling, _payload(lambda given: msgspec.convert(given, event_type), payload, record)


def _payload(read: Any, given: Any, record: Record) -> Event:
    try:
        event: Event = read(given)
    except msgspec.DecodeError as error:
        raise UnknownTopic(f"record {record.position} is no {record.topic} that is known here: {error}") from None
    return event


class Fold:
    """
    The rows of a stream, record by record.

    Args:
        writes: a list that gets a `Write` for every row that an event writes.
    """

    def __init__(self, domain: Domain, snapshot: Snapshot, writes: list[Write] | None = None) -> None:
        self.domain = domain
        self.overlay = Overlay(snapshot)
        self._writes = writes

    def take(self, record: Record) -> None:
        """Apply one record; anything but a domain event changes no row."""
        if record.topic in OWN_TOPICS:
            return
        handling, event = event_of(self.domain, record)
        written = apply(handling, event, self.overlay)
        if self._writes is not None:
            self._writes += [Write(table, key, record.position, record.cause) for table, key, _ in written]


def fold(domain: Domain, snapshot: Snapshot, records: Iterable[Record]) -> Overlay:
    """The rows after these records; UnknownTopic or SandboxFault if one cannot be applied."""
    folding = Fold(domain, snapshot)
    for record in records:
        folding.take(record)
    return folding.overlay


def writes_of(domain: Domain, snapshot: Snapshot, records: Iterable[Record]) -> list[Write]:
    """The writer index of a stream: every row written, in order."""
    writes: list[Write] = []
    folding = Fold(domain, snapshot, writes)
    for record in records:
        folding.take(record)
    return writes


def rebuilt(world: World, records: Sequence[Record]) -> World:
    """A world brought to where a stream ends: rows, clock and idempotency keys."""
    called: ToolCalled | None = None
    position, scratch = 0, Overlay(world.overlay)
    has_events = False
    for record in records:
        payload = decoded(record)
        if isinstance(payload, ToolCalled):
            called, position, scratch, has_events = payload, record.position, Overlay(world.overlay), False
        elif isinstance(payload, ToolReturned | ToolRefused) and called is not None:
            answer = (
                Answer(payload.result)
                if isinstance(payload, ToolReturned)
                else Answer(payload.message, payload.refusal)
            )
            world.reapply(called, position, scratch if has_events else None, answer)
            called = None
        elif record.topic not in OWN_TOPICS:
            if called is None:
                raise SandboxFault(
                    f"record {record.position} ({record.topic}) is no part of a call; only calls write rows"
                )
            apply(*event_of(world.domain, record), scratch)
            has_events = True
    return world


def end_of(records: Sequence[Record]) -> TrialEnded | None:
    """How the trial ended; None if it has not."""
    last = decoded(records[-1]) if records else None
    return last if isinstance(last, TrialEnded) else None
