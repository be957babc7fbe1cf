"""Who wrote it: each finding joined to the event that wrote the row or field last, and to the call that emitted it."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from judges.findings import Finding, Findings
from judges.verdict import Verdict
from sandbox.domain import Domain
from sandbox.fold import Fold, Write
from sandbox.records import Record, ToolCalled, decoded
from sandbox.snapshot import Snapshot
from sandbox.values import plain

ROW, GONE = "", "-"
"""Stand for the whole row where fields are named: that it was created, and that it was deleted."""


class Writer(Struct, frozen=True):
    """The event that wrote something last, and the call behind it."""

    position: int
    topic: str
    cause: int
    tool: str


class Writers:
    """
    Which event wrote each row and field of a trial last.

    A field is written by the event that gave it another value; a new row's fields by the one that created it.
    """

    def __init__(self, domain: Domain, snapshot: Snapshot, records: Iterable[Record]) -> None:
        self._last: dict[tuple[str, str, str], Writer] = {}
        self._rows: dict[tuple[str, str], dict[str, Any] | None] = {}
        self._snapshot = snapshot
        writes: list[Write] = []
        self._folding = Fold(domain, snapshot, writes)
        tools: dict[int, str] = {}
        for record in records:
            called = decoded(record)
            if isinstance(called, ToolCalled):
                tools[record.position] = called.tool
            self._folding.take(record)
            for write in writes:
                self._note(write, Writer(record.position, record.topic, record.cause, tools.get(record.cause, "")))
            writes.clear()

    def of(self, table: str, key: str, field: str = ROW) -> Writer | None:
        """Who last wrote a field, created the row or deleted it; None if no event of the trial did."""
        return self._last.get((table, key, field))

    def _note(self, write: Write, writer: Writer) -> None:
        place = (write.table, write.key)
        before = self._rows[place] if place in self._rows else _plain(self._snapshot.get(*place))
        after = self._rows[place] = _plain(self._folding.overlay.get(*place))
        if (before is None) != (after is None):
            self._last[(*place, GONE if after is None else ROW)] = writer
        for name in {**(before or {}), **(after or {})}:
            if before is None or after is None or _differs(before, after, name):
                self._last[(*place, name)] = writer


def _plain(row: Any) -> dict[str, Any] | None:
    return None if row is None else plain(row)


def _differs(before: dict[str, Any], after: dict[str, Any], name: str) -> bool:
    return (name in before) != (name in after) or repr(before.get(name)) != repr(after.get(name))


def blamed(findings: Findings, writers: Writers) -> Findings:
    """The findings with position, topic, call and tool of what was wrongly written; `missing` ones as they are."""
    return tuple(_blamed(finding, writers) for finding in findings)


def with_blame(verdict: Verdict, domain: Domain, snapshot: Snapshot, records: Sequence[Record]) -> Verdict:
    """The same verdict with its findings joined to the trial's events."""
    if not verdict.findings:
        return verdict
    return replace(verdict, findings=blamed(verdict.findings, Writers(domain, snapshot, records)))


def _blamed(finding: Finding, writers: Writers) -> Finding:
    field = GONE if finding.op == "deleted" else finding.field
    writer = None if finding.kind == "missing" else writers.of(finding.table, finding.key, field)
    if writer is None:
        return finding
    return replace(finding, position=writer.position, topic=writer.topic, cause=writer.cause, tool=writer.tool)
