"""`trialbox report`: a page, tables and figures of some stores, in a folder."""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from judges.campaigns import mixed_tasks
from judges.lines import cut
from judges.metrics.reliability_commands import POLICIES, add_policy_to
from judges.metrics.study import study_of
from judges.report.worst import worst
from judges.store_paths import stores_among
from sandbox.prices import load_prices
from sandbox.refusals import UserFault

NEEDED = ("matplotlib", "pyarrow")


def add_to(commands: Any) -> None:
    """`report`."""
    made = commands.add_parser("report", help="make a page with tables and figures of some stores, and data files")
    made.add_argument("store", type=Path, nargs="+")
    made.add_argument("-o", dest="into", type=Path, required=True, metavar="DIR", help="new, or a report to replace")
    made.add_argument("--title", default="", help="of the page; otherwise how many agents and tasks there are")
    add_policy_to(made)
    made.add_argument("--mixed", action="store_true", help="sum up verdicts of different judge bundles too")
    made.add_argument("--prices", type=Path, help="a price table instead of those that the campaigns were run with")
    made.set_defaults(run=_report)


def _report(options: argparse.Namespace) -> int:
    ensure_installed()
    # matplotlib is slow to import, and no other command needs it.
    from judges.report.folder import ensure_replaceable, write_report
    from judges.report.report import report_of

    ensure_replaceable(options.into.resolve())
    prices = load_prices(options.prices) if options.prices else None
    study = study_of(stores_among(options.store), policy=POLICIES[options.policy], mixed=options.mixed, prices=prices)
    mixed = mixed_tasks(score for one in study.campaigns for score in one.scores)
    if mixed:
        print(f"mixed bundles: verdicts of different judges on {', '.join(mixed)}", file=sys.stderr)
    report = report_of(study, options.title, worst(study))
    files = write_report(report, options.into)
    for sentence in report.summary:
        print(cut(sentence, 400))
    print(f"\n{len(report.tables)} tables and {len(report.pictures)} figures in {len(files)} files")
    print(f"Look first at:  {options.into / 'index.html'}")
    return 0


def ensure_installed() -> None:
    """Return if all that a report is made with is there; UserFault names what is missing."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise UserFault(
            f"a report is made with {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not "
            "installed; install what is needed with: pip install 'trialbox[report]'"
        )
