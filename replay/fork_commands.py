"""`trialbox fork` and `trialbox forks`."""

import argparse
from pathlib import Path
from typing import Any

from judges.lines import cut
from replay.compare import results_of
from replay.fork import fork_judged
from replay.stored import split_position
from replay.trials import closed_forks
from sandbox.agents import SCRIPTED
from sandbox.archive import Archive, domain_of
from sandbox.fold import end_of
from sandbox.refusals import UserFault
from sandbox.stream import Store


def add_to(commands: Any) -> None:
    """Both."""
    forking = commands.add_parser("fork", help="let another agent, or another answer, go on from a position of a trial")
    forking.add_argument("store", type=Path)
    forking.add_argument("at", metavar="TRIAL@n", help="the beginning of its id, or TASK/REPETITION, and a position")
    forking.add_argument("--agent", choices=sorted(SCRIPTED), required=True)
    forking.add_argument("--edit", metavar="RESULT_JSON", help="what the agent sees instead of the answer at n")
    forking.add_argument("-k", type=int, default=1, help="repetitions (default: 1)")
    forking.add_argument("--seed", type=int, default=0, help="of the careless agent's slips (default: 0)")
    forking.set_defaults(run=_fork)
    listing = commands.add_parser("forks", help="list the forks of a store with where they come from")
    listing.add_argument("store", type=Path)
    listing.set_defaults(run=_forks)


def _fork(options: argparse.Namespace) -> int:
    name, position = split_position(options.at)
    if position is None:
        raise UserFault(f"{name!r} names no position; write TRIAL@n, such as {name}@12")
    if options.k < 1:
        raise UserFault(f"{options.k} repetitions would do nothing; give at least 1")
    made = fork_judged(
        options.store,
        name,
        position,
        options.agent,
        seed=options.seed,
        repetitions=options.k,
        edited=options.edit,
    )
    for one in made:
        end, result = one.closed.end.end, one.judgement.verdict.result
        print(
            f"{one.fork.key.id}  {result:11}  {end:10}  {len(one.closed.records) - position} records after {position}"
        )
    return 0


def _forks(options: argparse.Namespace) -> int:
    with Store.open(options.store, read_only=True) as store:
        results = results_of(store)
        found = list(closed_forks(Archive(store, domain_of(store))))
        for recording in found:
            fork, end = recording.fork, end_of(recording.records)
            if fork is not None and end is not None:
                result = results.get(fork.key.id.hex, "not judged")
                origin = f"{fork.key.task}, {fork.parent[:8]}@{fork.position}"
                who = cut(f"{fork.agent} {fork.settings}".strip())
                print(f"{fork.key.id}  {result:11}  {end.end:10}  {who}, from {origin}")
    if not found:
        print("no forks; make one with: trialbox fork STORE TRIAL@n --agent oracle")
    return 0
