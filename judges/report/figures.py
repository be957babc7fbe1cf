"""The figures of a report."""

from collections.abc import Callable, Mapping, Sequence

from matplotlib.figure import Figure
from msgspec import Struct

from judges.lines import cut
from judges.metrics.frontier import Point
from judges.metrics.signatures import GROUPS, NAMES
from judges.report import figures_heat, figures_rows, figures_scatter
from judges.report.figures_sheet import png_of, styled, svg_of
from judges.report.table import Table, shown

TOLD = 5
"""Agents whose numbers a description repeats."""


class Picture(Struct, frozen=True):
    """A figure as files, and in words."""

    name: str
    """A lower-case word for file names."""
    alt: str
    caption: str
    svg: bytes
    png: bytes


class Plan(Struct, frozen=True):
    """A figure that can be drawn."""

    name: str
    alt: str
    caption: str
    draw: Callable[[], Figure | None]


def pictures(tables: Mapping[str, Table], points: tuple[Sequence[Point], Sequence[Point]]) -> dict[str, list[Picture]]:
    """
    By the name of a table, what is drawn of it.

    Args:
        tables: by name, as far as there are any.
        points: cost per attempt against pass@1, and against the tasks passed every time.
    """
    made: dict[str, list[Picture]] = {}
    with styled():
        for table, plan in _plans(tables, points):
            figure = plan.draw()
            if figure is not None:
                picture = Picture(
                    plan.name, plan.alt, plan.caption, svg_of(figure, plan.name, plan.alt), png_of(figure)
                )
                made.setdefault(table, []).append(picture)
    return made


def _plans(tables: Mapping[str, Table], points: tuple[Sequence[Point], Sequence[Point]]) -> list[tuple[str, Plan]]:
    found: list[tuple[str, Plan]] = []
    if leaders := tables.get("leaderboard"):
        found.append(("leaderboard", _leaderboard(leaders)))
        if (tasks := tables.get("tasks")) and leaders.rows and tasks.rows:
            found.append(("tasks", _tasks(tasks, [str(name) for name in leaders.column("agent")])))
    if spread := tables.get("spread"):
        found += [("spread", plan) for plan in _spread(spread)]
    if "cost" in tables:
        found += [("cost", plan) for plan in _costs(points)]
    if failures := tables.get("failures"):
        found.append(("failures", _failures(failures)))
    if signatures := tables.get("signatures"):
        found.append(("signatures", _signatures(signatures)))
    return found


def _leaderboard(table: Table) -> Plan:
    domains = [column.name for column in table.columns if column.name.startswith("pass@1 ")]
    small = " A small mark is one domain." if 0 < len(domains) <= len(figures_rows.DOMAIN_MARKS) else ""
    return Plan(
        "leaderboard",
        f"Dots with intervals. pass@1: {_told(table, 'pass@1')}",
        f"A dot is pass@1 over all tasks, the line its 95% interval; without a line, there is none.{small}",
        lambda: figures_rows.leaderboard(table),
    )


def _spread(table: Table) -> list[Plan]:
    return [
        Plan(
            "spread",
            f"A span for each agent. Tasks passed every time: {_told(table, 'every one of n')}",
            "Square: tasks passed every time. Dot: pass@1. Triangle: tasks passed at least once. The shorter the span, "
            "the less is left to chance.",
            lambda: figures_rows.spread(table),
        ),
        Plan(
            "breadth",
            f"Breadth against consistency. Tasks passed at least once: {_told(table, 'best of n')}",
            "To the right: can do more tasks. Up: does more of them every time. On the dashed line everything that an "
            "agent can do, it does every time.",
            lambda: figures_scatter.breadth(table),
        ),
    ]


def _costs(points: tuple[Sequence[Point], Sequence[Point]]) -> list[Plan]:
    caption = (
        "Ringed agents are on the frontier: no other is at most as expensive and at least as good; a line joins them. "
        "A dashed ring: cannot be told. An arrow: the cost is a lower bound."
    )
    one, every = points
    return [
        Plan(
            "cost",
            "Dollars per attempt against pass@1.",
            caption,
            lambda: figures_scatter.cost(one, "pass@1"),
        ),
        Plan(
            "cost-dependable",
            "Dollars per attempt against tasks passed every time.",
            caption,
            lambda: figures_scatter.cost(every, "dependable tasks"),
        ),
    ]


def _failures(table: Table) -> Plan:
    return Plan(
        "failures",
        f"A bar of four parts for each agent. Wrong state update: {_told(table, 'Wrong state update')}",
        "Each bar is all failed trials of an agent, their number in brackets.",
        lambda: figures_rows.failures(table, GROUPS),
    )


def _signatures(table: Table) -> Plan:
    return Plan(
        "signatures",
        "A heat map: agents down, signatures across, each cell a share of an agent's failed trials.",
        "Each row is all failed trials of an agent, their number in brackets; the brighter, the more.",
        lambda: figures_heat.signatures(table, NAMES),
    )


def _tasks(table: Table, agents: Sequence[str]) -> Plan:
    return Plan(
        "tasks",
        f"A heat map: {len(table.rows)} tasks down, {len(agents)} agents across; bright cells are passed more often.",
        "The hardest task is on top, the leading agent on the left. Dark: never passed. Bright: passed every time.",
        lambda: figures_heat.tasks(table, agents),
    )


def _told(table: Table, column: str) -> str:
    """The first few numbers of a column, with whose they are."""
    (kind,) = (one.kind for one in table.columns if one.name == column)
    pairs = list(zip(table.column(table.columns[0].name), table.column(column), strict=True))
    more = f"; and {len(pairs) - TOLD} more" if len(pairs) > TOLD else ""
    return "; ".join(f"{cut(str(name), 60)} {shown(cell, kind)}" for name, cell in pairs[:TOLD]) + more + "."
