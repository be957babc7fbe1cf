"""Requests in OpenAI's form, in words that any chat model knows, and its answers back again."""

import json
from typing import Any

import msgspec
import pytest

from sandbox.local_chat import BadRequest, Request, Unheld, dialogue, message_in, request_in
from sandbox.local_model import Generated

MOVE = {"type": "function", "function": {"name": "move", "parameters": {"type": "object", "properties": {}}}}
USER = {"role": "user", "content": "Move it."}


def asked(*messages: dict[str, Any], **members: Any) -> Request:
    return request_in(json.dumps({"messages": list(messages), **members}).encode())


def answer(text: str, finish: str = "stop") -> Generated:
    return Generated("chatcmpl-1", text, finish, 0, {})


def test_calls_and_replies_are_told_in_the_form_that_is_asked_for() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "move", "arguments": '{"to": "x"}'}}
    request = asked(
        {"role": "system", "content": "Be kind."},
        USER,
        {"role": "assistant", "content": "Wait.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "moved"},
        {"role": "user", "content": [{"type": "text", "text": "Thanks."}]},
        {"role": "assistant", "content": "Fine.", "tool_calls": None},
        tools=[MOVE],
    )
    system, *told = dialogue(request.messages, request.functions)
    assert system["content"].startswith("Be kind.\n\nAnswer with ")
    assert told == [
        {"role": "user", "content": "Move it."},
        {"role": "assistant", "content": '{"reply": "Wait."}\n{"name": "move", "arguments": {"to": "x"}}'},
        {"role": "user", "content": "Result of move: moved\n\nThanks."},
        {"role": "assistant", "content": '{"reply": "Fine."}'},
    ]


def test_without_tools_a_text_is_a_text() -> None:
    request = asked(USER, {"role": "assistant", "content": "Fine."}, USER, tools=[MOVE], tool_choice="none")
    assert dialogue(request.messages, request.functions)[1] == {"role": "assistant", "content": "Fine."}


def test_a_chosen_tool_is_the_only_one_that_is_told() -> None:
    other = msgspec.json.decode(msgspec.json.encode(MOVE).replace(b"move", b"keep"))
    chosen = {"type": "function", "function": {"name": "keep"}}
    request = asked(USER, tools=[MOVE, other], tool_choice=chosen)
    assert [one.name for one in request.functions] == ["keep"]
    assert not request.may_reply


BAD = {
    "no JSON": b"{",
    "no object": b"[]",
    "no messages": b'{"messages": []}',
    "no UTF-8": b'{"messages": [{"role": "user", "content": "\xff"}]}',
    "half a character": b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
    "an unknown role": b'{"messages": [{"role": "me", "content": "a"}]}',
    "too hot": json.dumps({"messages": [USER], "temperature": 3}).encode(),
    "no room": json.dumps({"messages": [USER], "max_tokens": 0}).encode(),
    "a stream": json.dumps({"messages": [USER], "stream": True}).encode(),
    "two answers": json.dumps({"messages": [USER], "n": 2}).encode(),
    "a form": json.dumps({"messages": [USER], "response_format": {"type": "json_object"}}).encode(),
    "a name twice": json.dumps({"messages": [USER], "tools": [MOVE, MOVE]}).encode(),
    "a call without a tool": json.dumps({"messages": [USER], "tool_choice": "required"}).encode(),
    "a call that stops": json.dumps({"messages": [USER], "tools": [MOVE], "stop": ["\n"]}).encode(),
    "too deep": b'{"messages": ' + b"[" * 100_000,
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_what_is_no_request_is_told_so(body: bytes) -> None:
    with pytest.raises(BadRequest, match=r"\w"):
        request_in(body)


def test_a_call_is_a_call_and_a_reply_is_a_content() -> None:
    assert message_in(answer('{"reply": "Ja."}'), ["move"]) == {"content": "Ja."}
    assert message_in(answer('{"reply": "a \\ud83d"}'), ["move"])["content"].startswith("a ")
    made = message_in(answer('{"name": "move", "arguments": {"to": "ü"}}'), ["move"])
    assert made["content"] is None
    [call] = made["tool_calls"]
    assert call["function"] == {"name": "move", "arguments": '{"to": "ü"}'}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"reply": "It is', "It is"),
        ('{"reply": "It is\\', "It is"),
        ('{"reply": "It \\ud83d', "It "),
        ('{"reply": "', ""),
        ('{"re', ""),
        ('{"name": "move", "argu', ""),
    ],
)
def test_of_what_was_cut_off_the_reply_is_kept(text: str, kept: str) -> None:
    assert message_in(answer(text, "length"), ["move"]) == {"content": kept}


@pytest.mark.parametrize(
    ("text", "finish"),
    [
        ("Hello", "stop"),
        ("Hello", "length"),
        ('{"reply": "It is', "stop"),
        ('{"name": "other", "arguments": {}}', "stop"),
        ('{"name": "move", "arguments": 3}', "stop"),
        ("[]", "stop"),
    ],
)
def test_an_answer_of_another_form_was_not_held(text: str, finish: str) -> None:
    with pytest.raises(Unheld):
        message_in(answer(text, finish), ["move"])
