"""The strict profile: equal states pass and no others; findings explain and never decide."""

from collections.abc import Sequence

import pytest

from judges.expectation import Accepted, Expectation, GoldenCall, TaskInvalid
from judges.outcome import NothingChanges
from judges.public import NO_CHANGE
from judges.verdict import Evidence, Verdict, bundle_of, judged
from sandbox.task import Task
from tests.judges.shop import START, Script, after, domain, drop, edit, new, refunded

TASK = Task("t", "shop", START, "hello")


def expecting(golden: Script, *, no_change: bool = False) -> Expectation:
    calls = tuple(GoldenCall(f"shop_{tool}", arguments) for tool, arguments in golden)
    return Expectation((Accepted("golden", calls),), profile="thinkingbox", no_change=no_change)


def verdict(golden: Script, trial: Script, *, no_change: bool = False) -> Verdict:
    return judged(bundle_of(domain, TASK, expecting(golden, no_change=no_change)), Evidence(after(trial).effects))


SAME: Sequence[tuple[Script, Script]] = [
    ([refunded()], [refunded()]),
    ([refunded()], [edit("users", "1", name="x"), refunded(), edit("users", "1", name="user 1")]),
    ([new("users", name="a"), drop("tickets", "1")], [drop("tickets", "1"), new("users", name="a")]),
]


@pytest.mark.parametrize(("golden", "trial"), SAME)
def test_equal_states_pass_on_whatever_way_they_came_about(golden: Script, trial: Script) -> None:
    assert verdict(golden, trial).result == "pass"


def test_the_order_of_texts_in_a_list_means_nothing() -> None:
    golden = [edit("orders", "ORD-1", tags=["b", "c"]), refunded()]
    assert verdict(golden, [edit("orders", "ORD-1", tags=["c", "b"]), refunded()]).result == "pass"


@pytest.mark.parametrize(
    ("golden", "trial"),
    [
        ([edit("orders", "ORD-1", note="late")], [edit("orders", "ORD-1", note="too late")]),
        ([edit("orders", "ORD-1", placed_at="2025-09-30T12:00:00+02:00")], []),
        ([new("shipments", lines=[], weight="1.50")], [new("shipments", lines=[], weight="1.5")]),
        ([edit("orders", "ORD-1", touched=1)], [edit("orders", "ORD-1", touched=2)]),
        ([edit("orders", "ORD-2", total=1.0)], [edit("orders", "ORD-2", total=1.0), edit("orders", "ORD-1", extra=1)]),
    ],
)
def test_what_the_own_profile_forgives_is_a_difference_here_and_told(golden: Script, trial: Script) -> None:
    found = verdict(golden, trial)
    assert (found.result, found.outcome) == ("fail", "golden")
    assert found.findings


def test_other_ids_for_the_same_rows_fail_and_are_told_by_id() -> None:
    one, other = refunded("ORD-1", 25), refunded("ORD-2", 30)
    found = verdict([one, other], [other, one])
    assert found.result == "fail"
    told = [(finding.key, finding.field, finding.required, finding.found) for finding in found.findings]
    assert sorted(told) == [("RFD-1", "id", "RFD-2", "RFD-1"), ("RFD-2", "id", "RFD-1", "RFD-2")]


def test_one_row_too_many_is_told_as_that_row_and_not_as_many_other_ids() -> None:
    orders = [new("orders", customer="C-1"), new("orders", customer="C-2")]
    found = verdict(orders, [new("orders", customer="C-9"), *orders])
    assert [(finding.kind, finding.key) for finding in found.findings] == [("extra", "ORD-3")]


def test_an_order_of_rows_that_counts_fails_though_no_finding_tells_it() -> None:
    first, second = (new("reservations", order="ORD-1", sku=sku, quantity=1) for sku in "ab")
    found = verdict([first, second], [second, first])
    assert (found.result, found.findings) == ("fail", ())
    assert found.checks[0].reason.startswith("state ")


def test_golden_calls_without_net_effect_are_refused_unless_the_task_says_so() -> None:
    nothing = [edit("users", "1", name="user 1")]
    with pytest.raises(NothingChanges, match="its golden calls change nothing"):
        bundle_of(domain, TASK, expecting(nothing))
    found = verdict(nothing, [], no_change=True)
    assert (found.result, found.checks[0].reason) == ("pass", NO_CHANGE)
    assert verdict(nothing, [refunded()], no_change=True).result == "fail"


@pytest.mark.parametrize(
    ("expectation", "message"),
    [
        (expecting([refunded()], no_change=True), "change shop_refunds RFD-1; delete `no_change: true`"),
        (
            Expectation(profile="thinkingbox", refusal=True, compare={"shop_users": {"name": "text"}}),
            "delete `compare`",
        ),
        (Expectation(refusal=True, no_change=True), "say `refusal: true`"),
        (Expectation(refusal=True, profile="thinkingbux"), "no profile 'thinkingbux'; did you mean 'thinkingbox'?"),
    ],
)
def test_a_contradiction_makes_the_task_invalid(expectation: Expectation, message: str) -> None:
    with pytest.raises(TaskInvalid) as fault:
        bundle_of(domain, TASK, expectation)
    assert message in str(fault.value)
