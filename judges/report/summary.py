"""What a study says, in a few sentences: who leads, whether by chance, who is dependable, what failed, what it cost."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from judges.lines import cut
from judges.metrics.rounding import Number
from judges.metrics.signatures import GROUPS, NAMES
from judges.metrics.study import Agent, Study
from judges.report.table import AtLeast, Cell, Table, shown

CHANCE = 0.05
"""A corrected p below which a lead is called more than chance."""
LONGEST_NAME = 60
MOST_NAMES = 5
"""That a sentence tells."""


def summary(study: Study, tables: Mapping[str, Table]) -> list[str]:
    """
    Sentences in plain text, the most important first.

    Args:
        tables: of the study, by name, as far as there are any.
    """
    found = [
        *_lead(tables["leaderboard"], study),
        *_chance(tables.get("comparisons"), study),
        *_dependable(study),
        *_failed(tables.get("failures"), tables.get("signatures")),
        *_cost(tables.get("cost")),
        *_covered(study),
    ]
    return [sentence for sentence in found if sentence]


def _lead(table: Table, study: Study) -> list[str]:
    shares = [share for share in table.column("pass@1") if isinstance(share, Fraction)]
    if not shares:
        return ["No trial counts yet, so there is nothing to rank."]
    first = [row for row in table.rows if row[2] == shares[0]]
    share = shown(shares[0], "share")
    if len(first) > 1:
        return [f"{_names(row[0] for row in first)} share the lead with a pass@1 of {share}."]
    low, high = first[0][4:6]
    span = "" if low is None else f" (95% interval {shown(low, 'share')} to {shown(high, 'share')})"
    if len(study.agents) == 1:
        return [f"{_name(first[0][0])} passes {share} of its trials{span}, as a mean over tasks."]
    return [f"{_name(first[0][0])} leads with a pass@1 of {share}{span}."]


def _chance(table: Table | None, study: Study) -> list[str]:
    if len(study.agents) < 2:
        return []
    tasks = {frozenset((item.domain, item.task) for item in agent.counts) for agent in study.agents}
    same = [] if len(tasks) == 1 else ["Not all agents were given the same tasks: compare them where tasks are shared."]
    if table is None:
        return [*same, "Whether the lead is more than chance cannot be told: no other agent shares a task with it."]
    leader = _name(table.rows[0][0])
    apart = [row for row in table.rows if _is_below(row[-1], CHANCE) and _is_above(row[3])]
    close = [row for row in table.rows if row not in apart]
    near = max(table.rows, key=lambda row: _number(row[-1]))
    p = f"p {_equals(near[-1])} after Holm's correction"
    if not close:
        every = "every other agent" if len(table.rows) == len(study.agents) - 1 else "each agent that shares its tasks"
        return [*same, f"That is more than chance against {every}: {p} at most."]
    told = f"Chance alone may explain its lead over {_names(row[1] for row in close)} ({p} at most)"
    rest = f"; over the other {len(apart)} it is more than chance." if apart else "."
    return [*same, told.replace("its lead", f"the lead of {leader}") + rest]


def _dependable(study: Study) -> list[str]:
    k = max(agent.observed.most for agent in study.agents)
    if k < 2:
        return ["With one trial of each task nothing can be said about dependability; run more repetitions."]
    most = max(agent.observed.every_time.least for agent in study.agents)
    if not most:
        return ["No agent passed any task every time."]
    best = [agent for agent in study.agents if agent.observed.every_time.least == most]
    told = [f"Most dependable: {_names(agent.name for agent in best)}, {most} {_tasks(best[0])} passed every time"]
    retention = best[0].observed.retention
    if len(best) == 1 and retention is not None:
        told.append(f", a retention of {shown(retention, 'share')}")
    return ["".join(told) + f" (of at most {k} trials each)."]


def _tasks(agent: Agent) -> str:
    return f"of {agent.observed.tasks} tasks"


def _failed(groups: Table | None, signatures: Table | None) -> list[str]:
    if groups is None:
        return []
    shares = dict(zip((column.name for column in groups.columns), groups.rows[-1], strict=True))
    group = max(GROUPS, key=lambda name: _number(shares[name]))
    over = ", as a mean over agents" if len(groups.rows) > 1 else ""
    told = f"Of the failed trials{over}, {shown(shares[group], 'share')} are of the group “{group}”"
    if signatures is not None:
        firsts = dict(zip((column.name for column in signatures.columns), signatures.rows[-1], strict=True))
        name = max(NAMES, key=lambda name: _number(firsts[name]))
        told += f", most often “{name}” ({shown(firsts[name], 'share')})"
    return [f"{told}; {shown(shares['looked clean'], 'share')} looked clean."]


def _cost(table: Table | None) -> list[str]:
    if table is None:
        return []
    prices = zip(table.column("agent"), table.column("$ per dependable task"), strict=True)
    known = [(usd, str(name)) for name, usd in prices if usd is not None and not isinstance(usd, str | AtLeast)]
    if not known:
        return []
    usd, name = min(known)
    others = " of those whose cost is known in full" if len(known) < len(table.rows) else ""
    return [f"A dependable task is cheapest with {_name(name)}{others}: {shown(usd, 'usd')}."]


def _covered(study: Study) -> list[str]:
    judged = sum(agent.observed.coverage.judged for agent in study.agents)
    planned = sum(agent.observed.coverage.planned for agent in study.agents)
    if judged == planned:
        return [f"All {planned} planned repetitions were judged."]
    return [f"{judged} of {planned} planned repetitions were judged; the rest is open or broke, see Coverage."]


def _names(names: Iterable[Cell]) -> str:
    """Some names as a list in words."""
    told = [_name(name) for name in names]
    if len(told) > MOST_NAMES:
        told = [*told[:MOST_NAMES], f"{len(told) - MOST_NAMES} more"]
    return " and ".join(filter(None, [", ".join(told[:-1]), told[-1]]))


def _name(name: Cell) -> str:
    return cut(str(name), LONGEST_NAME)


def _number(cell: Cell) -> Number:
    return cell if isinstance(cell, Fraction | float | int) else Fraction(-1)


def _is_below(cell: Cell, limit: float) -> bool:
    return isinstance(cell, Fraction | float) and cell < limit


def _is_above(cell: Cell) -> bool:
    return isinstance(cell, Fraction) and cell > 0


def _equals(p: Cell) -> str:
    told = shown(p, "p")
    return told if told.startswith("<") else f"= {told}"
