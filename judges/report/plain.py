"""Tables as CSV and Parquet: unrounded, one type in each column."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from judges import parquet
from judges.lines import printable
from judges.metrics.rounding import half_up
from judges.report.table import AtLeast, Cell, Kind, Table

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Beginnings of a text that a spreadsheet may run."""
SHAPES: dict[Kind, parquet.Shape] = {
    "text": "string",
    "count": "int64",
    "share": "float64",
    "points": "float64",
    "error": "float64",
    "usd": parquet.DECIMAL,
    "p": "float64",
}


class Flat(Struct, frozen=True):
    """A column as it is written: every name once, every value of one type."""

    name: str
    shape: parquet.Shape
    values: Sequence[Any]


def flat(table: Table) -> list[Flat]:
    """The columns of a table, and for each of dollars one more at the end that says which are lower bounds."""
    found = []
    for place, column in enumerate(table.columns):
        cells = [row[place] for row in table.rows]
        found.append(Flat(column.name, SHAPES[column.kind], [typed(cell, column.kind) for cell in cells]))
    for place, column in enumerate(table.columns):
        if column.kind == "usd":
            bounds = [None if row[place] is None else isinstance(row[place], AtLeast) for row in table.rows]
            found.append(Flat(f"{column.name} is a lower bound", "bool", bounds))
    names = _unique([printable(one.name) for one in found])
    return [Flat(name, one.shape, one.values) for name, one in zip(names, found, strict=True)]


def typed(cell: Cell, kind: Kind) -> str | int | float | Decimal | None:
    """A cell as the one type of its column: a text printable, dollars with as many decimals as Parquet keeps."""
    if isinstance(cell, AtLeast):
        return typed(cell.value, kind)
    if cell is None:
        return None
    if kind == "text" or isinstance(cell, str):
        return printable(str(cell).encode("utf-8", "backslashreplace").decode())
    if kind == "usd":
        return half_up(cell, parquet.DECIMALS)
    return int(cell) if kind == "count" else float(cell)


def _unique(names: Sequence[str]) -> list[str]:
    """Names of which each is there once: an agent may be called like another column."""
    found: list[str] = []
    for name in names:
        number, free = 2, name
        while free in found:
            number, free = number + 1, f"{name} ({number})"
        found.append(free)
    return found


def csv(table: Table) -> str:
    """
    RFC 4180. Texts are quoted, numbers are not, and what is not there is empty.

    A text that a spreadsheet may take for a formula begins with an apostrophe.
    """
    columns = flat(table)
    lines = [[_csv(column.name) for column in columns]]
    lines += [[_csv(value) for value in row] for row in zip(*(column.values for column in columns), strict=True)]
    return "".join(",".join(line) + "\r\n" for line in lines)


def _csv(value: str | bool | int | float | Decimal | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return f"{value.normalize():f}" if isinstance(value, Decimal) else str(value)
    quoted = value.replace('"', '""')
    return f'"{chr(39) if value.startswith(FORMULA) else ""}{quoted}"'


def write_parquet(path: Path, table: Table) -> None:
    """A table as a Parquet file."""
    columns = flat(table)
    rows = zip(*(column.values for column in columns), strict=True)
    names = [column.name for column in columns]
    parquet.write(
        path, {column.name: column.shape for column in columns}, (dict(zip(names, row, strict=True)) for row in rows)
    )
