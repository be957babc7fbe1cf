"""Immutable backend states, and the copy-on-write view that one trial has of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from sandbox.declarations import Row
from sandbox.values import canonical, digest, plain

Table = str
Key = str
Rows = Mapping[Key, Row]
Equal = Sequence[tuple[str, Any]]
"""Field names with the values they must have; always in one order of names, which is an index's name."""

_NONE: Rows = {}


class State(Protocol):
    """
    Rows of every table, in order: seed, patch, creation.

    An update keeps its place; a row that was deleted and created again goes last.
    """

    def get(self, table: Table, key: Key) -> Row | None:
        """The row, or None."""

    def items(self, table: Table) -> Iterator[tuple[Key, Row]]:
        """All rows of a table, in order."""

    def found(self, table: Table, equal: Equal) -> list[tuple[Key, Row]]:
        """The rows whose fields equal the given values, in order."""

    def place(self, table: Table, key: Key) -> int:
        """A number that orders the rows of a table; only for a key that is there."""

    def size(self, table: Table) -> int:
        """How many rows a table has."""

    def room(self, table: Table) -> int:
        """The place that a new row of the table gets."""


class Layer:
    """Rows of several tables under the digest of their content. Immutable once made."""

    def __init__(self, tables: Mapping[Table, Rows]) -> None:
        self.tables = {name: rows for name, rows in tables.items() if rows}
        self.content = canonical({name: [plain(row) for row in rows.values()] for name, rows in self.tables.items()})
        self.digest = digest(self.content).hex()


class Snapshot:
    """
    Layers on top of each other: a row of an upper layer replaces the one with its key, in that one's place.

    Tables, equality indexes and places are made when first asked for and shared by every trial.
    """

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.layers = tuple(layers)
        self.digest = digest(*(layer.digest.encode() for layer in layers)).hex()
        self._tables: dict[Table, Rows] = {}
        self._indexes: dict[tuple[Table, tuple[str, ...]], dict[tuple[Any, ...], list[tuple[Key, Row]]]] = {}
        self._places: dict[Table, dict[Key, int]] = {}
        self.searches: dict[Table, Any] = {}

    def table(self, name: Table) -> Rows:
        """The rows of one table by key, in order."""
        made = self._tables.get(name)
        if made is None:
            parts = [layer.tables[name] for layer in self.layers if name in layer.tables]
            made = self._tables[name] = _merged(parts)
        return made

    def get(self, table: Table, key: Key) -> Row | None:
        rows = self._tables.get(table)
        return (self.table(table) if rows is None else rows).get(key)

    def items(self, table: Table) -> Iterator[tuple[Key, Row]]:
        return iter(self.table(table).items())

    def found(self, table: Table, equal: Equal) -> list[tuple[Key, Row]]:
        fields = tuple(name for name, _ in equal)
        index = self._indexes.get((table, fields))
        if index is None:
            index = self._indexes[table, fields] = _index(self.table(table), fields)
        return index.get(_values([value for _, value in equal]), [])

    def place(self, table: Table, key: Key) -> int:
        places = self._places.get(table)
        if places is None:
            places = self._places[table] = {name: place for place, name in enumerate(self.table(table))}
        return places[key]

    def size(self, table: Table) -> int:
        return len(self.table(table))

    def room(self, table: Table) -> int:
        return len(self.table(table))


def _merged(parts: Sequence[Rows]) -> Rows:
    if len(parts) <= 1:
        return parts[0] if parts else _NONE
    merged: dict[Key, Row] = {}
    for part in parts:
        merged.update(part)
    return merged


def _index(rows: Rows, fields: tuple[str, ...]) -> dict[tuple[Any, ...], list[tuple[Key, Row]]]:
    index: dict[tuple[Any, ...], list[tuple[Key, Row]]] = {}
    for key, row in rows.items():
        index.setdefault(_values([getattr(row, name) for name in fields]), []).append((key, row))
    return index


def _values(values: Sequence[Any]) -> tuple[Any, ...]:
    """Index key: `True` and 1 are told apart, 25 and 25.0 are not."""
    return tuple((value, value is True or value is False) for value in values)


class _Delta:
    """What one overlay changed in one table: rows by key, None for a deleted one; places of the rows that are new."""

    __slots__ = ("growth", "places", "room", "rows")

    def __init__(self) -> None:
        self.rows: dict[Key, Row | None] = {}
        self.places: dict[Key, int] = {}
        self.room: int | None = None
        """None until a row is new: most calls change rows that are there."""
        self.growth = 0


class Overlay:
    """A copy-on-write view of a state: opening copies nothing, a write costs one row."""

    __slots__ = ("_deltas", "under")

    def __init__(self, under: State) -> None:
        self.under = under
        self._deltas: dict[Table, _Delta] = {}

    def get(self, table: Table, key: Key) -> Row | None:
        delta = self._deltas.get(table)
        if delta is not None and key in delta.rows:
            return delta.rows[key]
        return self.under.get(table, key)

    def items(self, table: Table) -> Iterator[tuple[Key, Row]]:
        delta = self._deltas.get(table)
        if delta is None:
            yield from self.under.items(table)
            return
        for key, row in self.under.items(table):
            if key not in delta.rows:
                yield key, row
            elif key not in delta.places and (changed := delta.rows[key]) is not None:
                yield key, changed
        for key in delta.places:
            if (created := delta.rows[key]) is not None:
                yield key, created

    def found(self, table: Table, equal: Equal) -> list[tuple[Key, Row]]:
        below = self.under.found(table, equal)
        delta = self._deltas.get(table)
        if delta is None:
            return below
        wanted = _values([value for _, value in equal])
        hits = [(key, row) for key, row in below if key not in delta.rows]
        changed = [
            (key, row)
            for key, row in delta.rows.items()
            if row is not None and _values([getattr(row, name) for name, _ in equal]) == wanted
        ]
        if changed:
            hits = sorted(hits + changed, key=lambda hit: self.place(table, hit[0]))
        return hits

    def place(self, table: Table, key: Key) -> int:
        delta = self._deltas.get(table)
        place = delta.places.get(key) if delta is not None else None
        return self.under.place(table, key) if place is None else place

    def size(self, table: Table) -> int:
        delta = self._deltas.get(table)
        return self.under.size(table) + (delta.growth if delta is not None else 0)

    def room(self, table: Table) -> int:
        delta = self._deltas.get(table)
        return self.under.room(table) if delta is None or delta.room is None else delta.room

    def put(self, table: Table, key: Key, row: Row) -> None:
        """Insert a row at the end, or replace the one with its key in place."""
        delta = self._deltas.get(table) or self._delta(table)
        known = delta.rows[key] if key in delta.rows else self.under.get(table, key)
        if known is None:
            delta.rows.pop(key, None)
            place = delta.places[key] = self.room(table)
            delta.room = place + 1
            delta.growth += 1
        delta.rows[key] = row

    def drop(self, table: Table, key: Key) -> bool:
        """Delete a row; False if it is not there."""
        if self.get(table, key) is None:
            return False
        delta = self._delta(table)
        delta.growth -= 1
        delta.places.pop(key, None)
        if self.under.get(table, key) is None:
            del delta.rows[key]
        else:
            delta.rows[key] = None
        return True

    def merge(self, scratch: "Overlay") -> None:
        """Take over all that an overlay on top of this one has changed."""
        for table, delta in scratch._deltas.items():
            mine = self._delta(table)
            for key, row in delta.rows.items():
                if row is not None and key not in delta.places:
                    mine.rows[key] = row
                    continue
                self.drop(table, key)
                if row is not None:
                    self.put(table, key, row)

    def touched(self) -> Iterator[tuple[Table, Key, Row | None, bool]]:
        """Each row written since opening: table, key, the row or None, and whether it stands at a new place."""
        for table, delta in self._deltas.items():
            for key, row in delta.rows.items():
                yield table, key, row, key in delta.places

    def touches(self, table: Table) -> bool:
        """Whether a row of this table was written since opening."""
        delta = self._deltas.get(table)
        return delta is not None and bool(delta.rows)

    def _delta(self, table: Table) -> _Delta:
        delta = self._deltas.get(table)
        if delta is None:
            delta = self._deltas[table] = _Delta()
        return delta
