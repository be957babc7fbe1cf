"""Tools as a small model is shown and held to them: a short list for its prompt, one schema for its answer."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

MOST_SIGNS = 120
"""The longest text in a call, where its schema allows a longer one: a small model does not stop by itself."""
MOST_SIGNS_OF_REPLY = 500
MOST_ITEMS = 4
LARGEST = 999_999_999_999
DEEPEST = 8
"""Levels of a schema that are followed; one that refers to itself has no last."""

SCALAR: Mapping[str, Any] = {
    "anyOf": [
        {"type": "string", "maxLength": MOST_SIGNS},
        {"type": "integer", "minimum": -LARGEST, "maximum": LARGEST},
        {"type": "boolean"},
        {"type": "null"},
    ]
}
"""Where anything may stand, one of these is something."""
FREE: Mapping[str, Any] = {
    "type": "object",
    "patternProperties": {"^[A-Za-z0-9_]{1,32}$": SCALAR},
    "additionalProperties": False,
    "maxProperties": MOST_ITEMS,
}
"""An object with names of its own."""
_FORMATS = ("date-time", "date", "time", "uuid")
"""Those that bound a text; the others would only hinder."""
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_SHOWN_CHOICES = 6
_SHOWN_DESCRIPTION = 60


class Function(Struct, frozen=True):
    """A tool as a request offers it."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


def answer_schema(tools: Sequence[Function], *, may_reply: bool, is_simple: bool = False) -> dict[str, Any]:
    """
    What an answer looks like: `{"name": …, "arguments": …}` of one of the tools, or `{"reply": …}`.

    Args:
        is_simple: only the names of tools and parameters are held to; for schemas that the grammar cannot take.
    """
    narrowed = _named_only if is_simple else arguments_schema
    forms = [_exact({"name": {"const": tool.name}, "arguments": narrowed(tool)}) for tool in tools]
    if may_reply:
        forms.append(_exact({"reply": {"type": "string", "minLength": 1, "maxLength": MOST_SIGNS_OF_REPLY}}))
    return {"anyOf": forms}


def arguments_schema(tool: Function) -> dict[str, Any]:
    """A schema whose every value is one of the tool's own, with texts, lists and numbers that end."""
    given = _parameters(tool)
    return _narrowed({"type": "object", **given}, given, DEEPEST)


def _named_only(tool: Function) -> dict[str, Any]:
    given = _parameters(tool)
    return _narrowed(
        {**given, "type": "object", "properties": {name: {} for name in given.get("properties") or ()}}, {}, 2
    )


def _parameters(tool: Function) -> Mapping[str, Any]:
    return tool.parameters or {"type": "object", "properties": {}, "additionalProperties": False}


def _exact(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _narrowed(schema: Any, root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """A schema in the words that the grammar knows, with bounds."""
    if not isinstance(schema, Mapping) or depth == 0:
        return dict(SCALAR)
    for word in ("const", "enum"):
        if word in schema:
            return {word: schema[word]}
    if "$ref" in schema:
        return _narrowed(_referred(str(schema["$ref"]), root), root, depth - 1)
    if parts := schema.get("allOf"):
        return _narrowed(_merged([{n: v for n, v in schema.items() if n != "allOf"}, *parts]), root, depth - 1)
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return {"anyOf": [_narrowed(one, root, depth - 1) for one in choices]}
    kind = schema.get("type") or _kind_by_words(schema)
    if isinstance(kind, list):
        return {"anyOf": [_narrowed({**schema, "type": one}, root, depth) for one in kind]}
    return _of_kind(kind, schema, root, depth)


def _of_kind(kind: Any, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    match kind:
        case "object":
            return _object(schema, root, depth)
        case "array":
            least = schema.get("minItems", 0)
            most = max(least, min(schema.get("maxItems", MOST_ITEMS), MOST_ITEMS))
            items = _narrowed(schema.get("items"), root, depth - 1)
            return {"type": "array", "items": items, "minItems": least, "maxItems": most}
        case "string":
            return _text(schema)
        case "integer" | "number":
            return _number(kind, schema)
        case "boolean" | "null":
            return {"type": kind}
    return dict(SCALAR)


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    if not properties and schema.get("additionalProperties", True) is not False:
        values = schema.get("additionalProperties", True)
        return {
            **FREE,
            "patternProperties": dict.fromkeys(FREE["patternProperties"], _narrowed(values, root, depth - 1)),
        }
    made = _exact({name: _narrowed(one, root, depth - 1) for name, one in properties.items()})
    return made | {"required": [name for name in schema.get("required", ()) if name in properties]}


def _text(schema: Mapping[str, Any]) -> dict[str, Any]:
    if schema.get("format") in _FORMATS:
        return {"type": "string", "format": schema["format"]}
    least = schema.get("minLength", 0)
    made = {"type": "string", "maxLength": max(least, min(schema.get("maxLength", MOST_SIGNS), MOST_SIGNS))}
    return made | {word: schema[word] for word in ("minLength", "pattern") if word in schema}


def _number(kind: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Within the schema's bounds, and with digits that end."""
    own = {word: schema[word] for word in _BOUNDS if word in schema}
    ends: dict[str, Any] = {} if kind == "integer" else {"multipleOf": 0.0001}
    if "exclusiveMinimum" not in own:
        ends["minimum"] = min(-LARGEST, own.get("maximum", 0))
    if "exclusiveMaximum" not in own:
        ends["maximum"] = max(LARGEST, own.get("minimum", 0))
    return {"type": kind, **ends, **own}


def _kind_by_words(schema: Mapping[str, Any]) -> str:
    """What a schema without a type is about."""
    return "object" if "properties" in schema else "array" if "items" in schema else ""


def _referred(ref: str, root: Mapping[str, Any]) -> Any:
    found: Any = root
    for step in ref.removeprefix("#").strip("/").split("/"):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def _merged(parts: Sequence[Any]) -> dict[str, Any]:
    """Schemas that all hold, as one; where two say the same word the later one counts."""
    whole: dict[str, Any] = {}
    for part in parts:
        properties = {**whole.get("properties", {}), **part.get("properties", {})}
        required = [*whole.get("required", ()), *part.get("required", ())]
        whole |= part
        whole |= {word: value for word, value in (("properties", properties), ("required", required)) if value}
    return whole


def tool_list(tools: Sequence[Function], *, may_reply: bool) -> str:
    """What the prompt says of the tools, and how one is called."""
    reply = '{"reply": "…"}, or with ' if may_reply else ""
    lines = [f"{_signature(tool)} {_first_sentence(tool.description or '')}".strip() for tool in tools]
    return "\n".join([f'Answer with {reply}{{"name": "tool", "arguments": {{…}}}}. The tools are:', *lines])


def _signature(tool: Function) -> str:
    schema = tool.parameters or {}
    required = schema.get("required") or ()
    named = (schema.get("properties") or {}).items()
    shown = (f"{name}{'' if name in required else '?'}: {_word(one, schema, DEEPEST)}" for name, one in named)
    return f"{tool.name}({', '.join(shown)})"


def _word(schema: Any, root: Mapping[str, Any], depth: int) -> str:
    """A parameter's type in a word or two."""
    if not isinstance(schema, Mapping) or depth == 0:
        return "any"
    if "$ref" in schema:
        return _word(_referred(str(schema["$ref"]), root), root, depth - 1)
    if values := schema.get("enum"):
        shown = [one if isinstance(one, str) else json.dumps(one) for one in values[:_SHOWN_CHOICES]]
        return "|".join([*shown, *(["…"] if len(values) > len(shown) else [])])
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        words = dict.fromkeys(_word(one, root, depth - 1) for one in choices)
        return "|".join(word for word in words if word != "null") or "null"
    kind = schema.get("type", "any")
    return "|".join(map(str, kind)) if isinstance(kind, list) else str(kind)


def _first_sentence(text: str) -> str:
    first = text.strip().partition("\n")[0].partition(". ")[0].rstrip(".")
    return f"- {first[:_SHOWN_DESCRIPTION]}" if first else ""
