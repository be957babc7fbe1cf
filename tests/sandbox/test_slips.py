"""Where a call's arguments can be altered, and what a schema says of the place."""

from typing import Any

import pytest

from sandbox.slips import following_id, leaves, objects, removed, replaced, wrong_values

NAME = {"type": "string"}
USER = {"type": "object", "properties": {"name": NAME, "email": {}}, "required": ["name", "email"]}
SHIRT = {"type": "object", "properties": {"name": NAME, "size": {"enum": ["S", "L"]}}, "required": ["name"]}
LINE = {"type": "object", "properties": {"count": {"type": ["integer", "null"]}}, "required": ["count"]}
SCHEMA: dict[str, Any] = {
    "properties": {
        "row": {"anyOf": [USER, SHIRT]},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
        "rush": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
    },
    "required": ["row"],
    "$defs": {"Line": LINE},
}
ARGUMENTS = {"row": {"name": "Ann", "size": "S"}, "lines": [{"count": 2}, {"count": None}], "rush": True}


def test_every_value_is_found_with_what_the_schema_says_of_it() -> None:
    found = {leaf.path: leaf for leaf in leaves(ARGUMENTS, SCHEMA)}
    assert list(found) == [("row", "name"), ("row", "size"), ("lines", 0, "count"), ("lines", 1, "count"), ("rush",)]
    assert found["row", "size"].allowed == ["S", "L"]
    assert found["lines", 0, "count"].takes("integer")
    assert not found["row", "name"].takes("integer")


def test_an_object_has_the_schema_of_the_alternative_that_fits_its_names() -> None:
    found = {item.path: item for item in objects(ARGUMENTS, SCHEMA)}
    assert found[()].required == ["row"]
    assert found[("row",)].required == ["name"]
    assert found["lines", 1].required == ["count"]
    assert [item.absent for item in objects({"row": {"name": "Ann"}}, SCHEMA)] == [["lines", "rush"], ["size"]]


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("row", "name"), []),
        (("row", "size"), ["L"]),
        (("lines", 0, "count"), [7, 4]),
        (("lines", 1, "count"), []),
        (("rush",), []),
    ],
)
def test_a_careless_value_is_another_of_the_enumeration_or_a_number_that_is_off(path: Any, wrong: list[Any]) -> None:
    [leaf] = [leaf for leaf in leaves(ARGUMENTS, SCHEMA) if leaf.path == path]
    assert wrong_values(leaf) == wrong


def test_replacing_and_removing_leave_the_original_alone() -> None:
    before = repr(ARGUMENTS)
    assert replaced(ARGUMENTS, ("lines", 1, "count"), 9)["lines"] == [{"count": 2}, {"count": 9}]
    assert replaced(ARGUMENTS, ("row", "foo"), "bar")["row"] == {"name": "Ann", "size": "S", "foo": "bar"}
    assert removed(ARGUMENTS, ("lines", 0, "count"))["lines"] == [{}, {"count": None}]
    assert removed(ARGUMENTS, ("lines", 0))["lines"] == [{"count": None}]
    assert repr(ARGUMENTS) == before


@pytest.mark.parametrize(("text", "following"), [("CUS-019", "CUS-020"), ("9", "10"), ("CUS", ""), ("a b-1", "")])
def test_the_id_after_an_id_keeps_its_width(text: str, following: str) -> None:
    assert following_id(text) == following
