"""Studies to report on, made from counts, bills and notes."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random

from judges.metrics.cost import Bill
from judges.metrics.counted import Counted
from judges.metrics.counts import DEFAULT, Counts, Policy
from judges.metrics.failures import Note, failures_of
from judges.metrics.observed import observed
from judges.metrics.signatures import GROUPS, NAMES
from judges.metrics.study import Agent, Study
from judges.report.report import Report, report_of
from sandbox.archive import Seal
from sandbox.prices import Cost
from tests.judges.metrics.published import CELLS, DEPENDABLE, by_domain

HOSTILE = (
    "<script>alert(1)</script>",
    "$x^2$ and $\\frac{1}{2}$",
    "=cmd|'/c calc'!A1",
    "a|b\nc",
    "_underscore",
    "名前",
    "x" * 300,
    "\u202eevil\x00\x1b[31m",
    "task",
    "agent",
    "`code` **bold** [link](http://example.org) @somebody",
    "-1+1",
    ']]><b id="figure_1">',
)
"""Names that mean something in HTML, Markdown, SVG, formulas, terminals or spreadsheets."""


def counts(agent: str, passed: Sequence[int], trials: int = 4, domain: str = "desk", missing: int = 0) -> list[Counts]:
    """One task for each number of passes."""
    return [
        Counts(agent=agent, domain=domain, task=f"t-{place}", trials=trials, passed=number, missing=missing)
        for place, number in enumerate(passed)
    ]


def failed(agent: str, trials: int, signature: str = "wrong state", group: str = "Wrong state update") -> Note:
    """Failed trials that looked clean."""
    return Note(
        agent=agent,
        result="fail",
        signature=signature,
        group=group,
        ended_normally=True,
        wrote=True,
        last_is_good=True,
        findings=frozenset({"wrong"}),
        trials=trials,
    )


def study_of_counts(
    found: Mapping[str, Sequence[Counts]],
    bills: Mapping[str, Bill] | None = None,
    notes: Mapping[str, Sequence[Note]] | None = None,
    policy: Policy = DEFAULT,
) -> Study:
    """A study without stores."""
    bills, notes = bills or {}, notes or {}
    agents = [_agent(name, found[name], bills.get(name), notes.get(name, ()), policy) for name in sorted(found)]
    campaigns = [
        _campaign(agent, domain, own, bills.get(agent.name))
        for agent in agents
        for domain, own in agent.domains.items()
    ]
    return Study(policy, campaigns, agents)


def _agent(name: str, own: Sequence[Counts], bill: Bill | None, notes: Sequence[Note], policy: Policy) -> Agent:
    attempts = sum(item.trials + item.infrastructure for item in own)
    return Agent(name, own, observed(own, policy), notes, failures_of(name, notes), attempts, bill)


def _campaign(agent: Agent, domain: str, own: Sequence[Counts], bill: Bill | None) -> Counted:
    seal = Seal(f"{domain}-1", domain, "d" * 64, "i" * 64, agent.name, max(item.planned for item in own), (), "0.1.0")
    return Counted(Path(f"runs/{domain}.db"), seal, tuple(own), (), tuple(agent.notes), 0, bill)


def small() -> Study:
    """Two agents, two tasks of four trials: ada passes 4 and 2, bob 1 and 0."""
    return study_of_counts(
        {"ada": counts("ada", [4, 2]), "bob": counts("bob", [1, 0])},
        {"ada": Bill(Cost(Decimal("1.50"), unpriced=1), Cost(Decimal("0.25"))), "bob": Bill(Cost(Decimal("0.80")))},
        {"ada": [failed("ada", 2)], "bob": [failed("bob", 6), failed("bob", 1, "no action", GROUPS[3])]},
    )


def lonely(passed: int, trials: int = 1) -> Study:
    """One agent, one task, and no model."""
    notes = {"solo": [failed("solo", trials - passed)]} if passed < trials else {}
    return study_of_counts({"solo": counts("solo", [passed], trials)}, notes=notes)


def hostile(names: Sequence[str] = HOSTILE) -> Study:
    """An agent, a task and a domain of each hostile kind."""
    random = Random(5)
    found = {
        name: [
            Counts(
                agent=name,
                domain=domain,
                task=f"t|{place} <b>$x$</b>",
                trials=3,
                passed=random.randint(0, 3),
                missing=1,
            )
            for domain in ("_d", "<i>retail</i>")
            for place in range(3)
        ]
        for name in names
    }
    bills = {name: Bill(Cost(Decimal(random.randint(1, 900)) / 100, place % 2)) for place, name in enumerate(names)}
    notes = {name: [failed(name, 3, random.choice(NAMES), random.choice(GROUPS))] for name in names}
    return study_of_counts(found, bills, notes)


@cache
def hostile_report() -> Report:
    """The report of all hostile names, drawn once for many tests."""
    return report_of(hostile(), "<script>title</script>")


def published() -> Study:
    """18 agents at 507 tasks in five domains, 20 trials each; the spread over tasks is made up."""
    found = {agent: by_domain(agent) for agent in CELLS}
    bills = {agent: Bill(Cost(Decimal(row.cost_of_20_runs))) for agent, row in DEPENDABLE.items()}
    return study_of_counts(found, bills, {agent: [failed(agent, 100)] for agent in CELLS})
