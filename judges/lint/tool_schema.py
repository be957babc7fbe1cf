"""What a tool's JSON Schema says of one place inside its arguments."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]


def schemas_at(root: Schema, steps: Sequence[str | int]) -> list[Schema]:
    """Every part of a schema that a value at this place may have to keep to, alternatives and references followed."""
    found = list(_alternatives(root, root))
    for step in steps:
        found = [part for schema in found for inner in _inside(schema, step) for part in _alternatives(inner, root)]
    return found


def is_own_value(schemas: Sequence[Schema], value: Any) -> bool:
    """Whether a tool itself names a value: as one of an enumeration, as a constant or as a default."""
    named = [schema[name] for schema in schemas for name in ("const", "default") if name in schema]
    return enumerated(schemas, value) or value in named


def enumerated(schemas: Sequence[Schema], value: Any) -> bool:
    """Whether a value is one of an enumeration."""
    return any(value in schema.get("enum", ()) for schema in schemas)


def _alternatives(schema: Schema, root: Schema) -> Iterator[Schema]:
    if "$ref" in schema:
        schema = root.get("$defs", {}).get(str(schema["$ref"]).rpartition("/")[2], {})
    yield schema
    for name in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(name, ()):
            yield from _alternatives(part, root)


def _inside(schema: Schema, step: str | int) -> Iterator[Schema]:
    if isinstance(step, str):
        named = schema.get("properties", {}).get(step, schema.get("additionalProperties"))
        candidates = [named]
    else:
        placed = schema.get("prefixItems", ())
        candidates = [placed[step] if step < len(placed) else schema.get("items")]
    yield from (item for item in candidates if isinstance(item, Mapping))
