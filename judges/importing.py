"""Packs from elsewhere, checked against the installed domain and written as folders."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct
from msgspec.structs import replace

from judges.expectation import TaskInvalid
from judges.outcome import NothingChanges
from judges.pack import task_from
from judges.packs import FORMAT
from judges.verdict import bundle_of
from sandbox.domain import Domain
from sandbox.foreign import ForeignPack, LeftOut
from sandbox.refusals import UserFault
from sandbox.registry import NoSuchDomain, domain_mounted
from sandbox.values import ValueFault, ensure_storable

Content = dict[str, Any]


class Checked(Struct, frozen=True):
    """A pack that is ready to be written, and what was found while it was checked."""

    pack: ForeignPack
    left_out: tuple[LeftOut, ...]
    no_change: tuple[str, ...]
    """Ids of tasks whose golden calls change nothing; so they are marked."""
    unchecked: str
    """Why golden calls could not be run; empty if each of them was."""


def checked(pack: ForeignPack) -> Checked:
    """A pack without the tasks that no trial could be judged by; their golden calls run if the domain is installed."""
    domain, unchecked = None, ""
    try:
        domain = _furnished(pack, domain_mounted(pack.domain, "public"))
    except NoSuchDomain as fault:
        unchecked = f"domain not installed: {fault}"
    kept: list[Content] = []
    left_out: list[LeftOut] = []
    for task in pack.tasks:
        try:
            kept.append(_checked_task(task, pack.tools, domain))
        except (TaskInvalid, ValueFault) as fault:
            left_out.append(LeftOut(str(task["id"]), str(fault)))
    unchanging = tuple(task["id"] for task in kept if task["expect"].get("no_change"))
    return Checked(replace(pack, tasks=tuple(kept)), tuple(left_out), unchanging, unchecked)


def _furnished(pack: ForeignPack, domain: Domain) -> Domain:
    documents = [msgspec.to_builtins(document) for document in pack.documents]
    policies = {table.name: documents for table in domain.tables.values() if table.spec.documents}
    return domain.furnished({**pack.seed, **policies}, pack.instructions)


def _checked_task(task: Content, tools: tuple[str, ...], domain: Domain | None) -> Content:
    ensure_storable(task)
    if json.loads(_line(task)) != task:
        raise ValueFault("it holds keys or values that JSON does not have")
    if domain is None:
        return task
    try:
        _build(task, tools, domain)
        return task
    except NothingChanges:
        marked = {**task, "expect": {**task["expect"], "no_change": True}}
        _build(marked, tools, domain)
        return marked


def _build(task: Content, tools: tuple[str, ...], domain: Domain) -> None:
    made = task_from(domain, task, "its task")
    bundle_of(domain, replace(made.task, tools=made.task.tools or tools), made.expectation)


def written_to(folder: Path, packs: Sequence[ForeignPack]) -> list[Path]:
    """
    Write each pack into a folder of its own; all of them, or nothing.

    Raises:
        UserFault: something stands there already, or there is nothing to write.
    """
    if folder.exists():
        raise UserFault(f"{folder} is there already; choose another folder")
    if not packs:
        raise UserFault("there is no task to write")
    folder.parent.mkdir(parents=True, exist_ok=True)
    half = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(half, ignore_errors=True)
    try:
        for pack in packs:
            _write(half / pack.domain, pack)
        half.rename(folder)
    finally:
        shutil.rmtree(half, ignore_errors=True)
    return [folder / pack.domain for pack in packs]


def _write(home: Path, pack: ForeignPack) -> None:
    about = {
        "name": pack.name,
        "format": FORMAT,
        "domain": pack.domain,
        "mount": "public",
        "title": pack.title,
        "source": pack.source,
        "licence": "LICENSE.txt",
        "evaluation_only": pack.evaluation_only,
        "tools": list(pack.tools),
        "policy": [{"name": item.name, "file": f"{n:02}.md"} for n, item in enumerate(pack.documents, 1)],
    }
    texts = {
        "pack.yaml": yaml.safe_dump(about, sort_keys=False, allow_unicode=True, width=120),
        "LICENSE.txt": pack.licence,
        "instructions.md": pack.instructions,
        "tasks.jsonl": "".join(f"{_line(task)}\n" for task in pack.tasks),
        **{f"policy/{n:02}.md": item.text for n, item in enumerate(pack.documents, 1)},
        **{f"seed/{table}.json": _line(rows) for table, rows in pack.seed.items()},
    }
    for name, text in texts.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(text.encode())


def _line(content: Any) -> str:
    try:
        return json.dumps(content, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueFault(f"it cannot be written as JSON: {error}") from None
