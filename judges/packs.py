"""
Packs: tasks with the world that they are set in, as a folder or an archive of it.

A pack names an installed domain and how it is mounted, and brings seed rows, policy documents, instructions and tasks.
Nothing in it is executed, and all of it is looked at when it is opened.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from judges.expectation import TaskInvalid, nearest
from judges.outcome import ensure_names
from judges.pack import PackTask, task_from
from judges.pack_faults import row_faults, with_value
from judges.pack_files import PackFault, PackFiles
from sandbox.domain import Domain, RowFault
from sandbox.foreign import Document, json_of, yaml_of
from sandbox.refusals import UserFault
from sandbox.registry import NoSuchDomain, domain_mounted

FORMAT = 1
"""Of packs. A pack of a newer one is refused."""
FOLDERS = {"seed": (".yaml", ".json"), "policy": (".md",), "tasks": (".yaml",)}
FILES = ("pack.yaml", "instructions.md", "tasks.jsonl", "README.md")


class Pack(Struct, frozen=True, eq=False):
    """Tasks and the domain that they are about, with the pack's own rows, documents and instructions."""

    name: str
    title: str
    domain: Domain
    tasks: tuple[PackTask, ...]
    source: str
    """Where it comes from."""
    licence: str
    """The text of its licence; empty if it brings none."""
    evaluation_only: bool
    """Whether its content must not be used to tune prompts or train models."""

    @property
    def about(self) -> dict[str, Any]:
        """What stays with everything that is made from it: name, title, source, licence, and what it is for."""
        return {name: getattr(self, name) for name in ("name", "title", "source", "licence", "evaluation_only")}


class PolicyFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A policy document whose name is not its first heading."""

    name: str
    file: str


class PackFile(Struct, frozen=True, forbid_unknown_fields=True):
    """What `pack.yaml` holds."""

    name: str
    format: int
    domain: str
    mount: Literal["own", "public"] = "own"
    title: str = ""
    source: str = ""
    licence: str = ""
    """Name of the file."""
    evaluation_only: bool = False
    tools: tuple[str, ...] = ()
    """What the agent may use in tasks that do not say it; empty for all."""
    policy: tuple[PolicyFile, ...] = ()
    """The documents in their order; without it all of `policy/`, each named by its first heading."""


def open_pack(path: Path) -> Pack:
    """
    The pack in a folder or archive.

    Raises:
        PackFault: it cannot be used; the text names file, place, value, reason and the nearest valid name.
    """
    files = PackFiles(path)
    about = _about(files)
    _ensure_known(files, about)
    try:
        domain = _furnished(files, about, domain_mounted(about.domain, about.mount))
    except NoSuchDomain as fault:
        told = f"pack {about.name} is for the {about.mount} mount of domain {about.domain!r}, which is not installed"
        raise files.fault("pack.yaml", f"{told}: {fault}") from None
    for tool in about.tools:
        if tool not in domain.tools:
            raise files.fault("pack.yaml", f"no tool {tool!r}; {nearest(tool, domain.tools)} - at `$.tools`")
    tasks = _tasks(files, about, domain)
    if not tasks:
        raise files.fault("pack.yaml", f"pack {about.name} has no tasks; put some into tasks/ or tasks.jsonl")
    licence = files.text(about.licence)
    return Pack(about.name, about.title, domain, tasks, about.source, licence, about.evaluation_only)


def open_packs(paths: Sequence[Path]) -> list[Pack]:
    """Several packs whose trials are counted together; PackFault if two have one name, or tasks of one id."""
    packs: list[Pack] = []
    owners: dict[str, str] = {}
    for path in paths:
        pack = open_pack(path)
        if any(pack.name == other.name for other in packs):
            raise PackFault(f"{path}: a pack {pack.name!r} is loaded already; give this one another name")
        for item in pack.tasks:
            other = owners.setdefault(item.task.id, pack.name)
            if other != pack.name:
                raise PackFault(f"{path}: task id {item.task.id!r} of pack {pack.name} is taken by pack {other}")
        packs.append(pack)
    return packs


def _about(files: PackFiles) -> PackFile:
    content = _yaml(files, "pack.yaml")
    if not isinstance(content, dict):
        raise files.fault("pack.yaml", "it holds no mapping with name, format, domain")
    version = content.get("format")
    if type(version) is not int or version < 1:
        raise files.fault("pack.yaml", f"{version!r} is no format of packs; write `format: {FORMAT}` - at `$.format`")
    if version > FORMAT:
        told = f"pack {content.get('name')} is of format {version}, this Trialbox reads up to {FORMAT}"
        raise files.fault("pack.yaml", f"{told}; install a newer one")
    for key in content:
        if key not in PackFile.__struct_fields__:
            raise files.fault("pack.yaml", f"unknown key {key!r}; {nearest(str(key), PackFile.__struct_fields__)}")
    try:
        about = msgspec.convert(content, PackFile)
    except msgspec.ValidationError as error:
        raise files.fault("pack.yaml", with_value(str(error), content)) from None
    if not about.name or not all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in about.name):
        raise files.fault("pack.yaml", f"{about.name!r} cannot name a pack; use letters, digits, - and _ - at `$.name`")
    return about


def _ensure_known(files: PackFiles, about: PackFile) -> None:
    """Every file has a meaning: a misspelt folder would be a pack with half its content."""
    for name in files.names:
        folder, _, rest = name.partition("/")
        if rest and folder not in FOLDERS:
            raise files.fault(name, f"a pack has no folder {folder!r}; {nearest(folder, FOLDERS)}")
        if rest and ("/" in rest or not rest.endswith(FOLDERS[folder])):
            raise files.fault(name, f"{folder}/ holds files that end in {' or '.join(FOLDERS[folder])}")
        if not rest and name not in (*FILES, about.licence, "LICENSE.txt"):
            raise files.fault(name, f"a pack has no file {name!r}; {nearest(name, (*FILES, 'LICENSE.txt'))}")
    if about.licence and not files.has(about.licence):
        raise files.fault("pack.yaml", f"there is no file {about.licence!r}; {nearest(about.licence, files.names)}")


def _furnished(files: PackFiles, about: PackFile, domain: Domain) -> Domain:
    instructions = files.text("instructions.md") if files.has("instructions.md") else None
    if not files.within("seed") and not files.within("policy"):
        return domain.furnished(None, instructions)
    rows, origins = _seed(files)
    documents = _documents(files, about)
    tables = [table.name for table in domain.tables.values() if table.spec.documents]
    if documents and not tables:
        raise files.fault("policy", f"domain {domain.name} keeps no policy documents; put them into instructions.md")
    for table in tables if documents else ():
        if table in rows:
            raise files.fault(origins[table], f"table {table!r} holds the documents of policy/; keep one of the two")
        origins[table] = "policy"
        rows[table] = [msgspec.to_builtins(document) for document in documents]
    made = domain.furnished(rows, instructions)
    try:
        _ = made.seed
    except RowFault:
        faults = row_faults(made, rows, lambda table, reason: files.fault(origins[table], reason), lambda table: "$")
        raise next(faults) from None
    return made


def _seed(files: PackFiles) -> tuple[dict[str, list[dict[str, Any]]], dict[str, str]]:
    """Rows by table, and the file that each table's rows stand in."""
    rows: dict[str, list[dict[str, Any]]] = {}
    origins: dict[str, str] = {}
    for name in files.within("seed"):
        table = name.removeprefix("seed/").rpartition(".")[0]
        content = _json(files, name, files.text(name)) if name.endswith(".json") else _yaml(files, name)
        if not isinstance(content, list):
            raise files.fault(name, f"it holds {type(content).__name__}, no list of rows")
        if table in rows:
            raise files.fault(name, f"table {table!r} has rows in {origins[table]} already; keep one of the two")
        rows[table], origins[table] = content, name
    return rows, origins


def _documents(files: PackFiles, about: PackFile) -> list[Document]:
    listed = {f"policy/{item.file}": item.name for item in about.policy}
    found = files.within("policy")
    for name in [*listed, *found]:
        if name not in found:
            raise files.fault("pack.yaml", f"there is no {name}; {nearest(name, found)} - at `$.policy`")
        if listed and name not in listed:
            raise files.fault(name, "pack.yaml lists the documents, but not this one; add it to `policy`")
    names = listed or {name: _heading(files.text(name)) or name for name in found}
    documents = [Document(title, files.text(name)) for name, title in names.items()]
    for name, title in names.items():
        if list(names.values()).count(title) > 1:
            raise files.fault(name, f"two documents are named {title!r}; give one another name")
    return documents


def _heading(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ").strip()


def _tasks(files: PackFiles, about: PackFile, domain: Domain) -> tuple[PackTask, ...]:
    tasks: list[PackTask] = []
    origins: dict[str, str] = {}
    for where, content in _contents(files):
        task = _task(files, about, domain, where, content)
        other = origins.setdefault(task.task.id, where)
        if other != where:
            raise files.fault(where, f"task id {task.task.id!r} is taken by {other}; give it another one - at `$.id`")
        tasks.append(task)
    return tuple(tasks)


def _contents(files: PackFiles) -> Iterator[tuple[str, Any]]:
    for name in files.within("tasks"):
        yield name, _yaml(files, name)
    for number, line in enumerate(files.text("tasks.jsonl").split("\n"), 1):
        if line.strip():
            where = f"tasks.jsonl, line {number}"
            yield where, _json(files, where, line)


def _task(files: PackFiles, about: PackFile, domain: Domain, where: str, content: Any) -> PackTask:
    try:
        made = task_from(domain, content, where)
        made = replace(made, task=replace(made.task, tools=made.task.tools or about.tools))
        domain.layer(made.task.patch)
        ensure_names(domain, made.task, made.expectation)
    except TaskInvalid as fault:
        raise files.fault(where, with_value(str(fault).removeprefix(f"{where}: "), content)) from None
    except RowFault:
        faults = row_faults(
            domain, made.task.patch, lambda _, reason: files.fault(where, reason), lambda table: f"$.patch.{table}"
        )
        raise next(faults) from None
    return made


def _yaml(files: PackFiles, name: str) -> Any:
    try:
        return yaml_of(files.text(name), name)
    except UserFault as fault:
        raise PackFault(f"{files.path}/{fault}") from None


def _json(files: PackFiles, where: str, text: str) -> Any:
    try:
        return json_of(text, where)
    except UserFault as fault:
        raise PackFault(f"{files.path}/{fault}") from None
