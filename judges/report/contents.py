"""Which tables a study has, in the order in which they are read."""

from judges.metrics.study import Study
from judges.report.sections import (
    comparisons,
    cost,
    coverage,
    dependability,
    frontier_steps,
    groups,
    heat,
    leaderboard,
    recovery,
    signatures,
)
from judges.report.spread import spread
from judges.report.table import Table


def tables_of(study: Study, worst: Table | None = None) -> list[Table]:
    """
    Every table that has something to say.

    Args:
        worst: the failures that looked clean, which are read from stores.
    """
    found = (
        leaderboard(study),
        comparisons(study),
        dependability(study),
        spread(study),
        cost(study),
        frontier_steps(study),
        groups(study),
        signatures(study),
        worst,
        recovery(study),
        coverage(study),
        heat(study),
    )
    return [table for table in found if table is not None]


def first_tables_of(study: Study) -> list[Table]:
    """What is worth a look first: coverage only where something is odd."""
    covered = coverage(study)
    odd = ("ungradeable", "infrastructure", "missing", "user faults")
    is_odd = any(cell for name in odd for cell in covered.column(name))
    found = (leaderboard(study), dependability(study), covered if is_odd else None, cost(study), groups(study))
    return [table for table in found if table is not None]
