"""The JSON Schema of a task file, for editors and for whoever writes tasks by program."""

from typing import Any

import msgspec

from judges.pack import RULES, TaskFile
from sandbox.values import plain

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_GOLDEN = "GoldenCall"


def task_schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of what a task file may hold, the short forms of golden calls and rules included."""
    (root,), parts = msgspec.json.schema_components([TaskFile], ref_template="#/$defs/{name}")
    names = {kind.__name__ for kind in RULES.values()}
    for name in names:
        parts[name] = _untagged(parts[name])
    parts[_GOLDEN] = {"title": "A golden call", "anyOf": [parts[_GOLDEN], _short_call()]}
    expect = parts["Expectation"]["properties"]["rules"]
    expect["items"] = {"anyOf": [_rule(name, kind.__name__) for name, kind in RULES.items()]}
    made = {"$schema": DIALECT, **parts.pop(root["$ref"].rpartition("/")[2]), "$defs": parts}
    whole: dict[str, Any] = plain(made | {"title": "A task of Trialbox"})
    return whole


def _untagged(schema: dict[str, Any]) -> dict[str, Any]:
    """In a file a rule's kind is the key that it stands under."""
    properties = {name: item for name, item in schema["properties"].items() if name != "type"}
    required = [name for name in schema.get("required", ()) if name != "type"]
    return {**schema, "properties": properties, "required": required}


def _short_call() -> dict[str, Any]:
    """`{NAME: {…}}`."""
    return {
        "description": "The name of a tool with its arguments; nothing or null for none.",
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "propertyNames": {"not": {"const": "tool"}},
        "additionalProperties": {"anyOf": [{"type": "object"}, {"type": "null"}]},
    }


def _rule(name: str, definition: str) -> dict[str, Any]:
    """`{never: {event: TAG, …}}`; `{never: TAG}` too where the tag is all that is needed."""
    forms: list[dict[str, Any]] = [{"$ref": f"#/$defs/{definition}"}]
    if RULES[name].__struct_fields__[1] == "where":
        forms.append({"description": "The tag of the event.", "type": "string"})
    return {"type": "object", "properties": {name: {"anyOf": forms}}, "required": [name], "additionalProperties": False}
