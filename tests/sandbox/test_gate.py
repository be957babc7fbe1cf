"""The gate: which calls pass, that no way leads around it, and that a stream with it can be made again."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import anyio
import pytest
from anyio import fail_after
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client

from domains.probe import domain as probe
from replay.prove import prove
from sandbox.agents import oracle
from sandbox.campaign import Campaign, Closed
from sandbox.gate import NO_EFFECTS, Approval, Gate, GatedCall, GateSettings, Rule, amounts, fits
from sandbox.mcp_server import tool_server
from sandbox.mcp_session import connected
from sandbox.protocols import EndTurnTool, Limits, Plain, ThinkingBox
from sandbox.records import Gated, Said, Told, ToolCalled, ToolRefused, ToolReturned, decoded
from sandbox.refusals import UserFault
from sandbox.stream import Store
from sandbox.task import snapshot_of
from sandbox.trial import Trial
from sandbox.world import request
from tests.hard_cases.stage import KEY, TASK
from tests.sandbox import shopfloor
from tests.sandbox.journals import stored, topics
from tests.sandbox.parties import DONE, REMARK, tried
from tests.stub import Turn, call

pytestmark = pytest.mark.anyio

REFUND = request("refund", '{"order_id": "ORD-9", "amount": 25, "reason": "damaged"}', key="k")
READ = request("get_order", '{"order_id": "ORD-9"}')
WRITES = Rule("refuse", writes=True, reason="writing is for people")


@pytest.fixture(autouse=True)
async def bounded(anyio_backend: str) -> AsyncIterator[None]:
    with fail_after(30):
        yield


class Approving:
    """Says the same to everything, and remembers what it was shown."""

    def __init__(self, answer: Approval | None) -> None:
        self.answer = answer
        self.seen: list[GatedCall] = []

    async def approve(self, call: GatedCall, timeout_s: float) -> Approval | None:
        self.seen.append(call)
        return self.answer


def gate(*rules: Rule, approver: Approving | None = None, shows: bool = False) -> Gate:
    return Gate(GateSettings(rules, check_end_state=shows), approver)


async def behind(gate: Gate | None, store: Store, *requests: Any) -> Trial:
    """An ended trial of the probe in which these calls were asked for."""
    async with stored(store) as journal:
        trial = await Trial.open(KEY, TASK, probe, snapshot_of(probe, TASK), journal, agent="x", gate=gate)
        for asked in requests:
            await trial.call(asked)
        await trial.end("done")
    return trial


async def test_a_refused_call_stands_in_the_stream_as_refused_and_changes_nothing() -> None:
    store = Store.in_memory()
    trial = await behind(gate(WRITES), store, READ, REFUND)
    records = store.read(trial.id)
    assert topics(records)[2:] == ["called", "gated", "returned", "called", "gated", "refused", "ended"]
    assert [record.cause for record in records[2:8]] == [3, 3, 3, 6, 6, 6]
    assert decoded(records[6]) == Gated("refuse", False, reason="writing is for people")
    words = "refund was not approved: writing is for people; nothing has changed"
    assert decoded(records[7]) == ToolRefused("Precondition", words)
    assert trial.ended is not None
    assert (trial.ended.effects, trial.ended.record.flags) == ((), ("no_action",))


async def test_an_allowed_call_does_what_it_does_without_a_gate() -> None:
    with_gate = await behind(gate(), Store.in_memory(), READ, REFUND)
    without = await behind(None, Store.in_memory(), READ, REFUND)
    assert with_gate.ended is not None
    assert without.ended is not None
    assert with_gate.ended.effects == without.ended.effects != ()


async def test_no_way_to_a_trial_leads_around_its_gate() -> None:
    async with stored() as journal:
        trial = await Trial.open(KEY, TASK, probe, snapshot_of(probe, TASK), journal, agent="x", gate=gate(WRITES))
        arguments = {"order_id": "ORD-9", "amount": 25, "reason": "damaged"}
        async with connected(trial) as session, Client(tool_server(trial)) as client:
            assert (await session.call("refund", arguments)).refusal
            assert (await client.call_tool("refund", arguments)).is_error
            assert (await client.call_tool("refund", arguments, meta={"trialbox/gate": "off"})).is_error  # type: ignore[arg-type]
            assert (await trial.call(REFUND)).refusal == "Precondition"
        assert (await trial.end("done")).effects == ()


async def test_who_is_asked_sees_what_would_change_and_decides() -> None:
    person = Approving(Approval(True, "fine"))
    trial = await behind(gate(Rule("ask", writes=True), approver=person), Store.in_memory(), READ, REFUND)
    [call] = person.seen
    assert (call.tool, call.arguments["amount"]) == ("refund", 25)
    assert ("probe_refunds", "inserted") in [(effect.table, effect.op) for effect in call.effects]
    assert trial.ended is not None
    assert trial.ended.effects == call.effects


@pytest.mark.parametrize(
    ("answer", "by", "words"),
    [
        (None, "timeout", "refund was not approved; nothing has changed"),
        (Approval(False), "person", "refund was not approved; nothing has changed"),
        (Approval(False, "too much"), "person", "refund was not approved: too much; nothing has changed"),
    ],
)
async def test_no_answer_and_a_no_are_refusals(answer: Approval | None, by: Any, words: str) -> None:
    store = Store.in_memory()
    trial = await behind(gate(Rule("ask"), approver=Approving(answer)), store, REFUND)
    [gated, refused] = [decoded(record) for record in store.read(trial.id)[3:5]]
    assert (gated.ruling, gated.allowed, gated.by) == ("ask", False, by)
    assert refused.message == words


async def test_calls_that_cannot_do_anything_bother_nobody() -> None:
    person = Approving(Approval(True))
    wrong = [request("refund", "{"), request("nothing", "{}"), request("get_order", '{"order_id": "ORD-404"}')]
    await behind(gate(Rule("ask"), approver=person), Store.in_memory(), *wrong, REFUND, REFUND)
    assert [call.tool for call in person.seen] == ["refund"]


async def test_a_rule_that_asks_needs_somebody() -> None:
    with pytest.raises(UserFault, match="nobody is there to answer"):
        gate(Rule("ask"))


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_gated_stream_can_be_taken_up_and_made_again(allowed: bool) -> None:
    store = Store.in_memory()
    asking = gate(Rule("ask", writes=True), approver=Approving(Approval(allowed)))
    trial = await behind(asking, store, READ, REFUND, REFUND, READ)
    records = store.read(trial.id)
    assert prove(probe, TASK, trial.snapshot, KEY, records) == 4
    async with stored(store) as journal:
        again = Trial(KEY, TASK, probe, trial.snapshot, journal)
        await again.resume()
        assert again.ended == trial.ended


async def test_a_gated_trial_that_is_taken_up_raises_the_same_flags() -> None:
    unkeyed = request("refund", REFUND.arguments)
    async with stored() as journal:
        trial = await Trial.open(KEY, TASK, probe, snapshot_of(probe, TASK), journal, agent="x", gate=gate())
        for asked in (unkeyed, unkeyed):
            await trial.call(asked)
        again = Trial(KEY, TASK, probe, trial.snapshot, journal)
        await again.resume()
        assert (await again.end("done")).record.flags == ("suspected_duplicate",)


async def test_an_approver_that_breaks_is_our_fault_and_nothing_happens() -> None:
    class Broken(Approving):
        async def approve(self, call: GatedCall, timeout_s: float) -> Approval | None:
            raise OSError("the terminal is gone")

    trial = await tried([Turn("", [REMARK]), DONE], gate=gate(Rule("ask"), approver=Broken(None)))
    assert (trial.end.end, trial.end.flags) == ("infrastructure", ("no_action",))


async def test_waiting_for_a_person_ends_with_the_trials_time() -> None:
    class Gone(Approving):
        async def approve(self, call: GatedCall, timeout_s: float) -> Approval | None:
            await anyio.sleep_forever()
            return None

    limits = Limits(trial_s=0.3)
    trial = await tried([Turn("", [REMARK]), DONE], gate=gate(Rule("ask"), approver=Gone(None)), limits=limits)
    assert (trial.end.end, trial.all(ToolCalled)) == ("deadline", [])


# Rules


@pytest.mark.parametrize(
    ("rule", "arguments", "is_fitting"),
    [
        (Rule("refuse"), {}, True),
        (Rule("refuse", tools=("other",)), {}, False),
        (Rule("refuse", writes=True), {}, False),
        (Rule("refuse", above=100), {"amount": 100}, False),
        (Rule("refuse", above=100), {"amount": 100.01}, True),
        (Rule("refuse", above=100), {"amount": -500}, True),
        (Rule("refuse", above=100), {"amount": "$1,500.00"}, True),
        (Rule("refuse", above=100), {"amount": "a lot"}, False),
        (Rule("refuse", above=100), {"amount": True}, False),
        (Rule("refuse", above=100), {"quantity": 500}, False),
        (Rule("refuse", above=100), {"lines": [{"unitPrice": 5}, {"unitPrice": 500}]}, True),
        (Rule("refuse", above=100), {"amount": {"value": 500, "currency": "EUR"}}, True),
        (Rule("refuse", above=100, amount_names=("quantity",)), {"quantity": 500}, True),
        (Rule("refuse", above=100, tools=("other",)), {"amount": 500}, False),
    ],
)
def test_a_rule_fits_if_all_that_it_names_holds(rule: Rule, arguments: Mapping[str, Any], is_fitting: bool) -> None:
    assert fits(rule, GatedCall("pay", arguments, ())) is is_fitting


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["amount", "a"]), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_amounts_are_found_or_not_but_never_break(arguments: Any) -> None:
    assert all(size >= 0 for size in amounts(Rule("refuse"), arguments))


async def test_the_first_rule_that_fits_decides() -> None:
    rules = (Rule("allow", tools=("refund",)), WRITES)
    pop = request("pop_next_ticket", "{}")
    store = Store.in_memory()
    trial = await behind(gate(*rules), store, REFUND, pop)
    gated = [p for record in store.read(trial.id) if isinstance(p := decoded(record), Gated)]
    assert [one.ruling for one in gated] == ["allow", "refuse"]


# What an agent is shown before it finishes


SHOWN: Sequence[Turn] = [Turn("", [REMARK]), Turn("I left a remark. <DONE>")]


async def test_an_agent_that_finishes_is_shown_its_effects_once_and_may_go_on() -> None:
    more = call("shop_set_status", {"id": "SO-1", "status": "packed"}, "c3")
    trial = await tried([*SHOWN, Turn("", [more]), Turn("Packed as well. <DONE>")], gate=gate(shows=True))
    [told] = trial.all(Told)
    assert told.about == "end_state"
    assert 'shop_orders SO-1: remark from "" to "hello"' in told.text
    assert trial.sent(3)[-1] == {"role": "user", "content": told.text}
    assert [text for _, text in trial.dialogue[1:]] == ["Packed as well. <DONE>"]
    assert (trial.end.end, len(trial.all(ToolReturned))) == ("done", 2)


@pytest.mark.parametrize("again", [Turn("<DONE>"), Turn(""), Turn("", reasoning="all is right")])
async def test_if_it_only_confirms_its_first_words_are_said(again: Turn) -> None:
    trial = await tried([*SHOWN, again], gate=gate(shows=True))
    assert trial.all(Said)[1:] == [Said("assistant", "I left a remark. <DONE>")]
    assert (trial.end.end, len(trial.all(Told))) == ("done", 1)


async def test_words_that_were_held_back_are_said_if_a_limit_ends_it() -> None:
    trial = await tried([*SHOWN, Turn("", [REMARK])], gate=gate(shows=True), limits=Limits(3, trial_s=20))
    assert (trial.end.end, trial.all(Said)[-1].text) == ("agent_limit", "I left a remark. <DONE>")


async def test_who_changed_nothing_is_shown_that() -> None:
    trial = await tried([Turn("All done!")] * 2, protocol=Plain(), gate=gate(shows=True))
    assert NO_EFFECTS in trial.all(Told)[0].text


async def test_an_end_turn_call_is_answered_with_the_effects_first() -> None:
    protocol = ThinkingBox((EndTurnTool("hand_over"),))
    ends = Turn("", [call("hand_over", {}, "e1"), call("hand_over", {}, "e1")])
    trial = await tried([Turn("", [REMARK]), ends, ends], protocol=protocol, gate=gate(shows=True))
    assert trial.end.end == "end_turn_tool"
    assert [message["role"] for message in trial.sent(3)[-3:]] == ["assistant", "tool", "tool"]


async def test_without_the_gate_nothing_is_shown() -> None:
    for off in (None, gate()):
        trial = await tried(SHOWN, gate=off)
        assert (trial.end.end, trial.all(Told)) == ("done", [])


async def test_a_campaign_puts_its_gate_before_any_agent() -> None:
    agent = oracle({"remark": shopfloor.remarks()})
    closed: list[Closed] = []

    async def keep(one: Closed) -> None:
        closed.append(one)

    campaign = Campaign(Store.in_memory(), "c", shopfloor.domain, [shopfloor.task()], 2, agent.name)
    assert await campaign.run(agent, on_closed=keep, gate=gate(WRITES)) == []
    assert [one.effects for one in closed] == [(), ()]
