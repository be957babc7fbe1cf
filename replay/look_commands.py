"""`trialbox show`, `blame` and `step`: stored trials looked at, without a model, a network or a tool."""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from replay.look import Blamed, Shown, blamed, shown
from replay.origin import split_place
from replay.printing import say
from replay.stored import StoredTrial, frames_path, opened_trial, split_position
from replay.told import blamed_lines, shown_lines
from sandbox.archive import domain_of
from sandbox.fold import UnknownTopic
from sandbox.refusals import UserFault
from sandbox.stream import Store
from sandbox.values import plain

TRIAL = "the beginning of its id, or TASK/REPETITION; with @n as it was at position n"


def add_to(commands: Any) -> None:
    """`show`, `blame` and `step`."""
    showing = commands.add_parser("show", help="a trial at any position: rows, what changed, what was said")
    showing.add_argument("store", type=Path, help="a campaign's store")
    showing.add_argument("trial", help=TRIAL)
    showing.add_argument("--table", default="", help="all rows of this table instead of the effects so far")
    showing.add_argument("--json", action="store_true", help="everything as JSON")
    showing.set_defaults(run=_show)
    blaming = commands.add_parser("blame", help="who wrote a field, and where the agent first saw the value")
    blaming.add_argument("store", type=Path, help="a campaign's store")
    blaming.add_argument("trial", help=TRIAL)
    blaming.add_argument("field", metavar="TABLE/KEY/FIELD", help="a field of a row, such as zendesk_tickets/7/status")
    blaming.add_argument("--json", action="store_true", help="everything as JSON")
    blaming.set_defaults(run=_blame)
    stepping = commands.add_parser("step", help="walk through a trial in the terminal, record by record")
    stepping.add_argument("store", type=Path, help="a campaign's store")
    stepping.add_argument("trial", help=TRIAL)
    stepping.set_defaults(run=_step)


@contextmanager
def looked_at(path: Path, given: str) -> Iterator[tuple[StoredTrial, int]]:
    """A trial by name and the position to look from, its end by default."""
    name, position = split_position(given)
    with Store.open(path, read_only=True) as store:
        trial = opened_trial(store, domain_of(store), name, frames_path(path))
        try:
            at = trial.timeline.length if position is None else position
            trial.timeline.ensure_position(at)
            yield trial, at
        except UnknownTopic as fault:
            raise UserFault(f"{path}: {fault}") from fault
        finally:
            trial.timeline.close()


def _show(options: argparse.Namespace) -> int:
    with looked_at(options.store, options.trial) as (trial, at):
        _print(shown(trial, at, options.table), options.json)
    return 0


def _blame(options: argparse.Namespace) -> int:
    with looked_at(options.store, options.trial) as (trial, at):
        _print(blamed(trial, split_place(trial.timeline, options.field), at), options.json)
    return 0


def _step(options: argparse.Namespace) -> int:
    # Textual takes its time to load, which no other command has to wait for.
    from replay.step_app import StepApp

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UserFault("step walks in a terminal, and this is none; use: trialbox show STORE TRIAL@n")
    with looked_at(options.store, options.trial) as (trial, at):
        app = StepApp(trial, at if split_position(options.trial)[1] is not None else min(1, at))
        app.run()
        if app.fault is not None:
            raise app.fault
    return 0


def _print(told: Shown | Blamed, as_json: bool) -> None:
    """Lines for people, or JSON in ASCII: what an agent wrote must not move the cursor."""
    if as_json:
        print(json.dumps(plain(told), indent=2))
    else:
        say(shown_lines(told) if isinstance(told, Shown) else blamed_lines(told))
