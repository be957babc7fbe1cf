"""Best of n, pass@1 and every one of n as shares, for figures and for those who read the files."""

from fractions import Fraction

from judges.metrics.observed import Tally
from judges.metrics.study import Agent, Study
from judges.report.table import Cell, Column, Table


def spread(study: Study) -> Table:
    """For each agent the share of tasks passed every time, and at least once, with what open repetitions may add."""
    columns = (
        Column("agent"),
        Column("every one of n", "share", "consistency: tasks passed every time ÷ tasks"),
        Column("every one of n, at most", "share", "every one of n, if all that is open passes"),
        Column("pass@1", "share", "trials that pass ÷ trials"),
        Column("best of n", "share", "breadth: tasks passed at least once ÷ tasks"),
        Column("best of n, at most", "share"),
    )
    rows = sorted((_row(agent) for agent in study.agents), key=_most_dependable_first)
    about = (
        "The same counts as shares of the tasks. A wide span: the agent can do much that it does not do every time. "
        f"Policy: {study.policy.name}."
    )
    return Table("spread", "From every time to at least once", about, columns, tuple(rows))


def _row(agent: Agent) -> tuple[Cell, ...]:
    seen = agent.observed
    once = Fraction(seen.passed, seen.trials) if seen.trials else None
    every, best = (_shares(tally, seen.tasks) for tally in (seen.every_time, seen.at_least_once))
    return (agent.name, *every, once, *best)


def _shares(tally: Tally, tasks: int) -> tuple[Cell, Cell]:
    return (Fraction(tally.least, tasks), Fraction(tally.most, tasks)) if tasks else (None, None)


def _most_dependable_first(row: tuple[Cell, ...]) -> tuple[Fraction, Fraction, str]:
    every, once = (share if isinstance(share, Fraction) else Fraction(-1) for share in (row[1], row[3]))
    return -every, -once, str(row[0])
