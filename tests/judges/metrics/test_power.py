"""Tasks and repetitions that it takes, against simulation."""

from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.metrics.comparison import compare
from judges.metrics.counts import Counts
from judges.metrics.power import (
    Design,
    Spread,
    detectable,
    power_of,
    repetitions_needed,
    spread,
    spread_of_difference,
    standard_error_of,
    tasks_needed,
)
from judges.metrics.rates import rate
from tests.judges.metrics.samples import counted

SPREADS = st.builds(Spread, st.floats(0.001, 0.25), st.floats(0.001, 0.5))
DESIGNS = st.builds(Design, st.floats(0.01, 0.5), st.floats(0.01, 0.2), st.floats(0.5, 0.95))


def drawn(random: Random, agent: str, chances: list[float], repetitions: int) -> list[Counts]:
    passes = [sum(random.random() < p for _ in range(repetitions)) for p in chances]
    return counted(passes, repetitions, agent=agent)


@given(SPREADS, DESIGNS, st.integers(1, 20))
def test_the_tasks_needed_are_the_fewest_that_are_enough(found: Spread, design: Design, repetitions: int) -> None:
    tasks = tasks_needed(found, design, repetitions)
    reach = [detectable(found, n, repetitions, alpha=design.alpha, power=design.power) for n in (tasks - 1, tasks)]
    assert reach[1] <= design.difference * (1 + 1e-6)
    assert tasks == 2 or reach[0] > design.difference * (1 - 1e-6)


@given(SPREADS, DESIGNS, st.integers(1, 2000))
def test_the_repetitions_needed_are_the_fewest_or_none_is_enough(found: Spread, design: Design, tasks: int) -> None:
    repetitions = repetitions_needed(found, design, tasks)
    if repetitions is None:
        assert standard_error_of(Spread(found.between, 0), tasks, 1) >= design.error * (1 - 1e-6)
        return
    assert standard_error_of(found, tasks, repetitions) <= design.error * (1 + 1e-6)
    assert repetitions == 1 or standard_error_of(found, tasks, repetitions - 1) > design.error * (1 - 1e-6)


def test_a_design_by_hand() -> None:
    found, design = Spread(0.04, 0.3), Design(0.05)
    assert design.error == pytest.approx(0.05 / (1.95996 + 0.84162), rel=1e-5)
    assert tasks_needed(found, design, 5) == 314
    assert repetitions_needed(found, design, 314) == 5
    assert repetitions_needed(found, design, 100) is None


def test_a_design_has_the_power_that_was_asked_for() -> None:
    random, design = Random(17), Design(0.1)
    chances = [0.2, 0.4, 0.6, 0.8]
    within = fmean(p * (1 - p) for p in chances) + fmean((p + 0.1) * (0.9 - p) for p in chances)
    tasks = tasks_needed(Spread(0.0, within), design, 4)
    seen = 0
    for _ in range(300):
        mine = [random.choice(chances) for _ in range(tasks)]
        theirs = drawn(random, "bob", [p + 0.1 for p in mine], 4)
        found = compare(theirs, drawn(random, "ada", mine, 4))
        seen += found.interval is not None and found.interval.low > 0
    assert 0.72 <= seen / 300 <= 0.88


def test_variances_are_told_apart_without_bias() -> None:
    random = Random(23)
    found = []
    for _ in range(200):
        chances = [random.choice([0.3, 0.9]) for _ in range(60)]
        found.append(spread(drawn(random, "ada", chances, 4)))
    assert fmean(s.within for s in found) == pytest.approx((0.21 + 0.09) / 2, rel=0.03)
    assert fmean(s.between for s in found) == pytest.approx(0.09, rel=0.05)


def test_of_a_difference_both_agents_noise_counts_and_a_common_hardness_does_not() -> None:
    random = Random(29)
    chances = [random.choice([0.1, 0.5, 0.9]) for _ in range(2000)]
    ada, bob = (drawn(random, agent, chances, 5) for agent in ("ada", "bob"))
    found = spread_of_difference(ada, bob)
    assert found.between == pytest.approx(0, abs=0.006)
    assert found.within == pytest.approx(2 * (0.09 + 0.25 + 0.09) / 3, rel=0.04)


def test_two_tasks_that_both_tried_twice_are_enough() -> None:
    found = spread_of_difference(counted([2, 0], 2), counted([1, 1], 2, agent="bob"))
    assert found == Spread(0.25, 0.5)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=8))
def test_the_spread_gives_back_the_standard_error(passes: list[int]) -> None:
    suite = counted(passes, 4)
    found = spread(suite)
    error = rate(suite).standard_error
    assert error is not None
    if found.between > 0:
        assert standard_error_of(found, len(suite), 4) == pytest.approx(error)
    else:
        assert standard_error_of(found, len(suite), 4) >= error - 1e-12


@pytest.mark.parametrize(("tasks", "repetitions"), [(50, 1), (50, 20), (500, 1), (500, 20)])
def test_power_rises_with_everything_that_costs_money(tasks: int, repetitions: int) -> None:
    found = Spread(0.05, 0.3)
    here = power_of(found, 0.06, tasks, repetitions)
    assert here < power_of(found, 0.06, tasks * 2, repetitions)
    assert here < power_of(found, 0.06, tasks, repetitions + 1)
    assert here < power_of(found, 0.08, tasks, repetitions)
    assert power_of(found, detectable(found, tasks, repetitions), tasks, repetitions) == pytest.approx(0.8)


def test_agents_that_never_vary_need_two_tasks_and_one_repetition() -> None:
    assert tasks_needed(Spread(0, 0), Design(0.1), 1) == 2
    assert repetitions_needed(Spread(0, 0), Design(0.1), 2) == 1
    assert power_of(Spread(0, 0), 0.1, 2, 1) == 1.0
    assert power_of(Spread(0, 0), 0.0, 2, 1) == 0.0


@pytest.mark.parametrize(
    "numbers", [(0.0, 0.05, 0.8), (1.1, 0.05, 0.8), (0.1, 0.0, 0.8), (0.1, 0.05, 1.0), (0.1, 0.9, 0.8)]
)
def test_a_design_out_of_range_is_refused(numbers: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="the difference is above 0"):
        Design(*numbers)


def test_too_little_data_and_impossible_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="at least two such tasks"):
        spread(counted([1, 1], 1))
    with pytest.raises(ValueError, match="both tried twice"):
        spread_of_difference(counted([1, 2], 4), counted([1], 4))
    with pytest.raises(ValueError, match="both tried twice"):
        spread_of_difference(counted([1, 2], 4), counted([1, 1], 1))
    with pytest.raises(ValueError, match="0 or more"):
        Spread(-0.1, 0.1)
    with pytest.raises(ValueError, match="1 or more"):
        standard_error_of(Spread(0.1, 0.1), 0, 5)
