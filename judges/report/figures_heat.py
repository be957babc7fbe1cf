"""Heat maps: tasks and agents, agents and signatures."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FuncFormatter

from judges.lines import cut
from judges.metrics.rounding import percent
from judges.report.figures_sheet import DARK, MIDDLE, add_legend, number, sheet, told_failed
from judges.report.table import Table

MOST_TOLD = 400
"""Cells up to which each has its number in it."""
CELL = 0.27
"""Inches of a cell with a number in it, and of a row with a label."""
WIDE = 0.46
"""Inches across a cell with a number in it."""
TALLEST = 12.0
"""Inches of all rows together."""
LEAST_WIDTH = 4.6
"""Inches of a figure, so that its title and scale fit."""
LONGEST_TASK = 34
LONGEST_ACROSS = 26
"""Characters of names."""
SCALE = 2.6
"""Inches across the scale of colours."""
COLOURS = "cividis"

Shares = Sequence[Sequence[float | None]]


def tasks(table: Table, agents: Sequence[str]) -> Figure:
    """The share of each agent's passes at each task; agents in the order given, the hardest task first."""
    # An agent may have the name of the first column.
    places = {column.name: place for place, column in enumerate(table.columns) if place}
    shares = [[number(row[places[name]]) for name in agents] for row in table.rows]
    return _heat("pass@1 of each agent at each task", [str(task) for task in table.column("task")], agents, shares, 1)


def signatures(table: Table, names: Sequence[str]) -> Figure:
    """The share of each signature in each agent's failed trials."""
    rows = [told_failed(*row[:2]) for row in table.rows]
    shares = list(zip(*(map(number, table.column(name)) for name in names), strict=True))
    most = max((share for row in shares for share in row if share is not None), default=1.0)
    # Most shares are small: the scale ends at the next quarter above the largest.
    return _heat("What failed trials show first", rows, names, shares, max(0.25, ceil(4 * most) / 4))


def _heat(title: str, rows: Sequence[str], columns: Sequence[str], shares: Shares, top: float) -> Figure:
    is_told = len(rows) * len(columns) <= MOST_TOLD
    across = (WIDE if is_told else CELL) * len(columns)
    down = min(TALLEST, CELL * len(rows))
    labels = 0.075 * min(LONGEST_TASK, max(map(len, rows))), 0.075 * min(LONGEST_ACROSS, max(map(len, columns)))
    figure, axes = sheet(title, down + labels[1] * 0.75 + 1.3, max(LEAST_WIDTH, across + labels[0] + 0.7))
    values = np.array([[np.nan if share is None else share for share in row] for row in shares], dtype=float)
    image = axes.imshow(values, cmap=COLOURS, vmin=0, vmax=top, aspect="auto", interpolation="none")
    image.set_gid("cells")
    axes.set_xticks(range(len(columns)), [cut(name, LONGEST_ACROSS) for name in columns])
    axes.tick_params(axis="x", rotation=45, length=0, top=False, bottom=False, labeltop=True, labelbottom=False)
    for label in axes.get_xticklabels():
        label.set(rotation_mode="anchor", ha="left", va="center")
    step = max(1, -(-len(rows) // int(down / 0.17)))
    axes.set_yticks(range(0, len(rows), step), [cut(name, LONGEST_TASK) for name in rows[::step]])
    axes.tick_params(axis="y", length=0 if step == 1 else 3)
    axes.spines[:].set_visible(False)
    is_missing = _hatch_missing(axes, shares)
    if is_told:
        _tell(axes, shares, top)
    _scale(figure, axes, image, across, down)
    if is_missing:
        add_legend(figure, [Patch(facecolor="white", edgecolor=MIDDLE, hatch="///", label="no trial that counts")], 1)
    return figure


def _hatch_missing(axes: Axes, shares: Shares) -> bool:
    """Cover what has no share, and say whether there is any."""
    runs = list(_missing_runs(shares))
    for column, first, rows in runs:
        axes.add_patch(
            Rectangle((column - 0.5, first - 0.5), 1, rows, facecolor="white", edgecolor=MIDDLE, hatch="///", lw=0)
        )
    return bool(runs)


def _missing_runs(shares: Shares) -> Iterator[tuple[int, int, int]]:
    """(column, first row, rows) of each run of cells without a share."""
    for column, cells in enumerate(zip(*shares, strict=True)):
        row = 0
        for is_missing, run in groupby(cells, key=lambda share: share is None):
            size = len(list(run))
            if is_missing:
                yield column, row, size
            row += size


def _tell(axes: Axes, shares: Shares, top: float) -> None:
    """The numbers, in percent, dark on light and light on dark."""
    for row, cells in enumerate(shares):
        for column, share in enumerate(cells):
            if share is not None:
                ink = "white" if share < 0.55 * top else DARK
                axes.text(column, row, str(percent(share, 0)), color=ink, ha="center", va="center", fontsize=9)


def _scale(figure: Figure, axes: Axes, image: AxesImage, across: float, down: float) -> None:
    """The meaning of the colours, below the cells."""
    shrink = min(1.0, SCALE / across)
    look: dict[str, Any] = {"aspect": 22, "pad": 0.12 / down, "anchor": (0.0, 1.0)}
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=shrink, **look)
    bar.outline.set_visible(False)
    top = image.get_clim()[1] or 1.0
    bar.set_ticks([top * quarter / 4 for quarter in range(5)])
    bar.ax.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g}%"))
    bar.ax.tick_params(labelsize=9, length=2)
