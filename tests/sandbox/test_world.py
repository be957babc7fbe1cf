"""One call at a time: decided on a scratch view, applied or thrown away."""

from typing import Any

import msgspec
import pytest

from sandbox import (
    Invalid,
    NotFound,
    Precondition,
    RowFault,
    World,
)
from sandbox.records import ToolCalled, ToolRefused, ToolReturned, decoded
from sandbox.world import Request, request
from tests.sandbox.desk import CLOSED, START, Ticket, domain
from tests.sandbox.taped import Taped, content


@pytest.fixture
def world() -> World:
    return World(domain, domain.snapshot, START)


def last(taped: Taped) -> Any:
    return decoded(taped.records[-1])


def test_a_call_is_its_request_its_events_and_its_answer_in_one_batch() -> None:
    taped = Taped()
    taped.call("desk_solve_all", ids=["TK-1", "TK-2"], note="done")
    topics = [(record.position, record.topic, record.cause) for record in taped.records]
    assert topics == [
        (1, "trial.opened.1", 0),
        (2, "trial.called.1", 2),
        (3, "desk.ticket-solved.1", 2),
        (4, "desk.ticket-solved.1", 2),
        (5, "trial.returned.1", 2),
    ]
    assert {record.time for record in taped.records[1:]} == {"2025-10-01T13:00:01Z"}


def test_deciding_changes_nothing_until_it_is_applied(world: World) -> None:
    before = content(world)
    decision = world.decide(request("desk_open_ticket", '{"subject": "x"}'))
    assert content(world) == before
    assert world.calls == 0
    assert world.decide(request("desk_open_ticket", '{"subject": "x"}')).drafts == decision.drafts
    world.apply(decision)
    assert [row.id for row in world.rows["desk_tickets"]] == ["TK-1", "TK-2", "TK-3", "TK-4"]


def test_solving_twice_is_refused_and_leaves_no_trace(world: World) -> None:
    world.call("desk_solve_ticket", id="TK-1", note="done")
    before, effects = content(world), world.effects
    with pytest.raises(Precondition, match="already solved"):
        world.call("desk_solve_ticket", id="TK-1", note="again")
    assert content(world) == before
    assert world.effects == effects


def test_a_call_that_is_refused_half_way_leaves_no_trace(world: World) -> None:
    before = content(world)
    with pytest.raises(Precondition, match="TK-3 is already solved"):
        world.call("desk_solve_all", ids=["TK-1", "TK-2", "TK-3"], note="done")
    assert content(world) == before


def test_a_refused_call_is_recorded_with_its_class_and_a_second_passes() -> None:
    taped = Taped()
    taped.call("desk_solve_ticket", id="TK-7", note="x")
    assert last(taped) == ToolRefused("NotFound", "no ticket 'TK-7'; ticket ids look like 'TK-1'", 0)
    assert taped.world.now == "2025-10-01T13:00:01Z"


@pytest.mark.parametrize(
    ("tool", "arguments", "found"),
    [
        ("desk_tell_time", {}, None),
        ("desk_list_tickets", {}, 3),
        ("desk_list_tickets", {"status": "solved"}, 1),
        ("annex_list_tickets", {"status": "solved"}, 0),
        ("desk_find_tickets", {"query": "nothing like it"}, 0),
        ("desk_find_tickets", {"query": "door light"}, 2),
        ("desk_change_ticket", {"id": "TK-1", "subject": "x"}, 2),
        ("desk_change_ticket", {"id": "TK-8", "subject": "x"}, 0),
        ("desk_solve_all", {"ids": ["TK-1", "TK-8"], "note": ""}, 1),
        ("desk_open_ticket", {"subjekt": "x"}, None),
        ("desk_nothing", {}, None),
    ],
)
def test_the_number_of_rows_that_were_found_is_recorded(tool: str, arguments: Any, found: int | None) -> None:
    taped = Taped()
    taped.call(tool, **arguments)
    assert last(taped).found == found


def test_a_repeated_key_brings_the_recorded_answer_and_changes_nothing() -> None:
    taped = Taped()
    asked = request("desk_open_ticket", '{"subject": "x"}', key="k")
    first = taped.ask(asked)
    called_at = taped.records[-1].cause
    before = content(taped.world)
    second = taped.ask(asked)
    assert second.answer == first.answer
    assert content(taped.world) == before
    assert len(second.drafts) == 2
    assert last(taped) == ToolReturned(first.answer.text, repeats=called_at)


def test_a_repeated_key_brings_a_refusal_back_even_if_it_would_pass_now() -> None:
    taped = Taped()
    asked = request("desk_change_ticket", '{"id": "TK-4", "subject": "y"}', key="k")
    refused = taped.ask(asked).answer
    taped.call("desk_open_ticket", subject="x")
    assert refused.refusal == "NotFound"
    assert taped.ask(asked).answer == refused


@pytest.mark.parametrize(
    "other",
    [
        request("desk_open_ticket", '{"subject": "y"}', key="k"),
        request("desk_remove_ticket", '{"id": "TK-1"}', key="k"),
    ],
)
def test_a_key_used_for_another_call_is_a_conflict_and_keeps_its_first_answer(other: Request) -> None:
    taped = Taped()
    asked = request("desk_open_ticket", '{"subject": "x"}', key="k")
    first = taped.ask(asked).answer
    before = content(taped.world)
    assert taped.ask(other).answer.refusal == "Conflict"
    assert content(taped.world) == before
    assert taped.ask(asked).answer == first


def test_without_a_key_a_repeated_call_is_done_again(world: World) -> None:
    assert [world.call("desk_open_ticket", subject="x")["id"] for _ in range(2)] == ["TK-4", "TK-5"]


def test_a_ticking_clock_counts_every_call_and_a_pinned_one_knows_its_occasions(world: World) -> None:
    assert world.call("desk_tell_time") == "2025-10-01T13:00:01Z 2025-10-01T13:00:01Z"
    with pytest.raises(NotFound):
        world.call("desk_remove_ticket", id="TK-8")
    assert world.call("annex_tell_time") == f"2025-12-24T08:00:00Z {CLOSED}"
    assert world.call("desk_open_ticket", subject="x")["opened"] == "2025-10-01T13:00:04Z"
    assert world.now == "2025-10-01T13:00:04Z"


def test_a_world_of_another_zone_ticks_in_its_zone() -> None:
    world = World(domain, domain.snapshot, "2025-10-01T23:59:59.5+02:00")
    assert world.call("desk_open_ticket", subject="x")["opened"] == "2025-10-02T00:00:00.500000+02:00"


def test_an_agent_sees_only_the_tools_of_its_task() -> None:
    world = World(domain, domain.snapshot, START, ["desk_tell_time", "desk_open_ticket"])
    answer = world.decide(request("desk_opn_ticket", "{}")).answer
    assert answer.text == "no tool 'desk_opn_ticket'; did you mean 'desk_open_ticket'?"
    assert world.decide(request("desk_remove_ticket", '{"id": "TK-1"}')).answer.refusal == "Unsupported"


def test_a_task_that_names_an_unknown_tool_stops_the_program() -> None:
    with pytest.raises(ValueError, match="domain desk has no tool 'desk_opn_ticket'; did you mean 'desk_open_ticket'"):
        World(domain, domain.snapshot, START, ["desk_opn_ticket"])


def test_a_broken_tool_breaks_the_call_and_the_world_goes_on_as_if_it_had_not_been_made(world: World) -> None:
    before = content(world)
    with pytest.raises(KeyError, match="cupboard"):
        world.call("desk_break_down")
    assert content(world) == before
    assert world.calls == 0
    assert world.call("desk_open_ticket", subject="x")["id"] == "TK-4"


def test_a_result_that_is_no_number_is_refused_and_never_null(world: World) -> None:
    with pytest.raises(Invalid, match="desk_divide: inf is no number that can be recorded"):
        world.call("desk_divide", a=1, b=0)
    assert world.call("desk_divide", a=1, b=4) == 0.25


def test_an_agent_who_makes_a_handler_overflow_is_refused(world: World) -> None:
    world.call("desk_score_ticket", id="TK-1", factor=2**62)
    before = content(world)
    with pytest.raises(Invalid, match="desk_score_ticket: Ticket cannot be recorded"):
        world.call("desk_score_ticket", id="TK-1", factor=2**62)
    assert content(world) == before


def test_a_tool_that_catches_an_overflow_keeps_none_of_the_events_rows(world: World) -> None:
    world.call("desk_score_ticket", id="TK-2", factor=2**62)
    assert world.call("desk_score_or_keep", id="TK-1", factor=2**61) == "scored"
    before = content(world)
    assert world.call("desk_score_or_keep", id="TK-2", factor=2**62) == "kept"
    assert content(world) == before


def test_numbers_are_as_declared_in_answers_rows_and_records(world: World) -> None:
    made = world.call("desk_open_ticket", subject="x", hours=25, loads=[1], place={"room": "hall", "weight": 3})
    assert msgspec.json.encode([made["hours"], made["loads"], made["place"]["weight"]]) == b"[25.0,[1.0],3.0]"
    texts = [
        world.decide(request("desk_open_ticket", f'{{"subject": "x", "hours": {n}, "loads": [{n}]}}')).drafts[1].payload
        for n in ("25", "25.0")
    ]
    assert texts[0] == texts[1]


def test_two_rows_never_share_a_composite_key(world: World) -> None:
    world.call("desk_count_stock", room="a", item="b:c", count=2)
    with pytest.raises(Invalid, match="room of a row of stock cannot hold ':', which joins the parts of its key"):
        world.call("desk_count_stock", room="a:b", item="c", count=1)
    with pytest.raises(RowFault, match=r"desk_stock\[0\]: room of a row of stock cannot hold ':'"):
        domain.layer({"desk_stock": [{"room": "a:b", "item": "c"}]})
    assert [(row.room, row.item) for row in world.rows["desk_stock"]][-1] == ("a", "b:c")


def test_what_cannot_be_written_down_is_written_as_its_escape() -> None:
    asked = request("desk_\ud800", '{"subject": "\udfff"}', call_id="\ud800", key="\ud800")
    decision = World(domain, domain.snapshot, START).decide(asked)
    called = msgspec.msgpack.decode(decision.drafts[0].payload, type=ToolCalled)
    assert called == ToolCalled(1, "desk_\\ud800", '{"subject": "\\udfff"}', "\\ud800", "\\ud800")


def test_the_rows_of_a_world_are_a_copy(world: World) -> None:
    world.rows["desk_tickets"].clear()
    world.rows.clear()
    assert [row.id for row in world.rows["desk_tickets"]] == ["TK-1", "TK-2", "TK-3"]
    assert isinstance(world.rows["desk_tickets"][0], Ticket)
