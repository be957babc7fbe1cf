"""Where a field's value comes from: every event that wrote it, the call and words behind it, and what the agent saw."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from replay.sight import Sight, first_seen, is_given
from replay.timeline import CallSeen, Line, RowWrite, Timeline
from sandbox.effects import same
from sandbox.records import ToolCalled, decoded
from sandbox.refusals import UserFault


class FieldWrite(Struct, frozen=True):
    """An event that gave a field another value, created its row or deleted it."""

    position: int
    topic: str
    time: str
    cause: int
    """Position of the call."""
    before: Any | UnsetType = UNSET
    """UNSET where the row, or the field, was not there."""
    after: Any | UnsetType = UNSET


class Origin(Struct, frozen=True):
    """All that is known of one field of one row, as of a position."""

    table: str
    key: str
    field: str
    position: int
    value: Any | UnsetType
    """UNSET where the row, or the field, is not there."""
    writes: tuple[FieldWrite, ...]
    """In order; empty where the value is the snapshot's."""
    call: CallSeen | None = None
    """Behind the last write."""
    line: Line | None = None
    """The last words before that call."""
    sight: Sight | None = None
    """Where the agent first saw the written value, before that call; None without a write, or after a deletion."""
    is_given: bool = False
    """Whether the value stands in that call's arguments; else the tool made it."""


def origin_of(timeline: Timeline, table: str, key: str, field: str, position: int, briefing: str = "") -> Origin:
    """
    Who wrote a field last, up to a position, and before.

    Args:
        briefing: what the agent was told before the trial began: instructions and policy.

    Raises:
        UserFault: no such table, field or row.
    """
    _ensure_field(timeline, table, field)
    value = _value(timeline.row(table, key, position), field)
    writes = tuple(_field_writes(timeline.history(table, key, position), field))
    if value is UNSET and not writes and timeline.row(table, key, position) is None:
        raise UserFault(f"no row {key!r} in {table} up to position {position}; list them with: show --table {table}")
    if not writes:
        return Origin(table, key, field, position, value, writes)
    last = writes[-1]
    call = timeline.call_at(last.position)
    before = call.position if call is not None else last.position
    lines = timeline.dialogue(before, before=1, after=0)
    origin = Origin(table, key, field, position, value, writes, call, lines[0] if lines else None)
    if last.after is UNSET:
        return origin
    return _with_sight(origin, timeline, last.after, before, briefing)


def _with_sight(origin: Origin, timeline: Timeline, value: Any, before: int, briefing: str) -> Origin:
    sight = first_seen(value, timeline.until(before - 1), briefing)
    called = decoded(timeline.record(before))
    given = isinstance(called, ToolCalled) and is_given(value, called)
    o = origin
    return Origin(o.table, o.key, o.field, o.position, o.value, o.writes, o.call, o.line, sight, given)


def split_place(timeline: Timeline, place: str) -> tuple[str, str, str]:
    """Table, key and field of `TABLE/KEY/FIELD`; the key may hold slashes."""
    table, _, rest = place.partition("/")
    key, _, field = rest.rpartition("/")
    timeline.ensure_table(table)
    if not key or not field:
        raise UserFault(
            f"{place!r} names no field; write TABLE/KEY/FIELD, such as {table}/1/{_fields(timeline, table)[-1]}"
        )
    return table, key, field


def _ensure_field(timeline: Timeline, table: str, field: str) -> None:
    timeline.ensure_table(table)
    fields = _fields(timeline, table)
    if field not in fields:
        close = get_close_matches(field, fields, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(fields)}"
        raise UserFault(f"no field {field!r} in table {table}; {hint}")


def _fields(timeline: Timeline, table: str) -> list[str]:
    """Names as they stand in plain rows."""
    return [field.name for field in timeline.domain.tables[table].shape.fields]


def _value(row: dict[str, Any] | None, field: str) -> Any | UnsetType:
    return UNSET if row is None else row.get(field, UNSET)


def _field_writes(history: Iterator[RowWrite], field: str) -> Iterator[FieldWrite]:
    for write in history:
        before, after = _value(write.before, field), _value(write.after, field)
        is_other = (before is UNSET) != (after is UNSET) or not (before is UNSET or same(before, after))
        if is_other or (write.before is None) != (write.after is None):
            yield FieldWrite(write.position, write.topic, write.time, write.cause, before, after)
