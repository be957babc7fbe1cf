"""What importers share: files from elsewhere, read with limits and as data alone, and the pack that comes of them."""

import json
from pathlib import Path
from typing import Any, NoReturn

from msgspec import Struct

from sandbox.package_data import yaml_in
from sandbox.refusals import UserFault

MOST_BYTES = 64 * 1024 * 1024
"""Of one file."""


class ImportFault(UserFault):
    """Something that was to be imported cannot be read; the text names the file, the place and the reason."""


class Document(Struct, frozen=True):
    """A policy document."""

    name: str
    text: str


class LeftOut(Struct, frozen=True):
    """A task that was not taken over, and why."""

    task: str
    reason: str


class ForeignPack(Struct, frozen=True):
    """Tasks from elsewhere and the world they are set in, as plain data: what an importer hands over."""

    name: str
    domain: str
    """Name of the domain whose public mount the tasks are about."""
    title: str
    source: str
    licence: str
    """The whole text."""
    instructions: str
    tools: tuple[str, ...]
    """What the agent may use in tasks that do not say it."""
    documents: tuple[Document, ...]
    seed: dict[str, list[dict[str, Any]]]
    """Rows by table."""
    tasks: tuple[dict[str, Any], ...]
    """Each what a task file holds."""
    evaluation_only: bool = False


class Imported(Struct, frozen=True):
    """All that an importer found."""

    packs: tuple[ForeignPack, ...]
    left_out: tuple[LeftOut, ...]


def text_of(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """A file's text; ImportFault if it is not there, too large, or no UTF-8."""
    try:
        if not path.is_file():
            raise ImportFault(f"{path} is not there; check the path, or get the missing part of what is imported")
        if path.stat().st_size > most_bytes:
            raise ImportFault(f"{path} has more than {most_bytes} bytes; nothing that large is read")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ImportFault(f"{path} cannot be read: {error}") from None


def yaml_of(text: str, where: str) -> Any:
    """What YAML text holds, as plain values; ImportFault if it is none, or its aliases stand for too much."""
    try:
        return yaml_in(text, where)
    except ValueError as error:
        raise ImportFault(str(error)) from None


def json_of(text: str, where: str) -> Any:
    """What JSON text holds; ImportFault if it is none, has a key twice, or a number that is none."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except RecursionError:
        raise ImportFault(f"{where} is no JSON that can be read: it is nested too deep") from None
    except ValueError as error:
        raise ImportFault(f"{where} is no JSON that can be read: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"key {next(name for name in names if names.count(name) > 1)!r} stands twice")
    return made


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number that can be recorded")
