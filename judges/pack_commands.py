"""Commands about packs: what `run` runs, and `import`."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from judges.expectation import nearest
from judges.importing import Checked, checked, written_to
from judges.lines import printable
from judges.pack import PackTask, tasks_of
from judges.packs import open_packs
from sandbox.domain import Domain
from sandbox.foreign import LeftOut
from sandbox.refusals import UserFault
from sandbox.registry import domain_named, importer_named
from sandbox.values import canonical

MOST_LISTED = 20
"""Tasks of one reason that are listed without `--all`."""


class Suite(Struct, frozen=True, eq=False):
    """What one campaign runs: tasks of one domain, from its package or from a pack."""

    name: str
    domain: Domain
    tasks: tuple[PackTask, ...]
    origin: bytes = b""
    """What the pack says of itself, to be kept with the campaign."""


def add_to(commands: Any) -> None:
    """`import`."""
    importing = commands.add_parser("import", help="make packs from a checkout of another benchmark")
    importing.add_argument("importer", help="whose files these are, such as thinkingbox")
    importing.add_argument("checkout", type=Path, help="folder of the other benchmark's files")
    importing.add_argument("-o", "--output", type=Path, required=True, help="folder for a folder of each pack")
    importing.add_argument("--all", action="store_true", help="list every task that was left out")
    importing.set_defaults(run=_import)


def suites_of(domain: str | None, packs: Sequence[Path], names: Sequence[str]) -> list[Suite]:
    """
    What to run, from the name of a domain or the paths of packs.

    Args:
        names: of the tasks; empty for all.

    Raises:
        UserFault: both or neither is given, or a name is no task there.
    """
    if (domain is None) == (not packs):
        raise UserFault("say what to run: the name of a domain, or --pack with the path of a pack; one of the two")
    if domain is not None:
        found = domain_named(domain)
        tasks = tasks_of(found)
        if not tasks:
            raise UserFault(f"domain {domain} has no tasks; write one into {found.package}/tasks")
        suites = [Suite(domain, found, tasks)]
    else:
        opened = open_packs(packs)
        suites = [Suite(pack.name, pack.domain, pack.tasks, canonical(pack.about)) for pack in opened]
        for pack in opened:
            if pack.evaluation_only:
                told = "for evaluation only: do not tune prompts or train models on it"
                print(f"pack {pack.name} is {told}", file=sys.stderr)
    return [suite for suite in _chosen(suites, names) if suite.tasks]


def _chosen(suites: Sequence[Suite], names: Sequence[str]) -> list[Suite]:
    known = [item.task.id for suite in suites for item in suite.tasks]
    for name in names:
        if name not in known:
            where = " and ".join(suite.name for suite in suites)
            raise UserFault(f"no task {name!r} in {where}; {nearest(name, known)}")
    if not names:
        return list(suites)
    return [replace(suite, tasks=_named(suite.tasks, names)) for suite in suites]


def _named(tasks: Sequence[PackTask], names: Sequence[str]) -> tuple[PackTask, ...]:
    by_id = {item.task.id: item for item in tasks}
    return tuple(by_id[name] for name in names if name in by_id)


def _import(options: argparse.Namespace) -> int:
    found = importer_named(options.importer)(options.checkout)
    results = [checked(pack) for pack in found.packs]
    kept = [result.pack for result in results if result.pack.tasks]
    paths = written_to(options.output, kept)
    for result in results:
        _tell(result, dict(zip([pack.name for pack in kept], paths, strict=True)))
    left_out = [*found.left_out, *(item for result in results for item in result.left_out)]
    _tell_left_out(left_out, is_all=options.all)
    print(f"{sum(len(pack.tasks) for pack in kept)} tasks in {len(kept)} packs, {len(left_out)} left out")
    return 0


def _tell(result: Checked, paths: Mapping[str, Path]) -> None:
    pack = result.pack
    state = result.unchecked or "every golden call run and accepted"
    print(f"{paths.get(pack.name, pack.name)}: {len(pack.tasks)} tasks; {state}")
    for name in result.no_change:
        print(f"  {name}: its golden calls change nothing; marked `no_change`")


def _tell_left_out(left_out: Sequence[LeftOut], *, is_all: bool) -> None:
    by_reason: dict[str, list[str]] = {}
    for item in left_out:
        by_reason.setdefault(item.reason, []).append(item.task)
    for reason, tasks in by_reason.items():
        print(printable(f"left out, {reason}:"))
        shown = tasks if is_all else tasks[:MOST_LISTED]
        for task in shown:
            print(printable(f"  {task}"))
        if len(shown) < len(tasks):
            print(f"  and {len(tasks) - len(shown)} more; list them with --all")
