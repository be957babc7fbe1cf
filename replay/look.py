"""What `show` and `blame` tell of a stored trial, as values of a documented shape (docs/looking.md)."""

from typing import Any, Literal
from uuid import UUID

from msgspec import Struct, UnsetType

from judges.findings import Findings
from judges.verdict import Verdict
from replay.keyframes import CALL, EVENT, REFUSAL
from replay.origin import FieldWrite, Origin, origin_of
from replay.sight import Sight
from replay.stored import StoredTrial
from replay.timeline import CallSeen, Line, Timeline, payload_of
from sandbox.effects import Effects
from sandbox.records import Record

FORMAT = 1
"""Of the JSON shapes: grows when a field changes its meaning or goes."""


class Head(Struct, frozen=True):
    """Which trial it is, and how it went."""

    id: str
    campaign: str
    task: str
    repetition: int
    attempt: int
    agent: str
    parent: str
    """Of a fork: the trial and position that it goes on from, as `ID@n`; else empty."""
    domain: str
    records: int
    end: str
    """Empty while the trial has not ended."""
    flags: tuple[str, ...]
    verdict: str
    """Empty where it has not been judged."""
    outcome: str
    """The accepted outcome that was reached, or the nearest one."""
    findings: Findings
    fold: Literal["same", "differs"]
    """Whether today's handlers give the effects that were recorded at the end."""


class RecordShown(Struct, frozen=True):
    """One record, decoded."""

    position: int
    topic: str
    time: str
    cause: int
    payload: dict[str, Any]


class DistanceShown(Struct, frozen=True):
    """How far the rows are from one accepted outcome."""

    outcome: str
    equal: Literal["yes", "no", "could not check"]
    findings: int
    """0 also where the difference could not be told apart."""
    reason: str


class RowShown(Struct, frozen=True):
    """One row of a table."""

    key: str
    row: dict[str, Any]


class Shown(Struct, frozen=True):
    """A trial at a position: what `trialbox show --json` prints."""

    format: int
    trial: Head
    position: int
    record: RecordShown | None
    """None at position 0."""
    changes: Effects
    """What the record changed; of a call or an answer, what the whole call did."""
    call: CallSeen | None
    """The call that the record belongs to, or else the last one before it."""
    dialogue: tuple[Line, ...]
    """The last line up to the position, and the next one."""
    calls: int
    refused: int
    events: int
    """Up to the position, like the two before."""
    effects: Effects
    """The net change since the snapshot."""
    distances: tuple[DistanceShown, ...] | None
    """None where the store keeps no outcomes."""
    table: str
    rows: tuple[RowShown, ...]
    """Of that table; empty if none was asked for."""


class Blamed(Struct, frozen=True):
    """Where a field's value comes from: what `trialbox blame --json` prints."""

    format: int
    trial: Head
    table: str
    key: str
    field: str
    position: int
    value: Any | UnsetType
    """Absent where the row, or the field, is not there."""
    writes: tuple[FieldWrite, ...]
    call: CallSeen | None
    line: Line | None
    sight: Sight | None
    is_given: bool


def shown(trial: StoredTrial, position: int | None = None, table: str = "") -> Shown:
    """
    A trial at a position, by default at its end.

    Args:
        table: whose rows to give.
    """
    timeline = trial.timeline
    at = timeline.length if position is None else position
    rows = timeline.rows(table, at) if table else []
    effects = timeline.effects(at)
    return Shown(
        FORMAT,
        head_of(trial),
        at,
        _record(timeline.record(at), timeline) if at else None,
        timeline.changed_by(at) if at else (),
        timeline.call_before(at),
        tuple(timeline.dialogue(at)),
        timeline.count(CALL, at),
        timeline.count(REFUSAL, at),
        timeline.count(EVENT, at),
        effects,
        distances_of(trial, effects),
        table,
        tuple(RowShown(key, row) for key, row in rows),
    )


def blamed(trial: StoredTrial, place: tuple[str, str, str], position: int | None = None) -> Blamed:
    """Where the value of a field, given as table, key and field, comes from."""
    at = trial.timeline.length if position is None else position
    o = origin(trial, place, at)
    return Blamed(
        FORMAT,
        head_of(trial),
        o.table,
        o.key,
        o.field,
        o.position,
        o.value,
        o.writes,
        o.call,
        o.line,
        o.sight,
        o.is_given,
    )


def origin(trial: StoredTrial, place: tuple[str, str, str], position: int) -> Origin:
    """The origin of a field of a stored trial."""
    return origin_of(trial.timeline, *place, position, trial.briefing)


def head_of(trial: StoredTrial) -> Head:
    """Which trial it is, and how it went."""
    key, verdict, fork = trial.key, _verdict(trial), trial.fork
    return Head(
        str(key.id),
        key.campaign,
        key.task,
        key.repetition,
        key.attempt,
        trial.opened.agent if fork is None else fork.agent,
        "" if fork is None else f"{UUID(fork.parent)}@{fork.position}",
        trial.opened.domain,
        trial.timeline.length,
        "" if trial.end is None else trial.end.end,
        () if trial.end is None else trial.end.flags,
        "" if verdict is None else verdict.result,
        "" if verdict is None else verdict.outcome,
        () if verdict is None else verdict.findings,
        "same" if trial.is_folded_alike else "differs",
    )


def distances_of(trial: StoredTrial, effects: Effects) -> tuple[DistanceShown, ...] | None:
    """The effects against each accepted outcome, the nearest first; None where no outcomes are known."""
    compared = trial.distances(effects)
    if compared is None:
        return None
    told = [DistanceShown(one.outcome, one.equal, len(one.findings), one.reason) for one in compared]
    return tuple(sorted(told, key=lambda one: (one.equal != "yes", one.equal != "no", one.findings)))


def _record(record: Record, timeline: Timeline) -> RecordShown:
    payload = payload_of(record, timeline.domain)
    return RecordShown(record.position, record.topic, record.time, record.cause, payload)


def _verdict(trial: StoredTrial) -> Verdict | None:
    return None if trial.judgement is None else trial.judgement.verdict
