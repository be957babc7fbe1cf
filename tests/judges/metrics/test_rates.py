"""Rates over tasks, and what stands beside them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.metrics.counts import PUBLISHED, Counts, settled
from judges.metrics.estimators import pass_hat_k
from judges.metrics.intervals import Bootstrap
from judges.metrics.rates import Aggregate, rate
from judges.metrics.statistic import PASS_AT_1, Bounds, Kind, Statistic, statistic_named
from tests.judges.metrics.samples import counted, suites, task, tasks

KINDS: tuple[Kind, ...] = ("pass@k", "pass^k", "plug-in pass^k")
STATISTICS = st.sampled_from([Statistic(kind, k) for kind in KINDS for k in (1, 2, 4)])
AGGREGATES = st.sampled_from(Aggregate)


UNEVEN = [task("a", 4, 4), task("b", 1, 0), task("c", 5, 1, domain="travel")]


def test_pooled_trials_tasks_and_domains_weigh_differently_and_say_so() -> None:
    found = {how: rate(UNEVEN, PASS_AT_1, how) for how in Aggregate}
    assert found[Aggregate.TRIAL_POOLED].exact == Fraction(5, 10)
    assert found[Aggregate.TASK_MEAN].exact == Fraction(6, 15)
    assert found[Aggregate.DOMAIN_MEAN].exact == Fraction(7, 20)
    assert [str(how) in found[how].label for how in Aggregate] == [True] * 3


@given(st.lists(st.integers(0, 6), min_size=1, max_size=8))
def test_with_as_many_trials_each_pooled_and_task_mean_agree(passes: list[int]) -> None:
    suite = counted(passes, 6)
    pooled, by_task = (rate(suite, PASS_AT_1, how) for how in (Aggregate.TRIAL_POOLED, Aggregate.TASK_MEAN))
    assert pooled.exact == by_task.exact
    assert pooled.standard_error == pytest.approx(by_task.standard_error)


def test_uneven_trials_are_estimated_where_defined_and_bounded_everywhere() -> None:
    suite = [task("a", 5, 5), task("b", 2, 2, missing=3), task("c", 5, 0)]
    found = rate(suite, Statistic("pass^k", 3))
    assert (found.tasks, found.tasks_defined) == (3, 2)
    assert found.exact == Fraction(1, 2)
    assert found.bounds == Bounds(1 / 3, 2 / 3)
    assert (found.coverage.judged, found.coverage.planned) == (12, 15)


def test_a_task_with_fewer_repetitions_planned_than_k_can_become_anything() -> None:
    found = rate([task("a", 1, 1), task("b", 2, 2)], Statistic("pass^k", 2))
    assert found.exact == 1
    assert found.bounds == Bounds(0.5, 1.0)
    assert rate([task("a", 1, 1)], Statistic("pass^k", 2)).exact is None


def test_ungradeable_trials_open_the_bounds_and_do_not_move_the_rate() -> None:
    found = rate([task("a", 4, 2, ungradeable=1)])
    assert found.exact == Fraction(2, 3)
    assert found.bounds == Bounds(0.5, 0.75)


def test_a_macro_mean_with_a_domain_that_has_no_estimate_is_none_not_a_mean_of_the_rest() -> None:
    suite = [task("a", 4, 4), task("b", 1, 1, domain="travel", missing=3)]
    found = rate(suite, Statistic("pass^k", 2), Aggregate.DOMAIN_MEAN)
    assert found.exact is None
    assert found.interval is None
    assert found.bounds == Bounds(0.5, 1.0)


@given(tasks(), STATISTICS)
def test_what_is_open_moves_a_task_between_its_bounds(counts: Counts, statistic: Statistic) -> None:
    sample = settled(counts)
    low, high = statistic.low(sample), statistic.high(sample)
    assert 0 <= low <= high <= 1
    if statistic.is_defined(sample):
        assert low <= statistic.of(sample) <= high
        assert sample.open or low == statistic.of(sample) == high


@given(suites(), STATISTICS, AGGREGATES)
def test_every_way_of_closing_what_is_open_ends_within_the_bounds(
    suite: list[Counts], statistic: Statistic, how: Aggregate
) -> None:
    if how is Aggregate.TRIAL_POOLED and statistic.k > 1:
        return
    bounds = rate(suite, statistic, how).bounds
    for passes in (0, 1):
        closed = [
            task(s.task, s.trials + s.open, s.passed + passes * s.open, domain=s.domain) for s in map(settled, suite)
        ]
        found = rate(closed, statistic, how)
        if found.tasks_defined == found.tasks:
            assert found.estimate is not None
            assert bounds.low - 1e-12 <= found.estimate <= bounds.high + 1e-12
            assert found.estimate == pytest.approx(bounds.high if passes else bounds.low)


def test_the_published_convention_counts_errors_as_not_passed() -> None:
    suite = [task("a", 18, 9, ungradeable=1, infrastructure=2)]
    assert rate(suite, policy=PUBLISHED).exact == Fraction(9, 20)
    assert rate(suite).exact == Fraction(9, 17)
    assert "published convention" in rate(suite, policy=PUBLISHED).label


def test_the_label_says_which_question_and_which_estimator() -> None:
    suite = counted([5, 3], 5)
    assert rate(suite, Statistic("pass@k", 5)).label.startswith("pass@5 (best of 5; unbiased, 1 − C(n−c,k)/C(n,k))")
    assert rate(suite, Statistic("pass^k", 5)).label.startswith("pass^5 (every one of 5; unbiased, C(c,k)/C(n,k))")
    assert "plug-in, (c/n)^k" in rate(suite, Statistic("plug-in pass^k", 5)).label
    assert rate(suite).label.startswith("pass@1 (one attempt; c/n), mean over tasks")


def test_pass_hat_k_of_a_suite_is_the_mean_over_tasks() -> None:
    passes = [20, 19, 3, 0]
    expected = sum(pass_hat_k(c, 20, 5) for c in passes) / 4
    assert rate(counted(passes), Statistic("pass^k", 5)).exact == expected


def test_a_rate_cannot_leave_0_and_1_and_nor_can_its_interval() -> None:
    found = rate(counted([20] * 9 + [10]))
    assert found.interval is not None
    assert found.interval.high == 1.0
    assert found.interval.low < 0.95


def test_the_interval_says_how_it_was_made() -> None:
    suite = counted([20, 13, 4, 0])
    drawn = rate(suite, bootstrap=Bootstrap(7, 200)).interval
    assert drawn is not None
    assert drawn.method == "bootstrap over tasks, percentile, 200 resamples, seed 7"
    worked_out = rate(suite).interval
    assert worked_out is not None
    assert worked_out.method == "t, tasks as clusters"


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(ValueError, match="no tasks"):
        rate([])
    with pytest.raises(ValueError, match=r"pass\^2 cannot be trial-pooled"):
        rate(counted([1]), Statistic("pass^k", 2), Aggregate.TRIAL_POOLED)
    with pytest.raises(ValueError, match="several agents"):
        rate([*counted([1]), *counted([1], agent="bob")])


@pytest.mark.parametrize("kind", KINDS)
def test_a_statistic_goes_by_its_name(kind: Kind) -> None:
    assert statistic_named(Statistic(kind, 5).name) == Statistic(kind, 5)


@pytest.mark.parametrize("name", ["pass", "pass@0", "pass^-1", "pass^", "pass@1.5", "PASS@1", "pass@1 "])
def test_no_statistic_goes_by_another_name(name: str) -> None:
    with pytest.raises(ValueError, match="no statistic"):
        statistic_named(name)
    with pytest.raises(ValueError, match="at least 1"):
        Statistic("pass@k", 0)
