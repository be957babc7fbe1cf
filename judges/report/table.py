"""Tables of exact values that know how they are shown; the terminal, pages and files are made from them."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from msgspec import Struct

from judges.metrics.rounding import half_up, percent

Kind = Literal["text", "count", "share", "points", "error", "usd", "p"]
"""
What a column holds: a text; a whole number; a share from 0 to 1, shown in percent; a difference of shares, shown in
points of a percent with its sign; a standard error of one, in points without a sign; dollars; a p-value.
"""


class AtLeast(Struct, frozen=True):
    """A lower bound: the true value may be higher."""

    value: Fraction | Decimal


Cell = str | int | Fraction | Decimal | float | AtLeast | None
"""None: there is no such value, which is shown as a dash."""
NONE = "–"


class Column(Struct, frozen=True):
    """One column."""

    name: str
    kind: Kind = "text"
    about: str = ""
    """What it is, where the name does not say it all."""


class Table(Struct, frozen=True):
    """
    One table.

    Raises:
        ValueError: a row has another length than the columns.
    """

    name: str
    """A lower-case word for file names."""
    title: str
    about: str
    """What is counted, by which estimator, and what it does not say."""
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.name}: a row of {len(row)} cells under {len(self.columns)} columns")

    def column(self, name: str) -> list[Cell]:
        """The cells under a name; ValueError if there is no such column."""
        place = [column.name for column in self.columns].index(name)
        return [row[place] for row in self.rows]


def shown(cell: Cell, kind: Kind) -> str:
    """A cell for people, rounded half up."""
    if cell is None:
        return NONE
    if isinstance(cell, str):
        return cell
    if isinstance(cell, AtLeast):
        return f"≥ {shown(cell.value, kind)}"
    match kind:
        case "share":
            return f"{percent(cell, 1)}%"
        case "error":
            return str(percent(cell, 1))
        case "points":
            return f"{percent(cell, 1):+}"
        case "usd":
            return f"${half_up(cell, 4):f}"
        case "p":
            return "< 0.0001" if cell < Fraction(1, 10_000) else str(half_up(cell, 4))
        case _:
            return str(cell)


def plain(cell: Cell) -> Any:
    """A cell as a JSON value: decimals as text, shares as numbers, unrounded; a lower bound as its value."""
    if isinstance(cell, AtLeast):
        return plain(cell.value)
    if isinstance(cell, Fraction):
        return float(cell)
    return str(cell) if isinstance(cell, Decimal) else cell


def as_values(tables: Sequence[Table]) -> list[dict[str, Any]]:
    """Tables as JSON values; `at_least` names the row, from 0, and the column of each lower bound."""
    return [
        {
            "name": table.name,
            "title": table.title,
            "about": table.about,
            "columns": [{"name": c.name, "kind": c.kind, "about": c.about} for c in table.columns],
            "rows": [[plain(cell) for cell in row] for row in table.rows],
            "at_least": [
                [place, column.name]
                for place, row in enumerate(table.rows)
                for cell, column in zip(row, table.columns, strict=True)
                if isinstance(cell, AtLeast)
            ],
        }
        for table in tables
    ]
