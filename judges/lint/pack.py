"""What a whole pack is: its task files, and what only all of them together show."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from judges.lint.case import Case, scalars
from judges.lint.corpus import Corpus
from judges.lint.report import Remark
from judges.pack import PackTask
from judges.pack_files import PackFiles
from judges.packs import open_pack
from sandbox.domain import Domain
from sandbox.foreign import json_of, yaml_of
from sandbox.package_data import read_yaml, task_files
from sandbox.registry import domain_named, domain_names


class Item(Struct, frozen=True, eq=False):
    """One task of a pack, as it is written."""

    file: str
    content: Callable[[], Any]
    """What the file holds; ValueError if it cannot be read."""
    task: PackTask | None = None
    """If it has been read already."""


class Pack(Struct, frozen=True, eq=False):
    """Tasks for one domain."""

    name: str
    domain: Domain
    folder: str
    """Where its documents are, for those who read the remarks."""
    items: tuple[Item, ...]


def opened(name: str) -> Pack:
    """
    The tasks of that name: an installed domain's own, or those of a pack in a folder or archive.

    Raises:
        UserFault: there is none, or the pack cannot be used at all.
    """
    path = Path(name)
    is_path = path.exists() or path.name != name
    return _of_path(path) if is_path and name not in domain_names() else _of_domain(name)


def _of_domain(name: str) -> Pack:
    domain = domain_named(name)
    folder = domain.package.replace(".", "/")
    files = task_files(domain.package) if domain.package else []
    items = [Item(f"{folder}/tasks/{file.name}", partial(read_yaml, file)) for file in files]
    return Pack(name, domain, folder, tuple(items))


def _of_path(path: Path) -> Pack:
    pack, files = open_pack(path), PackFiles(path)
    written = [(name, partial(yaml_of, files.text(name), name)) for name in files.within("tasks")]
    for number, line in enumerate(files.text("tasks.jsonl").split("\n"), 1):
        if line.strip():
            where = f"tasks.jsonl, line {number}"
            written.append((where, partial(json_of, line, where)))
    items = [Item(f"{path}/{where}", read, task) for (where, read), task in zip(written, pack.tasks, strict=True)]
    return Pack(pack.name, pack.domain, str(path), tuple(items))


def duplicates(cases: Sequence[Case]) -> Iterator[Remark]:
    """Task ids that several files have."""
    counts = Counter(case.task.id for case in cases)
    for case in cases:
        if counts[case.task.id] > 1:
            others = ", ".join(other.file for other in cases if other.task.id == case.task.id and other is not case)
            reason = f"another task has this id: {others}"
            yield case.error("duplicate-id", "$.id", case.task.id, reason, "give each task an id of its own")


def unused_documents(pack: Pack, cases: Sequence[Case]) -> Iterator[Remark]:
    """
    Documents of the domain that no golden call uses; one remark if none of them is used.

    A call uses the document that stands first in its answer, the nearest one of a search, and those that it cites.
    """
    if not cases:
        return
    documents = [
        (table.name, table.spec.documents, key)
        for table in pack.domain.tables.values()
        if table.spec.documents
        for key in pack.domain.seed.tables.get(table.name, ())
    ]
    names = {key for _, _, key in documents}
    answers = (scalars(step.answer) for case in cases for _, step in case.steps())
    found = {next((item for item in answer if item in names), None) for answer in answers}
    words = Corpus(step.call.arguments for case in cases for _, step in case.steps() if step.events)
    unused = [document for document in documents if document[2] not in found and not words.holds(document[2])]
    check, path = "unused-document", "$"
    if documents and len(unused) == len(documents):
        reason = "no golden call of any task finds or cites one of the documents"
        advice = "let golden calls look up what decides, or take the documents out"
        yield Remark("warning", check, f"{pack.folder}/{documents[0][1]}", path, None, reason, advice)
        return
    for table, folder, key in unused:
        reason = f"no golden call of any task finds this document of {table}, and none cites it"
        advice = "write a task that needs it, or take it out"
        yield Remark("warning", check, f"{pack.folder}/{folder}", path, key, reason, advice)
