"""`trialbox reliability`: how often each agent passes, how dependably, and how sure that is."""

import argparse
import json
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from msgspec import Struct
from rich.table import Table
from rich.text import Text

from judges.lines import cut
from judges.metrics.counted import added_up, counted
from judges.metrics.counts import (
    DEFAULT,
    PUBLISHED,
    Counts,
    Policy,
    Treatment,
    by_agent,
    by_domain,
    refusals_only,
    without_refusals,
)
from judges.metrics.intervals import LEVEL, Bootstrap
from judges.metrics.observed import Observed, Tally, observed
from judges.metrics.rates import Rate, rate
from judges.metrics.rounding import Number, percent
from judges.metrics.statistic import PASS_AT_1, Statistic
from judges.store_paths import stores_among
from judges.tables import fitted, plain_table, wide_console

FORMAT = 1

POLICIES = {
    "default": DEFAULT,
    "published": PUBLISHED,
    "excluded": Policy(Treatment.EXCLUDED, Treatment.EXCLUDED, Treatment.EXCLUDED),
    "failures": Policy(Treatment.FAILURES, Treatment.FAILURES, Treatment.FAILURES),
}
"""What `--policy` may name."""
ALL, CHANGE, REFUSAL = "all", "change asked for", "refusal or no change"


class Part(Struct, frozen=True):
    """One agent at some tasks: everything that is shown of them."""

    agent: str
    tasks: str
    """Which ones."""
    counts: Sequence[Counts]
    rates: Sequence[Rate]
    observed: Observed


def add_to(commands: Any) -> None:
    """`reliability`."""
    told = commands.add_parser("reliability", help="pass@k, pass^k and literal counts, with errors and bounds")
    told.add_argument("store", type=Path, nargs="+")
    told.add_argument("-k", type=attempts, action="append", help="attempts of pass@k and pass^k; may be repeated")
    add_policy_to(told)
    told.add_argument("--mixed", action="store_true", help="sum up verdicts of different judge bundles too")
    told.add_argument("--bootstrap", type=int, metavar="SEED", help="intervals by resampling tasks, BCa")
    told.add_argument("--json", action="store_true", help="all of it as JSON, unrounded")
    told.set_defaults(run=_reliability)


def add_policy_to(command: argparse.ArgumentParser) -> None:
    """`--policy`."""
    named = "; ".join(f"{name}: {policy.name}" for name, policy in POLICIES.items())
    command.add_argument("--policy", choices=POLICIES, default="default", help=f"of trials that went wrong. {named}")


def attempts(text: str) -> int:
    """A k from the command line; ArgumentTypeError if it is none."""
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of attempts; give a whole number from 1 on, such as 5")
    return int(text)


def _reliability(options: argparse.Namespace) -> int:
    campaigns = [counted(path, mixed=options.mixed) for path in stores_among(options.store)]
    counts = added_up(campaigns, mixed=options.mixed)
    policy = POLICIES[options.policy]
    asked = statistics(options.k or [one.seal.repetitions for one in campaigns])
    bootstrap = None if options.bootstrap is None else Bootstrap(options.bootstrap, method="BCa")
    parts = parts_of(counts, asked, policy, bootstrap)
    if options.json:
        print(json.dumps(as_values(parts, policy), ensure_ascii=False, indent=2))
        return 0
    console = wide_console()
    print(f"policy: {policy.name}")
    if bootstrap is not None:
        print(f"intervals: {bootstrap.name}")
    for table in (observed_table(parts), rate_table(parts)):
        console.print()
        console.print(fitted(table, console.width))
    return 0


def statistics(ks: Iterable[int]) -> list[Statistic]:
    """pass@1, then pass@k and pass^k for each k above 1."""
    larger = sorted({k for k in ks if k > 1})
    return [PASS_AT_1, *(Statistic("pass@k", k) for k in larger), *(Statistic("pass^k", k) for k in larger)]


def parts_of(
    counts: Iterable[Counts], asked: Sequence[Statistic], policy: Policy, bootstrap: Bootstrap | None = None
) -> list[Part]:
    """Each agent at all its tasks, then in each domain if there are several, then with the refusal tasks apart."""
    made = []
    for agent, own in by_agent(counts).items():
        domains = by_domain(own)
        some = {f"all of {name}": tasks for name, tasks in domains.items()} if len(domains) > 1 else {}
        refusals = refusals_only(own)
        apart = {CHANGE: without_refusals(own), REFUSAL: refusals} if refusals else {}
        for name, tasks in {ALL: own, **some, **apart}.items():
            if tasks:
                rates = [rate(tasks, statistic, policy=policy, bootstrap=bootstrap) for statistic in asked]
                made.append(Part(agent, name, tasks, rates, observed(tasks, policy)))
    return made


def observed_table(parts: Sequence[Part]) -> Table:
    """Literal counts, a line for each part; none of them is an estimate."""
    columns = ("agent", "tasks", "trials of planned", "coverage", "ungradeable", "infrastructure", "missing")
    counts = ("observed every one of n", "observed best of n (breadth)", "never solved")
    table = plain_table(*columns, *counts, "retention (every one of n ÷ pass@1 pooled)")
    for part in parts:
        seen, sums = part.observed, _sums(part.counts)
        table.add_row(
            Text(cut(part.agent)),
            Text(cut(f"{part.tasks}: {seen.tasks}")),
            f"{sums['trials']} of {sums['planned']}",
            shown(Fraction(seen.coverage.judged, seen.coverage.planned) if seen.coverage.planned else None),
            *(str(sums[name]) for name in ("ungradeable", "infrastructure", "missing")),
            f"{tallied(seen.every_time, seen.tasks)}, n = {seen.trials_per_task}",
            tallied(seen.at_least_once, seen.tasks),
            tallied(seen.never, seen.tasks),
            shown(seen.retention),
        )
    return table


def rate_table(parts: Sequence[Part]) -> Table:
    """Estimates, a line for each part and statistic: the mean over tasks, every task weighs the same."""
    level = f"{percent(LEVEL, 0)}% interval (task as cluster)"
    table = plain_table(
        "agent", "tasks", "mean over", "", "asks", "estimator", "estimate", "std. error", level, "bounds"
    )
    for part in parts:
        for one in part.rates:
            table.add_row(
                Text(cut(part.agent)),
                Text(cut(part.tasks)),
                f"{one.tasks_defined} of {one.tasks}",
                one.statistic.name,
                one.statistic.family,
                one.statistic.estimator,
                "undefined" if one.exact is None else shown(one.exact),
                shown(one.standard_error),
                "–" if one.interval is None else ranged(one.interval.low, one.interval.high),
                ranged(one.bounds.low, one.bounds.high) if is_open(one) else "–",
            )
    return table


def is_open(one: Rate) -> bool:
    """Whether anything that is missing, or too few trials, leaves a rate open."""
    return one.exact is None or one.bounds.low != one.bounds.high


def tallied(found: Tally, tasks: int) -> str:
    """A count of tasks, or the least and the most that it may become, of how many."""
    return f"{found.shown} of {tasks}"


def ranged(low: Number, high: Number) -> str:
    """Two shares in percent."""
    return f"{percent(low)} to {percent(high)}%"


def shown(share: Number | None) -> str:
    """A share in percent with two decimals, half up; a dash where there is none."""
    return "–" if share is None else f"{percent(share)}%"


def _sums(counts: Iterable[Counts]) -> dict[str, int]:
    found = list(counts)
    names = ("planned", "trials", "passed", "failed", "ungradeable", "infrastructure", "missing", "user_faults")
    return {name: sum(getattr(item, name) for item in found) for name in names}


def as_values(parts: Sequence[Part], policy: Policy) -> dict[str, Any]:
    """Everything as plain JSON values; shares are numbers from 0 to 1, null where they are undefined."""
    return {"format": FORMAT, "policy": policy.name, "parts": [_part_values(part) for part in parts]}


def _part_values(part: Part) -> dict[str, Any]:
    seen = part.observed
    tallies = {"every_one_of_n": seen.every_time, "best_of_n": seen.at_least_once, "never_solved": seen.never}
    return {
        "agent": part.agent,
        "tasks": part.tasks,
        "number_of_tasks": seen.tasks,
        **_sums(part.counts),
        "coverage": seen.coverage.share,
        "observed": {name: {"least": tally.least, "most": tally.most} for name, tally in tallies.items()},
        "trials_per_task": {"fewest": seen.fewest, "most": seen.most},
        "retention": None if seen.retention is None else float(seen.retention),
        "rates": [_rate_values(one) for one in part.rates],
    }


def _rate_values(one: Rate) -> dict[str, Any]:
    return {
        "name": one.statistic.name,
        "asks": one.statistic.family,
        "estimator": one.statistic.estimator,
        "aggregate": str(one.aggregate),
        "estimate": one.estimate,
        "standard_error": one.standard_error,
        "interval": None
        if one.interval is None
        else {
            "low": one.interval.low,
            "high": one.interval.high,
            "level": one.interval.level,
            "method": one.interval.method,
        },
        "bounds": {"low": one.bounds.low, "high": one.bounds.high},
        "tasks_defined": one.tasks_defined,
        "tasks": one.tasks,
    }
