"""The commands `run`, `check` and `rows`: campaigns from their configuration to rows for other tools."""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from judges.campaigns import run_judged, scores_of
from judges.checking import checked_endpoints, estimated, told_plan
from judges.configuration import Configuration, load_configuration, scripted
from judges.court import ensure_ended
from judges.errors_file import errors_in, write_errors
from judges.expectation import nearest
from judges.metrics.counted import counts_of
from judges.metrics.standing import standings
from judges.pack_commands import Suite, suites_of
from judges.progress import Watch
from judges.rows import ensure_free, thinkingbox_rows, write_rows
from judges.rubric_calls import calls_in
from judges.spending import Call, costs_of, told_costs
from judges.tables import fitted, standing_table, wide_console
from sandbox.agents import SCRIPTED
from sandbox.archive import Archive, domain_of
from sandbox.campaign import MOST_FAULTS
from sandbox.person import approver_at_terminal
from sandbox.refusals import UserFault
from sandbox.stream import Store

MOST = 10_000


def add_to(commands: Any) -> None:
    """`run`, `check` and `rows`."""
    running = commands.add_parser("run", help="run a campaign, or go on with one, and judge it")
    add_suite_to(running)
    names = ", ".join(sorted(SCRIPTED))
    running.add_argument("--agent", required=True, metavar="AGENT", help=f"a configuration file, or one of {names}")
    running.add_argument("--seed", type=int, default=0, help="of the careless agent's slips (default: 0)")
    running.add_argument("-o", "--output", type=Path, help="the store (default: runs/NAME-AGENT.db)")
    running.add_argument("--concurrency", type=whole, default=8, help="trials at once (default: 8)")
    told = f"attempts at a repetition that may break on our side, in all runs together (default: {MOST_FAULTS})"
    running.add_argument("--attempts", type=whole, default=MOST_FAULTS, help=told)
    running.add_argument("--durability", choices=["process", "power"], default="process", help="what a call survives")
    running.set_defaults(run=_run)
    checking = commands.add_parser("check", help="say what a configuration would run and cost, and ask its endpoints")
    checking.add_argument("configuration", type=Path)
    add_suite_to(checking)
    checking.add_argument("--store", type=Path, action="append", default=[], help="an earlier campaign, for the price")
    checking.set_defaults(run=_check)
    rows = commands.add_parser("rows", help="write a store's trials as result rows of another benchmark")
    rows.add_argument("store", type=Path)
    rows.add_argument("--format", choices=["thinkingbox"], default="thinkingbox", help="(default: thinkingbox)")
    rows.add_argument("-o", "--output", type=Path, required=True, help="a new file of JSON Lines")
    rows.set_defaults(run=_rows)


def add_suite_to(command: Any) -> None:
    """What to run, and how often."""
    command.add_argument("domain", nargs="?", help="an installed domain, for the tasks in its package")
    command.add_argument("--pack", type=Path, action="append", default=[], help="a pack instead: its folder or archive")
    command.add_argument("--task", action="append", default=[], help="only this task; may be given several times")
    command.add_argument("-k", type=whole, default=5, help="repetitions of each task (default: 5)")


def _run(options: argparse.Namespace) -> int:
    configuration = configuration_named(options.agent, options.seed)
    suites = suites_of(options.domain, options.pack, options.task)
    ensure_fits(configuration, suites)
    if options.output and len(suites) > 1:
        raise UserFault(f"{len(suites)} packs go into {len(suites)} stores; leave out -o, or run one pack")
    for told in unanswered(configuration, suites):
        print(told, file=sys.stderr)
    return max(_run_suite(options, configuration, suite) for suite in suites)


def ensure_fits(configuration: Configuration, suites: Sequence[Suite]) -> None:
    """Return if the gate's rules and the scripts are about what is to run; UserFault names what is not."""
    configuration.ensure_gate_fits([tool for suite in suites for tool in suite.domain.tools])
    configuration.ensure_scripts_fit([item.task.id for suite in suites for item in suite.tasks])


def unanswered(configuration: Configuration, suites: Sequence[Suite]) -> Iterator[str]:
    """A line if nobody is there to answer what some tasks ask a judge."""
    asking = [item.task.id for suite in suites for item in suite.tasks if item.expectation.rubrics]
    if asking and configuration.written.judge is None:
        have, they = ("has", "its") if len(asking) == 1 else ("have", "their")
        told = f"{len(asking)} task{'s' * (len(asking) > 1)} {have} a rubric and there is no judge: {they} trials"
        yield f"{told} can only fail or be ungradeable; give --agent a configuration with a `judge`"


def configuration_named(name: str, seed: int) -> Configuration:
    """The configuration in a file, or of a scripted agent that goes by a name."""
    if name in SCRIPTED:
        return scripted(name, seed)
    path = Path(name)
    if not path.is_file():
        raise UserFault(f"no agent {name!r}, and no such file; give a configuration file, or {nearest(name, SCRIPTED)}")
    if seed:
        raise UserFault("--seed is for scripted agents by name; a configuration says `seed` itself")
    return load_configuration(path)


def _run_suite(options: argparse.Namespace, configuration: Configuration, suite: Suite) -> int:
    """0: every repetition has a verdict; 1: some have none, and are named."""
    name = f"{suite.name}-{re.sub(r'[^A-Za-z0-9._-]+', '-', configuration.agent_name)}"
    path = options.output or Path("runs") / f"{name}.db"
    watch = Watch(len(suite.tasks) * options.k, configuration.prices, _earlier(path))
    with watch:
        unresolved = run_judged(
            path,
            suite.domain,
            suite.tasks,
            configuration.agent(suite.tasks),
            options.k,
            name=name,
            settings=configuration.settings,
            concurrency=options.concurrency,
            durability=options.durability,
            on_judged=watch.closed,
            origin=suite.origin,
            rubric_judge=configuration.judge(watch.judged),
            gate=configuration.gate(approver_at_terminal()),
            retries_user_faults=configuration.written.retries_user_faults,
            most_faults=options.attempts,
            prices=configuration.prices,
            users=configuration.users(suite.tasks),
        )
    scores = scores_of(path)
    console = wide_console()
    console.print(fitted(standing_table(standings(counts_of(path)), options.k), console.width))
    if costs := costs_of(path):
        print(f"cost: {told_costs(costs)}")
    for key in unresolved:
        told = f"no counted trial: {key.task}, repetition {key.repetition}"
        print(f"{told}; mend the cause, and run again, with more --attempts where they are used up", file=sys.stderr)
    for score in scores:
        if score.ungradeable:
            print(f"no verdict on {score.ungradeable} of {score.trials} trials of {score.task}", file=sys.stderr)
    written = write_errors(path, errors_in(path, unresolved))
    if written is not None:
        print(f"all that is unresolved, and why: {written}", file=sys.stderr)
    return 0 if written is None else 1


def _earlier(path: Path) -> Sequence[Call]:
    """The judge calls that a store holds before a run."""
    if not path.exists():
        return ()
    with Store.open(path, read_only=True) as store:
        return list(calls_in(store))


def _check(options: argparse.Namespace) -> int:
    """0: it would run; 1: an endpoint cannot be asked."""
    configuration = load_configuration(options.configuration)
    suites: list[Suite] = []
    if options.domain is not None or options.pack:
        suites = suites_of(options.domain, options.pack, options.task)
        ensure_fits(configuration, suites)
    trials = sum(len(suite.tasks) for suite in suites) * options.k
    for line in (*told_plan(configuration, suites, options.k), *unanswered(configuration, suites)):
        print(line)
    print(f"price: {estimated(configuration, options.store, trials, sum(len(suite.tasks) for suite in suites))}")
    faults = checked_endpoints(configuration, print)
    return 1 if faults else 0


def _rows(options: argparse.Namespace) -> int:
    ensure_free(options.output)
    with Store.open(options.store, read_only=True) as store:
        ensure_ended(store)
        count = write_rows(options.output, thinkingbox_rows(store, Archive(store, domain_of(store))))
    print(f"{count} rows in {options.output}")
    return 0


def whole(text: str) -> int:
    """A command-line number from 1 to 10,000."""
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to {MOST:,}")
    return int(text)
