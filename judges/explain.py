"""One trial told to a person: what the agent said, what the records say, and the event that wrote it."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from judges.court import dialogue_of
from judges.lines import check_line, conflict_lines, cut, line, printable, shown
from judges.record import Judgement
from judges.verdict import Verdict
from sandbox.domain import Domain
from sandbox.fold import event_of
from sandbox.records import (
    OWN_TOPICS,
    Record,
    Said,
    ToolCalled,
    ToolRefused,
    ToolReturned,
    TrialEnded,
    TrialKey,
    decoded,
)
from sandbox.values import plain


class Told(Struct, frozen=True):
    """A trial, ready to be told."""

    key: TrialKey
    records: Sequence[Record]
    judgement: Judgement


def summary(told: Told, domain: Domain) -> Iterator[str]:
    """What was said, what the records say, and for each finding the event and the call that wrote it; printable."""
    return map(printable, _summary(told, domain))


def _summary(told: Told, domain: Domain) -> Iterator[str]:
    verdict = told.judgement.verdict
    said = dialogue_of(told.records)
    yield f"task {told.key.task}, repetition {told.key.repetition}, attempt {told.key.attempt}, trial {told.key.id}"
    yield from (f"  {line.role}: {cut(line.text)}" for line in said)
    end = decoded(told.records[-1])
    if isinstance(end, TrialEnded) and end.end != "done":
        yield f"ended: {end.end}" + (f" ({cut(end.detail)})" if end.detail else "")
    nearest = f" (nearest accepted outcome: {verdict.outcome})" if verdict.result == "fail" and verdict.outcome else ""
    yield f"verdict: {verdict.result}{nearest}"
    for check in verdict.checks:
        yield f"  {check_line(check)}"
    yield from (f"  {conflict}" for conflict in conflict_lines(verdict))
    for finding in verdict.findings:
        yield f"  {finding.kind}: {line(finding)}"
    for position in sorted(_positions(verdict)):
        yield from _event(told.records, position, domain)


def _positions(verdict: Verdict) -> set[int]:
    """The events that findings point at, and those that broke a rule."""
    found = {finding.position for finding in verdict.findings} | {check.position for check in verdict.checks}
    return found - {0}


def _event(records: Sequence[Record], position: int, domain: Domain) -> Iterator[str]:
    record = records[position - 1]
    called = decoded(records[record.cause - 1]) if record.cause else None
    if isinstance(called, ToolCalled):
        yield f"call at {record.cause}: {cut(called.tool)} {cut(called.arguments)}"
    _, event = event_of(domain, record)
    yield f"event {position}: {record.topic} {cut(msgspec.json.encode(plain(event)).decode())}"


def timeline(told: Told, domain: Domain) -> Iterator[str]:
    """Every record in order; `►` marks the events that findings point at, and those that broke a rule."""
    marked = _positions(told.judgement.verdict)
    for record in told.records:
        mark = "►" if record.position in marked else " "
        yield f"{mark}{record.position:4}  {record.time}  {record_line(record, domain)}"


def record_line(record: Record, domain: Domain) -> str:
    """A record in one printable line."""
    return printable(_record_line(record, domain))


def _record_line(record: Record, domain: Domain) -> str:
    payload = decoded(record)
    if record.topic not in OWN_TOPICS:
        _, event = event_of(domain, record)
        return f"    + {record.topic} {cut(msgspec.json.encode(plain(event)).decode())}"
    if isinstance(payload, Said):
        return f"{payload.role}: {cut(payload.text)}"
    if isinstance(payload, ToolCalled):
        return f"{payload.number}. {cut(payload.tool)} {cut(payload.arguments)}"
    if isinstance(payload, ToolReturned):
        return f"    = {cut(payload.result)}"
    if isinstance(payload, ToolRefused):
        return f"    ! {payload.refusal}: {cut(payload.message)}"
    return f"{record.topic} {cut(shown(plain(payload)))}"
