"""Figures of two numbers for each agent: breadth and consistency, cost and what it buys."""

from collections.abc import Sequence
from math import floor, log10
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from msgspec import Struct

from judges.metrics.frontier import Place, Point, frontier
from judges.report.figures_labels import ARROW, label_spots, spots_of
from judges.report.figures_sheet import DARK, MIDDLE, VERMILION, number, percent_axis, sheet
from judges.report.table import Table

HEIGHT = 5.2
"""Inches."""
ROOM = 1.22
"""Where the axis of breadth ends."""
LOG_FROM = 20
"""The dearest ÷ the cheapest from which on costs stand on a logarithmic axis."""

Good = Literal["pass@1", "dependable tasks"]


class Priced(Struct, frozen=True):
    """A point as it is drawn."""

    agent: str
    x: float
    y: float
    is_lower_bound: bool
    place: Place


def breadth(table: Table) -> Figure:
    """Best of n against every one of n."""
    columns = (table.column("agent"), *(map(number, table.column(n)) for n in ("best of n", "every one of n")))
    found = [(str(name), x, y) for name, x, y in zip(*columns, strict=True) if x is not None and y is not None]
    figure, axes = sheet("Breadth and consistency", HEIGHT)
    axes.plot([0, 1], [0, 1], color=MIDDLE, lw=0.9, ls=(0, (4, 3)), zorder=1)
    spots = spots_of(found)
    for place, spot in enumerate(spots):
        axes.plot([spot.x], [spot.y], "o", color=DARK, ms=6.5, zorder=3, clip_on=False, gid=f"spot-{place}")
    percent_axis(axes, "best of n: tasks passed at least once")
    percent_axis(axes, "every one of n: tasks passed every time", of_y=True)
    # Good agents stand at the right edge; their names need room beside them.
    axes.set_xlim(right=ROOM)
    label_spots(figure, axes, spots, [(0, 0), (1, 1)])
    return figure


def cost(points: Sequence[Point], good: Good) -> Figure | None:
    """Cost per attempt against what it buys, with the frontier; None if no agent has a cost."""
    found = [
        Priced(point.agent, float(point.cost), float(point.good), point.is_lower_bound, place)
        for point, place in zip(points, frontier(points), strict=True)
        if point.cost is not None
    ]
    if not found:
        return None
    figure, axes = sheet(f"Cost per attempt and {good}", HEIGHT)
    _dollar_axis(axes, [one.x for one in found])
    if good == "pass@1":
        percent_axis(axes, "pass@1", of_y=True)
    else:
        top = max(one.y for one in found) or 1
        axes.set_ylim(-0.04 * top, 1.08 * top)
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.yaxis.grid(True)
        axes.set_ylabel("tasks passed every time")
    line = _frontier_line(axes, found)
    for place, one in enumerate(found):
        _dot(axes, one, place)
    bounds = [(one.x, one.y) for one in found if one.is_lower_bound]
    ringed = [one.agent for one in found if one.place != "off"]
    spots = spots_of([(one.agent, one.x, one.y) for one in found], ringed)
    label_spots(figure, axes, spots, line, bounds)
    return figure


def _dollar_axis(axes: Axes, costs: Sequence[float]) -> None:
    low, high = min(costs), max(costs)
    is_log = low > 0 and high > LOG_FROM * low
    if is_log:
        axes.set_xscale("log")
        axes.set_xlim(low / 1.6, high * 2)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.set_xlim(0, 1.12 * high or 1)
        axes.xaxis.set_major_locator(MaxNLocator(7))
    places = max(2, 1 - floor(log10(high))) if high > 0 else 2
    axes.xaxis.set_major_formatter(FuncFormatter(lambda usd, _: f"${usd:.6g}" if is_log else f"${usd:,.{places}f}"))
    axes.xaxis.grid(True)
    axes.set_xlabel(f"USD per attempt, the agent alone{' (logarithmic)' if is_log else ''}")


def _frontier_line(axes: Axes, found: Sequence[Priced]) -> list[tuple[float, float]]:
    """Steps from the cheapest to the dearest on the frontier, drawn; their corners."""
    on = sorted({(one.x, one.y) for one in found if one.place == "on"})
    corners = on[:1]
    for x, y in on[1:]:
        corners += [(x, corners[-1][1]), (x, y)]
    if len(on) > 1:
        axes.plot(*zip(*corners, strict=True), color=VERMILION, lw=1.2, zorder=2, gid="frontier")
    return corners


def _dot(axes: Axes, one: Priced, place: int) -> None:
    axes.plot([one.x], [one.y], "o", color=DARK, ms=6, zorder=4, clip_on=False, gid=f"agent-{place}")
    if one.place != "off":
        dash = "-" if one.place == "on" else (0, (1.5, 1.5))
        axes.scatter(
            [one.x], [one.y], s=130, facecolors="none", edgecolors=VERMILION, linewidths=1.4, linestyles=[dash],
            zorder=3, clip_on=False, gid=f"ring-{place}",
        )  # fmt: skip
    if one.is_lower_bound:
        arrow = axes.annotate(
            "", (one.x, one.y), xytext=(ARROW, 0), textcoords="offset points", annotation_clip=False, zorder=3,
            arrowprops={"arrowstyle": "<-", "color": DARK, "lw": 1.1, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
        arrow.set_in_layout(False)
        if arrow.arrow_patch is not None:
            arrow.arrow_patch.set_gid(f"lower-bound-{place}")
