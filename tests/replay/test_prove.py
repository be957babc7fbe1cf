"""Recorded calls, executed again: the same record by record, or the first one that is not."""

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from freezegun import freeze_time

from domains.probe import domain, probe
from domains.probe.orders import Order
from domains.probe.refunds import RefundIssued, issued, refund
from domains.probe.tickets import Ticket, TicketTaken, pop_next_ticket
from replay.prove import ReplayDiffers, prove
from sandbox import Call, Domain, Row, Rows
from sandbox.fold import UnknownTopic
from sandbox.records import OWN_TOPICS, Record, ToolCalled, ToolReturned, TrialKey, decoded
from sandbox.task import snapshot_of
from sandbox.world import Request
from tests.golden.form import Golden, Head, read
from tests.golden.recording import Script, recorded
from tests.replay.other_probe import RIGHT, TASKS, VASE, altered, follower, planned, ran
from trialbox import main


@pytest.fixture(scope="module")
def odd() -> Golden:
    """A trial with repeated, refused, malformed and keyed calls."""
    return read("probe-odd-calls")


def proved(golden: Golden, today: Domain = domain, records: Sequence[Record] | None = None) -> int:
    task = golden.head.task
    return prove(
        today, task, snapshot_of(domain, task), golden.opened.key, golden.records if records is None else records
    )


def place_of(golden: Golden, topic: str, number: int = 0) -> int:
    return [record.position for record in golden.records if record.topic == topic][number]


def test_repeated_refused_malformed_and_keyed_calls_give_the_same_again(odd: Golden) -> None:
    kinds = {record.topic for record in odd.records}
    assert {"trial.refused.1", "trial.returned.1", "probe.ticket-taken.1"} <= kinds
    assert any(payload.repeats for payload in map(decoded, odd.records) if isinstance(payload, ToolReturned))
    assert proved(odd) == sum(isinstance(decoded(record), ToolCalled) for record in odd.records)


def test_row_20_another_day_of_the_host_gives_the_same_again(odd: Golden) -> None:
    with freeze_time("2041-06-01 12:00:00"):
        assert proved(odd) == 15


def test_row_44_equal_calls_are_matched_in_order(odd: Golden) -> None:
    """Answers that are given by name would be the same three times."""
    given: dict[str, Ticket] = {}

    def once(call: Call, queue: str = "general") -> Ticket:
        if queue not in given:
            given[queue] = pop_next_ticket(call, "general")
            return given[queue]
        call.emit(TicketTaken(given[queue].id))
        return given[queue]

    with pytest.raises(ReplayDiffers) as found:
        proved(odd, altered({"pop_next_ticket": once}))
    assert (found.value.position, found.value.calls) == (place_of(odd, "probe.ticket-taken.1", 1), 1)


def test_another_answer_is_shown_in_both_versions(odd: Golden) -> None:
    def tardy(call: Call, queue: str = "general") -> dict[str, str]:
        pop_next_ticket(call, "general")
        return {"id": "TIC-99"}

    with pytest.raises(ReplayDiffers) as found:
        proved(odd, altered({"pop_next_ticket": tardy}))
    assert found.value.position == place_of(odd, "trial.returned.1")
    assert found.value.recorded is not None
    assert found.value.now is not None
    assert found.value.recorded.payload["result"]["id"] != found.value.now.payload["result"]["id"] == "TIC-99"


def test_an_event_that_is_no_longer_emitted_differs_where_it_stood(odd: Golden) -> None:
    def idle(call: Call, queue: str = "general") -> Ticket:
        return call.all(Ticket, queue=queue)[0]

    with pytest.raises(ReplayDiffers) as found:
        proved(odd, altered({"pop_next_ticket": idle}))
    assert (found.value.recorded and found.value.recorded.topic) == "probe.ticket-taken.1"
    assert (found.value.now and found.value.now.topic) == "trial.returned.1"


def test_a_handler_that_makes_other_rows_of_the_same_events_differs_at_the_end() -> None:
    key, task = TrialKey("quiet", VASE, 0, 1), TASKS[VASE].task
    steps = (Request("refund", '{"order_id": "ORD-9", "amount": 25}'),)
    quiet = recorded("quiet", Head("probe", task, TASKS[VASE].expectation), Script(key, "one call", steps))

    def generous(rows: Rows, e: RefundIssued) -> tuple[Row, ...]:
        order = rows.get(Order, e.order_id)
        return (*issued(rows, e), msgspec.structs.replace(order, status="cancelled"))

    with pytest.raises(ReplayDiffers) as found:
        proved(quiet, altered(handlers={RefundIssued: generous}))
    assert found.value.position == len(quiet.records)
    assert found.value.recorded is not None
    assert found.value.now is not None
    assert found.value.recorded.payload["effects"] != found.value.now.payload["effects"]


def test_a_tool_that_breaks_today_is_a_difference(odd: Golden) -> None:
    def broken(call: Call, queue: str = "general") -> Ticket:
        raise KeyError(queue)

    with pytest.raises(ReplayDiffers, match=r"differs at record 4: today's pop_next_ticket broke: KeyError: 'general'"):
        proved(odd, altered({"pop_next_ticket": broken}))


def test_row_59_an_event_that_is_not_known_stops_with_position_and_topic(odd: Golden) -> None:
    place = place_of(odd, "probe.refund-issued.1")
    with pytest.raises(UnknownTopic, match=rf"record {place} has topic 'probe\.refund-issued\.1'"):
        proved(odd, altered(without=[RefundIssued]))


def test_an_event_outside_of_a_call_is_a_difference(odd: Golden) -> None:
    place = next(place for place, record in enumerate(odd.records) if record.topic not in OWN_TOPICS)
    stray = [*odd.records[:2], msgspec.structs.replace(odd.records[place], position=3, cause=0)]
    with pytest.raises(ReplayDiffers, match="record 3: no call emitted it"):
        proved(odd, records=stray)


def stingy(call: Call, order_id: str, amount: float, reason: str = "returned") -> object:
    """The refund tool of another day: it pays a dollar less."""
    return refund(call, order_id, amount - 1, reason)  # type: ignore[arg-type]


def test_a_campaign_is_executed_again_with_a_line_for_each_trial_that_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ran(tmp_path / "a.db")
    assert main(["replay", str(path)]) == 0
    calls = 2 * sum(map(len, RIGHT.values()))
    told = f"{2 * len(TASKS)} trials, {calls} calls executed again; 0 of the trials differ\n"
    assert capsys.readouterr().out == told
    agent = follower(planned("refund", order_id="ORD-9", amount=25, reason="damaged"))
    other = ran(tmp_path / "b.db", agent=agent, domain=altered({"refund": stingy}), repetitions=1)
    assert main(["replay", str(other)]) == 1
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("one-broken-vase/0, attempt 1, trial ")
    assert first.endswith(": differs at record 4 (probe.refund-issued.1)")
    assert last == f"{len(TASKS)} trials, 0 calls executed again; 1 of the trials differ"


def test_one_trial_is_told_in_a_block_or_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent = follower(planned("refund", order_id="ORD-9", amount=25, reason="damaged"))
    path = str(ran(tmp_path / "b.db", agent=agent, domain=altered({"refund": stingy}), repetitions=1))
    assert main(["replay", path, "one-broken-vase/0"]) == 1
    head, recorded, now, *places = capsys.readouterr().out.splitlines()
    assert head.endswith("(one-broken-vase/0, attempt 1) differs at record 4")
    assert recorded.startswith("  recorded  probe.refund-issued.1 at 2023-05-18T09:00:01Z by call 3 {")
    assert now.startswith("  now       probe.refund-issued.1 at 2023-05-18T09:00:01Z by call 3 {")
    assert "  $.amount: recorded 24.0, now 25.0" in places
    assert main(["replay", path, "one-broken-vase/0", "--json"]) == 1
    (differing,) = json.loads(capsys.readouterr().out)["differing"]
    assert (differing["task"], differing["position"]) == ("one-broken-vase", 4)
    assert (differing["recorded"]["payload"]["amount"], differing["now"]["payload"]["amount"]) == (24.0, 25.0)


def test_a_trial_that_cannot_be_read_does_not_hide_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ran(tmp_path / "c.db", agent=follower(planned("pop_next_ticket")), domain=renamed(), repetitions=1)
    assert main(["replay", str(path)]) == 1
    first, last = capsys.readouterr().out.splitlines()
    assert "cannot be read: record 4 has topic 'probe.ticket-grabbed.1'" in first
    assert last == f"{len(TASKS)} trials, 0 calls executed again; 1 of the trials differ"


class TicketGrabbed(TicketTaken, tag="ticket-grabbed", version=1):
    """What `ticket-taken` might have been called once."""


def renamed() -> Domain:
    """The probe when the event of a taken ticket had another name."""

    def grab(call: Call, queue: str = "general") -> Ticket:
        ticket = next(one for one in call.all(Ticket, queue=queue) if one.status == "waiting")
        call.emit(TicketGrabbed(ticket.id))
        return call.get(Ticket, ticket.id)

    taken = probe.handlers[TicketTaken]
    return altered({"pop_next_ticket": grab}, {TicketGrabbed: taken}, emits={"pop_next_ticket": (TicketGrabbed,)})
