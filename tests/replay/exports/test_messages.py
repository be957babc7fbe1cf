"""Chat messages from a stream: which belong together, and which call an answer answers."""

from collections.abc import Sequence

from msgspec import Struct

from replay.exports.messages import Message, last_words, messages_of
from sandbox.records import (
    Chain,
    Record,
    Replied,
    Said,
    Told,
    ToolCalled,
    ToolRefused,
    ToolReturned,
    TrialKey,
    TurnEnded,
    draft,
)
from sandbox.usage import Usage
from tests.sandbox.shopfloor import START


def records(*payloads: Struct) -> list[Record]:
    """A stream of these."""
    return Chain(TrialKey("c", "t", 0, 1).id).sealed([draft(payload, START) for payload in payloads], b"")


def replied(party: str = "agent") -> Replied:
    return Replied(party, 1, "m", "m", "", "{}", "stop", Usage())


def told(messages: Sequence[Message]) -> list[tuple[str, str, list[str]]]:
    """Role, content, and the calls that are asked for or answered."""
    return [(one.role, one.content, [call.id for call in one.calls] or [one.call_id]) for one in messages]


def test_text_and_calls_of_a_reply_are_one_message_and_the_answers_follow() -> None:
    made = messages_of(
        records(
            Said("user", "hello"),
            replied(),
            Said("assistant", "let me see"),
            ToolCalled(1, "look", "{}", "a"),
            ToolReturned("1"),
            ToolCalled(2, "look", "{}", "b"),
            ToolRefused("Invalid", "no"),
            replied(),
            ToolCalled(3, "look", "{}", "c"),
            ToolReturned("3"),
        )
    )
    assert told(made) == [
        ("user", "hello", [""]),
        ("assistant", "let me see", ["a", "b"]),
        ("tool", "1", ["a"]),
        ("tool", "no", ["b"]),
        ("assistant", "", ["c"]),
        ("tool", "3", ["c"]),
    ]
    assert [(one.position, one.reply, one.refusal) for one in made] == [
        (1, 0, ""),
        (3, 2, ""),
        (5, 0, ""),
        (7, 0, "Invalid"),
        (9, 8, ""),
        (10, 0, ""),
    ]


def test_without_a_model_each_call_is_a_message() -> None:
    made = messages_of(
        records(Said("assistant", "so"), *(ToolCalled(1, "a", ""), ToolReturned("1")), *(ToolCalled(2, "b", ""),))
    )
    assert told(made) == [
        ("assistant", "so", [""]),
        ("assistant", "", ["call_1"]),
        ("tool", "1", ["call_1"]),
        ("assistant", "", ["call_2"]),
    ]


def test_the_models_of_others_do_not_part_a_message() -> None:
    made = messages_of(records(replied(), ToolCalled(1, "a", "", "x"), replied("judge"), ToolCalled(2, "b", "", "y")))
    assert told(made) == [("assistant", "", ["x", "y"])]


def test_what_was_told_outside_of_the_dialogue_is_marked_and_ends_a_message() -> None:
    made = messages_of(
        records(replied(), Said("assistant", "done"), Told("end_state", "look"), Said("assistant", "done"))
    )
    assert [(one.role, one.told) for one in made] == [("assistant", ""), ("user", "end_state"), ("assistant", "")]


def test_a_call_that_ends_the_turn_is_asked_for_and_never_answered() -> None:
    made = messages_of(records(replied(), Said("assistant", "bye"), TurnEnded("finish", "{}")))
    assert told(made) == [("assistant", "bye", ["call_end"])]


def test_every_call_has_an_id_of_its_own_whatever_the_provider_gave() -> None:
    given = ("", "x", "x", "call_1", "", "x", "x_2")
    calls = [ToolCalled(number, "t", "", call_id) for number, call_id in enumerate(given, 1)]
    made = messages_of(records(*(payload for call in calls for payload in (call, ToolReturned("")))))
    asked = [call.id for one in made for call in one.calls]
    assert asked[:4] == ["call_1", "x", "call_3", "call_4"]
    assert len(set(asked)) == 7
    assert [one.call_id for one in made if one.role == "tool"] == asked


def test_the_last_words_are_the_agents() -> None:
    assert last_words(messages_of(records(Said("assistant", "a"), Said("user", "b"), ToolCalled(1, "t", "")))) == "a"
    assert last_words(messages_of(records(Said("user", "b")))) == ""
