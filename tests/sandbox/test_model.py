"""A model is asked over real HTTP: what is sent, what comes back, and what is recorded of it."""

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import msgspec
import pytest
from anyio import fail_after
from hypothesis import given
from hypothesis import strategies as st

from sandbox.dialects import Dialect
from sandbox.messages import Assistant, ModelCall, ToolResult, User
from sandbox.model import Model
from sandbox.model_settings import ModelSettings, Secret
from sandbox.model_wire import split_thought
from sandbox.records import Replied, draft, encode_payload
from sandbox.usage import Usage
from tests.sandbox.asking import BOTH, KEY, WRENCH, Api, asking
from tests.stub import Answer, Asked, Outcome, Turn, call, failing, serving

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def bounded(anyio_backend: str) -> AsyncIterator[None]:
    with fail_after(30):
        yield


@BOTH
async def test_a_plain_reply_is_asked_for_with_the_key_and_the_settings(api: Api) -> None:
    async with asking([Turn("hi")], api=api, temperature=0.0, max_output_tokens=50, extra_body={"top_k": 3}) as ask:
        reply = await ask()
        assert (reply.text, reply.finish, reply.served, reply.failed) == ("hi", "stop", "stub-1", ())
        [asked] = ask.stub.asked
        assert asked.headers["authorization"] == f"Bearer {KEY}"
        assert asked.headers["content-type"] == "application/json"
        limit = "max_completion_tokens" if api == "chat" else "max_output_tokens"
        assert (ask.sent[limit], ask.sent["temperature"], ask.sent["top_k"]) == (50, 0.0, 3)
        assert ask.sent["messages" if api == "chat" else "input"] == [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "hello"},
        ]


async def test_nothing_that_was_not_set_is_sent() -> None:
    async with asking([Turn("hi")]) as ask:
        await ask()
        assert set(ask.sent) == {"model", "messages"}


async def test_seed_effort_and_parallel_calls_are_sent_in_the_chat_form() -> None:
    async with asking([Turn("hi")], seed=7, effort="low", parallel_tool_calls=True) as ask:
        await ask(tools=[WRENCH])
        assert (ask.sent["seed"], ask.sent["reasoning_effort"], ask.sent["parallel_tool_calls"]) == (7, "low", True)


async def test_responses_are_not_stored_and_strictness_is_said_either_way() -> None:
    async with asking([Turn("hi")], api="responses", effort="low") as ask:
        await ask(tools=[WRENCH])
        assert ask.sent["store"] is False
        assert ask.sent["include"] == ["reasoning.encrypted_content"]
        assert ask.sent["reasoning"] == {"effort": "low"}
        [tool] = ask.sent["tools"]
        assert (tool["type"], tool["name"], tool["strict"]) == ("function", "turn_bolt", False)


async def test_the_environment_of_another_endpoint_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/elsewhere")
    async with asking([Turn("hi")], key=Secret()) as ask:
        await ask()
        [asked] = ask.stub.asked
        assert "elsewhere" not in json.dumps(dict(asked.headers))
        assert "authorization" not in asked.headers


@BOTH
async def test_parallel_calls_are_kept_in_order_with_raw_text_and_go_back_with_their_results(api: Api) -> None:
    calls = [call("turn_bolt", '{"bolt":  "left"}', "a"), call("turn_bolt", {"bolt": "right"}, "b")]
    async with asking([Turn("one moment", calls), Turn("done")], api=api) as ask:
        reply = await ask(tools=[WRENCH])
        assert [(c.name, c.written, c.call_id) for c in reply.calls] == [
            ("turn_bolt", '{"bolt":  "left"}', "a"),
            ("turn_bolt", '{"bolt": "right"}', "b"),
        ]
        assert (reply.text, reply.finish) == ("one moment", "tool_calls")
        await ask([User("go"), reply.message, ToolResult("a", "L"), ToolResult("b", "R")], [WRENCH])
        assert results_sent(ask.sent, api) == [("a", '{"bolt":  "left"}', "L"), ("b", '{"bolt": "right"}', "R")]


def results_sent(body: Any, api: Api) -> list[tuple[str, str, str]]:
    """Id, arguments and result of each call of a request, joined by the id."""
    if api == "chat":
        asked = {c["id"]: c["function"]["arguments"] for m in body["messages"] for c in m.get("tool_calls", ())}
        told = {m["tool_call_id"]: m["content"] for m in body["messages"] if m["role"] == "tool"}
    else:
        asked = {i["call_id"]: i["arguments"] for i in body["input"] if i.get("type") == "function_call"}
        told = {i["call_id"]: i["output"] for i in body["input"] if i.get("type") == "function_call_output"}
    assert list(asked) == list(told)
    return [(name, asked[name], told[name]) for name in asked]


@BOTH
@pytest.mark.parametrize("ids", [(None, None), ("", ""), ("same", "same"), (None, "x")])
async def test_missing_and_repeated_ids_are_kept_as_given_and_told_apart_when_sent(
    api: Api, ids: tuple[str | None, str | None]
) -> None:
    calls = [call("turn_bolt", {"bolt": side}, given) for side, given in zip(("left", "right"), ids, strict=True)]
    async with asking([Turn("", calls), Turn("done")], api=api) as ask:
        reply = await ask(tools=[WRENCH])
        assert [c.call_id for c in reply.calls] == [given or "" for given in ids]
        results = [ToolResult(c.call_id, f"result {place}") for place, c in enumerate(reply.calls)]
        await ask([User("go"), reply.message, *results], [WRENCH])
        sent = results_sent(ask.sent, api)
        assert [(json.loads(a)["bolt"], r) for _, a, r in sent] == [("left", "result 0"), ("right", "result 1")]
        assert all(name for name, _, _ in sent)


@BOTH
@pytest.mark.parametrize(
    "text", ["{not json", "[1]", "null", "", "NaN", '{"a": 1', "\ud800".encode("utf-8", "replace").decode()]
)
async def test_arguments_that_are_no_object_are_kept_raw_and_go_back_inside_one(api: Api, text: str) -> None:
    async with asking([Turn("", [call("turn_bolt", text, "a")]), Turn("done")], api=api) as ask:
        reply = await ask(tools=[WRENCH])
        assert (reply.calls[0].arguments, reply.calls[0].written) == (text, text)
        await ask([User("go"), reply.message, ToolResult("a", "not JSON")], [WRENCH])
        assert json.loads(results_sent(ask.sent, api)[0][1]) == {"not_json": text}


async def test_a_result_that_no_call_waits_for_is_our_mistake() -> None:
    async with asking([Turn("hi")]) as ask:
        with pytest.raises(ValueError, match="no call 'a' waits"):
            await ask([User("go"), ToolResult("a", "?")])


async def test_an_unknown_tool_is_handed_on_as_the_model_named_it() -> None:
    async with asking([Turn("", [call("launch_rocket", {}, "a"), {"id": "b"}])]) as ask:
        reply = await ask(tools=[WRENCH])
        assert [(c.name, c.arguments) for c in reply.calls] == [("launch_rocket", "{}"), ("", "")]


@pytest.mark.parametrize(
    ("dialect", "shown", "written", "taken"),
    [
        ("openai", "$size", '{"$size":3,"bolt":"left"}', '{"$size":3,"bolt":"left"}'),
        ("anthropic", "size", '{"size":3,"bolt":"left"}', '{"$size": 3, "bolt": "left"}'),
        ("gemini", "size", '{"size":3,"bolt":"left"}', '{"$size": 3, "bolt": "left"}'),
        ("openai_strict", "$size", '{"$size":null,"bolt":"left"}', '{"bolt": "left"}'),
    ],
)
async def test_a_call_gets_its_own_argument_names_and_the_model_keeps_its_words(
    dialect: Dialect, shown: str, written: str, taken: str
) -> None:
    async with asking([Turn("", [call("turn_bolt", written, "a")]), Turn("")], dialect=dialect) as ask:
        reply = await ask(tools=[WRENCH])
        [tool] = ask.sent["tools"]
        assert shown in tool["function"]["parameters"]["properties"]
        assert tool["function"].get("strict", False) == (dialect == "openai_strict")
        assert (reply.calls[0].arguments, reply.calls[0].written) == (taken, written)
        assert written in json.loads(reply.raw)["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
        await ask([User("go"), reply.message, ToolResult("a", "ok")], [WRENCH])
        assert ask.sent["messages"][1]["tool_calls"][0]["function"]["arguments"] == written


@BOTH
async def test_reasoning_is_kept_out_of_the_text(api: Api) -> None:
    async with asking([Turn("<think>###STOP###</think>\n\nhello", reasoning="a plan")], api=api) as ask:
        reply = await ask()
        assert reply.text == "hello"
        assert reply.reasoning == "a plan\n###STOP###"


@pytest.mark.parametrize("wire", ["content", "reasoning_content"])
async def test_a_reply_of_reasoning_alone_has_no_text(wire: str) -> None:
    turn = Turn("<think>###STOP###</think>") if wire == "content" else Turn(None, reasoning="###STOP###")
    async with asking([turn]) as ask:
        reply = await ask()
        assert (reply.text, reply.reasoning, reply.calls) == ("", "###STOP###", ())


@pytest.mark.parametrize(
    ("content", "thought", "text"),
    [
        ("plain", "", "plain"),
        ("<think>a</think>b", "a", "b"),
        ("  <thinking>a</thinking>\n<think>b</think> c", "a\nb", "c"),
        ("<think>never closed <DONE>", "never closed <DONE>", ""),
        ("never opened</think>\nb", "never opened", "b"),
        ("b <think>later</think>", "b <think>later", ""),
        ("", "", ""),
    ],
)
async def test_thoughts_in_front_of_the_text_are_split_off(content: str, thought: str, text: str) -> None:
    assert split_thought(content) == (thought, text)


@given(st.text())
def test_a_thought_never_crosses(secret: str) -> None:
    hidden = secret.replace("<", "").replace(">", "")
    assert split_thought(f"<think>{hidden}</think>visible") == (hidden.strip(), "visible")


async def test_sealed_reasoning_goes_back_to_a_responses_endpoint() -> None:
    async with asking([Turn("", [call("turn_bolt", "{}", "a")], "a plan"), Turn("")], api="responses") as ask:
        reply = await ask(tools=[WRENCH])
        await ask([User("go"), reply.message, ToolResult("a", "ok")], [WRENCH])
        assert [item.get("type", item.get("role")) for item in ask.sent["input"]] == [
            "user",
            "reasoning",
            "function_call",
            "function_call_output",
        ]
        assert ask.sent["input"][1]["encrypted_content"] == "c2VhbGVk"


async def test_signatures_beside_a_call_go_back_and_readable_reasoning_only_where_asked_for() -> None:
    sealed = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    function = {"name": "turn_bolt", "arguments": "{}"}
    message = {"role": "assistant", "content": None, "reasoning_content": "a plan"}
    message["tool_calls"] = [{"id": "a", "type": "function", "function": function, **sealed}]  # type: ignore[assignment]
    answer = Answer(json.dumps({"model": "m", "choices": [{"message": message, "finish_reason": "tool_calls"}]}))
    for returns in (True, False):
        async with asking([answer, Turn("")], returns_reasoning=returns) as ask:
            reply = await ask(tools=[WRENCH])
            await ask([User("go"), reply.message, ToolResult("a", "ok")], [WRENCH])
            back = ask.sent["messages"][1]
            assert back["tool_calls"][0]["extra_content"] == sealed["extra_content"]
            assert ("reasoning_content" in back) is returns
            assert "content" not in back


@pytest.mark.parametrize(
    ("message", "text", "calls"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab", []),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "x"}]}, {"text": "a"}]}, "a", []),
        ({"content": None, "refusal": "no"}, "no", []),
        ({"content": 5, "tool_calls": None}, "", []),
        ({"function_call": {"name": "f", "arguments": "{}"}}, "", [("f", "{}")]),
        ({"tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}, "", [("f", '{"a":1}')]),
        ({"content": "\ud800"}, "\\ud800", []),
    ],
)
async def test_unusual_messages_are_read(message: Any, text: str, calls: list[tuple[str, str]]) -> None:
    async with asking([Answer(json.dumps({"choices": [{"message": message}]}))]) as ask:
        reply = await ask()
        assert (reply.text, [(c.name, c.arguments) for c in reply.calls], reply.finish) == (text, calls, "")
        encode_payload(reply.replied("agent", 1))


async def test_a_response_cut_by_its_length_says_so() -> None:
    async with asking([Turn("half", finish="max_output_tokens")], api="responses") as ask:
        assert (await ask()).finish == "length"


async def test_a_call_is_recorded_with_digest_reply_usage_and_attempts() -> None:
    async with asking([failing(503), Turn("", [call("turn_bolt", "{bad", "a")])]) as ask:
        record = (await ask(tools=[WRENCH])).replied("agent", 4)
        assert (record.party, record.number, record.model, record.served) == ("agent", 4, "stub-1", "stub-1")
        assert (record.finish, record.attempts, record.failed[0].fault) == ("tool_calls", 2, "server")
        assert record.usage == Usage(uncached_input=50, cache_read=40, cache_write=10, output=20, reasoning=5)
        assert json.loads(record.raw_usage)["total_tokens"] == 120
        assert "{bad" in record.reply
        assert msgspec.msgpack.decode(draft(record, "2025-01-01T00:00:00Z").payload, type=Replied) == record


async def test_equal_requests_have_equal_digests_whatever_the_key_and_others_have_others() -> None:
    digests = []
    for key, text in (("a-key", "hello"), ("b-key", "hello"), ("a-key", "hello!")):
        async with asking([Turn("hi")], key=Secret(key)) as ask:
            digests.append((await ask([User(text)])).request)
    assert digests[0] == digests[1] != digests[2]


@BOTH
async def test_usage_that_was_left_out_is_unknown_and_not_nothing(api: Api) -> None:
    async with asking([Turn("hi", usage=None)], api=api) as ask:
        reply = await ask()
        assert (reply.usage, reply.raw_usage) == (Usage(fault="absent"), "")


@pytest.mark.parametrize("raw", ["many", [], {"prompt_tokens": "12"}, {"prompt_tokens": -1, "completion_tokens": 2}, 7])
async def test_distorted_usage_is_kept_raw_with_a_flag_and_empty_buckets(raw: Any) -> None:
    async with asking([Turn("hi", usage=raw)]) as ask:
        reply = await ask()
        assert reply.text == "hi"
        assert (reply.usage.uncached_input, reply.usage.output) == (None, None)
        assert reply.usage.fault
        assert json.loads(reply.raw_usage) == raw


async def test_a_thousand_calls_at_once_are_answered_each_with_its_own() -> None:
    def script(asked: Asked) -> Outcome:
        return Turn(f"to {asked.body['messages'][-1]['content']}")

    answers: dict[int, str] = {}
    async with serving(script, latency_s=0.05) as stub, Model(ModelSettings(stub.url, "m")) as model:

        async def one(number: int) -> None:
            reply = await model.complete([User(f"#{number}")], deadline=anyio.current_time() + 25, occasion=str(number))
            answers[number] = reply.text

        async with anyio.create_task_group() as group:
            for number in range(1000):
                group.start_soon(one, number)
    assert answers == {number: f"to #{number}" for number in range(1000)}


async def test_the_message_of_a_reply_says_what_the_model_said() -> None:
    asked = ModelCall("f", "{}", "a", "f", "{}")
    async with asking([Turn("hi", [call("f", "{}", "a")])]) as ask:
        assert (await ask()).message == Assistant("hi", (asked,))
