"""`trialbox stats`: what the trials of some stores say, in the terminal, from the read models alone."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table as Drawn
from rich.text import Text

from judges.campaigns import mixed_tasks
from judges.lines import cut
from judges.metrics.reliability_commands import POLICIES, add_policy_to
from judges.metrics.study import Agent, study_of
from judges.report.contents import first_tables_of, tables_of
from judges.report.sections import comparisons, heat
from judges.report.table import Table, as_values, shown
from judges.spending import told_costs
from judges.store_paths import stores_among
from judges.tables import fitted, wide_console
from sandbox.prices import Cost, load_prices

FORMAT = 1
LONGEST = 1_000
"""Characters of a note below a table."""


def add_to(commands: Any) -> None:
    """`stats`."""
    stats = commands.add_parser("stats", help="what the trials of some stores say")
    stats.add_argument("store", type=Path, nargs="+")
    stats.add_argument("--tasks", action="store_true", help="a line for each task")
    stats.add_argument("--compare", action="store_true", help="also whether the lead of the best agent is chance")
    stats.add_argument("--mixed", action="store_true", help="sum up verdicts of different judge bundles too")
    stats.add_argument("--prices", type=Path, help="a price table instead of those that the campaigns were run with")
    add_policy_to(stats)
    stats.add_argument("--json", action="store_true", help="every table as JSON, unrounded")
    stats.set_defaults(run=_stats)


def _stats(options: argparse.Namespace) -> int:
    prices = load_prices(options.prices) if options.prices else None
    study = study_of(stores_among(options.store), policy=POLICIES[options.policy], mixed=options.mixed, prices=prices)
    mixed = mixed_tasks(score for one in study.campaigns for score in one.scores)
    if mixed:
        print(f"mixed bundles: verdicts of different judges on {', '.join(mixed)}", file=sys.stderr)
    if options.json:
        values = {"format": FORMAT, "policy": study.policy.name, "tables": as_values(tables_of(study))}
        print(json.dumps(values, ensure_ascii=False, indent=2))
        return 0
    console = wide_console()
    print(f"policy: {study.policy.name}")
    lead = [found] if options.compare and (found := comparisons(study)) else []
    for table in [heat(study)] if options.tasks else [*first_tables_of(study), *lead]:
        console.print()
        console.print(drawn(table, console.width))
    paid = [] if options.tasks else [agent for agent in study.agents if agent.bill is not None]
    if paid:
        print()
    for agent in paid:
        print(f"cost of {cut(agent.name)}: {_told(agent)}")
    return 0


def _told(agent: Agent) -> str:
    assert agent.bill is not None
    parties = {party: getattr(agent.bill, party) for party in ("agent", "judge", "user")}
    return told_costs({party: cost for party, cost in parties.items() if cost != Cost()} or {"agent": Cost()})


def drawn(table: Table, width: int) -> Group:
    """A table in lines of some width, with its title, and below it what the columns mean whose names do not say it."""
    made = Drawn(box=None, header_style="bold", pad_edge=False)
    for place, column in enumerate(table.columns):
        made.add_column(Text(cut(column.name)), justify="right" if place else "left")
    for row in table.rows:
        cells = zip(row, table.columns, strict=True)
        made.add_row(*(Text(cut(shown(cell, column.kind))) for cell, column in cells))
    about = "; ".join(f"{column.name}: {column.about}" for column in table.columns if column.about)
    notes = [Text(cut(about, LONGEST), style="dim")] if about else []
    return Group(Text(table.title, style="bold"), fitted(made, width), *notes)
