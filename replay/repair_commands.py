"""`trialbox repair` and `trialbox no-return`."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judges.lines import cut
from replay.calls import Made
from replay.point_of_no_return import NoReturn, point_of_no_return
from replay.printing import say
from replay.repair import Change, Repair, repaired
from replay.trials import trial_named
from replay.workshop import Workshop
from sandbox.archive import Archive, domain_of
from sandbox.stream import Store


def add_to(commands: Any) -> None:
    """Both."""
    repairing = commands.add_parser("repair", help="the smallest change of a trial's calls that makes it pass")
    turning = commands.add_parser("no-return", help="the last position from which a trial could still have passed")
    for parser, run in ((repairing, _repair), (turning, _no_return)):
        parser.add_argument("store", type=Path, help="a campaign's store")
        parser.add_argument("trial", help="the beginning of its id, or TASK/REPETITION")
        parser.set_defaults(run=run)


def _repair(options: argparse.Namespace) -> int:
    with Store.open(options.store, read_only=True) as store:
        archive = Archive(store, domain_of(store))
        trial = trial_named(archive, options.trial)
        found = repaired(Workshop(archive, trial.key.task), trial)
    say(repair_lines(found))
    return 0 if found.passed or found.changes else 1


def repair_lines(found: Repair) -> Iterator[str]:
    """A repair in words."""
    if found.passed:
        yield "it passes as it is"
    elif not found.changes:
        yield (
            f"no repair: none of {found.tried} combinations of left out and golden calls passes; "
            f"what is wrong is not in the calls that differ"
        )
    else:
        smallest = "no smaller change does" if found.is_minimal else "none of these changes can be left out"
        changes = len(found.changes)
        yield f"reaches {found.outcome!r} with {changes} changed call{'s' * (changes != 1)}; {smallest}"
        yield from (change_line(change) for change in found.changes)


def change_line(change: Change) -> str:
    """One change in words."""
    if change.kind == "leave out" and change.own is not None:
        return f"leave out call {change.after}: {asked(change.own)}"
    assert change.golden is not None
    if change.kind == "instead":
        return f"at call {change.after} do this instead: {asked(change.golden)}"
    place = f"after call {change.after} also do" if change.after else "before the first call do"
    return f"{place}: {asked(change.golden)}"


def _no_return(options: argparse.Namespace) -> int:
    with Store.open(options.store, read_only=True) as store:
        archive = Archive(store, domain_of(store))
        trial = trial_named(archive, options.trial)
        found = point_of_no_return(Workshop(archive, trial.key.task), trial)
    say(no_return_lines(found))
    return 0 if found.position else 1


def no_return_lines(found: NoReturn) -> Iterator[str]:
    """The point of no return in words."""
    if not found.position:
        yield "from no position do golden calls lead to a pass"
        return
    if found.passed:
        yield "it passes as it is"
        return
    yield f"up to position {found.position} it could still have reached {found.outcome!r}"
    yield from (f"  with {asked(call)}" for call in found.rest)
    if found.fatal is not None:
        yield f"after call {found.fatal.number} nothing helps: {asked(found.fatal)}"
    else:
        yield "that is its end: nothing was done that cannot be made good"


def asked(call: Made) -> str:
    """Tool and arguments, as written."""
    return f"{cut(call.tool)} {cut(call.arguments)}"
