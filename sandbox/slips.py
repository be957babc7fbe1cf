"""Plausible mistakes in a call: where an argument can be altered, and what somebody in a hurry would write there."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

Schema = Mapping[str, Any]
Path = tuple[str | int, ...]
"""From the arguments down: names of properties and places in lists."""

FINISHED = ("solved", "resolved", "completed", "done", "closed")
"""What a careless agent likes to call a thing, where it may."""

_ID = re.compile(r"^([A-Za-z]+-)?(\d+)$")


class Leaf(Struct, frozen=True):
    """A value inside a call's arguments that holds no others, and what the tool's schema says of it."""

    path: Path
    value: Any
    parts: tuple[Schema, ...]
    """The schema and its alternatives; empty mappings where nothing is said."""

    @property
    def allowed(self) -> list[Any]:
        """The values of the enumeration that the value is one of; empty if it is of none."""
        found = [item for part in self.parts for item in part.get("enum", ())]
        return [item for item in found if item is not None] if self.value in found else []

    def takes(self, json_type: str) -> bool:
        """Whether the schema names this type, such as `integer`, as one that the value may be of."""
        return any(json_type in (part.get("type"), *_listed(part.get("type"))) for part in self.parts)


class Gathered(Struct, frozen=True):
    """An object inside a call's arguments (or the arguments themselves), and the schema that fits its names."""

    path: Path
    value: Mapping[str, Any]
    schema: Schema

    @property
    def required(self) -> list[str]:
        """Names that are there and must be."""
        return [name for name in self.schema.get("required", ()) if name in self.value]

    @property
    def absent(self) -> list[str]:
        """Declared names that are not there and need not be."""
        required = self.schema.get("required", ())
        return [name for name in self.schema.get("properties", {}) if name not in self.value and name not in required]


def leaves(arguments: Mapping[str, Any], schema: Schema) -> list[Leaf]:
    """Every value inside the arguments that holds no others, in order."""
    return list(_leaves(arguments, schema, schema, ()))


def objects(arguments: Mapping[str, Any], schema: Schema) -> list[Gathered]:
    """The arguments, and every object inside them, in order."""
    return list(_objects(arguments, schema, schema, ()))


def wrong_values(leaf: Leaf) -> list[Any]:
    """What a careless agent would write instead; empty if nothing comes to mind."""
    if leaf.allowed:
        others = [item for item in leaf.allowed if item != leaf.value]
        return [item for item in others if item in FINISHED] or others
    if isinstance(leaf.value, bool) or leaf.value is None:
        return []
    if isinstance(leaf.value, int | float):
        return [leaf.value + 5, leaf.value * 2] if leaf.value else [5]
    following = following_id(str(leaf.value))
    return [following] if following else []


def following_id(text: str) -> str:
    """The id after this one, of the same width: `CUS-019` after `CUS-018`; empty for a text that looks like none."""
    named = _ID.match(text)
    return f"{named[1] or ''}{int(named[2]) + 1:0{len(named[2])}d}" if named else ""


def replaced(value: Any, path: Sequence[str | int], leaf: Any) -> Any:
    """A copy of nested mappings and lists with one value replaced; a mapping may get a name that it did not have."""
    if not path:
        return leaf
    step, *rest = path
    if isinstance(value, Mapping):
        return {**value, step: replaced(value.get(step), rest, leaf)}
    return [replaced(item, rest, leaf) if place == step else item for place, item in enumerate(value)]


def removed(value: Any, path: Sequence[str | int]) -> Any:
    """A copy of nested mappings and lists without one value."""
    step, *rest = path
    if rest:
        return replaced(value, (step,), removed(value[step], rest))
    if isinstance(value, Mapping):
        return {name: item for name, item in value.items() if name != step}
    return [item for place, item in enumerate(value) if place != step]


def _listed(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list | tuple) else ()


def _leaves(value: Any, schema: Schema, root: Schema, path: Path) -> Iterator[Leaf]:
    if isinstance(value, Mapping | list | tuple):
        for step, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _leaves(item, _inner(schema, step, root), root, (*path, step))
    else:
        yield Leaf(path, value, tuple(_parts(schema, root)))


def _objects(value: Any, schema: Schema, root: Schema, path: Path) -> Iterator[Gathered]:
    if isinstance(value, Mapping):
        yield Gathered(path, value, _fitting(value, _parts(schema, root)))
    if isinstance(value, Mapping | list | tuple):
        for step, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _objects(item, _inner(schema, step, root), root, (*path, step))


def _fitting(value: Mapping[str, Any], parts: Sequence[Schema]) -> Schema:
    """The first alternative that knows every name of the object and misses none; empty if there is none."""
    for part in parts:
        known = part.get("properties", {})
        if known and all(name in known for name in value) and all(name in value for name in part.get("required", ())):
            return part
    return {}


def _parts(schema: Schema, root: Schema) -> list[Schema]:
    """A schema and its alternatives, references followed."""
    if "$ref" in schema:
        schema = root.get("$defs", {}).get(str(schema["$ref"]).rpartition("/")[2], {})
    return [schema, *(inner for part in schema.get("anyOf", ()) for inner in _parts(part, root))]


def _inner(schema: Schema, step: str | int, root: Schema) -> Schema:
    """What a schema says of a property, or of the item at a place."""
    for part in _parts(schema, root):
        named, placed = part.get("properties", {}), part.get("prefixItems", ())
        if isinstance(step, str) and step in named:
            return named[step]  # type: ignore[no-any-return]
        if isinstance(step, int) and step < len(placed):
            return placed[step]  # type: ignore[no-any-return]
        if isinstance(step, int) and isinstance(part.get("items"), Mapping):
            return part["items"]  # type: ignore[no-any-return]
    return {}
