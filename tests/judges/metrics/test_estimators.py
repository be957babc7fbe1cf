"""pass@k, pass^k and the plug-in against enumeration, and the laws that hold between them."""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.metrics.estimators import pass_at_k, pass_hat_k, plug_in_pass_hat_k

SMALL = [(c, n, k) for n in range(1, 6) for k in range(1, 6) for c in range(n + 1)]
Estimate = Callable[[int, int, int], Fraction]
ALL: tuple[Estimate, ...] = (pass_at_k, pass_hat_k, plug_in_pass_hat_k)


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, int, int]:
    """(passed, trials, k) with k ≤ trials."""
    trials = draw(st.integers(1, 30))
    return draw(st.integers(0, trials)), trials, draw(st.integers(1, trials))


@pytest.mark.parametrize(("passed", "trials", "k"), [case for case in SMALL if case[2] <= case[1]])
def test_golden_table_each_way_of_choosing_k_trials_counts_once(passed: int, trials: int, k: int) -> None:
    choices = list(combinations([True] * passed + [False] * (trials - passed), k))
    assert pass_at_k(passed, trials, k) == Fraction(sum(any(chosen) for chosen in choices), len(choices))
    assert pass_hat_k(passed, trials, k) == Fraction(sum(all(chosen) for chosen in choices), len(choices))


@pytest.mark.parametrize("estimate", ALL)
@pytest.mark.parametrize(("passed", "trials", "k"), [case for case in SMALL if case[2] > case[1]])
def test_golden_table_fewer_trials_than_k_are_undefined_and_neither_0_nor_1(
    estimate: Estimate, passed: int, trials: int, k: int
) -> None:
    with pytest.raises(ValueError, match=f"k = {k} with {trials} trials is undefined"):
        estimate(passed, trials, k)


@pytest.mark.parametrize(
    ("passed", "at", "hat", "plug_in"),
    [
        (0, "0", "0", "0"),
        (1, "3/5", "0", "1/125"),
        (2, "9/10", "0", "8/125"),
        (3, "1", "1/10", "27/125"),
        (4, "1", "2/5", "64/125"),
        (5, "1", "1", "1"),
    ],
)
def test_golden_row_for_three_of_five_trials(passed: int, at: str, hat: str, plug_in: str) -> None:
    assert [estimate(passed, 5, 3) for estimate in ALL] == [Fraction(at), Fraction(hat), Fraction(plug_in)]


@pytest.mark.parametrize("estimate", ALL)
@pytest.mark.parametrize(("passed", "trials", "k"), [(-1, 5, 1), (6, 5, 1), (1, 5, 0), (0, 0, 1), (1, 5, -1)])
def test_numbers_out_of_range_are_refused(estimate: Estimate, passed: int, trials: int, k: int) -> None:
    with pytest.raises(ValueError, match=r"passes are 0 to|k is 1 to"):
        estimate(passed, trials, k)


@given(cases())
def test_for_one_attempt_all_three_are_c_over_n(case: tuple[int, int, int]) -> None:
    passed, trials, _ = case
    assert {estimate(passed, trials, 1) for estimate in ALL} == {Fraction(passed, trials)}


@given(cases())
def test_best_of_k_rises_with_k_and_every_one_of_k_falls(case: tuple[int, int, int]) -> None:
    passed, trials, _ = case
    best = [pass_at_k(passed, trials, k) for k in range(1, trials + 1)]
    every = [pass_hat_k(passed, trials, k) for k in range(1, trials + 1)]
    assert best == sorted(best)
    assert every == sorted(every, reverse=True)


@given(cases())
def test_all_lie_between_0_and_1_and_grow_with_the_passes(case: tuple[int, int, int]) -> None:
    _, trials, k = case
    for estimate in ALL:
        values = [estimate(passed, trials, k) for passed in range(trials + 1)]
        assert values == sorted(values)
        assert values[0] == 0
        assert values[-1] == 1


@given(cases())
def test_every_one_of_k_is_that_the_best_of_k_failures_does_not_come(case: tuple[int, int, int]) -> None:
    passed, trials, k = case
    assert pass_hat_k(passed, trials, k) == 1 - pass_at_k(trials - passed, trials, k)


@given(st.integers(1, 8), st.data())
def test_both_are_unbiased_and_the_plug_in_is_not_below(trials: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, trials))
    p = data.draw(st.fractions(0, 1, max_denominator=12))
    weights = [comb(trials, c) * p**c * (1 - p) ** (trials - c) for c in range(trials + 1)]
    at, hat, plug_in = (sum(w * e(c, trials, k) for c, w in enumerate(weights)) for e in ALL)
    assert at == 1 - (1 - p) ** k
    assert hat == p**k
    assert plug_in >= hat


@given(cases())
def test_fewer_trials_tell_the_same_on_average(case: tuple[int, int, int]) -> None:
    passed, trials, k = case
    for estimate in (pass_at_k, pass_hat_k):
        dropped = [estimate(c, trials - 1, k) for c in (passed - 1, passed) if 0 <= c < trials] if k < trials else []
        if len(dropped) == 2:
            mean = Fraction(passed, trials) * dropped[0] + Fraction(trials - passed, trials) * dropped[1]
            assert mean == estimate(passed, trials, k)


def test_the_plug_in_differs_from_the_literal_count_where_it_matters() -> None:
    assert round(float(plug_in_pass_hat_k(19, 20, 20)), 4) == 0.3585
    assert round(float(plug_in_pass_hat_k(18, 20, 20)), 4) == 0.1216
    assert pass_hat_k(19, 20, 20) == 0
