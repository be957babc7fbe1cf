"""Outcomes are built from golden calls, or the task is refused, naming the call."""

from typing import Any

import pytest

from judges.expectation import Accepted, Expectation, GoldenCall, TaskInvalid
from judges.outcome import built
from sandbox.task import Task
from tests.judges.shop import START, domain

TASK = Task("late-mixer", "shop", START, "Where is my refund?")
REFUND = GoldenCall("shop_refund", {"order": "ORD-1", "amount": 25})
READ = GoldenCall("shop_get_order", {"id": "ORD-1"})


def expecting(*calls: GoldenCall, refusal: bool = False, **more: dict[str, dict[str, str]]) -> Expectation:
    return Expectation((Accepted("golden", calls),), refusal=refusal, **more)  # type: ignore[arg-type]


def test_an_outcome_is_what_the_golden_calls_bring_about() -> None:
    (outcome,) = built(domain, TASK, expecting(READ, REFUND))
    assert [(e.table, e.op, (e.row or {})["amount"]) for e in outcome.effects] == [("shop_refunds", "inserted", 25.0)]


def test_a_refusal_task_has_an_outcome_without_effects() -> None:
    assert [(o.name, o.effects) for o in built(domain, TASK, Expectation(refusal=True))] == [("refusal", ())]
    assert built(domain, TASK, expecting(READ, refusal=True))[0].effects == ()


def test_a_refusal_task_with_golden_effects_requires_them() -> None:
    (outcome,) = built(domain, TASK, expecting(REFUND, refusal=True))
    assert [e.table for e in outcome.effects] == ["shop_refunds"]


def refund(**arguments: Any) -> GoldenCall:
    return GoldenCall("shop_refund", {"order": "ORD-1", "amount": 25, **arguments})


NOTED = GoldenCall("shop_change", {"table": "orders", "key": "ORD-1", "fields": {"note": "x"}})
SOFT_FAILURE = GoldenCall("shop_fail_softly")


@pytest.mark.parametrize(
    ("expectation", "message"),
    [
        (expecting(REFUND, GoldenCall("shop_refnd")), r"call 2: no tool 'shop_refnd'; did you mean 'shop_refund'"),
        (expecting(refund(order="ORD-9")), r"call 1 shop_refund is refused \(NotFound\)"),
        (expecting(refund(reason="none")), r"refused \(Precondition\)"),
        (expecting(refund(amout=1)), r"refused \(Invalid\): .*`amout`"),
        (expecting(REFUND, SOFT_FAILURE), r"call 2 shop_fail_softly answers with an error: 'card declined'"),
        (expecting(READ), "change nothing; if that is right, say `refusal: true`"),
        (expecting(NOTED), "nothing that is compared"),
        (expecting(NOTED, refusal=True), "nothing that is compared, so doing nothing would pass"),
        (expecting(REFUND, compare={"shop_refunds": {"reason": "instant"}}), "reason: the golden value is none that"),
        (expecting(), "has no golden calls"),
        (Expectation(), "expects nothing"),
        (Expectation(rubrics=(" ",)), "empty rubric"),
        (Expectation((Accepted("a", (REFUND,)), Accepted("a", (REFUND,)))), "two outcomes of one name"),
    ],
)
def test_a_task_that_cannot_be_judged_is_refused(expectation: Expectation, message: str) -> None:
    with pytest.raises(TaskInvalid, match=message) as caught:
        built(domain, TASK, expectation)
    assert "late-mixer" in str(caught.value)


def test_every_name_is_resolved_before_any_call_runs() -> None:
    refused = GoldenCall("shop_refund", {"order": "ORD-9", "amount": 1})
    with pytest.raises(TaskInvalid, match="no tool 'shop_refnd'"):
        built(domain, TASK, expecting(refused, GoldenCall("shop_refnd")))


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (Task("t", "shop", START, "", tools=("shop_get_order",)), "hides shop_refund from the agent"),
        (Task("t", "shop", START, "", tools=("shop_refnd",)), "tools: no tool 'shop_refnd'; did you mean"),
        (Task("t", "shop", "soon", ""), "instant: 'soon' is no ISO 8601 time"),
        (Task("t", "shop", START, "", patch={"shop_orders": [{"id": "ORD-7"}]}), "patch: shop_orders"),
    ],
)
def test_a_task_that_does_not_fit_its_domain_is_refused(task: Task, message: str) -> None:
    with pytest.raises(TaskInvalid, match=message):
        built(domain, task, expecting(REFUND))


def test_golden_calls_see_the_patch() -> None:
    patched = Task("t", "shop", START, "", patch={"shop_orders": [{"id": "ORD-7", "customer": "C-1"}]})
    (outcome,) = built(domain, patched, expecting(GoldenCall("shop_refund", {"order": "ORD-7", "amount": 1})))
    assert [e.table for e in outcome.effects] == ["shop_refunds"]
