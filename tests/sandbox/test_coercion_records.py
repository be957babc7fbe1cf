"""Whether wrong-typed arguments are taken or refused exactly as the public benchmark's servers recorded it."""

import gzip
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import msgspec
import pytest
from msgspec import Meta, Struct
from msgspec.inspect import type_info

from sandbox.coercion import coerced, overlooked
from sandbox.values import Instant

BENCH = Path(__file__).parents[3] / "shared" / "bench"
MISTAKES = {"bool", "dict", "empty", "float", "int", "list", "null", "numstr", "str"}
# Where these are shown as text, decimals are taken.
AMOUNTS = {"charge_amount", "refund_amount", "dispute_amount"}
FEWEST = {"consulting": 510, "insurance": 600, "neobank": 500, "retail": 580, "travel": 650}


class Probe(Struct, frozen=True):
    tool: str
    label: str
    arguments: dict[str, Any]
    schemas: dict[str, Any]
    refused: bool


@pytest.mark.parametrize("company", sorted(FEWEST))
def test_wrong_typed_arguments_are_taken_or_refused_as_recorded(company: str) -> None:
    if not BENCH.is_dir():
        pytest.skip("no recorded calls: the folder ../shared/bench is absent")
    probes = list(_probes(company))
    assert len(probes) >= FEWEST[company]
    different = [(p.tool, p.label, p.arguments) for p in probes if _refused(p) != p.refused]
    assert different == []


def _probes(company: str) -> Iterator[Probe]:
    """The recorded calls with one flat argument of a wrong type."""
    interface = json.loads((BENCH / "interface" / f"{company}.json").read_text(encoding="utf-8"))
    schemas = {tool["name"]: tool["arguments"].get("properties", {}) for tool in interface["tools"]}
    with gzip.open(BENCH / "probes" / f"{company}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            mistake, _, argument = record["label"].partition(":")
            declared = schemas.get(record["tool"], {})
            if mistake in MISTAKES and argument in declared and _annotation(argument, declared[argument]) is not None:
                refused = "Input validation failed" in str(record.get("error", ""))
                yield Probe(record["tool"], record["label"], record["arguments"], declared, refused)


def _refused(probe: Probe) -> bool:
    annotations = {name: _annotation(name, probe.schemas[name]) for name in probe.arguments if name in probe.schemas}
    flat = {name: annotation for name, annotation in annotations.items() if annotation is not None}
    return any(not _taken(probe.arguments[name], annotation) for name, annotation in flat.items())


def _taken(value: object, annotation: Any) -> bool:
    kind = type_info(annotation)
    repaired = coerced(value, kind)
    try:
        msgspec.convert(repaired, annotation, strict=True)
    except msgspec.ValidationError:
        return False
    return overlooked(repaired, kind) is None


def _annotation(name: str, schema: dict[str, Any]) -> Any:
    """The type that a flat argument's schema shows; None for an argument that is not flat."""
    if "anyOf" in schema:
        members = [_annotation(name, member) for member in schema["anyOf"] if member.get("type") != "null"]
        return Optional[members[0]] if len(members) == 1 and members[0] is not None else None  # noqa: UP045
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if schema.get("type") == "array":
        return list[str] if schema.get("items") == {"type": "string"} else None
    if schema.get("type") == "integer":
        return Annotated[int, Meta(ge=schema.get("minimum"), le=schema.get("maximum"))]
    if schema.get("type") == "string" and name in AMOUNTS:
        return Decimal
    if schema.get("type") == "string":
        return (
            Instant if schema.get("format") == "date-time" else Annotated[str, Meta(min_length=schema.get("minLength"))]
        )
    return {"number": float, "boolean": bool}.get(schema.get("type", ""))
