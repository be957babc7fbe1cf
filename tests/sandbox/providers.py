"""What each provider refuses in a tool, as complaints: written from the providers' side, apart from the translation."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

STRICT_KEYWORDS = {"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "description"}
GEMINI_KEYWORDS = {
    *(
        "type",
        "title",
        "description",
        "nullable",
        "format",
        "enum",
        "default",
        "anyOf",
        "items",
        "properties",
        "required",
    ),
    *("minItems", "maxItems", "minLength", "maxLength", "pattern", "minimum", "maximum"),
}
KINDS = {"string", "number", "integer", "boolean", "array", "object", "null"}

Node = Mapping[str, Any]


def nodes(node: Node, path: str = "$") -> Iterator[tuple[str, Node]]:
    """Each schema in a schema."""
    yield path, node
    for holder in ("properties", "$defs"):
        for name, part in node.get(holder, {}).items():
            yield from nodes(part, f"{path}.{name}")
    for holder in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for place, part in enumerate(node.get(holder, ())):
            yield from nodes(part, f"{path}.{holder}[{place}]")
    for holder in ("items", "additionalProperties"):
        if isinstance(node.get(holder), Mapping):
            yield from nodes(node[holder], f"{path}.{holder}")


def complaints(function: Node, check: Callable[[Node], Iterator[str]]) -> list[str]:
    """All that a provider has against a function."""
    schema = function["parameters"]
    found = [f"{path}: {wrong}" for path, node in nodes(schema) for wrong in check(node)]
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", function["name"]):
        found.append(f"tool name {function['name']}")
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), Mapping):
        found.append("the root is no object with properties")
    if {"anyOf", "oneOf", "allOf", "enum", "not"} & set(schema):
        found.append("the root is a choice")
    return found


def openai_strict(node: Node) -> Iterator[str]:
    """Every object closed, every property required, a type everywhere, no keyword beyond the known ones."""
    yield from (f"keyword {name}" for name in set(node) - STRICT_KEYWORDS)
    if "anyOf" in node:
        if set(node) - {"anyOf", "description"}:
            yield "something beside anyOf"
        return
    kinds = node.get("type")
    if not set([kinds] if isinstance(kinds, str) else kinds or ["nothing"]) <= KINDS:
        yield f"type {kinds}"
    if kinds == "object":
        if node.get("additionalProperties") is not False:
            yield "an open object"
        if set(node.get("required", ())) != set(node.get("properties", {})):
            yield "a property that is not required"
    if kinds == "array" and "items" not in node:
        yield "an array without items"


def gemini(node: Node) -> Iterator[str]:
    """No references, a single type, enums of texts, nothing beside anyOf, required names that exist."""
    yield from (f"keyword {name}" for name in set(node) - GEMINI_KEYWORDS)
    if "anyOf" in node:
        if set(node) != {"anyOf"}:
            yield "something beside anyOf"
        return
    if node.get("type") not in KINDS - {"null"}:
        yield f"type {node.get('type')}"
    if "enum" in node and (node.get("type") != "string" or not all(isinstance(v, str) and v for v in node["enum"])):
        yield "an enum that is not of texts"
    if node.get("type") == "array" and "items" not in node:
        yield "an array without items"
    if node.get("format", "date-time") != "date-time":
        yield f"format {node['format']}"
    if not set(node.get("required", ())) <= set(node.get("properties", {})):
        yield "a required property that is not there"
    for name in node.get("properties", {}):
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name):
            yield f"argument name {name}"


def anthropic(node: Node) -> Iterator[str]:
    """Argument names of plain signs."""
    for name in node.get("properties", {}):
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name):
            yield f"argument name {name}"
    if not set(node.get("required", ())) <= set(node.get("properties", {})):
        yield "a required property that is not there"


def openai(node: Node) -> Iterator[str]:
    """Any JSON Schema."""
    yield from ()
