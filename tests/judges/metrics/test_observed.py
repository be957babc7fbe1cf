"""Literal counts: every time, at least once, never."""

from fractions import Fraction

import pytest
from hypothesis import given

from judges.metrics.counts import PUBLISHED, Counts, Policy, Treatment, settled
from judges.metrics.estimators import pass_at_k, pass_hat_k
from judges.metrics.observed import Tally, observed
from tests.judges.metrics.samples import counted, suites, task


def test_tasks_are_counted_by_what_was_seen() -> None:
    seen = observed(counted([20, 20, 19, 1, 0], 20))
    assert (seen.every_time, seen.at_least_once, seen.never) == (Tally(2, 2), Tally(4, 4), Tally(1, 1))
    assert seen.every_time_share == Fraction(2, 5)
    assert seen.breadth == Fraction(4, 5)
    assert seen.retention == Fraction(2, 5) / Fraction(60, 100)


@given(suites())
def test_with_as_many_trials_each_they_are_pass_hat_n_and_pass_at_n(suite: list[Counts]) -> None:
    even = counted([min(item.passed, 5) for item in suite], 5)
    seen = observed(even)
    assert seen.every_time_share == sum(pass_hat_k(c.passed, 5, 5) for c in even) / len(even)
    assert seen.breadth == sum(pass_at_k(c.passed, 5, 5) for c in even) / len(even)
    assert seen.at_least_once.least + seen.never.least == len(even)
    assert seen.retention is None or 0 <= seen.retention <= 1


def test_a_task_with_a_repetition_missing_may_still_be_passed_every_time() -> None:
    seen = observed([task("whole", 3, 3), task("open", 2, 2, missing=1), task("lost", 2, 1, missing=1)])
    assert seen.every_time == Tally(1, 2)
    assert (seen.fewest, seen.most) == (2, 3)


def test_a_task_without_a_pass_may_still_get_one() -> None:
    seen = observed([task("never", 2, 0), task("open", 2, 0, ungradeable=1)])
    assert seen.never == Tally(1, 2)
    assert seen.at_least_once == Tally(0, 1)


def test_a_task_without_trials_is_neither_passed_every_time_nor_never() -> None:
    gone = observed([task("broken", 0, 0, infrastructure=2)], Policy(infrastructure=Treatment.EXCLUDED))
    assert (gone.every_time, gone.at_least_once, gone.never) == (Tally(0, 0), Tally(0, 0), Tally(0, 0))
    assert gone.untested == 1
    assert observed([task("broken", 0, 0, infrastructure=2)]).every_time == Tally(0, 1)


def test_the_published_convention_makes_a_broken_repetition_a_failure() -> None:
    assert observed([task("t", 19, 19, infrastructure=1)], PUBLISHED).every_time == Tally(0, 0)


def test_without_a_pass_there_is_no_retention() -> None:
    assert observed(counted([0, 0])).retention is None
    nothing = observed([])
    assert (nothing.breadth, nothing.every_time_share, nothing.fewest, nothing.most) == (None, None, 0, 0)


def test_a_single_trial_is_enough_to_be_every_time_or_never() -> None:
    seen = observed(counted([1, 0], 1))
    assert (seen.every_time, seen.at_least_once, seen.never) == (Tally(1, 1), Tally(1, 1), Tally(1, 1))
    waiting = observed([task("t", 0, 0, missing=1)])
    assert (waiting.every_time, waiting.at_least_once, waiting.never) == (Tally(0, 1), Tally(0, 1), Tally(0, 1))


@given(suites())
def test_settling_what_is_open_ends_between_least_and_most(suite: list[Counts]) -> None:
    seen = observed(suite)
    samples = [settled(item) for item in suite]
    for passes in (0, 1):
        closed = [(s.passed + passes * s.open, s.trials + s.open) for s in samples]
        assert seen.every_time.least <= sum(c == n > 0 for c, n in closed) <= seen.every_time.most
        assert seen.at_least_once.least <= sum(c > 0 for c, n in closed) <= seen.at_least_once.most
        assert seen.never.least <= sum(c == 0 < n for c, n in closed) <= seen.never.most


def test_agents_are_not_mixed_and_no_task_counts_twice() -> None:
    with pytest.raises(ValueError, match="several agents"):
        observed([*counted([1]), *counted([1], agent="bob")])
    with pytest.raises(ValueError, match="counted twice"):
        observed([*counted([1]), *counted([2])])
