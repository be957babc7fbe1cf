"""Commands about what many trials say."""

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from judges.lines import cut
from judges.metrics.counted import counted, ensure_one_judge
from judges.metrics.failures import FINDINGS, Failures, Recovery, by_agent, mean_share, recoveries
from judges.metrics.rounding import percent
from judges.metrics.signatures import GROUPS, NAMES
from judges.metrics.stored import cases_of, looks_clean
from judges.store_paths import stores_among
from judges.tables import fitted, plain_table, wide_console
from sandbox.view_rows import Case

FORMAT = 1

Row = tuple[str, Callable[[Failures], int]]


class Failed(Struct, frozen=True):
    """A failed trial and whose it is."""

    agent: str
    case: Case


def add_to(commands: Any) -> None:
    """`failures`."""
    failing = commands.add_parser("failures", help="what failed trials show first, what they left, who recovered")
    failing.add_argument("store", type=Path, nargs="+")
    failing.add_argument("--mixed", action="store_true", help="sum up verdicts of different judge bundles too")
    failing.add_argument("--json", action="store_true", help="all of it as JSON, with a line for each failed trial")
    failing.set_defaults(run=_failures)


def _failures(options: argparse.Namespace) -> int:
    campaigns = [counted(path, mixed=options.mixed) for path in stores_among(options.store)]
    if not options.mixed:
        ensure_one_judge(campaigns)
    notes = [note for one in campaigns for note in one.notes]
    cases = [Failed(one.seal.agent, case) for one in campaigns for case in cases_of(one.path)]
    found, recovered = by_agent(notes), recoveries(notes)
    if options.json:
        print(json.dumps(as_values(cases, found, recovered), indent=2))
        return 0
    console = wide_console()
    for title, rows in SECTIONS:
        console.print(fitted(share_table(title, rows, found), console.width))
        console.print()
    if recovered:
        console.print(fitted(recovery_table(recovered), console.width))
        console.print()
    for told in examples(cases):
        print(told)
    return 0


def _group(name: str) -> Row:
    return name, lambda one: one.groups[name]


def _signature(name: str) -> Row:
    return name, lambda one: one.signatures[name]


def _finding(name: str) -> Row:
    return name, lambda one: one.findings[name]


SECTIONS: tuple[tuple[str, tuple[Row, ...]], ...] = (
    ("signature (one each)", tuple(map(_signature, NAMES))),
    ("group (one each)", tuple(map(_group, GROUPS))),
    ("findings (may overlap)", tuple(map(_finding, FINDINGS))),
    (
        "clean-looking",
        (
            ("ended normally", lambda one: one.ended_normally),
            ("… and wrote", lambda one: one.wrote),
            ("… and no refusal last", lambda one: one.looks_clean),
        ),
    ),
)
"""All shares are of an agent's failed trials."""


def share_table(title: str, rows: Sequence[Row], found: Sequence[Failures]) -> Table:
    """A column for each agent, and the unweighted mean of their shares if there are several."""
    heads = [escape(cut(f"{one.agent} ({one.failed} of {one.trials} failed)")) for one in found]
    table = plain_table(title, *heads)
    if len(found) > 1:
        table.add_column("mean of shares", justify="right")
    for name, number in rows:
        cells = [f"{number(one)}  {shown(one.share(number(one))):>7}" for one in found]
        if len(found) > 1:
            cells.append(shown(mean_share(found, number)))
        table.add_row(Text(name), *map(Text, cells))
    return table


def recovery_table(found: Sequence[Recovery]) -> Table:
    """A line for each class of refusal, over all agents and all trials, passed ones too."""
    table = plain_table("refusal", "trials that met it", "made good", "passed")
    for one in found:
        cells = [f"{number}  {shown(Fraction(number, one.met)):>7}" for number in (one.made_good, one.passed)]
        table.add_row(Text(one.refusal), str(one.met), *cells)
    return table


def shown(share: Fraction | None) -> str:
    """A share in percent with one decimal, half up; a dash where there is none."""
    return "–" if share is None else f"{percent(share, 1)}%"


def examples(cases: Iterable[Failed]) -> list[str]:
    """For each signature that occurs, the first trial that shows it: its id, the position, and why."""
    first: dict[str, str] = {}
    for case in (failed.case for failed in cases):
        at = f"{case.trial[:8]}@{case.position}"
        first.setdefault(case.signature, f"{case.signature:20} {at:14} {case.reason}")
    return [first[name] for name in NAMES if name in first]


def as_values(cases: Iterable[Failed], found: Sequence[Failures], recovered: Sequence[Recovery]) -> dict[str, Any]:
    """Everything as plain JSON values: counts as they are, shares by `mean_shares` as numbers from 0 to 1."""
    return {
        "format": FORMAT,
        "agents": [asdict(one) for one in found],
        "mean_shares": {name: _number(mean_share(found, number)) for _, rows in SECTIONS for name, number in rows},
        "recovery": [asdict(one) for one in recovered],
        "trials": [
            {
                "agent": failed.agent,
                "trial": failed.case.trial,
                "task": failed.case.task,
                "repetition": failed.case.repetition,
                "attempt": failed.case.attempt,
                "name": failed.case.signature,
                "group": failed.case.grouping,
                "position": failed.case.position,
                "reason": failed.case.reason,
                "findings": failed.case.kinds.split(),
                "looks_clean": looks_clean(failed.case),
            }
            for failed in cases
        ],
    }


def _number(share: Fraction | None) -> float | None:
    return None if share is None else float(share)
