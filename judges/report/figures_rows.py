"""Figures with a row for each agent: leaderboard, spread, failures."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from judges.report.figures_sheet import (
    BLUE,
    DARK,
    GREEN,
    LIGHT,
    ORANGE,
    VERMILION,
    add_legend,
    legend_height,
    name_rows,
    number,
    percent_axis,
    rows_height,
    sheet,
    short,
    told_failed,
)
from judges.report.table import Cell, Table, shown

DOMAIN_MARKS: tuple[tuple[str, str], ...] = (
    ("^", BLUE), ("s", VERMILION), ("D", GREEN), ("v", ORANGE), ("P", BLUE), ("X", VERMILION), ("<", GREEN),
    (">", ORANGE), ("p", BLUE), ("*", VERMILION),
)  # fmt: skip
"""Of domains by their place; of more domains none are marked."""

PARTS: tuple[tuple[str, str], ...] = (("#1b2a49", ""), ("#5b7ea6", "////"), ("#a9c4d9", ".."), ("#f0ece0", "xx"))
"""Fill and hatch of the parts of a bar, from dark to light."""


def leaderboard(table: Table) -> Figure:
    """A dot and a 95 % interval for each agent, and a small mark for each domain if there are several."""
    names = [short(name) for name in table.column("agent")]
    domains = [column.name for column in table.columns if column.name.startswith("pass@1 ")]
    marked = domains if len(domains) <= len(DOMAIN_MARKS) else []
    figure, axes = sheet("pass@1, with 95% intervals", rows_height(len(names), 0.95 + legend_height(_marks(marked), 6)))
    for place, (share, low, high) in enumerate(_columns(table, "pass@1", "95% low", "95% high")):
        if low is not None and high is not None:
            axes.plot([low, high], [place, place], color=DARK, lw=1.6, zorder=3, gid=f"interval-{place}")
        if share is not None:
            axes.plot([share], [place], "o", color=DARK, ms=6.5, zorder=4, clip_on=False, gid=f"agent-{place}")
    _tell_shares(axes, table.column("pass@1"))
    for domain, (mark, ink) in zip(marked, DOMAIN_MARKS, strict=False):
        for place, (share,) in enumerate(_columns(table, domain)):
            if share is not None:
                axes.plot([share], [place], mark, mfc="white", mec=ink, mew=1.2, ms=5, zorder=2, clip_on=False)
    percent_axis(axes, "trials that pass, mean over tasks")
    name_rows(axes, names)
    if marked:
        handles = [_mark("o", DARK, "all tasks"), *map(_domain_mark, marked, DOMAIN_MARKS)]
        add_legend(figure, handles, 6)
    return figure


def _marks(domains: Sequence[str]) -> int:
    """Entries of a legend; none is needed where only one mark is drawn."""
    return 1 + len(domains) if domains else 0


def _tell_shares(axes: Axes, shares: Sequence[Cell]) -> None:
    """The numbers, to the right of the axes."""
    for place, share in enumerate(shares):
        axes.annotate(
            shown(share, "share"), (1, place), xycoords=("axes fraction", "data"), xytext=(34, 0),
            textcoords="offset points", ha="right", va="center", fontsize=9, annotation_clip=False,
        )  # fmt: skip


def _mark(mark: str, ink: str, label: str, *, hollow: bool = False) -> Line2D:
    return Line2D([], [], ls="", marker=mark, color=ink, mfc="white" if hollow else ink, ms=6, label=label)


def _domain_mark(column: str, look: tuple[str, str]) -> Line2D:
    # matplotlib leaves labels out that begin with an underscore.
    return _mark(look[0], look[1], " " * column.startswith("pass@1 _") + short(column[len("pass@1 ") :]), hollow=True)


def spread(table: Table) -> Figure:
    """For each agent the span from the tasks passed every time, over pass@1, to those passed at least once."""
    names = [short(name) for name in table.column("agent")]
    figure, axes = sheet("From every time to at least once", rows_height(len(names), 0.95 + legend_height(4, 4)))
    found = _columns(table, "every one of n", "every one of n, at most", "pass@1", "best of n", "best of n, at most")
    for place, (every, every_most, once, best, best_most) in enumerate(found):
        ends = [share for share in (every, once, best) if share is not None]
        if ends:
            axes.plot([min(ends), max(ends)], [place, place], color=LIGHT, lw=5, solid_capstyle="butt", zorder=1)
        for least, most in ((every, every_most), (best, best_most)):
            if least is not None and most is not None and most > least:
                axes.plot([least, most], [place, place], color=DARK, lw=1, ls=(0, (2, 2)), marker="|", zorder=2)
        _put(axes, best, place, "^", 9, "white", f"best-{place}")
        _put(axes, every, place, "s", 6.5, DARK, f"every-{place}")
        _put(axes, once, place, "o", 5, BLUE, f"once-{place}")
    percent_axis(axes, "share of tasks; for pass@1, share of trials")
    name_rows(axes, names)
    handles = [
        _mark("s", DARK, "every one of n"),
        _mark("o", BLUE, "pass@1"),
        _mark("^", DARK, "best of n", hollow=True),
        Line2D([], [], color=DARK, lw=1, ls=(0, (2, 2)), label="still open"),
    ]
    is_open = any(b is not None and b != a for row in found for a, b in (row[:2], row[3:]))
    add_legend(figure, handles[: 4 if is_open else 3], 4)
    return figure


def _put(axes: Axes, share: float | None, place: int, mark: str, size: float, fill: str, gid: str) -> None:
    if share is not None:
        axes.plot([share], [place], mark, mfc=fill, mec=DARK, mew=1, ms=size, zorder=3, clip_on=False, gid=gid)


def failures(table: Table, groups: Sequence[str]) -> Figure:
    """The groups of each agent's failed trials as parts of a bar."""
    names = [told_failed(*row[:2]) for row in table.rows]
    figure, axes = sheet("What failed trials show, by group", rows_height(len(names), 0.95 + legend_height(5, 2)))
    starts = [0.0] * len(names)
    parts: list[tuple[str, str, str]] = [(g, *look) for g, look in zip(groups, PARTS, strict=True)]
    for group, fill, hatch in parts:
        _stack(axes, starts, [share or 0.0 for (share,) in _columns(table, group)], fill, hatch)
    rest = [max(0.0, 1 - start) for start in starts]
    if any(share > 1e-9 for share in rest):
        parts.append(("not known", "white", ""))
        _stack(axes, starts, rest, "white", "")
    percent_axis(axes, "of the failed trials")
    axes.set_xlim(0, 1)
    axes.xaxis.grid(False)
    name_rows(axes, names)
    handles = [
        Patch(facecolor=fill, hatch=hatch, edgecolor=_edge(fill), lw=0, label=group) for group, fill, hatch in parts
    ]
    add_legend(figure, handles, 2)
    return figure


def _stack(axes: Axes, starts: list[float], shares: list[float], fill: str, hatch: str) -> None:
    places = [place for place, share in enumerate(shares) if share > 0]
    widths, lefts = [shares[place] for place in places], [starts[place] for place in places]
    axes.barh(places, widths, left=lefts, height=0.72, color=fill, hatch=hatch, edgecolor=_edge(fill), lw=0)
    axes.barh(places, widths, left=lefts, height=0.72, fill=False, edgecolor=DARK, lw=0.6)
    starts[:] = [start + share for start, share in zip(starts, shares, strict=True)]


def _edge(fill: str) -> str:
    """The colour of a hatch, which is that of an edge: light on what is dark."""
    return "white" if fill == PARTS[1][0] else DARK


def _columns(table: Table, *names: str) -> list[tuple[float | None, ...]]:
    """The positions that some columns hold, row by row."""
    return list(zip(*([number(cell) for cell in table.column(name)] for name in names), strict=True))
