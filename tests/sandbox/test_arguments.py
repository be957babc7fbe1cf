"""What an agent is told of a tool's arguments, and what becomes of whatever it sends instead."""

import json
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import Invalid, Unsupported, World
from sandbox.arguments import DEEPEST_ARGUMENTS, LARGEST_ARGUMENTS, argument_descriptions
from sandbox.values import ensure_storable
from sandbox.world import Decision, request
from tests.sandbox.desk import START, domain


@pytest.fixture
def world() -> World:
    return World(domain, domain.snapshot, START)


def decided(tool: str, text: str) -> Decision:
    """What a fresh world decides about a raw call, as a door would ask for it."""
    return World(domain, domain.snapshot, START).decide(request(tool, text))


def refusal(tool: str, text: str) -> str:
    answer = decided(tool, text).answer
    assert answer.refusal == "Invalid", answer
    return answer.text


def schema(tool: str) -> Any:
    return domain.tools[tool].schema


@pytest.mark.parametrize("tool", sorted(domain.tools))
def test_every_schema_is_an_object_without_references_at_its_root(tool: str) -> None:
    made = schema(tool)
    assert made["type"] == "object"
    assert "$ref" not in made
    assert set(made["required"]) <= set(made["properties"])
    assert msgspec.json.decode(msgspec.json.encode(made)) == made


def test_a_tool_without_arguments_has_no_properties() -> None:
    assert schema("desk_tell_time") == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }


def test_descriptions_come_from_the_docstring_and_may_span_lines() -> None:
    properties = schema("desk_open_ticket")["properties"]
    assert properties["subject"] == {"type": "string", "description": "one line that says what is wrong."}
    assert properties["due"]["description"] == "when it must be solved."
    assert "description" not in properties["body"]


def test_a_description_block_ends_where_its_indentation_ends() -> None:
    assert argument_descriptions("Do.\n\nArgs:\n    a: one.\n\nReturns:\n    b: two.") == {"a": "one."}


def test_a_closed_tool_says_so_and_an_open_one_does_not() -> None:
    assert schema("desk_open_ticket")["additionalProperties"] is False
    assert "additionalProperties" not in schema("annex_open_ticket")


def test_every_kind_of_type_has_its_schema() -> None:
    opened, changed = schema("desk_open_ticket"), schema("desk_change_ticket")
    assert schema("desk_list_tickets")["properties"]["$status"]["anyOf"][0] == {"enum": ["open", "solved"]}
    assert opened["properties"]["due"]["anyOf"] == [{"type": "string", "format": "date-time"}, {"type": "null"}]
    assert opened["properties"]["tags"]["items"] == {"type": "string"}
    assert opened["$defs"]["Place"]["required"] == ["room"]
    assert changed["properties"]["subject"] == {"type": "string"}
    assert changed["required"] == ["id"]


def test_all_faults_of_a_call_are_told_at_once() -> None:
    told = refusal(
        "desk_open_ticket", '{"subjekt": "x", "hours": "two", "due": 3, "colour": "red", "place": {"shelf": 1}}'
    )
    for part in (
        "desk_open_ticket: ",
        "unknown argument `subjekt`; did you mean `subject`?",
        "unknown argument `colour`",
        "missing argument `subject`",
        "expected `float`, got `str` - at `$.hours`",
        "at `$.due`",
        "missing required field `room` - at `$.place`",
    ):
        assert part in told


def test_what_is_no_time_is_refused_with_an_example() -> None:
    told = refusal("desk_open_ticket", '{"subject": "x", "due": "tomorrow"}')
    assert told == ("desk_open_ticket: 'tomorrow' is no ISO 8601 time; write it like 2025-10-01T13:00:00Z - at `$.due`")


def test_not_mentioned_and_cleared_are_two_things(world: World) -> None:
    assert world.call("desk_change_ticket", id="TK-2", subject="dark")["requester"] == "ann@example.com"
    assert world.call("desk_change_ticket", id="TK-2", requester=None)["requester"] is None
    with pytest.raises(Invalid, match=r"at `\$.subject`"):
        world.call("desk_change_ticket", id="TK-2", subject=None)


def test_a_parameter_answers_to_each_of_its_names_and_the_first_wins(world: World) -> None:
    solved = world.call("desk_list_tickets", status="solved")
    assert [ticket["id"] for ticket in solved] == ["TK-3"]
    assert world.call("desk_list_tickets", **{"$status": "solved"}) == solved
    assert world.call("desk_list_tickets", **{"status": "open", "$status": "solved"}) == solved
    assert world.call("desk_list_tickets", **{"$status": "solved", "status": "open"}) == solved


def test_an_open_tool_ignores_what_it_does_not_know(world: World) -> None:
    assert world.call("annex_list_tickets", colour="red")[0]["id"] == "TK-1"


def test_a_lax_tool_repairs_what_it_can_read(world: World) -> None:
    assert world.call("annex_open_ticket", subject="x", hours="2")["hours"] == 2.0
    with pytest.raises(Invalid, match=r"expected `float`, got `str` - at `\$.hours`"):
        world.call("annex_open_ticket", subject="x", hours="two")


def test_no_text_at_all_is_an_object_without_arguments() -> None:
    for text in ("", "  \n"):
        assert not decided("desk_tell_time", text).answer.refusal
        assert "missing argument `subject`" in refusal("desk_open_ticket", text)


@pytest.mark.parametrize("text", ["[1]", '"x"', "1", "1.5", "true", "null"])
def test_json_that_is_no_object_is_refused(text: str) -> None:
    assert "arguments must be a JSON object, got " in refusal("desk_tell_time", text)


@pytest.mark.parametrize(
    "text",
    ["{", "{'a': 1}", "{} {}", '{"a": NaN}', '{"a": 1e999}', '{"a": -Infinity}', "\0", '{"a": "\0"}', "\ud800", "﻿{}"],
)
def test_text_that_is_no_json_is_refused(text: str) -> None:
    assert "arguments are not JSON" in refusal("desk_tell_time", text)


@pytest.mark.parametrize("text", ['{"subject": "\ud800"}', '{"subject": "\\ud800"}', '{"\ud800": 1}', '{"\\udfff": 1}'])
def test_half_a_character_is_refused_and_named(text: str) -> None:
    told = refusal("desk_open_ticket", text)
    half = "\\udfff" if "dfff" in text else "\\ud800"
    assert told == (
        f"desk_open_ticket: arguments are not JSON ({half} is half a character, without its other half); "
        f"send one JSON object"
    )


def test_a_written_nul_is_kept_as_text() -> None:
    assert json.loads(decided("desk_open_ticket", '{"subject": "a\\u0000b"}').answer.text)["subject"] == "a\0b"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"subject": "a", "subject": "b"}', "subject"),
        ('{"subject": "a", "subj\\u0065ct": "a"}', "subject"),
        ('{"subject": "a", "custom": {"x": 1, "x": 2}}', "x"),
        ('{"subject": ":::", "fields": [{"y": 1e5}, {"y": 1, "z": 3, "y": 2}]}', "y"),
    ],
)
def test_a_key_that_is_given_twice_is_named_in_the_refusal(text: str, name: str) -> None:
    assert f"key `{name}` is given twice; give it once" in refusal("desk_open_ticket", text)


def test_equal_keys_of_two_objects_and_colons_in_text_are_no_repetition() -> None:
    text = '{"subject": "a: b: \\"subject\\": c", "nothing": [{"x": 1}, {"x": 1}]}'
    assert "twice" not in refusal("desk_open_ticket", text)
    assert decided("desk_open_ticket", '{"subject": "a: b: \\"subject\\": c"}').answer.refusal == ""


def test_of_a_repeated_key_a_lax_tool_takes_the_last_one() -> None:
    answer = decided("annex_open_ticket", '{"subject": "a", "subject": "b"}').answer
    assert json.loads(answer.text)["subject"] == "b"


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**400, -(10**4000)])
def test_an_integer_beyond_64_bits_is_refused(number: int) -> None:
    text = '{"id": "TK-1", "factor": ' + _digits(number) + "}"
    assert refusal("desk_score_ticket", text)


def _digits(number: int) -> str:
    return msgspec.json.encode(number).decode() if number.bit_length() < 10_000 else "1" + "0" * 4000


def test_ten_megabytes_are_refused_unread() -> None:
    told = refusal("desk_open_ticket", '{"subject": "' + "x" * 10_000_000 + '"}')
    assert told == "desk_open_ticket: arguments have more than 1,048,576 characters; send at most so many"


def test_arguments_that_are_too_long_are_refused_and_recorded_whole() -> None:
    decision = decided("desk_open_ticket", "x" * 10_000_000)
    assert decision.answer.refusal == "Invalid"
    assert len(decision.drafts[0].payload) > 10_000_000
    assert not decided("desk_open_ticket", '{"subject": "' + "x" * (LARGEST_ARGUMENTS - 15) + '"}').answer.refusal


@pytest.mark.parametrize("depth", [DEEPEST_ARGUMENTS + 1, 500, 10_000, 300_000])
@pytest.mark.parametrize("bracket", ["[]", '{"a":}'])
def test_deep_nesting_is_refused_in_the_same_words_at_every_depth(depth: int, bracket: str) -> None:
    text = bracket[:-1] * depth + "1" + bracket[-1] * depth
    if len(text) <= LARGEST_ARGUMENTS:
        told = refusal("annex_open_ticket", '{"tags": ' + text + "}")
        assert told.startswith(f"annex_open_ticket: arguments are nested more than {DEEPEST_ARGUMENTS} levels deep")


def test_nesting_is_refused_at_one_depth_however_full_the_stack_is() -> None:
    allowed = '{"colour": ' + "[" * (DEEPEST_ARGUMENTS - 1) + "]" * (DEEPEST_ARGUMENTS - 1) + "}"
    too_deep = '{"colour": ' + "[" * DEEPEST_ARGUMENTS + "]" * DEEPEST_ARGUMENTS + "}"

    def deep_inside(levels: int, text: str) -> str:
        return deep_inside(levels - 1, text) if levels else decided("annex_list_tickets", text).answer.refusal

    for levels in (0, sys.getrecursionlimit() // 2):
        assert deep_inside(levels, allowed) == ""
        assert deep_inside(levels, too_deep) == "Invalid"


def test_a_flood_of_unknown_arguments_gets_a_short_answer() -> None:
    told = refusal("desk_open_ticket", json.dumps({f"argument{number}": 1 for number in range(50_000)}))
    assert len(told) < 3000
    assert "more" in told[-20:]


def test_an_endless_name_is_cut_in_the_answer() -> None:
    assert len(refusal("desk_open_ticket", json.dumps({"x" * 900_000: 1}))) < 400


@pytest.mark.parametrize("tool", ["", "desk_open_tickets", "\0", "\ud800", "x" * 100_000, "Desk_Open_Ticket"])
def test_an_unknown_tool_is_refused_with_the_nearest_name(tool: str) -> None:
    answer = decided(tool, "{}").answer
    assert answer.refusal == "Unsupported"
    assert len(answer.text) < 300
    assert decided("desk_open_tickets", "{}").answer.text == (
        "no tool 'desk_open_tickets'; did you mean 'desk_open_ticket'?"
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
NAMES = st.sampled_from(
    ["subject", "due", "hours", "tags", "place", "loads", "id", "factor", "$status", "limit", "query"]
)


@given(
    tool=st.sampled_from([name for name in sorted(domain.tools) if not name.endswith("break_down")]),
    text=st.text()
    | st.dictionaries(NAMES | st.text(), JSON).map(json.dumps)
    | st.binary().map(lambda b: b.decode("latin1")),
)
def test_whatever_is_sent_is_answered_or_refused_and_can_be_recorded(tool: str, text: str) -> None:
    decision = decided(tool, text)
    assert decision.answer.refusal in {"", "Invalid", "NotFound", "Precondition", "Conflict"}
    ensure_storable(decision.answer.text)


@given(value=JSON)
def test_what_counts_as_storable_survives_its_encoding(value: Any) -> None:
    try:
        ensure_storable(value)
    except ValueError:
        return
    assert msgspec.json.decode(msgspec.json.encode(value)) == value


def test_a_call_in_memory_speaks_like_a_call_from_outside(world: World) -> None:
    with pytest.raises(Unsupported, match="no tool 'nothing'"):
        world.call("nothing")
    with pytest.raises(Invalid, match="missing argument `subject`"):
        world.call("desk_open_ticket")
