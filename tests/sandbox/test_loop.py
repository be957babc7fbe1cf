"""A model on trial: what it is told and asked, how it ends, and that nothing it replies breaks or traps the loop."""

from functools import partial
from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox import Domain
from sandbox.gate import Gate, GateSettings
from sandbox.loop import ModelAgent
from sandbox.model_settings import ModelSettings, Secret
from sandbox.protocols import EndTurnTool, Limits, Plain, Protocol, ThinkingBox
from sandbox.records import (
    Replied,
    Said,
    Telemetry,
    Told,
    ToolCalled,
    ToolRefused,
    ToolReturned,
    TrialKey,
    TurnEnded,
    Unanswered,
    decoded,
)
from sandbox.refusals import UserFault
from sandbox.simulated_user import SimulatedUser
from sandbox.stream import Store
from sandbox.user import Line, Script, ScriptedUser
from sandbox.values import canonical
from tests.sandbox import shopfloor
from tests.sandbox.asking import KEY
from tests.sandbox.journals import ensure_whole, topics
from tests.sandbox.parties import DONE, REMARK, Tried, tried
from tests.stub import OVERFLOWS, Answer, Asked, Outcome, Turn, call, failing

pytestmark = pytest.mark.anyio

TEXT = "Hello, what is it about?"
LIST = call("shop_list_orders", {}, "c2")
ENDING = ThinkingBox((EndTurnTool("hand_over", "Hands the case over."),))


def talking(*texts: str) -> ScriptedUser:
    lines = tuple(Line(text) for text in texts)
    return ScriptedUser({"remark": Script(lines)})


# What it is told, and what is put down


async def test_the_model_gets_instructions_time_rule_goal_and_tools_and_nothing_of_the_user() -> None:
    trial = await tried([DONE], context="The secret word is rhubarb.")
    [asked] = trial.stub.asked
    system, user = asked.body["messages"]
    assert "It is 2025-10-01T13:00:00Z." in system["content"]
    assert "<DONE>" in system["content"]
    assert user == {"role": "user", "content": "Please see to remark."}
    assert {tool["function"]["name"] for tool in asked.body["tools"]} == set(shopfloor.domain.tools)
    assert "rhubarb" not in asked.text


async def test_every_model_call_stands_in_the_stream_before_what_came_of_it() -> None:
    trial = await tried([Turn("", [REMARK]), DONE])
    assert topics(trial.records) == [
        *("opened", "said", "replied", "called", "shop.remarked", "returned", "replied", "said", "ended")
    ]
    first, second = trial.all(Replied)
    assert [(reply.party, reply.number, reply.finish) for reply in (first, second)] == [
        ("agent", 1, "tool_calls"),
        ("agent", 2, "stop"),
    ]
    assert '"prompt_tokens": 100' in first.raw_usage


async def test_the_time_a_model_took_is_telemetry() -> None:
    trial = await tried([DONE])
    [replied] = [record for record in trial.records if record.topic == "trial.replied.1"]
    assert 0 < msgspec.msgpack.decode(replied.telemetry, type=Telemetry).took_ms < 20_000


async def test_the_same_script_gives_the_same_stream() -> None:
    script = [Turn("", [REMARK]), DONE]
    one, other = await tried(script), await tried(script)
    assert [record.body for record in one.records] == [record.body for record in other.records]


PAST = (
    Said("user", "Please see to remark."),
    ToolCalled(1, "shop_remark", '{"id": "SO-9"}'),
    ToolRefused("NotFound", "no order"),
    ToolCalled(2, "shop_list_orders", "{}"),
    ToolReturned("[]"),
)


@pytest.mark.parametrize(("domain", "refusal"), [(shopfloor.domain, "no order"), (shopfloor.objects, '{"error":"no')])
async def test_a_fork_is_told_its_past_as_it_was_seen(domain: Domain, refusal: str) -> None:
    trial = await tried([DONE], past=PAST, domain=domain)
    messages = trial.sent(1)
    assert [one["role"] for one in messages] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert messages[3]["content"].startswith(refusal)
    assert messages[5] == {"role": "tool", "tool_call_id": "call_2", "content": "[]"}


async def test_in_a_fork_a_text_and_the_call_after_it_are_one_reply_again() -> None:
    with_words = (PAST[0], Said("assistant", "I will look."), *PAST[1:])
    messages = (await tried([DONE], past=with_words)).sent(1)
    assert [one["role"] for one in messages] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert messages[2]["content"] == "I will look."
    assert [one["id"] for one in messages[2]["tool_calls"]] == [messages[3]["tool_call_id"]] == ["call_1"]


async def test_in_a_fork_turns_of_the_past_count_and_a_said_line_waits_for_the_user() -> None:
    spent = await tried([DONE], past=PAST, limits=Limits(2, trial_s=20))
    assert (spent.end.end, spent.stub.asked) == ("agent_limit", [])
    asked = await tried([DONE], past=(*PAST, Said("assistant", "Which?")), user=talking("SO-1"))
    assert [line.text for line in asked.all(Said)][1:] == ["SO-1", DONE.text]


async def test_answers_go_back_to_the_model_in_the_order_of_its_calls() -> None:
    trial = await tried([Turn("", [REMARK, LIST]), DONE])
    assert [call.tool for call in trial.all(ToolCalled)] == ["shop_remark", "shop_list_orders"]
    assert [message["role"] for message in trial.sent(2)] == ["system", "user", "assistant", "tool", "tool"]
    results = [payload.result for payload in trial.all(ToolReturned)]
    assert [message["content"] for message in trial.sent(2)[3:]] == results


# How it ends


async def test_done_is_a_visible_text_with_the_marker_at_its_end() -> None:
    for text, end in (("Bye <DONE>", "done"), ("Bye <DONE>  \n", "done"), ("<DONE> bye", "user_done")):
        trial = await tried([Turn(text)], user=ScriptedUser({}))
        assert (trial.end.end, trial.dialogue[1]) == (end, ("assistant", text))


async def test_a_marker_in_the_reasoning_is_none() -> None:
    trial = await tried([Turn("<think>I could say <DONE></think>Which order?"), DONE], user=talking("SO-1"))
    assert trial.dialogue[1:3] == [("assistant", "Which order?"), ("user", "SO-1")]


async def test_without_the_marker_the_text_goes_to_the_user_and_the_answer_comes_back() -> None:
    trial = await tried([Turn(TEXT), DONE], user=talking("It is about SO-1."))
    assert trial.dialogue[1:] == [("assistant", TEXT), ("user", "It is about SO-1."), ("assistant", DONE.text)]
    assert [message["role"] for message in trial.sent(2)] == ["system", "user", "assistant", "user"]
    assert trial.end.end == "done"


async def test_a_needed_reply_that_nobody_can_give_ends_at_the_users_limit() -> None:
    trial = await tried([Turn(TEXT)])
    assert (trial.end.end, trial.end.flags) == ("user_limit", ("no_action", "no_user"))


async def test_a_marked_text_beside_calls_counts_unless_a_text_follows() -> None:
    both = Turn("Done so far. <DONE>", [REMARK])
    kept = await tried([both, Turn("", reasoning="so that is that")])
    assert (kept.end.end, len(kept.all(ToolReturned)), len(kept.all(Told))) == ("done", 1, 0)
    lost = await tried([both, Turn("One more thing?"), DONE], user=talking("no"))
    assert [role for role, _ in lost.dialogue] == ["user", "assistant", "assistant", "user", "assistant"]


async def test_an_end_turn_call_ends_and_is_never_made_nor_are_those_beside_it() -> None:
    trial = await tried([Turn("", [REMARK, call("hand_over", {"to": "x"}, "c9")])], protocol=ENDING)
    assert (trial.end.end, trial.all(ToolCalled)) == ("end_turn_tool", [])
    assert trial.all(TurnEnded) == [TurnEnded("hand_over", '{"to": "x"}', "c9", 1)]
    assert trial.end.flags == ("dropped_calls", "no_action")
    assert "hand_over" in [tool["function"]["name"] for tool in trial.stub.asked[0].body["tools"]]


async def test_plain_an_answer_without_a_call_is_the_end() -> None:
    trial = await tried([Turn("I do it.", [REMARK]), Turn("It is done.")], protocol=Plain())
    assert (trial.end.end, [text for _, text in trial.dialogue[1:]]) == ("done", ["I do it.", "It is done."])


async def test_plain_with_a_user_goes_on_until_the_user_leaves() -> None:
    trial = await tried([Turn("Which one?"), Turn("It is done.")], protocol=Plain(), user=talking("SO-1"))
    assert [role for role, _ in trial.dialogue] == ["user", "assistant", "user", "assistant", "user"]
    assert trial.end.end == "user_done"


@pytest.mark.parametrize(
    ("limit", "asked", "end"),
    [(0, 0, "agent_limit"), (1, 1, "agent_limit"), (2, 2, "agent_limit"), (3, 3, "done"), (None, 3, "done")],
)
async def test_the_agents_limit_counts_batches_and_texts(limit: int | None, asked: int, end: str) -> None:
    script = [Turn("", [REMARK, LIST]), Turn("", [LIST]), DONE]
    trial = await tried(script, limits=Limits(limit, trial_s=20))
    assert (trial.end.end, len(trial.stub.asked)) == (end, asked)
    assert len(trial.all(ToolReturned)) == min(2 * asked, 3)


async def test_a_text_beside_calls_counts_for_itself_and_may_use_up_the_limit() -> None:
    trial = await tried([Turn("I look.", [LIST])], limits=Limits(1, trial_s=20))
    assert (trial.end.end, trial.all(ToolCalled), len(trial.dialogue)) == ("agent_limit", [], 2)


@pytest.mark.parametrize(("most", "replies"), [(0, 1), (1, 2), (3, 4)])
async def test_the_users_limit_counts_replies_and_leaves_one_to_say_goodbye(most: int, replies: int) -> None:
    trial = await tried(lambda asked: Turn(TEXT), limits=Limits(None, most, trial_s=20), user=talking(*["well"] * 9))
    assert (trial.end.end, [role for role, _ in trial.dialogue].count("user")) == ("user_limit", 1 + replies)


@pytest.mark.parametrize(
    ("before", "limits", "why"),
    [
        ([], Limits(trial_s=0.3), "not one answer within trial_s (0.3 s)"),
        ([], Limits(trial_s=20, model_call_s=0.3), "no answer within model_call_s (0.3 s)"),
        ([Turn("", [REMARK])], Limits(trial_s=20, model_call_s=0.3), "no answer within model_call_s (0.3 s)"),
    ],
)
async def test_an_endpoint_that_hangs_is_no_failure_of_the_agent(before: list[Turn], limits: Limits, why: str) -> None:
    trial = await tried([*before, Answer(breaks="hangs")], limits=limits)
    assert (trial.end.end, trial.end.detail) == ("infrastructure", f"timed_out: {why}")
    [unanswered] = trial.all(Unanswered)
    assert (unanswered.party, unanswered.number, unanswered.fault) == ("agent", len(before) + 1, "timed_out")
    assert [attempt.lost for attempt in unanswered.failed] == [True]


async def test_a_model_that_answered_before_and_then_takes_all_the_time_ends_by_the_deadline() -> None:
    trial = await tried([Turn("", [REMARK]), Answer(breaks="hangs")], limits=Limits(trial_s=0.5))
    assert (trial.end.end, trial.end.flags, trial.end.detail) == ("deadline", (), "trial_s (0.5 s) was over")
    [unanswered] = trial.all(Unanswered)
    assert (unanswered.party, unanswered.number, unanswered.fault) == ("agent", 2, "deadline")


async def test_an_agent_whose_many_answers_use_up_the_time_ends_by_the_deadline_and_what_it_did_stays() -> None:
    trial = await tried(lambda asked: Turn("", [REMARK]), limits=Limits(None, trial_s=1))
    assert (trial.end.end, "trial_s (1 s) was over" in trial.end.detail) == ("deadline", True)
    assert len(trial.all(ToolReturned)) > 1


async def test_an_agent_that_never_stops_is_stopped() -> None:
    trial = await tried(lambda asked: Turn("", [LIST]), limits=Limits(7, trial_s=20))
    assert (trial.end.end, len(trial.all(ToolCalled))) == ("agent_limit", 7)


# What a model's failures mean


@pytest.mark.parametrize(
    ("answer", "end", "requests"),
    [
        (OVERFLOWS["openai"], "context_overflow", 1),
        (failing(400, "odd arguments"), "agent_error", 1),
        (failing(413, "too much"), "agent_error", 1),
        (failing(422, "no such parameter"), "agent_error", 1),
        (Answer("", 302), "infrastructure", 1),
        (failing(404, "no such model"), "infrastructure", 1),
        (failing(405), "infrastructure", 1),
        (failing(418), "infrastructure", 1),
        (failing(501), "infrastructure", 1),
        (failing(401, "bad key"), "infrastructure", 1),
        (failing(429), "infrastructure", 3),
        (failing(500), "infrastructure", 3),
        (Answer(breaks="before"), "infrastructure", 3),
    ],
)
async def test_each_class_of_fault_has_its_end_and_is_recorded(answer: Answer, end: str, requests: int) -> None:
    def script(asked: Asked) -> Outcome:
        return Turn("", [REMARK]) if asked.number == 1 else answer

    trial = await tried(script)
    assert (trial.end.end, len(trial.stub.asked) - 1) == (end, requests)
    [unanswered] = trial.all(Unanswered)
    assert unanswered.attempts == requests
    assert trial.end.detail == f"{unanswered.fault}: {unanswered.message}"
    assert len(trial.all(ToolReturned)) == 1


@pytest.mark.parametrize("answer", [failing(400, "tools are not supported"), failing(413), failing(422)])
async def test_a_request_that_is_refused_before_the_agent_has_done_anything_is_infrastructure(answer: Answer) -> None:
    scripts: list[list[Outcome]] = [[answer], [Turn(""), answer]]
    for script in scripts:
        trial = await tried(script)
        assert (trial.end.end, trial.end.detail.partition(":")[0]) == ("infrastructure", "invalid_request")
    fork = await tried([answer], past=PAST)
    assert fork.end.end == "infrastructure"


async def test_what_the_endpoint_said_stands_in_the_end_without_the_key_on_one_line() -> None:
    trial = await tried([Turn("", [REMARK]), failing(400, f"tools?\n\n{'not ' * 300}supported for {KEY}")], key=KEY)
    assert trial.end.end == "agent_error"
    assert trial.end.detail.startswith("invalid_request: 400: tools? not not")
    assert (KEY in trial.end.detail, "\n" in trial.end.detail, len(trial.end.detail) < 600) == (False, False, True)


async def test_a_call_on_the_way_when_its_trial_is_stopped_is_recorded_as_lost() -> None:
    store, asked = Store.in_memory(), anyio.Event()

    def script(request: Asked) -> Outcome:
        if request.number < 3:
            return failing(500) if request.number == 2 else Turn("", [REMARK])
        asked.set()
        return Answer(breaks="hangs")

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(tried, script, store=store))
            await asked.wait()
            tasks.cancel_scope.cancel()
    last = decoded(store.read(TrialKey("c", "remark", 0, 1).id)[-1])
    assert (last.party, last.number, last.fault) == ("agent", 2, "stopped")
    assert [(attempt.fault, attempt.lost) for attempt in last.failed] == [("server", False), ("stopped", True)]


# Odd replies


@pytest.mark.parametrize("empty", [Turn(""), Turn(None), Turn("  \n"), Turn("", reasoning="hm"), Turn("<think>hm")])
async def test_a_reply_without_text_or_call_is_nudged_and_then_an_error(empty: Turn) -> None:
    trial = await tried([empty, empty, Turn("", [LIST]), empty, empty, empty])
    assert (trial.end.end, len(trial.all(Told)), len(trial.stub.asked)) == ("agent_error", 4, 6)
    assert [text for _, text in trial.dialogue] == ["Please see to remark."]
    assert trial.sent(2)[-1]["content"].startswith("Please see to remark.\n\nYour reply held neither")


async def test_a_nudged_agent_may_recover() -> None:
    assert (await tried([Turn(""), DONE])).end.end == "done"


@pytest.mark.parametrize("arguments", ["", "{", "[1]", "null", "4", '"x"', "not json", '{"id": 1}', "{}" * 9])
async def test_arguments_that_are_none_are_recorded_answered_and_survived(arguments: str) -> None:
    trial = await tried([Turn("", [call("shop_remark", arguments, "c1")]), DONE])
    assert [one.arguments for one in trial.all(ToolCalled)] == [arguments]
    [refused] = trial.all(ToolRefused)
    assert refused.refusal == "Invalid"
    assert trial.sent(2)[-1] == {"role": "tool", "tool_call_id": "c1", "content": refused.message}
    assert trial.end.end == "done"


@pytest.mark.parametrize("calls", [[{"name": "f"}], [{"arguments": "{}"}], [{"name": "", "arguments": "{}"}]])
async def test_a_call_without_name_arguments_or_id_is_survived(calls: list[Any]) -> None:
    trial = await tried([Turn("", calls), DONE])
    assert (trial.end.end, [refused.refusal for refused in trial.all(ToolRefused)]) == ("done", ["Unsupported"])


async def test_a_reply_cut_off_at_its_length_is_flagged_and_what_is_left_of_its_call_refused() -> None:
    cut = Turn("", [call("shop_remark", '{"id": "SO-1", "te', "c1")], finish="length")
    trial = await tried([cut, DONE])
    assert (trial.end.end, trial.end.flags) == ("done", ("cut_off_reply", "no_action"))
    assert [refused.refusal for refused in trial.all(ToolRefused)] == ["Invalid"]


async def test_broken_unicode_in_a_reply_is_put_down_as_an_escape() -> None:
    body = '{"choices": [{"message": {"content": "\\ud800 bye <DONE>"}, "finish_reason": "stop"}]}'
    trial = await tried([Answer(body)])
    assert trial.all(Said)[-1].text == "\\ud800 bye <DONE>"


async def test_a_tool_that_breaks_on_our_side_ends_the_trial_as_ours() -> None:
    trial = await tried([Turn("", [call("shop_break_down", {}, "c1")]), DONE])
    assert (trial.end.end, len(trial.stub.asked)) == ("infrastructure", 1)
    assert "KeyError" in trial.end.detail


async def test_an_agent_that_was_not_entered_says_so() -> None:
    agent = ModelAgent("a", ModelSettings("http://127.0.0.1/v1", "m", Secret()), Plain(), Limits())
    with pytest.raises(RuntimeError, match="enter the agent first"):
        await agent.attempt(None, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"max_agent_turns": -1}, {"trial_s": 0}, {"max_nudges": -1}])
def test_limits_that_bound_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserFault):
        Limits(**wrong)


def test_the_seal_of_an_agent_holds_all_that_tells_it_from_others_and_no_key() -> None:
    model = ModelSettings("http://127.0.0.1/v1", "m", Secret("sk-planted"))
    plain = ModelAgent("a", model, Plain(), Limits())
    others = [
        ModelAgent("a", model, ThinkingBox(), Limits()),
        ModelAgent("a", model, Plain(), Limits(3)),
        ModelAgent("a", model, Plain(), Limits(), talking("hi")),
        ModelAgent("a", model, Plain(), Limits(), talking("ho")),
        ModelAgent("a", model, Plain(), Limits(), SimulatedUser(model, {})),
    ]
    seals = [canonical(agent.told) for agent in (plain, *others)]
    assert len(set(seals)) == len(seals)
    assert not any(b"sk-planted" in seal for seal in seals)


CALLS = st.sampled_from(
    [REMARK, LIST, call("hand_over", "{}"), call("nothing", "{}", "c1"), call("shop_remark", "[", "c1"), {"name": ""}]
)
REPLIES = st.builds(
    Turn,
    st.sampled_from([None, "", " ", "Well?", "Bye <DONE>", "<think>hm", "\ud800"]),
    st.lists(CALLS, max_size=3),
    st.sampled_from(["", "hm"]),
    st.sampled_from(["", "length", "content_filter", "odd"]),
    st.sampled_from(["usual", None, {"prompt_tokens": "many"}]),
)


@settings(max_examples=40)
@given(st.lists(REPLIES, max_size=6), st.booleans(), st.booleans())
def test_whatever_a_model_replies_the_trial_ends_by_a_rule_and_its_stream_is_whole(
    replies: list[Turn], shows: bool, is_plain: bool
) -> None:
    async def trial() -> Tried:
        return await tried(
            replies,
            protocol=Plain() if is_plain else ENDING,
            limits=Limits(9, 2, trial_s=20),
            user=talking("hm", "hm", "hm"),
            gate=Gate(GateSettings(check_end_state=shows)),
        )

    made = anyio.run(trial)
    ends = ["done", "end_turn_tool", "user_done", "agent_limit", "user_limit", "agent_error"]
    # The stub refuses what its script has no answer to.
    has_acted = any((reply.text and reply.text.strip()) or reply.calls for reply in replies)
    assert made.end.end in (ends if has_acted else [*ends, "infrastructure"])
    assert len(made.all(ToolCalled)) == len(made.all(ToolReturned)) + len(made.all(ToolRefused))
    assert len(made.all(Replied)) + len(made.all(Unanswered)) == len(made.stub.asked)
    ensure_whole(made.records)


def test_protocols_and_limits_can_be_written_down_and_read() -> None:
    for protocol in (Plain(), ThinkingBox(), ENDING):
        assert msgspec.json.decode(msgspec.json.encode(protocol), type=Protocol) == protocol
    assert msgspec.convert({"name": "thinkingbox"}, Protocol) == ThinkingBox()
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert({"name": "plain", "end_turn_tools": []}, Protocol)
