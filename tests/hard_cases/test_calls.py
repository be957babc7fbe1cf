"""Every call is put down as it came, the failed ones too: rows 31, 37, 44, 46, 48 and 49."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from domains.probe import domain, probe
from domains.probe.orders import Note, Order
from sandbox import Call, Domain, Event, Row, Rows, Toolset, World
from sandbox.campaign import StoreJournal
from sandbox.fold import rebuilt
from sandbox.mcp_session import connected
from sandbox.records import OWN_TOPICS, ToolCalled, ToolRefused, ToolReturned, decoded
from sandbox.stream import Store
from sandbox.trial import TrialOver
from sandbox.world import Request, request
from sandbox.writer import Writer
from tests.hard_cases.stage import (
    NOW,
    Asked,
    Played,
    ask,
    calls_in,
    events_in,
    follow,
    journal_of,
    opened,
    played,
    told,
)

pytestmark = pytest.mark.anyio

REFUND = ask("refund", order_id="ORD-9", amount=25, reason="damaged")
POP = ask("pop_next_ticket")


def refusals_in(trial: Played) -> list[ToolRefused]:
    return [payload for record in trial.records if isinstance(payload := decoded(record), ToolRefused)]


async def test_row_31_an_invented_tool_is_a_failed_call_and_the_trial_goes_on() -> None:
    trial = await played(ask("delete_everything_v2", sure=True), REFUND)
    assert [call.tool for call in calls_in(trial.records)] == ["delete_everything_v2", "refund"]
    assert refusals_in(trial) == [ToolRefused("Unsupported", "no tool 'delete_everything_v2'")]
    assert trial.digest == (await played(REFUND)).digest
    assert trial.end.end == "done"


@pytest.mark.parametrize("tool", ["", " refund", "Refund", "refund\n", "probe_refund", "x" * 5000])
async def test_row_31_no_other_spelling_of_a_tool_is_taken_for_it(tool: str) -> None:
    trial = await played(Asked(tool, REFUND.arguments))
    assert [refusal.refusal for refusal in refusals_in(trial)] == ["Unsupported"]
    assert trial.effects == ()


async def test_row_37_a_call_with_a_wrong_id_stands_in_the_log_with_its_error() -> None:
    trial = await played(ask("refund", order_id="ORD-404", amount=25), REFUND)
    [called, refused] = [decoded(record) for record in trial.records[2:4]]
    assert called == ToolCalled(1, "refund", '{"order_id":"ORD-404","amount":25}')
    assert refused == ToolRefused("NotFound", "no order 'ORD-404'; order ids look like 'ORD-1'", 0)
    assert trial.records[3].cause == trial.records[2].position


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"ORD-9"', "{'order_id': 'ORD-9'}", '{"order_id": "ORD-9"}!'])
async def test_row_37_arguments_that_are_no_object_stand_in_the_log_as_they_came(text: str) -> None:
    trial = await played(Asked("get_order", text))
    assert [call.arguments for call in calls_in(trial.records)] == [text]
    assert [refusal.refusal for refusal in refusals_in(trial)] == ["Invalid"]


async def test_row_37_every_call_has_one_answer_and_no_two_share_a_number() -> None:
    trial = await played(REFUND, ask("get_order"), ask("nothing"), POP, Asked("refund", "{"), POP)
    assert [call.number for call in calls_in(trial.records)] == [1, 2, 3, 4, 5, 6]
    own = [decoded(record) for record in trial.records if record.topic in OWN_TOPICS]
    answered = [payload for payload in own if isinstance(payload, ToolReturned | ToolRefused)]
    assert [isinstance(payload, ToolReturned) for payload in answered] == [True, False, False, True, False, True]


async def test_row_44_one_call_three_times_gives_three_tickets_live_and_from_the_log() -> None:
    trial = await played(POP, POP, POP)
    assert [told(answer)["id"] for answer in trial.answers] == ["TIC-4", "TIC-6", "TIC-8"]
    results = [payload.result for r in trial.records if isinstance(payload := decoded(r), ToolReturned)]
    assert results == [answer.text for answer in trial.answers]
    again = World(domain, domain.snapshot, NOW)
    assert [again.call("pop_next_ticket")["id"] for _ in range(3)] == ["TIC-4", "TIC-6", "TIC-8"]


@pytest.mark.parametrize("done", [0, 1, 2])
async def test_row_44_a_world_rebuilt_after_some_of_them_goes_on_with_the_next(done: int) -> None:
    trial = await played(POP, POP, POP)
    ends = [place for place, record in enumerate(trial.records, 1) if record.topic == "trial.returned.1"]
    upto = ends[done - 1] if done else 2
    world = rebuilt(World(domain, domain.snapshot, NOW), trial.records[:upto])
    assert world.call("pop_next_ticket")["id"] == ["TIC-4", "TIC-6", "TIC-8"][done]


@pytest.mark.parametrize("call_id", ["c1", ""])
async def test_row_46_two_calls_with_one_call_id_are_two_events(call_id: str) -> None:
    trial = await played(replace(POP, call_id=call_id), replace(POP, call_id=call_id))
    assert [(call.number, call.call_id) for call in calls_in(trial.records)] == [(1, call_id), (2, call_id)]
    assert events_in(trial.records) == ["probe.ticket-taken.1"] * 2
    assert [effect.key for effect in trial.effects] == ["TIC-4", "TIC-6"]


async def test_row_46_one_call_id_on_two_tools_mixes_nothing_up() -> None:
    calls = [replace(call, call_id="c1") for call in (REFUND, POP, ask("get_order", order_id="ORD-404"))]
    trial = await played(*calls)
    assert told(trial.answers[0])["id"] == "REF-4"
    assert told(trial.answers[1])["id"] == "TIC-4"
    assert trial.answers[2].refusal
    assert trial.effects == (await played(REFUND, POP)).effects


@pytest.mark.parametrize("fail_after", [0, 1, 2, 3])
async def test_row_48_a_refusal_halfway_leaves_no_event(fail_after: int) -> None:
    orders = ["ORD-1", "ORD-2", "ORD-3"]
    trial = await played(ask("bulk_update", order_ids=orders, status="cancelled", fail_after=fail_after), REFUND)
    assert [refusal.refusal for refusal in refusals_in(trial)] == ["Precondition"]
    assert events_in(trial.records) == ["probe.refund-issued.1"]
    assert trial.digest == (await played(REFUND)).digest


async def test_row_48_an_unknown_order_among_known_ones_leaves_no_event() -> None:
    trial = await played(ask("bulk_update", order_ids=["ORD-1", "ORD-404", "ORD-3"], status="cancelled"))
    assert (trial.effects, events_in(trial.records)) == ((), [])


async def broken_by(asked: Request, domain: Domain = domain) -> Played:
    """A trial that pays a refund back, then breaks on our side, and is ended as infrastructure."""
    store = Store.in_memory()
    async with journal_of(store) as journal:
        trial = await opened(journal, domain=domain)
        async with connected(trial) as session:
            answers = await follow(session, [REFUND])
        with pytest.raises(TrialOver, match="broke on our side"):
            await trial.call(asked)
        with pytest.raises(TrialOver, match="nothing more is taken"):
            await trial.call(request("pop_next_ticket", "{}"))
        ended = await trial.end("infrastructure")
    return Played(answers, store.read(trial.id), ended.effects, ended.record)


async def test_row_48_a_fault_halfway_leaves_no_event_and_ends_the_trial_as_infrastructure() -> None:
    arguments = '{"order_ids": ["ORD-1", "ORD-2", "ORD-3"], "status": "open", "fail_after": 2, "failure": "fault"}'
    trial = await broken_by(request("bulk_update", arguments))
    assert events_in(trial.records) == ["probe.refund-issued.1"]
    assert trial.digest == (await played(REFUND)).digest
    assert trial.end.end == "infrastructure"


faulty = Toolset("faulty")


class OrdersStamped(Event, tag="orders-stamped", version=1):
    order_ids: tuple[str, ...]


@faulty.on(OrdersStamped)
def stamped(rows: Rows, e: OrdersStamped) -> Iterator[Row]:
    for place, order_id in enumerate(e.order_ids):
        if place == 2:
            raise ZeroDivisionError("the third row")
        yield replace(rows.get(Order, order_id), status="cancelled")
        yield Note(f"STAMP-{place}", order_id, "stamped", "system", NOW)


@faulty.tool(emits=[OrdersStamped])
def stamp(call: Call, order_ids: tuple[str, ...]) -> int:
    """Stamp orders, badly."""
    call.emit(OrdersStamped(order_ids))
    return len(order_ids)


async def test_row_48_a_handler_that_breaks_on_the_third_row_leaves_none_of_the_first_two() -> None:
    shaky = Domain("probe", probe.mount(prefix=""), faulty.mount(prefix=""), package="domains.probe")
    assert len((await played(ask("stamp", order_ids=["ORD-1", "ORD-2"]), domain=shaky)).effects) == 4
    trial = await broken_by(request("stamp", '{"order_ids": ["ORD-1", "ORD-2", "ORD-3"]}'), shaky)
    assert trial.digest == (await played(REFUND)).digest


async def test_row_48_records_that_cannot_be_stored_change_no_row() -> None:
    store = Store.in_memory()
    async with Writer(store) as writer:
        trial = await opened(StoreJournal(store, writer))
    with pytest.raises(TrialOver):
        await trial.call(request("pop_next_ticket", "{}"))
    world = rebuilt(World(domain, domain.snapshot, NOW), store.read(trial.id))
    assert (world.effects, world.calls) == ((), 0)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"order_id": "ORD-9", "amout": 5}, "unknown argument `amout`; did you mean `amount`?"),
        ({"order_id": "ORD-9", "amount": 5, "Amount": 5}, "unknown argument `Amount`; did you mean `amount`?"),
        ({"order_id": "ORD-9", "amount": 5, "currency": None}, "unknown argument `currency`"),
        ({"order_id": "ORD-9", "amount": 5, "": 1}, "unknown argument ``"),
    ],
)
async def test_row_49_an_unknown_argument_is_refused_by_its_name(arguments: dict[str, Any], text: str) -> None:
    trial = await played(Asked("refund", arguments))
    [refusal] = refusals_in(trial)
    assert refusal.refusal == "Invalid"
    assert text in refusal.message
    assert trial.answers[0].text == refusal.message
    assert (trial.effects, events_in(trial.records)) == ((), [])


def test_row_49_every_tool_tells_in_its_schema_that_it_takes_nothing_else() -> None:
    assert {tool.schema["additionalProperties"] for tool in domain.tools.values()} == {False}
