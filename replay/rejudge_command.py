"""`trialbox rejudge`: stored trials under today's expectations and judges, and the verdicts that flip."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from msgspec import Struct
from rich.console import Console

from judges.lines import cut, printable
from judges.pack import PackTask, tasks_in, tasks_of
from judges.packs import open_pack
from judges.read_models import bring_up, views_path
from judges.store_paths import stores_among
from replay.ledger import Heard, Ledger, ledger_of
from replay.ledger_told import as_values, markdown, tables
from replay.printing import say
from replay.rejudge import Chosen, Docket, Rehearing, closed_keys, rejudged
from sandbox.archive import Archive, domain_of, sealed_in
from sandbox.domain import Domain
from sandbox.records import TrialKey
from sandbox.refusals import UserFault
from sandbox.registry import domain_named
from sandbox.stream import Store
from sandbox.views import Views


def add_to(commands: Any) -> None:
    """`rejudge`."""
    judging = commands.add_parser("rejudge", help="judge stored trials again and list the verdicts that flip, and why")
    judging.add_argument("store", type=Path, nargs="+", help="a campaign's store")
    judging.add_argument("--pack", help="a pack or domain with the expectations (default: the store's own domain)")
    judging.add_argument("--task-folder", type=Path, help="a folder of task files with the expectations")
    judging.add_argument(
        "--task", action="append", default=[], help="only trials of this task; several times: of these"
    )
    judging.add_argument("--trial", action="append", default=[], help="only this trial, by its id or TASK/REPETITION")
    judging.add_argument("--dry-run", action="store_true", help="write nothing")
    judging.add_argument("--mixed", action="store_true", help="sum up verdicts of different judge bundles too")
    form = judging.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="the ledger as JSON")
    form.add_argument("--markdown", action="store_true", help="the ledger as Markdown")
    judging.set_defaults(run=_rejudge)


def _rejudge(options: argparse.Namespace) -> int:
    if options.pack and options.task_folder:
        raise UserFault("--pack and --task-folder both bring expectations; give one of them")
    paths = stores_among(options.store)
    _ensure_there(paths, options.task, options.trial)
    given = [(path, today_for(path, options.pack, options.task_folder)) for path in paths]
    chosen = _chosen(options.task, options.trial)
    heard = [heard_again(path, today, chosen=chosen, is_dry=options.dry_run) for path, today in given]
    ledger = ledger_of(heard)
    _print(ledger, options)
    return 1 if ledger.ungradeable else 0


def _print(ledger: Ledger, options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(as_values(ledger, mixed=options.mixed), indent=2))
    elif options.markdown:
        say(markdown(ledger, mixed=options.mixed))
    else:
        console = Console()
        for part in tables(ledger, mixed=options.mixed):
            told = printable(part) if isinstance(part, str) else part
            console.print(told, markup=False, highlight=False, soft_wrap=isinstance(part, str))
        if options.dry_run:
            console.print("nothing was written")


def _chosen(tasks: Sequence[str], trials: Sequence[str]) -> Chosen:
    def chosen(key: TrialKey) -> bool:
        return (not tasks or key.task in tasks) and (not trials or any(_is_named(key, name) for name in trials))

    return chosen


def _is_named(key: TrialKey, name: str) -> bool:
    return f"{key.task}/{key.repetition}" == name or (bool(name) and key.id.hex.startswith(name.replace("-", "")))


def _ensure_there(paths: Sequence[Path], tasks: Sequence[str], trials: Sequence[str]) -> None:
    """Return if each name stands for something in one of the stores; UserFault before anything is judged."""
    missing, missing_trials = set(tasks), set(trials)
    for path in paths:
        with Store.open(path, read_only=True) as store:
            missing -= {task.id for task in sealed_in(store).tasks}
            if missing_trials:
                archive = Archive(store, domain_of(store))
                keys = [key for key, _ in closed_keys(archive)]
                missing_trials -= {name for name in missing_trials if any(_is_named(key, name) for key in keys)}
    for kind, names in (("task", missing), ("closed trial", missing_trials)):
        if names:
            where = ", ".join(map(str, paths))
            raise UserFault(f"no {kind} {min(names)!r} in {where}; list trials with: trialbox stats --tasks {paths[0]}")


class Today(Struct, frozen=True):
    """What a store is judged by today."""

    domain: Domain
    tasks: Mapping[str, PackTask]


def today_for(path: Path, pack: str | None = None, folder: Path | None = None) -> Today:
    """
    Today's domain and expectations for a store; nothing is written.

    Args:
        pack: path of a pack or name of a domain that brings the expectations; None: the store's own domain.
        folder: of task files that bring them.

    Raises:
        UserFault: none of the store's tasks has an expectation there, or one cannot be met on its rows.
    """
    with Store.open(path, read_only=True) as store:
        domain, items = _today(store, pack, folder)
        archive, tasks = Archive(store, domain), {item.task.id: item for item in items}
        if not tasks.keys() & archive.tasks.keys():
            told = (
                f"{path} holds trials of {', '.join(map(cut, archive.tasks))}; no expectation of these is there today"
            )
            raise UserFault(f"{told}; name where they are with --pack or --task-folder")
        _rehearing(archive, tasks)
        return Today(domain, tasks)


def _rehearing(archive: Archive, tasks: Mapping[str, PackTask]) -> Rehearing:
    return Rehearing(archive, {name: item.expectation for name, item in tasks.items()})


def _today(store: Store, pack: str | None, folder: Path | None) -> tuple[Domain, Sequence[PackTask]]:
    if pack is not None and Path(pack).exists():
        opened = open_pack(Path(pack))
        return opened.domain, opened.tasks
    domain = domain_of(store) if pack is None else domain_named(pack)
    if folder is not None and not folder.is_dir():
        raise UserFault(f"{folder} is no folder of task files")
    return domain, tasks_of(domain) if folder is None else tasks_in(domain, folder)


def heard_again(path: Path, today: Today, *, chosen: Chosen = lambda key: True, is_dry: bool = False) -> Heard:
    """
    A store's trials, judged again.

    Args:
        chosen: which trials; the others keep their verdicts.
        is_dry: whether nothing is written.
    """
    with Store.open(path, read_only=is_dry) as store:
        archive = Archive(store, today.domain)
        seal, rehearing = archive.seal, _rehearing(archive, today.tasks)
        with nullcontext() if is_dry else store.lease("rejudge"), _views(archive, path, is_dry=is_dry) as views:
            trials = list(rejudged(rehearing, Docket(archive, views), is_dry=is_dry, chosen=chosen))
    absent = tuple(task.id for task in seal.tasks if task.id not in today.tasks)
    known = [task for task in seal.tasks if task.id in today.tasks]
    changed = tuple(task.id for task in known if today.tasks[task.id].task.digest != task.digest)
    return Heard(str(path), seal.domain, seal.agent, seal.repetitions, trials, absent, changed)


@contextmanager
def _views(archive: Archive, path: Path, *, is_dry: bool) -> Iterator[Views]:
    """The store's read models, made again where they are gone or behind; a copy in memory if nothing may be written."""
    file = views_path(path)
    with closing(Views.copied(file) if is_dry else Views(file)) as views:
        bring_up(views, archive.store, archive.domain)
        yield views
