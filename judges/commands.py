"""Commands about trials and verdicts."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from judges.campaigns import (
    rebuilt_views,
    told_trial,
)
from judges.chat_commands import add_to as add_chat_to
from judges.demo import demo
from judges.demo_model import add_to as add_model_demo_to
from judges.explain import summary, timeline
from judges.lint.commands import add_to as add_lint_to
from judges.metrics.commands import add_to as add_metrics_to
from judges.metrics.gate_commands import add_to as add_gate_to
from judges.metrics.power_commands import add_to as add_power_to
from judges.metrics.reliability_commands import add_to as add_reliability_to
from judges.mutation.run import mutated
from judges.mutation.told import as_values, full_table, kinds_table, tasks_table
from judges.mutation.told import told as told_mutants
from judges.pack import PackTask, tasks_of
from judges.pack_commands import add_to as add_packs_to
from judges.packs import open_pack
from judges.report.commands import add_to as add_report_to
from judges.report.stats_commands import add_to as add_stats_to
from judges.results.commands import add_to as add_results_to
from judges.run_commands import add_to as add_runs_to
from judges.tables import wide_console
from sandbox.archive import domain_of
from sandbox.domain import Domain
from sandbox.refusals import UserFault
from sandbox.registry import domain_named, domain_names
from sandbox.stream import Store


def add_to(commands: Any) -> None:
    """Those about campaigns and packs, `demo`, `stats`, `explain`, `rebuild`, `mutate` and `lint`."""
    shown = commands.add_parser("demo", help="run scripted agents on the retail tasks and show one polite failure")
    shown.add_argument("--into", type=Path, default=Path("runs/demo"), help="folder of the stores, made anew")
    shown.set_defaults(run=lambda options: demo(options.into))
    add_model_demo_to(commands)
    add_runs_to(commands)
    add_stats_to(commands)
    add_report_to(commands)
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
    mutating.add_argument("domain", nargs="?", default="retail", help="a domain or a pack (default: retail)")
    mutating.add_argument("--task", action="append", default=[], help="only this task; may be given several times")
    mutating.add_argument("--full", action="store_true", help="a line for each task and kind")
    mutating.add_argument("--json", action="store_true", help="the report as JSON")
    mutating.set_defaults(run=_mutate)
    add_chat_to(commands)
    add_packs_to(commands)
    add_lint_to(commands)
    add_metrics_to(commands)
    add_reliability_to(commands)
    add_gate_to(commands)
    add_power_to(commands)
    add_results_to(commands)


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
    if options.domain not in domain_names() and Path(options.domain).exists():
        pack = open_pack(Path(options.domain))
        domain, tasks = pack.domain, named_in(pack.tasks, options.task, f"pack {pack.name}")
    else:
        domain = domain_named(options.domain)
        tasks = chosen(domain, options.task)
    report = mutated(domain, tasks)
    if options.json:
        print(json.dumps(as_values(report), ensure_ascii=False, indent=2))
        return 0 if report.is_good else 1
    console = wide_console(120 if options.full else 0)
    for table in (full_table(report),) if options.full else (kinds_table(report), tasks_table(report)):
        console.print(table)
        console.print()
    print("\n".join(told_mutants(report)))
    return 0 if report.is_good else 1


def chosen(domain: Domain, names: list[str]) -> list[PackTask]:
    """The domain's tasks, or those named; UserFault if one is not there."""
    return named_in(tasks_of(domain), names, f"domain {domain.name}")


def named_in(tasks: Sequence[PackTask], names: list[str], where: str) -> list[PackTask]:
    """All of the tasks, or those named; UserFault if there is none, or one is not there."""
    known = {item.task.id: item for item in tasks}
    if not known:
        raise UserFault(f"{where} has no tasks; write one into its tasks folder")
    for name in names:
        if name not in known:
            raise UserFault(f"no task {name!r} in {where}; it has {', '.join(known)}")
    return [known[name] for name in names] if names else list(known.values())
