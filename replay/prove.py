"""
Re-execution: recorded calls through today's tools, compared record by record with what was recorded.

What the agent and the user said is taken as recorded; the answers and events of each call are made anew. A call is
known by its place in the stream, so three equal calls are three calls.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from sandbox.domain import Domain
from sandbox.effects import effects_digest
from sandbox.fold import event_of
from sandbox.gate import ruled
from sandbox.records import (
    OWN_TOPICS,
    Draft,
    Gated,
    Record,
    ToolCalled,
    TrialEnded,
    TrialKey,
    decoded,
    encode_payload,
)
from sandbox.refusals import SandboxFault
from sandbox.snapshot import Snapshot
from sandbox.task import Task, visible_tools
from sandbox.values import Instant
from sandbox.world import Request, World

Body = tuple[int, str, Instant, int, bytes]
"""What is compared of a record: position, topic, virtual time, cause, payload."""


class Version(Struct, frozen=True):
    """One of the two versions of a record, in readable form."""

    topic: str
    time: Instant
    cause: int
    """Position of the call that caused it, 0 for none."""
    payload: Any
    """JSON values; texts that hold JSON are opened."""


class ReplayDiffers(SandboxFault):
    """Today's tools do not give what was recorded; the first position where they do not."""

    def __init__(
        self,
        key: TrialKey,
        position: int,
        recorded: Version | None,
        now: Version | None,
        *,
        calls: int,
        broke: str = "",
    ) -> None:
        super().__init__(f"replay of trial {key.id} differs at record {position}" + (f": {broke}" if broke else ""))
        self.key = key
        self.position = position
        self.recorded = recorded
        """None: nothing stands there."""
        self.now = now
        """None: today's tools give nothing there."""
        self.broke = broke
        """How today's tool broke; empty if it did not."""
        self.calls = calls
        """How many calls gave the same before."""


def prove(domain: Domain, task: Task, snapshot: Snapshot, key: TrialKey, records: Sequence[Record]) -> int:
    """
    How many calls gave the same again, which is all of them.

    Args:
        task: as it was when the trial began; its tools are those that the agent saw.
        snapshot: the one that the trial began with.
        records: a whole stream, ended or not.

    Raises:
        ReplayDiffers: the first record that is not the same.
        UnknownTopic: a record that is no event of this domain, nor an old version of one.
        UserFault: the task shows tools that the domain no longer has.
    """
    world = World(domain, snapshot, task.instant, visible_tools(domain, task))
    place = 0
    while place < len(records):
        record = records[place]
        payload = decoded(record)
        if isinstance(payload, ToolCalled):
            place += _repeat(world, key, payload, _caused(records, place))
            continue
        if isinstance(payload, TrialEnded):
            _ensure_effects(world, key, record, payload)
        elif record.topic not in OWN_TOPICS:
            recorded = _version(_of_today(domain, record))
            raise ReplayDiffers(key, record.position, recorded, None, calls=world.calls, broke="no call emitted it")
        place += 1
    return world.calls


def _caused(records: Sequence[Record], place: int) -> list[Record]:
    """The call at a place and the records that it caused."""
    position = records[place].position
    batch = []
    for record in records[place:]:
        if record.cause != position:
            break
        batch.append(record)
    return batch


def _repeat(world: World, key: TrialKey, called: ToolCalled, recorded: Sequence[Record]) -> int:
    """Make one call again; how many records it stands in."""
    first = recorded[0].position
    try:
        decision = world.decide(Request(called.tool, called.arguments, called.call_id, called.key))
        gated = decoded(recorded[1]) if len(recorded) > 1 else None
        if isinstance(gated, Gated):
            decision = ruled(decision, gated)  # what somebody allowed or refused is taken as recorded
    except Exception as error:
        broke = f"today's {called.tool} broke: {type(error).__name__}: {error}"
        at = recorded[min(1, len(recorded) - 1)]
        raise ReplayDiffers(key, at.position, _version(at.body), None, calls=world.calls, broke=broke) from error
    now = [_body(item, first, place) for place, item in enumerate(decision.drafts)]
    for before, after in _pairs([_of_today(world.domain, record) for record in recorded], now):
        if before != after:
            position = (before or after or now[0])[0]
            versions = before and _version(before), after and _version(after)
            raise ReplayDiffers(key, position, *versions, calls=world.calls)
    world.apply(decision, first)
    return len(recorded)


def _pairs(recorded: Sequence[Body], now: Sequence[Body]) -> Iterator[tuple[Body | None, Body | None]]:
    for place in range(max(len(recorded), len(now))):
        yield recorded[place] if place < len(recorded) else None, now[place] if place < len(now) else None


def _body(item: Draft, first: int, place: int) -> Body:
    return first + place, item.topic, item.time, first if item.from_call else 0, item.payload


def _of_today(domain: Domain, record: Record) -> Body:
    """A recorded body; an event of an old version as it reads today."""
    if record.topic in OWN_TOPICS or record.topic in domain.handlings:
        return record.body
    handling, event = event_of(domain, record)
    return record.position, handling.topic, record.time, record.cause, encode_payload(event)


def _ensure_effects(world: World, key: TrialKey, record: Record, ended: TrialEnded) -> None:
    """The events were the same; what today's handlers made of them must be too."""
    now = msgspec.structs.replace(ended, effects=effects_digest(world.effects))
    if now != ended:
        after = (*record.body[:4], encode_payload(now))
        raise ReplayDiffers(key, record.position, _version(record.body), _version(after), calls=world.calls)


def _version(body: Body) -> Version:
    _, topic, time, cause, payload = body
    return Version(topic, time, cause, opened(msgspec.msgpack.decode(payload)))


def opened(payload: Any) -> Any:
    """A payload with the texts that hold a JSON object or list replaced by what they hold."""
    if not isinstance(payload, dict):
        return payload
    return {name: _inner(value) if name in ("arguments", "result") else value for name, value in payload.items()}


def _inner(text: Any) -> Any:
    try:
        inner = msgspec.json.decode(text)
    except (msgspec.DecodeError, TypeError, RecursionError):
        return text
    return inner if isinstance(inner, dict | list) else text
