"""What a small model is held to is always within what the tool takes, and ends."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from sandbox.local_schema import (
    MOST_ITEMS,
    MOST_SIGNS,
    Function,
    answer_schema,
    arguments_schema,
    tool_list,
)
from sandbox.registry import domain_named

OWN = {
    f"{name}.{tool.name}": Function(tool.name, tool.spec.description, dict(tool.schema))
    for name in ("probe", "retail")
    for tool in domain_named(name).tools.values()
}
TEXTS = {
    "date-time": st.datetimes().map(lambda moment: f"{moment:%Y-%m-%dT%H:%M:%S}Z"),
    "date": st.dates().map(str),
    "uuid": st.uuids().map(str),
}


def values(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """All that a grammar made from a narrowed schema may let through."""
    if "const" in schema:
        return st.just(schema["const"])
    if choices := schema.get("enum"):
        return st.sampled_from(choices)
    if parts := schema.get("anyOf"):
        return st.one_of([values(part) for part in parts])
    match schema["type"]:
        case "string" if "format" in schema:
            return TEXTS[schema["format"]]
        case "string":
            return st.text(min_size=schema.get("minLength", 0), max_size=schema["maxLength"])
        case "integer":
            return st.integers(schema.get("minimum"), schema.get("maximum"))
        case "number":
            least = schema.get("exclusiveMinimum", schema.get("minimum"))
            return st.floats(least, schema["maximum"], exclude_min="exclusiveMinimum" in schema)
        case "array":
            return st.lists(values(schema["items"]), min_size=schema["minItems"], max_size=schema["maxItems"])
        case "object":
            return objects(schema)
    return st.just(None) if schema["type"] == "null" else st.booleans()


def objects(schema: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    if free := schema.get("patternProperties"):
        [(names, inner)] = free.items()
        return st.dictionaries(st.from_regex(names, fullmatch=True), values(inner), max_size=schema["maxProperties"])
    needed = {name: values(one) for name, one in schema["properties"].items() if name in schema["required"]}
    others = {name: values(one) for name, one in schema["properties"].items() if name not in needed}
    return st.fixed_dictionaries(needed, optional=others)


LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "minLength": 3, "maxLength": 900, "title": "a title"},
        {"type": "string", "format": "date-time"},
        {"type": "string", "format": "iri"},
        {"type": "integer", "minimum": 5},
        {"type": "number", "exclusiveMinimum": -3, "maximum": 9},
        {"type": ["integer", "null"], "maximum": 7},
        {"type": "boolean"},
        {"enum": ["a", None, 3]},
        {"const": {"deep": [1]}},
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"$ref": "#/$defs/part"},
        {"allOf": [{"type": "object", "properties": {"a": {"type": "null"}}}, {"required": ["a"]}]},
        {},
        True,
    ]
)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.builds(
        lambda items, least: {"type": "array", "items": items, "minItems": least}, inner, st.integers(0, 6)
    )
    choices = st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"anyOf": parts})
    names = st.sampled_from(["a", "$filter", "ü"])
    members = st.dictionaries(names, inner, min_size=1).flatmap(
        lambda own: st.sets(st.sampled_from(sorted(own))).map(
            lambda needed: {"type": "object", "properties": own, "required": sorted(needed)}
        )
    )
    return lists | choices | members


@given(st.data(), st.recursive(LEAVES, nested, max_leaves=8))
def test_all_that_is_let_through_is_taken(data: st.DataObject, schema: Any) -> None:
    part = {"type": "object", "properties": {"next": {"$ref": "#/$defs/part"}, "id": {"type": "string"}}}
    parameters = {"type": "object", "properties": {"given": schema}, "required": ["given"], "$defs": {"part": part}}
    made = data.draw(values(arguments_schema(Function("f", "", parameters))))
    assert list(Draft202012Validator(parameters).iter_errors(made)) == []


@pytest.mark.parametrize("name", OWN)
def test_all_that_is_let_through_for_an_own_tool_is_taken(name: str) -> None:
    tool = OWN[name]
    validator = Draft202012Validator(tool.parameters)

    @given(values(arguments_schema(tool)))
    def law(made: Any) -> None:
        assert list(validator.iter_errors(made)) == []

    law()


def test_texts_lists_and_numbers_end() -> None:
    parameters = {"properties": {"texts": {"type": "array", "items": {"type": "string"}}, "n": {"type": "integer"}}}
    made = arguments_schema(Function("f", None, parameters))["properties"]
    assert made["texts"]["maxItems"] == MOST_ITEMS
    assert made["texts"]["items"] == {"type": "string", "maxLength": MOST_SIGNS}
    assert made["n"]["minimum"] == -made["n"]["maximum"]


@pytest.mark.parametrize("may_reply", [True, False])
def test_an_answer_is_one_of_the_calls_or_a_reply(may_reply: bool) -> None:
    validator = Draft202012Validator(answer_schema(list(OWN.values())[:3], may_reply=may_reply))
    assert validator.is_valid({"name": "get_order", "arguments": {"order_id": "ORD-1"}})
    assert not validator.is_valid({"name": "get_order", "arguments": {}})
    assert not validator.is_valid({"name": "no_tool", "arguments": {}})
    assert validator.is_valid({"reply": "Yes."}) is may_reply
    assert not validator.is_valid({"reply": ""})


def test_a_simple_form_keeps_the_names_of_parameters() -> None:
    parameters = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=x)"}}, "required": ["a"]}
    validator = Draft202012Validator(answer_schema([Function("f", "", parameters)], may_reply=False, is_simple=True))
    assert validator.is_valid({"name": "f", "arguments": {"a": "anything"}})
    assert not validator.is_valid({"name": "f", "arguments": {}})
    assert not validator.is_valid({"name": "f", "arguments": {"b": 1}})


def test_the_prompt_names_every_tool_with_its_parameters() -> None:
    first, profile, move, stop = tool_list(
        [OWN["retail.get_customer_profile"], OWN["probe.move"], Function("stop")], may_reply=True
    ).splitlines()
    assert '{"reply": "…"}' in first
    assert profile.startswith("get_customer_profile(customer_id?: string, email?: string) - ")
    assert move.startswith("move(ticket_id: string, queue: billing|complaints|general) - Move a waiting ticket ")
    assert stop == "stop()"
    assert "reply" not in tool_list([Function("stop")], may_reply=False)


def test_a_schema_that_refers_to_itself_ends() -> None:
    chain: dict[str, Any] = {"$defs": {"x": {"properties": {"x": {"$ref": "#/$defs/x"}}}}, "$ref": "#/$defs/x"}
    made = json.dumps(arguments_schema(Function("f", "", chain)))
    assert "$ref" not in made
