"""Calls that go wrong, and what the judges make of them: rows 31, 46, 48 and 49."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from domains.probe import domain
from judges.campaigns import run_judged, scores_of
from sandbox.mcp_session import Session
from sandbox.records import End
from tests.hard_cases.court import Script, results, task, tried
from tests.hard_cases.stage import Asked, ask, calls_in, events_in

VASE = ask("refund", order_id="ORD-9", amount=25, reason="damaged")
FIVE = ask("refund", order_id="ORD-9", amount=5)
ITEM = task([VASE])
INVENTED = ["delete_everything_v2", "refund_v2", "Refund", "", "probe_refund", "__import__"]


def test_row_31_an_invented_tool_costs_nothing_but_the_call_and_the_trial_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    scripts: list[Script] = [[Asked(tool, VASE.arguments), VASE] for tool in INVENTED]
    trials = tried(path, ITEM, *scripts)
    assert results(trials) == ["pass"] * len(INVENTED)
    assert {trial.closed.key.attempt for trial in trials} == {1}
    [line] = scores_of(path)
    assert (line.trials, line.passed, line.ungradeable) == (len(INVENTED), len(INVENTED), 0)


def test_row_31_an_invented_tool_does_nothing_of_what_it_is_named_after(tmp_path: Path) -> None:
    scripts: list[Script] = [[Asked(tool, VASE.arguments)] for tool in INVENTED]
    trials = tried(tmp_path / "a.db", ITEM, *scripts)
    assert results(trials) == ["fail"] * len(INVENTED)
    assert {trial.closed.effects for trial in trials} == {()}
    assert {trial.closed.end.flags for trial in trials} == {("no_action",)}


@pytest.mark.parametrize("ids", [("c1", "c1"), ("", ""), ("c1", "c2"), ("c1", "")])
def test_row_46_calls_with_one_id_of_the_provider_are_two_calls_and_two_refunds(
    ids: tuple[str, str], tmp_path: Path
) -> None:
    both = [replace(FIVE, call_id=call_id) for call_id in ids]
    once, twice = task([FIVE]), task([FIVE, FIVE])
    [surplus] = tried(tmp_path / "a.db", once, both)
    [right] = tried(tmp_path / "b.db", twice, both)
    assert (surplus.result, right.result) == ("fail", "pass")
    assert ("extra", "refunds", "") in surplus.findings
    assert events_in(surplus.closed.records) == ["probe.refund-issued.1"] * 2


@pytest.mark.parametrize("call_id", ["c1", ""])
def test_row_46_different_calls_with_one_id_are_both_judged(call_id: str, tmp_path: Path) -> None:
    calls = [VASE, ask("move", ticket_id="TIC-5", queue="general"), ask("get_order", order_id="ORD-9")]
    [trial] = tried(tmp_path / "a.db", task(calls[:2]), [replace(call, call_id=call_id) for call in calls])
    assert trial.result == "pass"
    assert [call.number for call in calls_in(trial.closed.records)] == [1, 2, 3]


CANCELLED = ask("bulk_update", order_ids=["ORD-10", "ORD-29", "ORD-38"], status="cancelled")


def broken_off(after: int, failure: str = "refusal") -> Asked:
    return ask(
        "bulk_update",
        order_ids=["ORD-10", "ORD-29", "ORD-38"],
        status="cancelled",
        fail_after=after,
        failure=failure,
    )


def test_row_48_an_update_that_breaks_off_is_judged_as_one_that_was_never_made(tmp_path: Path) -> None:
    item = task([CANCELLED])
    two = ask("bulk_update", order_ids=["ORD-10", "ORD-29"], status="cancelled")
    half, whole, again, part = tried(
        tmp_path / "a.db", item, [broken_off(2)], [broken_off(3)], [broken_off(2), CANCELLED], [two]
    )
    assert results([half, whole, again, part]) == ["fail", "fail", "pass", "fail"]
    missing = [("missing", "orders", "status", "cancelled", was) for was in ("open", "open", "open")]
    assert half.findings == whole.findings == missing
    assert part.findings == missing[:1]


class Faulty:
    """Breaks the shop's own system halfway through an update, in the first attempt; after that it does it rightly."""

    name = "faulty"

    def __init__(self) -> None:
        self.attempts = 0

    async def attempt(self, session: Session, repetition: int) -> End:
        self.attempts += 1
        asked = broken_off(2, "fault") if self.attempts == 1 else CANCELLED
        await session.call(asked.tool, asked.arguments)
        return "done"


def test_row_48_a_tool_that_breaks_halfway_is_our_fault_leaves_nothing_and_is_tried_again(tmp_path: Path) -> None:
    path, agent, closed = tmp_path / "a.db", Faulty(), []
    assert (
        run_judged(path, domain, [task([CANCELLED])], agent, 1, name="c", on_judged=lambda one, _: closed.append(one))
        == []
    )
    assert [(one.key.attempt, one.end.end, bool(one.effects)) for one in closed] == [
        (1, "infrastructure", False),
        (2, "done", True),
    ]
    assert [(score.trials, score.passed) for score in scores_of(path)] == [(1, 1)]


@pytest.mark.parametrize(
    "wrong",
    [
        ask("refund", order_id="ORD-9", amout=25, reason="damaged"),
        ask("refund", order_id="ORD-9", amount=25, reason="damaged", note="one vase"),
        ask("refund", orderid="ORD-9", amount=25, reason="damaged"),
        ask("refund", order_id="ORD-9", amount="25", reason="damaged"),
        ask("refund", order_id="ORD-9", amount=25, reason="Damaged"),
        ask("refund", order_id=" ORD-9", amount=25, reason="damaged"),
        ask("refund", order_id="ord-9", amount=25, reason="damaged"),
        ask("refund", order_id="ORD-9", amount=-25, reason="damaged"),
        ask("refund", order_id="ORD-9", amount=0, reason="damaged"),
        ask("refund", order_id="ORD-9", amount=25.001, reason="damaged"),
    ],
)
def test_row_49_a_call_with_a_wrong_argument_is_refused_whole_and_can_be_made_again(
    wrong: Asked, tmp_path: Path
) -> None:
    alone, corrected = tried(tmp_path / "a.db", ITEM, [wrong], [wrong, VASE])
    assert results([alone, corrected]) == ["fail", "pass"]
    assert events_in(alone.closed.records) == []
    assert [finding[:2] for finding in alone.findings] == [("missing", "payments"), ("missing", "refunds")]


def test_row_49_an_argument_that_was_left_out_is_not_the_one_that_was_meant(tmp_path: Path) -> None:
    [trial] = tried(tmp_path / "a.db", ITEM, [ask("refund", order_id="ORD-9", amount=25)])
    assert trial.findings == [("wrong", "refunds", "reason", "damaged", "returned")]
