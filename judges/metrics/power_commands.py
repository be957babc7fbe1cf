"""`trialbox power`: how many tasks and repetitions it takes to see a difference, by what campaigns have shown."""

import argparse
import json
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from msgspec import Struct
from rich.text import Text

from judges.lines import cut
from judges.metrics.counted import added_up, counted
from judges.metrics.counts import Counts, by_agent
from judges.metrics.power import (
    Design,
    Spread,
    detectable,
    repetitions_needed,
    spread,
    spread_of_difference,
    tasks_needed,
)
from judges.metrics.reliability_commands import POLICIES, add_policy_to
from judges.metrics.rounding import half_up
from judges.store_paths import stores_among
from judges.tables import fitted, plain_table, wide_console
from sandbox.refusals import UserFault

FORMAT = 1
REPETITIONS = (1, 5, 10, 20)


class Need(Struct, frozen=True):
    """What it takes to see a difference between two agents."""

    pair: str
    tasks: int
    """Of the campaigns."""
    repetitions: int
    spread: Spread
    seen: float
    """The smallest difference in pass@1 that these tasks and repetitions show."""
    tasks_needed: dict[int, int]
    """By the number of repetitions."""
    repetitions_needed: int | None
    """With these tasks; None if no number is enough, because the tasks differ too much."""


def add_to(commands: Any) -> None:
    """`power`."""
    told = commands.add_parser("power", help="how many tasks and repetitions it takes to see a difference")
    told.add_argument("store", type=Path, nargs="+", help="two agents on the same tasks, or one to guess from")
    told.add_argument("--difference", type=share, default=0.05, help="in pass@1, to be seen (default: 0.05)")
    told.add_argument("--alpha", type=share, default=0.05, help="how often one may be reported that is not there")
    told.add_argument("--power", type=share, default=0.8, help="how often it should be seen if it is there")
    add_policy_to(told)
    told.add_argument("--mixed", action="store_true", help="sum up verdicts of different judge bundles too")
    told.add_argument("--json", action="store_true", help="all of it as JSON")
    told.set_defaults(run=_power)


def share(text: str) -> float:
    """A number between 0 and 1 from the command line; ArgumentTypeError if it is none."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number between 0 and 1, such as 0.05")
    return value


def _power(options: argparse.Namespace) -> int:
    campaigns = [counted(path, mixed=options.mixed) for path in stores_among(options.store)]
    counts = added_up(campaigns, mixed=options.mixed)
    policy = POLICIES[options.policy]
    try:
        design = Design(options.difference, options.alpha, options.power)
        agents = by_agent(counts)
        pairs: list[tuple[str, Sequence[Counts], Callable[[], Spread]]] = [
            (f"{a} and {b}", agents[a], lambda a=a, b=b: spread_of_difference(agents[a], agents[b], policy))  # type: ignore[misc]
            for a, b in combinations(agents, 2)
        ]
        if len(agents) == 1:
            [(name, own)] = agents.items()
            pairs = [(f"{name} and one as uneven", own, lambda: _doubled(spread(own, policy)))]
        needs = [_need(name, own, made(), design) for name, own, made in pairs]
    except ValueError as fault:
        raise UserFault(str(fault)) from None
    if options.json:
        print(json.dumps({"format": FORMAT, "policy": policy.name, "needs": [_values(one) for one in needs]}, indent=2))
        return 0
    console = wide_console()
    told = (
        f"to see a difference of {_points(design.difference)} points in pass@1, paired by task, in {design.power:.0%} "
        f"of studies, where one that is not there is reported in {design.alpha:.0%}\npolicy: {policy.name}\n"
    )
    console.print(Text(told))
    console.print(fitted(_table(needs), console.width))
    return 0


def _doubled(one: Spread) -> Spread:
    """Of the difference of two agents that are both so uneven and have nothing in common: the most it may be."""
    return Spread(2 * one.between, 2 * one.within)


def _need(pair: str, counts: Sequence[Counts], found: Spread, design: Design) -> Need:
    tasks, repetitions = len(counts), max(item.trials for item in counts)
    return Need(
        pair,
        tasks,
        repetitions,
        found,
        detectable(found, tasks, repetitions, alpha=design.alpha, power=design.power),
        {k: tasks_needed(found, design, k) for k in REPETITIONS},
        repetitions_needed(found, design, tasks),
    )


def _table(needs: Sequence[Need]) -> Any:
    heads = [f"tasks for k = {k}" for k in REPETITIONS]
    table = plain_table("agents", "tasks × k here", "points they show", *heads, "k for the tasks here")
    for one in needs:
        table.add_row(
            Text(cut(one.pair)),
            f"{one.tasks} × {one.repetitions}",
            _points(one.seen),
            *(str(one.tasks_needed[k]) for k in REPETITIONS),
            "no k is enough" if one.repetitions_needed is None else str(one.repetitions_needed),
        )
    return table


def _points(difference: float) -> str:
    return str(half_up(difference * 100, 1))


def _values(one: Need) -> dict[str, Any]:
    return {
        "agents": one.pair,
        "tasks": one.tasks,
        "repetitions": one.repetitions,
        "variance_between_tasks": one.spread.between,
        "variance_of_one_repetition": one.spread.within,
        "smallest_difference_seen": one.seen,
        "tasks_needed": {str(k): number for k, number in one.tasks_needed.items()},
        "repetitions_needed": one.repetitions_needed,
    }
