"""Standard errors and intervals, against enumeration and simulation."""

from itertools import product
from math import sqrt
from random import Random
from statistics import NormalDist, fmean, pstdev
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.metrics.intervals import (
    Bootstrap,
    Cluster,
    analytic_interval,
    bootstrap_interval,
    bootstrap_values,
    interval,
    ratio,
    standard_error,
    t_quantile,
)

VALUES = st.lists(st.floats(0, 1), min_size=2, max_size=4)
METHODS: tuple[Literal["percentile", "BCa"], ...] = ("percentile", "BCa")
HOW = (None, Bootstrap(1, 400), Bootstrap(1, 400, "BCa"))


def valued(*values: float) -> list[Cluster]:
    return [Cluster(value) for value in values]


def every_resample(values: list[float]) -> list[float]:
    return [fmean(drawn) for drawn in product(values, repeat=len(values))]


@given(VALUES)
def test_the_standard_error_is_that_of_every_resample_of_tasks(values: list[float]) -> None:
    tasks = len(values)
    expected = pstdev(every_resample(values)) * sqrt(tasks / (tasks - 1))
    assert standard_error([valued(*values)]) == pytest.approx(expected, abs=1e-9)


@given(VALUES, VALUES)
def test_over_domains_it_is_that_of_resampling_each_within_itself(one: list[float], two: list[float]) -> None:
    corrected = [pstdev(every_resample(values)) ** 2 * len(values) / (len(values) - 1) for values in (one, two)]
    expected = sqrt(sum(corrected)) / 2
    assert standard_error([valued(*one), valued(*two)]) == pytest.approx(expected, abs=1e-9)


def test_of_a_ratio_with_uneven_trials_it_is_that_of_resampling() -> None:
    random = Random(3)
    trials = [random.randint(2, 20) for _ in range(150)]
    tasks = [Cluster(sum(random.random() < random.choice([0.1, 0.9]) for _ in range(n)), n) for n in trials]
    error = standard_error([tasks])
    assert error == pytest.approx(pstdev(bootstrap_values([tasks], Bootstrap(5))), rel=0.07)


@pytest.mark.parametrize(
    ("level", "freedom", "expected"),
    [(0.95, 1, 12.7062), (0.95, 2, 4.3027), (0.95, 5, 2.5706), (0.9, 10, 1.8125), (0.99, 30, 2.7500)],
)
def test_t_is_that_of_the_tables(level: float, freedom: int, expected: float) -> None:
    assert t_quantile(level, freedom) == pytest.approx(expected, abs=5e-5)


def test_with_many_tasks_t_is_normal() -> None:
    assert t_quantile(0.95, 10_000) == pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-3)


def test_trials_of_a_task_are_no_independent_evidence() -> None:
    few = [Cluster(part, 20) for part in (20, 0, 20, 0, 20, 0)]
    error = standard_error([few])
    assert error is not None
    assert error > 4 * sqrt(0.25 / 120)


@pytest.mark.parametrize("how", HOW)
def test_95_of_100_intervals_hold_the_truth(how: Bootstrap | None) -> None:
    random = Random(11)
    held = 0
    for _ in range(300):
        tasks = [
            Cluster(sum(random.random() < p for _ in range(5)) / 5)
            for p in (random.betavariate(2, 1) for _ in range(40))
        ]
        found = interval([tasks], how)
        assert found is not None
        held += found.low <= 2 / 3 <= found.high
    assert 0.91 <= held / 300 <= 0.985


def test_few_tasks_give_wide_intervals() -> None:
    random = Random(5)
    held = 0
    for _ in range(400):
        found = analytic_interval([valued(*(random.gauss(0.5, 0.1) for _ in range(3)))])
        assert found is not None
        held += found.low <= 0.5 <= found.high
    assert 0.92 <= held / 400 <= 0.98


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_gives_one_interval_and_another_seed_another(method: Literal["percentile", "BCa"]) -> None:
    tasks = [valued(*(place / 30 for place in range(31)))]
    first, again, other = (bootstrap_interval(tasks, Bootstrap(seed, 200, method)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_seed_means_the_same_on_every_machine() -> None:
    found = bootstrap_interval([valued(0, 0.25, 0.5, 1)], Bootstrap(1, 100))
    assert found is not None
    assert (found.low, found.high) == pytest.approx((0.125, 0.815625))


def test_a_wider_level_gives_a_wider_interval() -> None:
    tasks = [valued(0, 0.2, 0.9, 1, 0.4)]
    for how in HOW:
        narrow, wide = (interval(tasks, how, level) for level in (0.5, 0.99))
        assert narrow is not None
        assert wide is not None
        assert wide.low < narrow.low < ratio(tasks) < narrow.high < wide.high


def test_bca_follows_the_skew() -> None:
    tasks = [valued(*[0.0] * 25, *[1.0] * 5)]
    plain, corrected = (bootstrap_interval(tasks, Bootstrap(2, method=method)) for method in METHODS)
    assert plain is not None
    assert corrected is not None
    assert corrected.low > plain.low
    assert corrected.high > plain.high


def test_bca_tails_are_those_of_the_textbook_formula_for_a_mean() -> None:
    values = [0.0, 0.01, 0.02, 0.03, 0.05, 0.08, 0.13, 0.21, 0.34, 0.95]
    drawn = bootstrap_values([valued(*values)], Bootstrap(2))
    normal, mean = NormalDist(), fmean(values)
    bias = normal.inv_cdf(sum(value < mean for value in drawn) / len(drawn))
    skewness = fmean((value - mean) ** 3 for value in values) / pstdev(values) ** 3
    acceleration = skewness / (6 * sqrt(len(values)))
    expected = []
    for tail in (0.025, 0.975):
        shifted = bias + normal.inv_cdf(tail)
        share = normal.cdf(bias + shifted / (1 - acceleration * shifted))
        expected.append(drawn[round(share * (len(drawn) - 1))])
    found = bootstrap_interval([valued(*values)], Bootstrap(2, method="BCa"))
    assert found is not None
    assert [found.low, found.high] == pytest.approx(expected, rel=0.02)


def test_percentile_ends_are_the_resamples_at_these_shares() -> None:
    tasks = [valued(0.1, 0.23, 0.41, 0.57, 0.72, 0.99)]
    drawn = bootstrap_values(tasks, Bootstrap(3, 101))
    found = bootstrap_interval(tasks, Bootstrap(3, 101), 0.9)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((drawn[5], drawn[95]))
    assert drawn[4] < drawn[5] < drawn[6]


@pytest.mark.parametrize("how", HOW)
def test_over_domains_the_interval_is_around_the_mean_of_their_means(how: Bootstrap | None) -> None:
    strata = [valued(0.1, 0.2, 0.3), valued(0.5, 0.8, 0.8, 0.9)]
    found = interval(strata, how)
    assert ratio(strata) == pytest.approx((0.2 + 0.75) / 2)
    assert found is not None
    assert found.low < ratio(strata) < found.high
    assert found.high - found.low < 0.5


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("tasks", [[Cluster(0.5)], valued(1, 1, 1), valued(*[0.05] * 10)])
def test_no_spread_seen_is_no_certainty(how: Bootstrap | None, tasks: list[Cluster]) -> None:
    assert interval([tasks], how) is None


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="100 or more"):
        bootstrap_interval([valued(0, 1)], Bootstrap(1, 99))
    for level in (0, 1, 95):
        with pytest.raises(ValueError, match="between 0 and 1"):
            interval([valued(0, 1)], level=level)
