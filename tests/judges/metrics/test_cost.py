"""What one of something costs."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.metrics.cost import Bill, costs, unit_cost
from judges.metrics.observed import observed
from sandbox.prices import Cost, total
from tests.judges.metrics.samples import counted

BILL = Bill(Cost(Decimal("12.00")), Cost(Decimal("2.50"), 3), Cost(Decimal("0.50")))
SEEN = observed(counted([4, 2, 0], 4))
COSTS = st.builds(Cost, st.decimals(0, 10_000, places=6), st.integers(0, 3))


def test_a_bill_is_spread_over_attempts_successes_and_dependable_tasks() -> None:
    found = costs(BILL, 12, SEEN, user=False, judge=False)
    assert [found.attempt.usd, found.success.usd, found.dependable.usd] == [1, 2, 12]
    assert [found.attempt.of, found.success.of] == ["attempt", "successful attempt"]
    assert found.dependable.of == "task passed every time"


@pytest.mark.parametrize(
    ("user", "judge", "usd", "parts", "is_lower_bound"),
    [
        (False, False, "12", "agent", False),
        (True, False, "14.5", "agent + user", True),
        (False, True, "12.5", "agent + judge", False),
        (True, True, "15", "agent + user + judge", True),
    ],
)
def test_user_and_judge_are_counted_or_not_and_the_result_says_so(
    user: bool, judge: bool, usd: str, parts: str, is_lower_bound: bool
) -> None:
    found = costs(BILL, 12, SEEN, user=user, judge=judge).dependable
    assert found.usd == Fraction(usd)
    assert found.parts == parts
    assert found.is_lower_bound is is_lower_bound


def test_attempts_that_broke_are_paid_for_too() -> None:
    assert costs(BILL, 16, SEEN, user=False, judge=False).attempt.usd == Fraction(3, 4)
    assert costs(BILL, 16, SEEN, user=False, judge=False).success.usd == 2


def test_no_money_buys_a_success_that_never_came() -> None:
    found = costs(BILL, 4, observed(counted([0], 4)), user=True, judge=True)
    assert (found.success.usd, found.dependable.usd) == (None, None)
    assert found.attempt.usd == Fraction(15, 4)


def test_the_cost_of_a_success_is_that_of_an_attempt_over_pass_at_1() -> None:
    found = costs(BILL, SEEN.trials, SEEN, user=False, judge=False)
    assert found.attempt.usd is not None
    assert found.success.usd == found.attempt.usd / Fraction(SEEN.passed, SEEN.trials)


def test_tenths_stay_tenths() -> None:
    assert total([Cost(Decimal("0.1"))] * 3) == Cost(Decimal("0.3"))


@given(st.lists(COSTS, max_size=5))
def test_a_sum_is_a_lower_bound_if_any_part_is(parts: list[Cost]) -> None:
    whole = total(parts)
    assert whole.is_lower_bound is any(part.is_lower_bound for part in parts)
    assert whole.usd == sum((part.usd for part in parts), Decimal(0))


@given(COSTS, COSTS, COSTS, COSTS)
def test_bills_add_up_part_by_part(a: Cost, b: Cost, c: Cost, d: Cost) -> None:
    both = Bill(a, b) + Bill(c, judge=d)
    assert both == Bill(a + c, b, d)
    assert both.total(user=True, judge=True) == a + b + c + d


@pytest.mark.parametrize("usd", [Decimal("-0.01"), Decimal("NaN"), Decimal("Infinity")])
def test_what_is_no_amount_is_refused(usd: Decimal) -> None:
    with pytest.raises(ValueError, match="a cost of"):
        Cost(usd)


def test_a_negative_number_of_things_is_refused() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        unit_cost(Cost(Decimal(1)), -1, "attempt", "agent")
