"""Traces sent to a collector or viewer by OTLP over HTTP. The only module that imports opentelemetry."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from replay.exports.otlp_file import SERVICE
from replay.exports.source import Source
from replay.exports.spans import Span, spans_of
from sandbox.refusals import UserFault

AT_ONCE = 50
"""Spans in a request; receivers bound its size."""


class NotSent(UserFault):
    """A receiver did not take some spans; the text says which and why."""


def export_http(sources: Iterable[Source], url: str, headers: Mapping[str, str], *, with_content: bool = True) -> int:
    """
    Send the spans of each trial that counts, and return how many trials that were.

    A trial has the same ids whenever it is sent.

    Args:
        url: with its path, such as `http://localhost:4318/v1/traces`.
        headers: go with every request, and nowhere else.
        with_content: whether to tell what was said, asked and answered.

    Raises:
        NotSent: the receiver did not take them; the trials before are there.
    """
    exporter = OTLPSpanExporter(endpoint=url, headers=headers)
    count = 0
    try:
        for trial in (trial for source in sources for trial in source.trials()):
            spans = iter(spans_of(trial, with_content=with_content))
            while some := [_readable(span, trial.seal.version) for span in islice(spans, AT_ONCE)]:
                reason = _refused(exporter, some)
                if reason is not None:
                    raise NotSent(f"{url}: took {count} trials, and not trial {trial.key.id}: {reason}")
            count += 1
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call]
    return count


def _refused(exporter: OTLPSpanExporter, spans: list[ReadableSpan]) -> str | None:
    """Why some spans were not taken; None if they were."""
    with _overheard(OTLPSpanExporter.__module__) as said:
        result = exporter.export(spans)
    return None if result is SpanExportResult.SUCCESS else "; ".join(said[-2:]) or "no reason was given"


@contextmanager
def _overheard(name: str) -> Iterator[list[str]]:
    """What a logger says meanwhile, and to nobody else: all that the exporter tells of a failure."""
    said: list[str] = []
    listener = logging.Handler()
    listener.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger(name)
    was_heard, logger.propagate = logger.propagate, False
    logger.addHandler(listener)
    try:
        yield said
    finally:
        logger.removeHandler(listener)
        logger.propagate = was_heard


def _readable(span: Span, version: str) -> ReadableSpan:
    return ReadableSpan(
        name=span.name,
        context=_context(span.trace, span.id),
        parent=_context(span.trace, span.parent) if span.parent else None,
        resource=Resource({"service.name": SERVICE}),
        attributes=dict(span.attributes),
        events=[Event(event.name, dict(event.attributes), event.time) for event in span.events],
        kind=SpanKind[span.kind.upper()],
        instrumentation_scope=InstrumentationScope(SERVICE, version),
        status=Status(StatusCode.ERROR, span.message) if span.is_error else Status(),
        start_time=span.start,
        end_time=span.end,
    )


def _context(trace: int, span: int) -> SpanContext:
    return SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
