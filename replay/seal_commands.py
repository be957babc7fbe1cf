"""`trialbox seal`, `trialbox verify` and `trialbox unseal`."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from judges.lines import cut
from judges.metrics.standing import standings
from judges.tables import standing_table
from replay.printing import say
from replay.seal import Sealed, seal, unseal
from replay.verify import Verification, verified
from sandbox.stream import Store

MOST_FAULTS = 20
"""That are printed."""
WIDEST = 400
REDACTED = (
    "digests instead of what was said and written in trials; what belongs to the tasks stays in clear: goals, "
    "policies, seed rows, expectations with their outcomes and golden texts, and what findings say was required"
)
"""Of `--redact texts`: what it leaves out, and what it does not."""


def add_to(commands: Any) -> None:
    """All three."""
    sealing = commands.add_parser("seal", help="put a whole campaign into one file that anybody can verify")
    sealing.add_argument("store", type=Path, help="a campaign's store")
    sealing.add_argument("-o", "--output", type=Path, required=True, help="the file")
    sealing.add_argument("--redact", choices=["texts"], help=REDACTED)
    sealing.set_defaults(run=_seal)
    checking = commands.add_parser("verify", help="check a sealed campaign, and compute its score again")
    checking.add_argument("file", type=Path, help="a sealed campaign")
    checking.add_argument("--root", default="", metavar="DIGEST", help="the root digest that it is to have")
    checking.set_defaults(run=_verify)
    opening = commands.add_parser("unseal", help="make a store again from a sealed campaign")
    opening.add_argument("file", type=Path, help="a sealed campaign")
    opening.add_argument("-o", "--output", type=Path, required=True, help="the store")
    opening.set_defaults(run=_unseal)


def _seal(options: argparse.Namespace) -> int:
    with Store.open(options.store, read_only=True) as store:
        sealed = seal(store, options.output, redact_texts=options.redact == "texts")
    say(sealed_lines(sealed, options.output))
    return 0


def sealed_lines(sealed: Sealed, path: Path) -> Iterator[str]:
    """What was sealed, in words."""
    yield f"{sealed.trials} trials in {path}, {path.stat().st_size:,} bytes"
    if sealed.missing:
        yield f"{len(sealed.missing)} repetitions have no trial that counts: {', '.join(sealed.missing)}"
    yield f"root digest {sealed.root}"


def _verify(options: argparse.Namespace) -> int:
    found = verified(options.file, options.root)
    if found.counts:
        Console().print(standing_table(standings(found.counts)))
    say(told(found, root_is_known=bool(options.root)))
    return 0 if found.is_verified else 1


def told(found: Verification, *, root_is_known: bool) -> Iterator[str]:
    """A verification in words."""
    yield from (cut(note, WIDEST) for note in found.notes)
    yield from (f"wrong: {cut(fault, WIDEST)}" for fault in found.faults[:MOST_FAULTS])
    if len(found.faults) > MOST_FAULTS:
        yield f"wrong: {len(found.faults) - MOST_FAULTS} more"
    if not found.is_verified:
        yield "NOT verified"
        return
    yield f"verified: {found.trials} trials folded and judged again, root digest {found.root}"
    if not root_is_known:
        yield "who rewrites all of a file is found by its root digest alone: compare it, with --root DIGEST"


def _unseal(options: argparse.Namespace) -> int:
    print(f"{unseal(options.file, options.output)} trials in {options.output}")
    return 0
