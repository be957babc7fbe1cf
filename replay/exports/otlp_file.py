"""Traces in a file: OTLP in JSON, one request per line, as collectors and viewers import it."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from replay.exports.source import ExportedTrial, Source
from replay.exports.spans import Span, SpanEvent, Value, spans_of
from replay.exports.target import new_file

SERVICE = "trialbox"
_KINDS = {"internal": 1, "client": 3}
_ERROR = 2
_encode = msgspec.json.encode


def export_file(sources: Iterable[Source], path: Path, *, with_content: bool = True) -> int:
    """
    Write a line for each trial that counts into a new file, and return how many.

    Args:
        with_content: whether to tell what was said, asked and answered.
    """
    count = 0
    with new_file(path) as draft, draft.open("wb") as file:
        for source in sources:
            for trial in source.trials():
                file.write(_encode(request_of(trial, spans_of(trial, with_content=with_content))) + b"\n")
                count += 1
    return count


def request_of(trial: ExportedTrial, spans: Sequence[Span]) -> dict[str, Any]:
    """An ExportTraceServiceRequest: ids in hexadecimal, 64-bit integers as text, enumerations as numbers."""
    scope = {"name": SERVICE, "version": trial.seal.version}
    made = {"scope": scope, "spans": [_span(span) for span in spans]}
    resource = {"attributes": _attributes({"service.name": SERVICE})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [made]}]}


def _span(span: Span) -> dict[str, Any]:
    made = {
        "traceId": f"{span.trace:032x}",
        "spanId": f"{span.id:016x}",
        **({"parentSpanId": f"{span.parent:016x}"} if span.parent else {}),
        "name": span.name,
        "kind": _KINDS[span.kind],
        "startTimeUnixNano": str(span.start),
        "endTimeUnixNano": str(span.end),
        "attributes": _attributes(span.attributes),
        "events": [_event(event) for event in span.events],
    }
    return {**made, "status": {"code": _ERROR, "message": span.message} if span.is_error else {}}


def _event(event: SpanEvent) -> dict[str, Any]:
    return {"timeUnixNano": str(event.time), "name": event.name, "attributes": _attributes(event.attributes)}


def _attributes(attributes: Any) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Value) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": value}
