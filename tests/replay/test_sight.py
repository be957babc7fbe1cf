"""Where an agent first saw a value: exact tokens, numbers by value."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.sight import Sight, first_seen, is_given, leaves, searched
from sandbox.records import Chain, Edited, Record, Said, ToolCalled, ToolRefused, ToolReturned, TrialKey, draft

START = "2025-10-01T13:00:00Z"


def stream(*payloads: msgspec.Struct) -> list[Record]:
    return Chain(TrialKey("c", "t", 0, 1).id).sealed([draft(payload, START) for payload in payloads], b"")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("7", "ticket 7."),
        ("7", "tickets 7,8"),
        ("7", "#7"),
        (7, "7.0 hours"),
        (25.0, "it costs $25"),
        (1234.5, "1,234.50 in all"),
        (-5, "it was -5 outside"),
        ("TK-7", "see TK-7, please"),
        ("ann@example.com", "<ann@example.com>."),
        ("2 Oak Road", "I live at 2 Oak Road."),
        ("007", "agent 007"),
        ("a.b", "(a.b)"),
    ],
)
def test_a_value_is_found_as_a_token_of_its_own(value: Any, text: str) -> None:
    assert searched(value)(text) is not None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("7", "ticket 17"),
        ("7", "ticket 70"),
        ("7", "TK-7"),
        ("7", "7.5 hours"),
        (7, "2025-10-07"),
        (7, "at 10:7"),
        (11, "711"),
        (5, "-5"),
        (-5, "5"),
        (5, "3-5"),
        (25, "1,250 or 1,025"),
        ("TK-7", "TK-77 and XTK-7"),
        ("TK-7", "TK-7-b"),
        ("007", "7"),
        ("7", "007"),
        ("open", "reopened, re-open"),
        ("a.b", "axb"),
        ("ann@example.com", "joann@example.com ann@example.com.au"),
    ],
)
def test_a_part_of_a_token_or_another_number_is_not_the_value(value: Any, text: str) -> None:
    assert searched(value)(text) is None


@given(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6))
def test_numbers_are_found_where_they_are_equal_and_nowhere_else(wanted: int, there: int) -> None:
    for text in (f"It is {there}.", str(there), there, float(there)):
        assert (searched(wanted)(text) is not None) == (wanted == there)


@given(st.text(max_size=8), st.text(max_size=30))
def test_any_text_can_be_searched_for_in_any_text(value: str, text: str) -> None:
    assert searched(value)(value) == 0
    at = searched(value)(text)
    assert at is None or value in text or searched(value)(text[at:]) is not None


SEEN = stream(
    Said("user", "My printer jams."),
    Said("assistant", "I look for TK-9."),
    ToolCalled(1, "find", '{"query":"TK-8"}'),
    ToolRefused("NotFound", "no ticket 'TK-8'"),
    ToolReturned('{"items":[{"id":"TK-1","count":12,"tags":["a","b"],"note":"see TK-6"}]}'),
    Edited(5, '{"id":"TK-3"}'),
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("printer", Sight("seen", 1, "user", "", "My printer jams.")),
        ("TK-8", Sight("seen", 4, "refusal", "", "no ticket 'TK-8'")),
        ("TK-1", Sight("seen", 5, "answer", "$.items[0].id", "TK-1")),
        (12.0, Sight("seen", 5, "answer", "$.items[0].count", "12")),
        ("TK-6", Sight("seen", 5, "answer", "$.items[0].note", "see TK-6")),
        (["a", "b"], Sight("seen", 5, "answer", "$.items[0].tags", '["a","b"]')),
        ("TK-3", Sight("seen", 6, "answer", "$.id", "TK-3")),
        ("Be kind", Sight("seen", 0, "briefing", "", "Be kind.")),
        (["b", "a"], Sight("nowhere")),
        (None, Sight("not searched")),
        (True, Sight("not searched")),
        ("", Sight("not searched")),
    ],
)
def test_the_first_record_that_shows_a_value_is_named_with_its_place(value: Any, expected: Sight) -> None:
    assert first_seen(value, SEEN, "Be kind.") == expected


def test_what_the_agent_said_or_asked_itself_it_has_not_seen() -> None:
    assert first_seen("TK-9", SEEN) == Sight("nowhere")
    assert first_seen("TK-8", SEEN[:3]) == Sight("nowhere")


def test_of_a_long_text_the_part_around_the_value_is_told() -> None:
    sight = first_seen("TK-5", stream(Said("user", "x " * 500 + "TK-5" + " y" * 500)))
    assert "TK-5" in sight.text
    assert len(sight.text) < 90


@pytest.mark.parametrize(
    ("value", "arguments", "expected"),
    [
        ("7", '{"id":7}', True),
        ("7", '{"id":"17"}', False),
        (None, '{"id":null}', True),
        (None, '{"id":0}', False),
        (True, '{"id":1}', False),
        ("solved", "status=solved, please", True),
    ],
)
def test_whether_the_call_gave_the_value(value: Any, arguments: str, expected: bool) -> None:
    assert is_given(value, ToolCalled(1, "t", arguments)) is expected


@given(st.recursive(st.none() | st.integers(-9, 9) | st.text(max_size=3), lambda part: st.lists(part, max_size=3)))
def test_every_value_of_an_answer_is_looked_at(value: Any) -> None:
    found = [leaf for _, leaf in leaves(msgspec.json.encode(value).decode())]
    assert found[0] == value
    parts = value if isinstance(value, list) else []
    assert all(part in found for part in parts)
