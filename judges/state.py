"""Whole states from effects: what a trial's rows are at its end, without its events."""

from collections.abc import Iterable
from typing import Any

from sandbox.effects import Effect, Effects
from sandbox.snapshot import Snapshot
from sandbox.values import plain


def state_from(tables: Iterable[str], snapshot: Snapshot, effects: Effects) -> dict[str, list[dict[str, Any]]]:
    """
    The rows of each table at the end, in order and in their plain JSON form.

    Args:
        tables: names of all tables of the domain; each is in the result, also an empty one.
        snapshot: the rows that the effects start from.
    """
    by_table: dict[str, dict[str, Effect]] = {}
    for effect in effects:
        by_table.setdefault(effect.table, {})[effect.key] = effect
    return {table: _rows(table, snapshot, by_table.get(table, {})) for table in tables}


def _rows(table: str, snapshot: Snapshot, effects: dict[str, Effect]) -> list[dict[str, Any]]:
    """Rows of the snapshot keep their places; new ones, and those that were created again, follow in their order."""
    rows: list[dict[str, Any] | None] = []
    for key, row in snapshot.items(table):
        effect = effects.get(key)
        if effect is None:
            rows.append(plain(row))
        elif not effect.moved:
            rows.append(effect.row)
    rows += [effect.row for effect in effects.values() if effect.moved or effect.op == "inserted"]
    return [row for row in rows if row is not None]
