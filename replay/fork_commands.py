"""`trialbox fork` and `trialbox forks`."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from judges.court import ensure_ended
from judges.lines import cut
from judges.pack import PackTask, tasks_of
from judges.packs import open_packs
from judges.run_commands import configuration_named
from replay.compare import results_of
from replay.fork import fork_judged
from replay.printing import say
from replay.stored import split_position
from replay.trials import Recording, closed_forks
from sandbox.agents import SCRIPTED
from sandbox.archive import Archive, domain_of
from sandbox.fold import end_of
from sandbox.person import approver_at_terminal
from sandbox.records import Edited, decoded
from sandbox.refusals import UserFault
from sandbox.stream import Store
from sandbox.values import digest_of


def add_to(commands: Any) -> None:
    """Both."""
    forking = commands.add_parser("fork", help="let another agent, or another answer, go on from a position of a trial")
    forking.add_argument("store", type=Path, help="the campaign's store, which the fork is kept in")
    forking.add_argument("at", metavar="TRIAL@n", help="the beginning of its id, or TASK/REPETITION, and a position")
    names = ", ".join(sorted(SCRIPTED))
    told = f"a configuration file, for its agent and user, or one of {names}; the rest is the campaign's"
    forking.add_argument("--agent", required=True, metavar="AGENT", help=told)
    forking.add_argument("--edit", metavar="RESULT_JSON", help="what the agent sees instead of the answer at n")
    forking.add_argument("-k", type=int, default=1, help="repetitions (default: 1)")
    forking.add_argument("--seed", type=int, default=0, help="of the careless agent's slips (default: 0)")
    forking.add_argument("--no-gate", action="store_true", help="leave out the gate that the campaign was sealed with")
    forking.add_argument(
        "--pack", type=Path, help="the campaign's pack, where a model is the user (default: the domain)"
    )
    forking.set_defaults(run=_fork)
    listing = commands.add_parser("forks", help="list the forks of a store with where they come from")
    listing.add_argument("store", type=Path, help="a campaign's store")
    listing.set_defaults(run=_forks)


def _fork(options: argparse.Namespace) -> int:
    name, position = split_position(options.at)
    if position is None:
        raise UserFault(f"{name!r} names no position; write TRIAL@n, such as {name}@12")
    if options.k < 1:
        raise UserFault(f"{options.k} repetitions would do nothing; give at least 1")
    configuration = configuration_named(options.agent, options.seed)
    made = fork_judged(
        options.store,
        name,
        position,
        options.agent if options.agent in SCRIPTED else configuration,
        seed=options.seed,
        repetitions=options.k,
        edited=options.edit,
        gated=not options.no_gate,
        approver=approver_at_terminal(),
        packed=_packed(options) if "user" in configuration.endpoints else (),
    )
    for one in made:
        end, result = one.closed.end.end, one.judgement.verdict.result
        more = len(one.closed.records) - position
        say([f"{one.fork.key.id}  {result:11}  {end:10}  {more} records after {position}"])
    return 0


def _packed(options: argparse.Namespace) -> Sequence[PackTask]:
    """The tasks with what their users know."""
    if options.pack is not None:
        return [item for pack in open_packs([options.pack]) for item in pack.tasks]
    with Store.open(options.store, read_only=True) as store:
        return tasks_of(domain_of(store))


def _forks(options: argparse.Namespace) -> int:
    with Store.open(options.store, read_only=True) as store:
        ensure_ended(store)
        results = results_of(store)
        found = [fork_line(one, results) for one in closed_forks(Archive(store, domain_of(store)))]
    say(found or ["no forks; make one with: trialbox fork STORE TRIAL@n --agent oracle"])
    return 0


def fork_line(recording: Recording, results: Mapping[str, str]) -> str:
    """A fork that has ended: what came of it, who went on, from where, and whether with another answer."""
    fork, end = recording.fork, end_of(recording.records)
    assert fork is not None, "forks alone are told"
    assert end is not None, "and of these the closed ones"
    result = results.get(fork.key.id.hex, "not judged")
    origin = f"{cut(fork.key.task)}, {fork.parent[:8]}@{fork.position}"
    own = recording.records[fork.position : fork.position + 1]
    edited = f", the answer at {fork.position} edited" if own and isinstance(decoded(own[0]), Edited) else ""
    who = cut(f"{fork.agent} {_short(fork.settings)}".strip())
    return f"{fork.key.id}  {result:11}  {end.end:10}  {who}, from {origin}{edited}"


def _short(settings: str) -> str:
    """A scripted agent's settings; of a configuration's, which are long, the beginning of their digest."""
    return f"(settings {digest_of(settings)[:8]})" if settings.startswith("{") else settings
