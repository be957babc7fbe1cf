"""A tool's one schema in each provider's dialect, and the arguments of its calls back again."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from sandbox.refusals import UserFault

Dialect = Literal["openai", "openai_strict", "gemini", "anthropic"]
Schema = Mapping[str, Any]

_PARAMETER_NAMES: Mapping[str, str] = {
    "gemini": r"[A-Za-z_][A-Za-z0-9_]{0,63}",
    "anthropic": r"[A-Za-z0-9_.-]{1,64}",
}
_TOOL_NAME = r"[A-Za-z_][A-Za-z0-9_-]{0,63}"
_TIMES = ("date-time",)
_LIMITS = (
    *("minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "default"),
)
"""Keywords that OpenAI's strict mode may refuse; the description names them instead."""
_GEMINI_LACKS = ("exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems")


class Offered(Protocol):
    """A tool as an agent sees it."""

    @property
    def name(self) -> str:
        """Its own name."""

    @property
    def description(self) -> str:
        """For the model."""

    @property
    def schema(self) -> Schema:
        """Of its arguments: JSON Schema 2020-12, an object at the root."""


class DialectFault(UserFault):
    """A schema that a dialect has no words for."""


class Translated(Struct, frozen=True):
    """A schema in a dialect."""

    source: Schema
    dialect: Dialect
    schema: dict[str, Any]
    strict: bool
    """Whether the provider can be held to it; where null and absent differ, or keys are free, OpenAI cannot."""
    names: Mapping[str, str]
    """Shown argument names to own ones, as far as they differ, at any depth."""

    def arguments(self, text: str) -> str:
        """A model's arguments under their own names and forms; the text as it is where nothing differs."""
        try:
            given = json.loads(text)
            owned = _owned(given, self.source, self)
            return text if owned == given else json.dumps(owned)
        except (ValueError, RecursionError):
            return text


def for_dialect(schema: Schema, dialect: Dialect) -> Translated:
    """
    The schema as the provider takes it.

    Raises:
        DialectFault: it refers to itself, which Gemini has no words for.
    """
    names: dict[str, str] = {}
    if dialect == "openai_strict":
        try:
            return Translated(schema, dialect, _strict(schema, _Parts(schema)), True, names)
        except _Inexpressible:
            dialect = "openai"
    if dialect == "gemini":
        try:
            return Translated(schema, dialect, _gemini(schema, _Parts(schema), names), False, names)
        except _Inexpressible as fault:
            raise DialectFault(f"the schema {fault}; ask a model of another dialect, or flatten it") from None
    made = _renamed(schema, names) if dialect == "anthropic" else dict(schema)
    return Translated(
        schema, dialect, {"type": "object", **made, "properties": made.get("properties", {})}, False, names
    )


def shown_names(names: Iterable[str], pattern: str) -> dict[str, str]:
    """Each name with one that matches the pattern: itself, or what is left of it, numbered if taken."""
    names = list(names)
    shown = {name: name for name in names if re.fullmatch(pattern, name)}
    taken = set(shown)
    for name in names:
        if name not in shown:
            stem = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")[:60] or "argument"
            stem = stem if re.fullmatch(pattern, stem) else f"_{stem}"
            choices = (stem if count == 1 else f"{stem}_{count}" for count in range(1, len(names) + 2))
            shown[name] = next(choice for choice in choices if choice not in taken)
            taken.add(shown[name])
    return shown


class Toolbox:
    """All tools of a request in a dialect, with their names."""

    def __init__(self, tools: Sequence[Offered], dialect: Dialect) -> None:
        shown = shown_names((tool.name for tool in tools), _TOOL_NAME)
        self.functions: list[dict[str, Any]] = []
        self._own: dict[str, tuple[str, Translated]] = {}
        self.shown = shown
        for tool in tools:
            made = for_dialect(tool.schema, dialect)
            self._own[shown[tool.name]] = (tool.name, made)
            self.functions.append(
                {
                    "name": shown[tool.name],
                    "description": tool.description,
                    "parameters": made.schema,
                    "strict": made.strict,
                }
            )

    def own(self, name: str, arguments: str) -> tuple[str, str]:
        """A call as the tool takes it; one of an unknown tool as it is."""
        found = self._own.get(name)
        return (name, arguments) if found is None else (found[0], found[1].arguments(arguments))


class _Inexpressible(Exception):
    pass


class _Parts:
    """Looks up `$ref`, and notices one that leads to itself."""

    def __init__(self, root: Schema, open_refs: frozenset[str] = frozenset()) -> None:
        self.root = root
        self._open = open_refs

    def resolved(self, node: Schema) -> tuple[Schema, "_Parts"]:
        """The node with its reference replaced, and the parts for what lies in it."""
        parts = self
        while "$ref" in node:
            reference = node["$ref"]
            if reference in parts._open:
                raise _Inexpressible(f"refers to itself at {reference}")
            beside = {name: value for name, value in node.items() if name != "$ref"}
            node = {**_target(self.root, reference), **beside}
            parts = _Parts(self.root, parts._open | {reference})
        return node, parts


def _target(root: Schema, reference: str) -> Schema:
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found[step.replace("~1", "/").replace("~0", "~")]
    target: Schema = found
    return target


def _strict(node: Schema, parts: _Parts) -> dict[str, Any]:
    node, parts = parts.resolved(node)
    made = _described(node, [name for name in _LIMITS if name in node])
    if "anyOf" in node:
        return made | {"anyOf": [_strict(branch, parts) for branch in node["anyOf"]]}
    if "enum" in node or "const" in node:
        values = node.get("enum", [node.get("const")])
        kinds = sorted({_kind(value) for value in values})
        return made | {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": list(values)}
    kind = node.get("type", "object" if "properties" in node else None)
    if kind == "object" and "properties" in node and not node.get("additionalProperties"):
        return made | _closed(node, parts)
    if kind == "array" and "items" in node and "prefixItems" not in node:
        return made | {"type": "array", "items": _strict(node["items"], parts)}
    if kind in ("object", "array", None) or "allOf" in node or "oneOf" in node:
        raise _Inexpressible("is open")
    return made | {"type": kind}


def _closed(node: Schema, parts: _Parts) -> dict[str, Any]:
    properties = {}
    for name, part in node["properties"].items():
        made = _strict(part, parts)
        if name not in node.get("required", ()):
            made = _optional(made, part, parts)
        properties[name] = made
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


def _optional(made: dict[str, Any], part: Schema, parts: _Parts) -> dict[str, Any]:
    """Null means absent, where null has no meaning of its own."""
    if not _accepts_null(part, parts):
        told = {"description": made.pop("description")} if "description" in made else {}
        return told | {"anyOf": [made, {"type": "null"}]}
    if part.get("default", part) is not None:
        raise _Inexpressible("tells null from absent")
    return made


def _accepts_null(node: Schema, parts: _Parts) -> bool:
    node, parts = parts.resolved(node)
    if "anyOf" in node:
        return any(_accepts_null(branch, parts) for branch in node["anyOf"])
    if "enum" in node or "const" in node:
        return None in node.get("enum", [node.get("const")])
    kind = node.get("type")
    return kind is None or kind == "null" or (isinstance(kind, list) and "null" in kind)


_KINDS: Mapping[type, str] = {
    str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null", dict: "object", list: "array",
}  # fmt: skip


def _kind(value: object) -> str:
    return _KINDS[type(value)]


def _described(node: Schema, dropped: Iterable[str]) -> dict[str, Any]:
    """The node's description, with the limits that it cannot carry."""
    limits = ", ".join(f"{name} {json.dumps(node[name])}" for name in dropped if node[name] is not None)
    words = [word for word in (node.get("description", ""), f"({limits})" if limits else "") if word]
    return {"description": " ".join(words)} if words else {}


def _gemini(node: Schema, parts: _Parts, names: dict[str, str]) -> dict[str, Any]:
    node, parts = parts.resolved(node)
    dropped = [name for name in _GEMINI_LACKS if name in node]
    if "format" in node and node["format"] not in _TIMES:
        dropped.append("format")
    made = _described(node, dropped)
    if isinstance(node.get("type"), list):
        node = {**node, "anyOf": [{"type": kind} for kind in node["type"]]}
    if "anyOf" in node or "oneOf" in node:
        return _gemini_choice(node, parts, names, made)
    if "enum" in node or "const" in node:
        return made | _gemini_enum(node.get("enum", [node.get("const")]), made)
    kind = node.get("type", "object" if "properties" in node else None)
    if kind is None:
        any_of: list[Schema] = [{"type": name} for name in ("string", "number", "boolean", "object")]
        return _gemini_choice({"anyOf": any_of}, parts, names, made)
    made |= {"type": kind} | {name: node[name] for name in ("title", "default") if node.get(name) is not None}
    limits = ("minLength", "maxLength", "pattern", "minimum", "maximum", "minItems", "maxItems")
    made |= {name: node[name] for name in limits if name in node}
    if node.get("format") in _TIMES:
        made["format"] = node["format"]
    if kind == "array":
        items = node.get("items") or {"anyOf": node.get("prefixItems") or [{"type": "string"}]}
        made["items"] = _gemini(items, parts, names)
    if kind == "object" and (parts.root is node or node.get("properties")):
        made |= _gemini_object(node, parts, names)
    return made


def _gemini_object(node: Schema, parts: _Parts, names: dict[str, str]) -> dict[str, Any]:
    properties = node.get("properties", {})
    shown = _shown(properties, "gemini", names)
    required = [shown[name] for name in node.get("required", ()) if name in shown]
    inner = {shown[name]: _gemini(part, parts, names) for name, part in properties.items()}
    return {"properties": inner} | ({"required": required} if required else {})


def _gemini_choice(node: Schema, parts: _Parts, names: dict[str, str], told: dict[str, Any]) -> dict[str, Any]:
    """Nothing may stand beside `anyOf`, so each branch carries what does."""
    branches = node.get("anyOf") or node["oneOf"]
    beside = told | ({"nullable": True} if any(branch.get("type") == "null" for branch in branches) else {})
    made = [beside | _gemini(branch, parts, names) for branch in branches if branch.get("type") != "null"]
    return made[0] if len(made) == 1 else {"anyOf": made} if made else beside | {"type": "string", "nullable": True}


def _gemini_enum(values: Sequence[Any], told: dict[str, Any]) -> dict[str, Any]:
    texts = [_text(value) for value in values if value is not None]
    nullable = {"nullable": True} if None in values else {}
    if "" in texts or not texts:
        words = f"{told.get('description', '')} One of: {', '.join(map(json.dumps, texts))}.".strip()
        return {"type": "string", "description": words} | nullable
    return {"type": "string", "enum": texts} | nullable


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _renamed(node: Schema, names: dict[str, str]) -> dict[str, Any]:
    """The schema with argument names that Anthropic takes; all else as it is."""

    def inside(part: Any) -> Any:
        if isinstance(part, Mapping):
            return _renamed(part, names)
        return [inside(item) for item in part] if isinstance(part, list) else part

    made: dict[str, Any] = {}
    for keyword, part in node.items():
        if keyword == "properties":
            shown = _shown(part, "anthropic", names)
            made[keyword] = {shown[name]: inside(item) for name, item in part.items()}
        elif keyword == "required":
            shown = _shown(node.get("properties", {}), "anthropic", names)
            made[keyword] = [shown.get(name, name) for name in part]
        elif keyword == "$defs":
            made[keyword] = {name: inside(item) for name, item in part.items()}
        else:
            made[keyword] = part if keyword in ("enum", "const", "default", "examples") else inside(part)
    return made


def _shown(properties: Iterable[str], dialect: str, names: dict[str, str]) -> dict[str, str]:
    shown = shown_names(properties, _PARAMETER_NAMES.get(dialect, ".*"))
    names |= {new: own for own, new in shown.items() if new != own}
    return shown


def _owned(value: Any, node: Schema, made: Translated) -> Any:
    """A value that was given in the dialect, as the source schema has it."""
    while "$ref" in node:
        node = _target(made.source, node["$ref"])
    branches = node.get("anyOf") or node.get("oneOf")
    if branches:
        node = next((branch for branch in branches if _suits(value, branch, made)), {})
        return _owned(value, node, made) if node else value
    if isinstance(value, dict):
        return _owned_object(value, node, made)
    if isinstance(value, list) and isinstance(node.get("items"), Mapping):
        return [_owned(item, node["items"], made) for item in value]
    if made.dialect == "gemini" and isinstance(value, str) and ("enum" in node or "const" in node):
        return next((one for one in node.get("enum", [node.get("const")]) if _text(one) == value), value)
    return value


def _owned_object(value: dict[str, Any], node: Schema, made: Translated) -> dict[str, Any]:
    properties = node.get("properties", {})
    own = {new: name for name, new in _shown(properties, made.dialect, {}).items()}
    free = node.get("additionalProperties")
    given: dict[str, Any] = {}
    for shown, item in value.items():
        name = own.get(shown, shown)
        part = properties.get(name, free if isinstance(free, Mapping) else {})
        if made.strict and item is None and name in properties and name not in node.get("required", ()):
            if not _accepts_null(part, _Parts(made.source)):
                continue
        given[name] = _owned(item, part, made)
    return given


def _suits(value: Any, node: Schema, made: Translated) -> bool:
    """Whether a value given in the dialect can be meant for this branch."""
    while "$ref" in node:
        node = _target(made.source, node["$ref"])
    if "anyOf" in node:
        return any(_suits(value, branch, made) for branch in node["anyOf"])
    if "enum" in node or "const" in node:
        values = node.get("enum", [node.get("const")])
        return value in values or (made.dialect == "gemini" and value in [_text(one) for one in values])
    kind = node.get("type", "object" if "properties" in node else _kind(value))
    if isinstance(value, dict) and node.get("properties") and kind == "object":
        return set(value) <= set(_shown(node["properties"], made.dialect, {}).values())
    return kind == _kind(value) or (kind == "number" and isinstance(value, int))
