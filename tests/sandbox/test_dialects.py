"""Each tool in each dialect is one that the provider takes, and its calls come back as the tool takes them."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from sandbox import UNSET, Call, Domain, UnsetType
from sandbox.arguments import Arguments
from sandbox.dialects import Dialect, DialectFault, Toolbox, for_dialect, shown_names
from sandbox.mcp_session import ToolView
from sandbox.registry import domain_named, domain_names, public_domain_named
from tests.sandbox import providers

CHECKS: Mapping[Dialect, Callable[[providers.Node], Iterator[str]]] = {
    "openai": providers.openai,
    "openai_strict": providers.openai_strict,
    "gemini": providers.gemini,
    "anthropic": providers.anthropic,
}
ALL = pytest.mark.parametrize("dialect", list(CHECKS))
SEARCH: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "$filter": {"type": "string"},
        "filter": {"type": "string", "default": "x", "maxLength": 9},
        "size": {"enum": [1, 2, None], "default": None},
        "rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}},
        "when": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}], "default": None},
        "kind": {"anyOf": [{"const": "a"}, {"type": "integer", "minimum": 1}], "description": "Which."},
    },
    "required": ["$filter"],
    "additionalProperties": False,
    "$defs": {"Row": {"type": "object", "properties": {"@id": {"type": "integer"}}, "required": ["@id"]}},
}


def domains() -> list[Domain]:
    own = [domain_named(name) for name in domain_names()]
    return own + [public_domain_named(domain.name, {}) for domain in own if domain.name == "retail"]


def views(domain: Domain) -> list[ToolView]:
    return [ToolView(t.name, t.spec.description, t.schema, t.is_read) for t in domain.tools.values()]


def wrongs(function: Mapping[str, Any], dialect: Dialect) -> list[str]:
    check = CHECKS["openai" if dialect == "openai_strict" and not function["strict"] else dialect]
    Draft202012Validator.check_schema(function["parameters"])
    return providers.complaints(function, check)


def tool_schema(function: Callable[..., Any]) -> dict[str, Any]:
    return Arguments("t", function).schema(is_open=False)


@ALL
@pytest.mark.parametrize("domain", domains(), ids=lambda domain: f"{domain.name}-{domain.mounting}")
def test_row_50_every_tool_of_every_domain_is_taken_by_every_provider(domain: Domain, dialect: Dialect) -> None:
    toolbox = Toolbox(views(domain), dialect)
    assert len(toolbox.functions) == len(domain.tools) > 0
    assert {f["name"]: found for f in toolbox.functions if (found := wrongs(f, dialect))} == {}
    json.dumps(toolbox.functions)


@ALL
def test_row_50_a_tool_without_arguments_has_empty_properties(dialect: Dialect) -> None:
    def look(call: Call) -> None: ...

    for schema in (tool_schema(look), {"type": "object"}):
        assert for_dialect(schema, dialect).schema["properties"] == {}


@ALL
def test_what_a_provider_does_not_know_is_translated(dialect: Dialect) -> None:
    [function] = Toolbox([ToolView("look up", "", SEARCH, True)], dialect).functions
    assert wrongs(function, dialect) == []
    assert function["name"] == "look_up"


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        ({"properties": {"a": {"type": "string"}}}, "an open object"),
        ({"properties": {"a": {"type": "string"}}, "additionalProperties": False}, "not required"),
        ({"properties": {"a": {"enum": ["x"]}}, "required": ["a"], "additionalProperties": False}, "type None"),
        (
            {"properties": {"a": {"type": "string", "default": "x"}}, "required": ["a"], "additionalProperties": False},
            "keyword default",
        ),
    ],
)
def test_the_strict_check_bites(broken: dict[str, Any], complaint: str) -> None:
    function = {"name": "f", "strict": True, "parameters": {"type": "object"} | broken}
    assert [wrong for wrong in wrongs(function, "openai_strict") if complaint in wrong]


@pytest.mark.parametrize(
    ("dialect", "complaint"),
    [("gemini", "keyword $ref"), ("gemini", "an enum"), ("anthropic", "argument name $filter")],
)
def test_the_other_checks_bite_on_a_schema_that_was_not_translated(dialect: Dialect, complaint: str) -> None:
    found = wrongs({"name": "f", "strict": False, "parameters": SEARCH}, dialect)
    assert [wrong for wrong in found if complaint in wrong]


def test_most_tools_can_be_held_to_their_schema_and_the_others_tell_null_from_absent_or_are_open() -> None:
    def strict(call: Call, id: str, note: str | None = None, limit: int = 3) -> None: ...
    def clears(call: Call, id: str, note: str | UnsetType | None = UNSET) -> None: ...
    def free(call: Call, fields: dict[str, Any]) -> None: ...

    made = [for_dialect(tool_schema(function), "openai_strict").strict for function in (strict, clears, free)]
    assert made == [True, False, False]
    [retail] = [Toolbox(views(domain), "openai_strict") for domain in domains()[1:2]]
    assert sum(function["strict"] for function in retail.functions) > len(retail.functions) / 2


def test_a_limit_that_strict_mode_drops_is_told_in_words() -> None:
    described = for_dialect(SEARCH, "openai_strict").schema["properties"]["filter"]["description"]
    assert described == '(maxLength 9, default "x")'


ROUND = {"$filter": "f", "filter": "g", "size": 2, "rows": [{"@id": 1}], "when": "2025-01-01", "kind": 5}
WRITTEN: Mapping[Dialect, dict[str, Any]] = {
    "openai": ROUND,
    "openai_strict": ROUND,
    "gemini": {"filter_2": "f", "filter": "g", "size": "2", "rows": [{"id": 1}], "when": "2025-01-01", "kind": 5},
    "anthropic": {"filter_2": "f", "filter": "g", "size": 2, "rows": [{"id": 1}], "when": "2025-01-01", "kind": 5},
}


@ALL
def test_arguments_come_back_under_their_own_names_and_forms(dialect: Dialect) -> None:
    made = for_dialect(SEARCH, dialect)
    assert json.loads(made.arguments(json.dumps(WRITTEN[dialect]))) == ROUND
    Draft202012Validator(made.schema).validate(WRITTEN[dialect])


def test_in_strict_mode_null_is_absent_where_null_has_no_meaning() -> None:
    made = for_dialect(SEARCH, "openai_strict")
    given = {"$filter": "f", "filter": None, "size": None, "rows": None, "when": None, "kind": None}
    Draft202012Validator(made.schema).validate(given)
    assert json.loads(made.arguments(json.dumps(given))) == {"$filter": "f", "size": None, "when": None}


@ALL
@pytest.mark.parametrize("text", ["", "{", "[1]", "null", "NaN", '{"unknown": 1e400}', "[" * 5000, '{"a":1,"a":2}'])
def test_arguments_that_need_no_change_keep_their_text(dialect: Dialect, text: str) -> None:
    assert for_dialect(SEARCH, dialect).arguments(text) == text


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none(), max_size=5))
def test_what_is_free_is_left_alone_by_all_but_the_named_parts(given: dict[str, Any]) -> None:
    free = {"type": "object", "properties": {"@f": {"type": "object"}}, "required": ["@f"]}
    text = json.dumps({"f": given})
    assert json.loads(for_dialect(free, "anthropic").arguments(text)) == {"@f": given}


def test_numbers_beyond_64_bits_are_not_bent_on_the_way() -> None:
    made = for_dialect(SEARCH, "anthropic").arguments('{"filter_2": 123456789012345678901234567890}')
    assert made == '{"$filter": 123456789012345678901234567890}'


@given(st.lists(st.text(max_size=80), unique=True, max_size=8))
def test_shown_names_fit_and_stay_apart(names: list[str]) -> None:
    shown = shown_names(names, r"[A-Za-z_][A-Za-z0-9_]{0,63}")
    assert set(shown) == set(names)
    assert len(set(shown.values())) == len(names)
    assert [name for name in shown.values() if not name.isascii() or len(name) > 64 or name[0].isdigit()] == []


def test_a_schema_that_refers_to_itself_is_left_as_it_is_or_refused_in_words() -> None:
    tree = {"type": "object", "properties": {"down": {"$ref": "#/$defs/T"}}, "required": ["down"]}
    tree["$defs"] = {"T": {"type": "object", "properties": {"down": {"$ref": "#/$defs/T"}}}}
    assert for_dialect(tree, "openai_strict").strict is False
    assert for_dialect(tree, "anthropic").schema == tree
    with pytest.raises(DialectFault, match=r"refers to itself at #/\$defs/T; ask a model of another dialect"):
        for_dialect(tree, "gemini")
