"""When things happened for the host that recorded them, from telemetry."""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from sandbox.records import Record, Telemetry
from sandbox.values import moment

_decode = msgspec.msgpack.Decoder(Telemetry).decode


def telemetry_of(record: Record) -> Telemetry:
    """
    What the host saw of a record.

    One that was recorded without has the task's own time, which passes in a world of its own.
    """
    seen = _decode(record.telemetry) if record.telemetry else Telemetry()
    return seen if seen.wall else Telemetry(moment(record.time).timestamp(), seen.took_ms, seen.host)


def span_of(records: Sequence[Record]) -> tuple[float, float]:
    """When the first and the last of some records were written, in seconds since 1970; the later one is not earlier."""
    start, end = telemetry_of(records[0]).wall, telemetry_of(records[-1]).wall
    return start, max(start, end)


def utc_text(wall: float) -> str:
    """ISO 8601 of seconds since 1970, with an offset."""
    return datetime.fromtimestamp(wall, UTC).isoformat()
