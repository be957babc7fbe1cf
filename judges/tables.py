"""Tables for the terminal."""

import os
from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from judges.lines import cut
from judges.metrics.rounding import percent
from judges.metrics.standing import Standing
from sandbox.prices import Cost

NO_COSTS: Mapping[str, Cost] = {}
GAP = 2
"""Characters between two columns of a plain table."""
WIDE = 200
"""Characters of a line where there is no terminal."""


def standing_table(found: Sequence[Standing], repetitions: int = 0, costs: Mapping[str, Cost] = NO_COSTS) -> Table:
    """One line for each agent: best of one, passed every time, and what it cost where that is told of any."""
    every = f"{repetitions}/{repetitions}" if repetitions else "n of n"
    table = plain_table(
        "agent", "tasks", "trials", "pass@1", f"observed {every}", "ungradeable", *(["cost"] if costs else [])
    )
    for one in found:
        share = "–" if one.pass_at_1 is None else f"{percent(one.pass_at_1, 1)}%"
        every_time = f"{one.every_time.shown} of {one.tasks} tasks"
        table.add_row(
            Text(cut(one.agent)),
            str(one.tasks),
            counted(one.trials, one.planned),
            share,
            every_time,
            str(one.ungradeable),
            *([costs[one.agent].shown() if one.agent in costs else "no model"] if costs else []),
        )
    return table


def counted(trials: int, planned: int) -> str:
    """How many trials count, and of how many if some are missing."""
    return str(trials) if trials == planned else f"{trials} of {planned}"


def plain_table(*columns: str) -> Table:
    """A table without lines; numbers to the right, the first column and tasks to the left."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place == 0 or name == "task" else "right")
    return table


def fitted(table: Table, width: int) -> Table | Group:
    """
    A plain table for lines of some width: names of columns are folded between words where they have to be.

    Where its cells do not fit even so, each row becomes a block of lines, `name: value`.
    """
    heads = [_text(column.header) for column in table.columns]
    cells = [[_text(cell) for cell in column.cells] for column in table.columns]
    whole = [max((cell_len(text) for text in (head, *own)), default=0) for head, own in zip(heads, cells, strict=True)]
    least = [
        max((cell_len(text) for text in (*head.split(), *own)), default=0)
        for head, own in zip(heads, cells, strict=True)
    ]
    room = width - GAP * (len(heads) - 1)
    if sum(least) > room:
        return _turned(heads, list(zip(*cells, strict=True)))
    widest = next(most for most in range(room, -1, -1) if sum(_capped(whole, least, most)) <= room)
    for column, characters in zip(table.columns, _capped(whole, least, widest), strict=True):
        column.width = characters
    return table


def _capped(whole: Sequence[int], least: Sequence[int], most: int) -> list[int]:
    return [max(low, min(high, most)) for high, low in zip(whole, least, strict=True)]


def _text(cell: object) -> str:
    """What is to be read in a cell: markup or a text."""
    return Text.from_markup(cell).plain if isinstance(cell, str) else str(cell)


def _turned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Group:
    lines: list[Text] = []
    for first, *others in rows:
        lines.append(Text(f"{heads[0]}: {first}", style="bold"))
        named = zip(heads[1:], others, strict=True)
        lines += [Text(f"  {name}: {cell}" if name else f"  {cell}") for name, cell in named]
    return Group(*lines)


def wide_console(least: int = 0) -> Console:
    """
    Standard output: as wide as the terminal, or `least`.

    Where there is no terminal, as wide as COLUMNS says, and otherwise wide enough for most tables.
    """
    console = Console()
    columns = os.environ.get("COLUMNS", "")
    if console.is_terminal:
        return Console(width=max(least, console.width))
    return Console(width=max(least, int(columns)) if columns.isdecimal() and int(columns) else WIDE)
