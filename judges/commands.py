"""Commands about trials and verdicts."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from judges.campaigns import (
    ensure_one_bundle,
    mixed_tasks,
    rebuilt_views,
    reliability,
    scores_of,
    told_trial,
)
from judges.chat_commands import add_to as add_chat_to
from judges.demo import demo
from judges.explain import summary, timeline
from judges.lines import cut
from judges.lint.commands import add_to as add_lint_to
from judges.metrics.commands import add_to as add_metrics_to
from judges.metrics.gate_commands import add_to as add_gate_to
from judges.metrics.reliability_commands import add_to as add_reliability_to
from judges.mutation.run import mutated
from judges.mutation.told import as_values, full_table, kinds_table, tasks_table
from judges.mutation.told import told as told_mutants
from judges.pack import PackTask, tasks_of
from judges.pack_commands import add_to as add_packs_to
from judges.packs import open_pack
from judges.run_commands import add_to as add_runs_to
from judges.spending import costs_of, told_costs
from judges.tables import reliability_table, task_table, wide_console
from sandbox.archive import domain_of, sealed_in
from sandbox.domain import Domain
from sandbox.prices import Cost, PriceTable, load_prices, total
from sandbox.refusals import UserFault
from sandbox.registry import domain_named, domain_names
from sandbox.stream import Store


def add_to(commands: Any) -> None:
    """Those about campaigns and packs, `demo`, `stats`, `explain`, `rebuild`, `mutate` and `lint`."""
    shown = commands.add_parser("demo", help="run scripted agents on the retail tasks and show one polite failure")
    shown.add_argument("--into", type=Path, default=Path("runs/demo"), help="folder of the stores, made anew")
    shown.set_defaults(run=lambda options: demo(options.into))
    add_runs_to(commands)
    stats = commands.add_parser("stats", help="what the trials of some stores say")
    stats.add_argument("store", type=Path, nargs="+")
    stats.add_argument("--tasks", action="store_true", help="a line for each task")
    stats.add_argument("--mixed", action="store_true", help="sum up verdicts of different judge bundles too")
    stats.add_argument("--prices", type=Path, help="a price table instead of those that the campaigns were run with")
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


def _stats(options: argparse.Namespace) -> int:
    scores = [score for path in options.store for score in scores_of(path)]
    if not options.mixed:
        ensure_one_bundle(scores)
    elif tasks := mixed_tasks(scores):
        print(f"mixed bundles: verdicts of different judges on {', '.join(tasks)}", file=sys.stderr)
    if options.tasks:
        wide_console().print(task_table(scores))
        return 0
    costs = _costs(options.store, load_prices(options.prices) if options.prices else None)
    wide_console().print(reliability_table(reliability(scores), costs={a: total(c.values()) for a, c in costs.items()}))
    for agent, by_party in costs.items():
        print(f"cost of {cut(agent)}: {told_costs(by_party)}")
    return 0


def _costs(stores: Sequence[Path], prices: PriceTable | None) -> dict[str, dict[str, Cost]]:
    """By agent and party, where a model was asked."""
    found: dict[str, dict[str, Cost]] = {}
    for path in stores:
        with Store.open(path, read_only=True) as store:
            agent = sealed_in(store).agent
        for party, cost in costs_of(path, prices).items():
            spent = found.setdefault(agent, {})
            spent[party] = spent.get(party, Cost()) + cost
    return found


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
