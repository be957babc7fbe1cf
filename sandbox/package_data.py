"""Seed rows, documents and instructions of a domain's package. Read here, so that domains read no files."""

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import yaml

from sandbox.refusals import UserFault

MOST_NODES = 1_000_000
"""Values that one YAML text may stand for."""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def seed_rows(package: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """
    Table names with their rows: `seed/TABLE.yaml`, each a list of mappings; instants stay text.

    Raises:
        UserFault: a file that cannot be read, or holds anything else.
    """
    for item in _entries(files(package) / "seed", ".yaml"):
        try:
            rows = read_yaml(item)
        except ValueError as error:
            raise UserFault(f"{package}: seed/{error}") from None
        if not isinstance(rows, list):
            raise UserFault(f"{package}: seed/{item.name} holds {type(rows).__name__}, no list of rows")
        yield item.name.removesuffix(".yaml"), rows


def read_yaml(item: Traversable) -> Any:
    """
    What a YAML file holds; instants stay text.

    Raises:
        ValueError: it is no YAML, or a mapping has a key twice, of which one would be lost.
    """
    try:
        text = item.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{item.name} is no YAML that can be read: {error}") from None
    return yaml_in(text, item.name)


def yaml_in(text: str, name: str) -> Any:
    """
    What YAML text holds; instants stay text, and no tag makes anything but plain values.

    Raises:
        ValueError: it is no YAML, a mapping has a key twice, or its aliases stand for more than `MOST_NODES` values.
    """
    try:
        loader = _UniqueKeys(text)
        node = loader.get_single_node()
        if "&" in text:
            _ensure_bounded(node, {})
        return None if node is None else loader.construct_document(node)
    except RecursionError:
        raise ValueError(f"{name} is no YAML that can be read: it is nested too deep") from None
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise ValueError(f"{name} is no YAML that can be read: {' '.join(str(error).split())}") from None


def _ensure_bounded(node: Any, sizes: dict[int, int]) -> int:
    """How many values a node stands for once its aliases are written out: ten lines can stand for a billion."""
    size = sizes.get(id(node))
    if size is not None:
        if size == 0:
            raise ValueError("an alias stands inside what it stands for")
        return size
    sizes[id(node)] = 0
    parts = node.value if isinstance(node, yaml.CollectionNode) else ()
    pairs = isinstance(node, yaml.MappingNode)
    size = 1 + sum(_ensure_bounded(one, sizes) for part in parts for one in (part if pairs else (part,)))
    if size > MOST_NODES:
        raise ValueError(f"its aliases stand for more than {MOST_NODES} values; write them out or drop them")
    sizes[id(node)] = size
    return size


def task_files(package: str) -> list[Traversable]:
    """The YAML files in the package's `tasks/` folder, by name."""
    return _entries(files(package) / "tasks", ".yaml")


def document_rows(package: str, folder: str) -> list[dict[str, Any]]:
    """Each Markdown file of a folder as a row: `name` (its first heading) and `text`."""
    rows = []
    for item in _entries(files(package) / folder, ".md"):
        text = item.read_text(encoding="utf-8")
        heading = text.partition("\n")[0].lstrip("# ").strip()
        rows.append({"name": heading or item.name.removesuffix(".md"), "text": text})
    return rows


def instructions_of(package: str) -> str:
    """The package's `instructions.md`, or nothing."""
    item = files(package) / "instructions.md"
    return item.read_text(encoding="utf-8") if item.is_file() else ""


def _entries(folder: Traversable, suffix: str) -> list[Traversable]:
    if not folder.is_dir():
        return []
    return sorted((item for item in folder.iterdir() if item.name.endswith(suffix)), key=lambda item: item.name)


class TextTimes(_LOADER):  # type: ignore[misc, valid-type]
    """YAML without dates: 2025-10-01T13:00:00Z stays the text that was written."""


TextTimes.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for letter, resolvers in _LOADER.yaml_implicit_resolvers.items()
}


class _UniqueKeys(TextTimes):
    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[str] = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode) and not key.tag.endswith(":merge"):
                if key.value in seen:
                    told = f"key {key.value!r} stands twice"
                    raise yaml.constructor.ConstructorError(None, None, told, node.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)
