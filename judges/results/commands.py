"""The command `import-results`."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from judges.lines import cut
from judges.results import tau2, thinkingbox
from judges.results.files import document_of, lines_of, sha256_of
from judges.results.foreign import MOST_REPETITIONS, Reading
from judges.results.kept import write
from judges.results.numbering import ForeignCampaign, campaigns
from judges.tables import fitted, plain_table, wide_console
from sandbox.foreign import ImportFault

MOST_REASONS = 10
"""Of each store, that are told."""
FORMATS = (thinkingbox.FORMAT, tau2.FORMAT)


def add_to(commands: Any) -> None:
    """`import-results`."""
    importing = commands.add_parser("import-results", help="make stores from the results of another tool")
    importing.add_argument("format", choices=FORMATS, help="result rows as JSON Lines, or a results.json of tau2-bench")
    importing.add_argument("file", type=Path, nargs="+", help="as it is, or packed with gzip")
    importing.add_argument("-o", "--output", type=Path, required=True, help="a new folder, for a store of each agent")
    importing.add_argument("--agent", default="", help="whose results these are, where the files do not say it")
    importing.add_argument("--domain", default="", help="what the tasks are about, where the files do not say it")
    importing.add_argument("--name", default="", help="of the campaigns (default: from the files' names and content)")
    importing.add_argument("-k", type=_planned, default=0, help="repetitions that were planned, if more than are there")
    importing.set_defaults(run=_import)


def _import(options: argparse.Namespace) -> int:
    made = campaigns(read(options.format, options.file, options.agent, options.domain), options.k)
    paths = write(options.output, made, options.name)
    console = wide_console()
    console.print(fitted(_table(made, paths), console.width))
    for campaign, path in zip(made, paths, strict=True):
        for line in _unresolved(campaign):
            print(f"{path.name}: {line}", file=sys.stderr)
    return 0


def _unresolved(campaign: ForeignCampaign) -> list[str]:
    """Why trials have no verdict: the most frequent reasons, with how many they are about."""
    open_ones = [trial for trial in campaign.results.trials if trial.result == "ungradeable"]
    reasons = Counter((trial.is_infrastructure, trial.detail) for trial in open_ones)
    return [
        f"{number} × {'infrastructure' if is_infrastructure else 'ungradeable'}: {cut(detail or 'no reason given')}"
        for (is_infrastructure, detail), number in reasons.most_common(MOST_REASONS)
    ]


def read(format: str, files: Sequence[Path], agent: str = "", domain: str = "") -> list[Reading]:
    """
    What files of one format say.

    Raises:
        ImportFault: a file cannot be understood, or is given twice.
    """
    found: list[Reading] = []
    seen: dict[str, Path] = {}
    for path in files:
        sha256 = sha256_of(path)
        if sha256 in seen:
            raise ImportFault(f"{path} holds what {seen[sha256]} holds; give each file once")
        seen[sha256] = path
        if format == tau2.FORMAT:
            found.append(tau2.reading(document_of(path), str(path), sha256, agent, domain))
        else:
            found += thinkingbox.readings(lines_of(path), str(path), sha256, agent, domain)
    return found


def _table(made: Sequence[ForeignCampaign], paths: Sequence[Path]) -> Any:
    results = ("pass", "fail", "ungradeable")
    table = plain_table("store", "agent", "domain", "tasks", "repetitions", *results, "infrastructure")
    for campaign, path in zip(made, paths, strict=True):
        trials = campaign.results.trials
        counts = Counter("infrastructure" if trial.is_infrastructure else trial.result for trial in trials)
        table.add_row(
            escape(str(path)),
            escape(cut(campaign.agent)),
            escape(cut(campaign.domain)),
            str(len(campaign.tasks)),
            str(campaign.repetitions),
            *(str(counts[result]) for result in (*results, "infrastructure")),
        )
    return table


def _planned(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= MOST_REPETITIONS:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to {MOST_REPETITIONS:,}")
    return int(text)
