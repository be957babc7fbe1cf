"""What a tool sees: the rows, the time, ids for new rows, and a place to put what happened."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, TypeVar

from msgspec import UNSET

from sandbox.declarations import Event, Gone, Row
from sandbox.domain import Domain, Handling, Table, Tool, rows_of
from sandbox.ids import TakenId
from sandbox.refusals import Conflict, NotFound, SandboxFault
from sandbox.search import Hit, Index
from sandbox.snapshot import Overlay, Snapshot
from sandbox.values import Instant, OutOfRange, ValueFault

R = TypeVar("R", bound=Row)
Q = TypeVar("Q")


class Rows:
    """The rows as an event handler sees them: to read, never to change."""

    __slots__ = ("_tables", "overlay")

    def __init__(self, overlay: Overlay, tables: Mapping[type[Row], Table]) -> None:
        self.overlay = overlay
        self._tables = tables

    def get(self, row_type: type[R], key: str) -> R:
        """The row; SandboxFault if it is not there, since an event tells of rows that are."""
        table = self._tables[row_type]
        row = self.overlay.get(table.name, key)
        if row is None:
            raise SandboxFault(f"an event tells of {table.name} {key!r}, which is not there")
        return row  # type: ignore[return-value]

    def all(self, row_type: type[R], **equal: Any) -> list[R]:
        """The rows whose fields equal the given values, in order."""
        name = self._tables[row_type].name
        if not equal:
            return [row for _, row in self.overlay.items(name)]  # type: ignore[misc]
        return [row for _, row in self.overlay.found(name, sorted(equal.items()))]  # type: ignore[misc]


class _TakenKeys:
    """The keys of the rows that are there, and those that this call was given and has not used yet."""

    def __init__(self, overlay: Overlay, table: str, given: Set[str]) -> None:
        self.overlay = overlay
        self._table = table
        self._pending = {key for key in given if overlay.get(table, key) is None}

    def size(self) -> int:
        return self.overlay.size(self._table) + len(self._pending)

    def has(self, key: str) -> bool:
        return key in self._pending or self.overlay.get(self._table, key) is not None


class Call:
    """One call of one tool, on a scratch view that is thrown away if the tool declines."""

    __slots__ = ("_domain", "_given", "_snapshot", "_start", "_tool", "emitted", "found", "number", "overlay")

    def __init__(
        self, domain: Domain, snapshot: Snapshot, overlay: Overlay, tool: Tool, start: Instant, number: int
    ) -> None:
        self._domain = domain
        self._snapshot = snapshot
        self.overlay = overlay
        self._tool = tool
        self._start = start
        self.number = number
        self._given: dict[str, set[str]] = {}
        self.emitted: list[tuple[str, bytes]] = []
        self.found: int | None = None

    @property
    def tool(self) -> str:
        """The name under which the agent called."""
        return self._tool.name

    @property
    def now(self) -> Instant:
        """The time in this tool's world."""
        return self.time("")

    def time(self, occasion: str) -> Instant:
        """The time for a named occasion, which a pinned clock may tell apart."""
        return self._tool.mount.clock.now(self._start, self.number, occasion)

    def quirks(self, kind: type[Q]) -> Q:
        """The settings that the toolset was mounted with; `kind()` if it was mounted with none."""
        given = self._tool.mount.quirks
        if given is None:
            return kind()
        if not isinstance(given, kind):
            raise TypeError(f"{self._tool.mount.name} is mounted with {type(given).__name__}, not {kind.__name__}")
        return given

    def get(self, row_type: type[R], key: str) -> R:
        """The row; NotFound, worded for the agent, if it is not there."""
        row = self.peek(row_type, key)
        if row is None:
            spec = self._tool.tables[row_type].spec
            noun = row_type.__name__.lower()
            looks = f"; {noun} ids look like {spec.example!r}" if spec.example else ""
            raise NotFound(f"no {noun} {key!r}{looks}")
        return row

    def peek(self, row_type: type[R], key: str) -> R | None:
        """The row, or None."""
        row = self.overlay.get(self._tool.tables[row_type].name, key)
        self.found = (self.found or 0) + (row is not None)
        return row  # type: ignore[return-value]

    def all(self, row_type: type[R], **equal: Any) -> list[R]:
        """The rows whose fields equal the given values, in order: seed, patch, creation."""
        name = self._tool.tables[row_type].name
        if equal:
            rows = [row for _, row in self.overlay.found(name, sorted(equal.items()))]
        else:
            rows = [row for _, row in self.overlay.items(name)]
        self._count(len(rows))
        return rows  # type: ignore[return-value]

    def first(self, row_type: type[R], **equal: Any) -> R | None:
        """The first row whose fields equal the given values, or None."""
        rows = self.all(row_type, **equal)
        return rows[0] if rows else None

    def search(self, row_type: type[R], query: str, limit: int) -> list[tuple[R, Hit]]:
        """The nearest rows of a searchable table, best first."""
        table = self._tool.tables[row_type]
        hits = self._index(table).search(query, limit)
        self._count(len(hits))
        return [(self.overlay.get(table.name, hit.key), hit) for hit in hits]  # type: ignore[misc]

    def new_id(self, row_type: type[Row]) -> str:
        """
        The id of the next new row, by the table's rule; no two in one call are the same.

        Raises:
            Conflict: the rule allows only one id and it is taken.
        """
        table = self._tool.tables[row_type]
        if table.ids is None:
            raise TypeError(f"table {table.name} declares no ids; write @table(…, ids=…)")
        given = self._given.setdefault(table.name, set())
        try:
            key = table.ids(_TakenKeys(self.overlay, table.name, given))
        except TakenId as taken:
            raise Conflict(f"{row_type.__name__.lower()} {taken.key!r} already exists") from None
        given.add(key)
        return key

    def emit(self, event: Event) -> None:
        """Put down what happened; the rows that this call sees change at once, the trial's only when it is on disk."""
        topic = self._tool.topics.get(type(event))
        if topic is None or type(event) not in self._tool.spec.emits:
            raise TypeError(f"tool {self.tool} emits {type(event).__name__} without declaring it")
        handling = self._domain.handlings[topic]
        recorded, payload = handling.shape.encoded(event)
        apply(handling, recorded, self.overlay)
        self.emitted.append((topic, payload))

    def _count(self, rows: int) -> None:
        """Rows that were looked up before anything was written; a tool's own look at what it wrote is no lookup."""
        if self.emitted:
            return
        self.found = (self.found or 0) + rows

    def _index(self, table: Table) -> Index:
        if not table.spec.search:
            raise TypeError(f"table {table.name} is not searchable; write @table(…, search=(…))")
        if self.overlay.touches(table.name) or self.overlay.under.touches(table.name):  # type: ignore[attr-defined]
            return _indexed(table, self.overlay.items(table.name))
        index = self._snapshot.searches.get(table.name)
        if index is None:
            index = self._snapshot.searches[table.name] = _indexed(table, self._snapshot.items(table.name))
        return index


def _indexed(table: Table, rows: Iterable[tuple[str, Row]]) -> Index:
    return Index((key, "\n".join(_texts(row, table.spec.search))) for key, row in rows)


def _texts(row: Row, fields: Sequence[str]) -> list[str]:
    return [str(value) for name in fields if (value := getattr(row, name)) is not None and value is not UNSET]


Change = tuple[str, str, Row | None]
"""Table, key and row; None for a row that was deleted."""


def apply(handling: Handling, event: Event, overlay: Overlay) -> Sequence[Change]:
    """
    Run an event's handler and write what it returns.

    Raises:
        OutOfRange: a row would hold a number or text that no record may hold.
        SandboxFault: the handler returned something that is no row of this domain, or deleted what is not there.
    """
    # All are checked before one is written: a row that cannot be kept must leave none of the others behind.
    returned = rows_of(handling.handler(Rows(overlay, handling.tables), event))
    changes = [_checked(handling, change) for change in returned]
    for table, key, row in changes:
        if row is not None:
            overlay.put(table, key, row)
        elif not overlay.drop(table, key):
            raise SandboxFault(f"the handler of {handling.topic} deleted {table} {key!r}, which is not there")
    return changes


def _checked(handling: Handling, change: Row | Gone) -> Change:
    table = handling.tables.get(change.row_type if isinstance(change, Gone) else type(change))
    if table is None:
        raise SandboxFault(f"the handler of {handling.topic} returned {change!r}, which is no row of this domain")
    if isinstance(change, Gone):
        return table.name, change.key, None
    try:
        row = table.shape.checked(change)
    except OutOfRange:
        raise
    except ValueFault as fault:
        raise SandboxFault(f"the handler of {handling.topic} made a row that cannot be kept: {fault}") from fault
    return table.name, table.spec.key_of(row), row
