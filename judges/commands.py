"""Commands about trials and verdicts."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from judges.campaigns import (
    ensure_one_bundle,
    mixed_tasks,
    rebuilt_views,
    reliability,
    run_judged,
    scores_of,
    told_trial,
)
from judges.chat_commands import add_to as add_chat_to
from judges.court import plans_of
from judges.demo import demo
from judges.explain import summary, timeline
from judges.lint.commands import add_to as add_lint_to
from judges.mutation.run import mutated
from judges.mutation.told import as_values, full_table, kinds_table, tasks_table
from judges.mutation.told import told as told_mutants
from judges.pack import PackTask, tasks_of
from judges.pack_commands import Suite, suites_of
from judges.pack_commands import add_to as add_packs_to
from judges.record import Judgement
from judges.tables import reliability_table, task_table
from sandbox.agents import SCRIPTED
from sandbox.archive import domain_of
from sandbox.campaign import Closed
from sandbox.domain import Domain
from sandbox.refusals import UserFault
from sandbox.registry import domain_named
from sandbox.stream import Store


def add_to(commands: Any) -> None:
    """`demo`, `run`, `stats`, `explain`, `rebuild` and `mutate`."""
    shown = commands.add_parser("demo", help="run scripted agents on the retail tasks and show one polite failure")
    shown.add_argument("--into", type=Path, default=Path("runs/demo"), help="folder of the stores, made anew")
    shown.set_defaults(run=lambda options: demo(options.into))
    running = commands.add_parser("run", help="run a campaign, or go on with one, and judge it")
    running.add_argument("domain", nargs="?", help="an installed domain, for the tasks in its package")
    running.add_argument("--pack", type=Path, action="append", default=[], help="a pack instead: its folder or archive")
    running.add_argument("--agent", choices=sorted(SCRIPTED), required=True)
    running.add_argument("--task", action="append", default=[], help="only this task; may be given several times")
    running.add_argument("--seed", type=int, default=0, help="of the careless agent's slips (default: 0)")
    running.add_argument("-k", type=int, default=5, help="repetitions of each task (default: 5)")
    running.add_argument("-o", "--output", type=Path, help="the store (default: runs/NAME-AGENT.db)")
    running.add_argument("--concurrency", type=int, default=8, help="trials at once (default: 8)")
    running.add_argument("--durability", choices=["process", "power"], default="process", help="what a call survives")
    running.set_defaults(run=_run)
    stats = commands.add_parser("stats", help="what the trials of some stores say")
    stats.add_argument("store", type=Path, nargs="+")
    stats.add_argument("--tasks", action="store_true", help="a line for each task")
    stats.add_argument("--mixed", action="store_true", help="sum up verdicts of different judge bundles too")
    stats.set_defaults(run=_stats)
    telling = commands.add_parser("explain", help="one trial: words, records, verdict, and the event that wrote it")
    telling.add_argument("store", type=Path)
    telling.add_argument("trial", help="the beginning of its id, or TASK/REPETITION")
    telling.add_argument("--all", action="store_true", help="every record")
    telling.set_defaults(run=_explain)
    again = commands.add_parser("rebuild", help="drop the read models of a store and make them again")
    again.add_argument("store", type=Path)
    again.set_defaults(run=_rebuild)
    mutating = commands.add_parser(
        "mutate", help="put mistakes into the golden calls, and see whether the judges notice"
    )
    mutating.add_argument("domain", nargs="?", default="retail", help="whose tasks (default: retail)")
    mutating.add_argument("--task", action="append", default=[], help="only this task; may be given several times")
    mutating.add_argument("--full", action="store_true", help="a line for each task and kind")
    mutating.add_argument("--json", action="store_true", help="the report as JSON")
    mutating.set_defaults(run=_mutate)
    add_chat_to(commands)
    add_packs_to(commands)
    add_lint_to(commands)


def _run(options: argparse.Namespace) -> int:
    suites = suites_of(options.domain, options.pack, options.task)
    if options.output and len(suites) > 1:
        raise UserFault(f"{len(suites)} packs go into {len(suites)} stores; leave out -o, or run one pack")
    return max(_run_suite(options, suite) for suite in suites)


def _run_suite(options: argparse.Namespace, suite: Suite) -> int:
    """0: every repetition has a verdict; 1: some have none, and are named."""
    name = f"{suite.name}-{options.agent}"
    agent = SCRIPTED[options.agent](plans_of(suite.tasks), options.seed)
    path = options.output or Path("runs") / f"{name}.db"

    def on_judged(closed: Closed, judgement: Judgement) -> None:
        key = closed.key
        print(f"{key.task}/{key.repetition}  {judgement.verdict.result:11}  {closed.end.end}", file=sys.stderr)

    unresolved = run_judged(
        path,
        suite.domain,
        suite.tasks,
        agent,
        options.k,
        name=name,
        settings=f"seed {options.seed}" if options.seed else "",
        concurrency=options.concurrency,
        durability=options.durability,
        on_judged=on_judged,
        origin=suite.origin,
    )
    scores = scores_of(path)
    Console().print(reliability_table(reliability(scores), options.k))
    for key in unresolved:
        print(f"no counted trial: {key.task}, repetition {key.repetition}; run again", file=sys.stderr)
    for score in scores:
        if score.ungradeable:
            print(f"no verdict on {score.ungradeable} of {score.trials} trials of {score.task}", file=sys.stderr)
    return 1 if unresolved or any(score.ungradeable for score in scores) else 0


def _stats(options: argparse.Namespace) -> int:
    scores = [score for path in options.store for score in scores_of(path)]
    if not options.mixed:
        ensure_one_bundle(scores)
    elif tasks := mixed_tasks(scores):
        print(f"mixed bundles: verdicts of different judges on {', '.join(tasks)}", file=sys.stderr)
    if options.tasks:
        Console().print(task_table(scores))
    else:
        Console().print(reliability_table(reliability(scores)))
    return 0


def _explain(options: argparse.Namespace) -> int:
    with Store.open(options.store, read_only=True) as store:
        domain = domain_of(store)
        told = told_trial(store, domain, options.trial)
        lines = list(summary(told, domain))
        if options.all:
            lines += ["", *timeline(told, domain)]
    print("\n".join(lines))
    return 0


def _rebuild(options: argparse.Namespace) -> int:
    print(f"{rebuilt_views(options.store)} trials")
    return 0


def _mutate(options: argparse.Namespace) -> int:
    domain = domain_named(options.domain)
    report = mutated(domain, chosen(domain, options.task))
    if options.json:
        print(json.dumps(as_values(report), ensure_ascii=False, indent=2))
        return 0 if report.is_good else 1
    console = Console(width=max(120, Console().width) if options.full else None)
    for table in (full_table(report),) if options.full else (kinds_table(report), tasks_table(report)):
        console.print(table)
        console.print()
    print("\n".join(told_mutants(report)))
    return 0 if report.is_good else 1


def chosen(domain: Domain, names: list[str]) -> list[PackTask]:
    """The domain's tasks, or those named; UserFault if one is not there."""
    tasks = {item.task.id: item for item in tasks_of(domain)}
    if not tasks:
        raise UserFault(f"domain {domain.name} has no tasks; write one into {domain.package}/tasks")
    for name in names:
        if name not in tasks:
            raise UserFault(f"no task {name!r} in domain {domain.name}; it has {', '.join(tasks)}")
    return [tasks[name] for name in names] if names else list(tasks.values())
