"""Two agents over the same tasks."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.metrics.comparison import MOST_SUMS, Side, compare, sign_flip_p
from judges.metrics.counts import PUBLISHED, Counts
from judges.metrics.intervals import Bootstrap
from judges.metrics.statistic import Bounds, Statistic
from tests.judges.metrics.samples import counted

DIFFERENCES = st.lists(st.fractions(-1, 1, max_denominator=20), min_size=1, max_size=7)
SIDES: tuple[Side, ...] = ("both", "worse", "better")


def flipped(differences: list[Fraction]) -> list[Fraction]:
    """The sums under all signs."""
    signs = product((1, -1), repeat=len(differences))
    return [sum((sign * d for sign, d in zip(row, differences, strict=True)), Fraction(0)) for row in signs]


@given(DIFFERENCES)
def test_p_is_the_share_of_sign_flips_at_least_as_far_out(differences: list[Fraction]) -> None:
    total, sums = sum(differences, Fraction(0)), flipped(differences)
    assert sign_flip_p(differences).value == sum(abs(s) >= abs(total) for s in sums) / len(sums)
    assert sign_flip_p(differences, "better").value == sum(s >= total for s in sums) / len(sums)
    assert sign_flip_p(differences, "worse").value == sum(s <= total for s in sums) / len(sums)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=6), st.sampled_from(SIDES))
def test_p_is_uniform_if_the_agents_are_exchangeable(sizes: list[int], side: Side) -> None:
    signed = [[s * size for s, size in zip(row, sizes, strict=True)] for row in product((1, -1), repeat=len(sizes))]
    values = [sign_flip_p(row, side).value for row in signed]
    assert all(sum(v <= p for v in values) == p * len(values) for p in values)


@given(DIFFERENCES, st.sampled_from(SIDES))
def test_p_is_above_0_and_the_order_of_tasks_does_not_matter(differences: list[Fraction], side: Side) -> None:
    found = sign_flip_p(differences, side)
    assert 0 < found.value <= 1
    assert sign_flip_p(list(reversed(differences)), side) == found


@given(DIFFERENCES)
def test_the_sides_mirror_each_other(differences: list[Fraction]) -> None:
    mirrored = [-d for d in differences]
    assert sign_flip_p(differences, "worse").value == sign_flip_p(mirrored, "better").value
    assert sign_flip_p(differences).value == sign_flip_p(mirrored).value


def test_tasks_without_a_difference_say_nothing() -> None:
    assert sign_flip_p([0, 0, 0]).value == 1.0
    assert sign_flip_p([1, 1, 0, 1, 0]).value == sign_flip_p([1, 1, 1]).value == 0.25


def test_five_hundred_tasks_are_still_exact() -> None:
    found = sign_flip_p([Fraction(1, 20)] * 300 + [Fraction(-1, 20)] * 200)
    assert found.method == "all sign flips, exact"
    assert found.value == pytest.approx(9.0e-6, rel=0.1)


def test_too_many_sums_are_sampled_with_a_seed_and_p_is_never_0() -> None:
    differences = [3**place for place in range(20)]
    assert 2 ** len(differences) > MOST_SUMS
    found = sign_flip_p(differences, seed=4)
    assert found.method == "9999 sign flips, seed 4"
    assert found.value == 1 / 10_000
    assert sign_flip_p(differences, seed=4) == found


def test_sampled_and_exact_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = [7, -3, 5, 9, -8, 4, 6, -2, 3, 11, -1, 2]
    exact = sign_flip_p(differences)
    monkeypatch.setattr("judges.metrics.comparison.MOST_SUMS", 10)
    sampled = sign_flip_p(differences)
    assert sampled.method != exact.method
    assert sampled.value == pytest.approx(exact.value, abs=0.02)


def test_the_difference_is_taken_task_by_task() -> None:
    better, worse = counted([20, 15, 10, 5]), counted([10, 5, 0, 0], agent="bob")
    found = compare(better, worse)
    assert (found.first, found.second, found.tasks) == ("ada", "bob", 4)
    assert found.exact == Fraction(35, 80)
    assert found.p is not None
    assert found.p.value == 2 / 16
    assert found.interval is not None
    assert found.difference is not None
    assert found.interval.low < found.difference < found.interval.high


def test_pairing_by_task_sees_what_two_intervals_would_not() -> None:
    passes = [2, 18, 5, 12, 9, 16, 1, 19, 7, 10]
    found = compare(counted([p + 1 for p in passes]), counted(passes, agent="bob"), bootstrap=Bootstrap(1))
    assert found.difference == 0.05
    assert found.interval is None
    assert found.p is not None
    assert found.p.value == 2 / 2**10


def test_swapping_the_agents_swaps_the_sign() -> None:
    one, two = counted([20, 3, 8, 9]), counted([10, 5, 8, 1], agent="bob")
    there, back = compare(one, two), compare(two, one)
    assert there.exact == -back.exact if back.exact is not None else False
    assert there.p == back.p
    assert there.standard_error == back.standard_error


def test_an_agent_against_itself_is_no_difference() -> None:
    found = compare(counted([20, 3, 8]), counted([20, 3, 8]))
    assert found.exact == 0
    assert found.p is not None
    assert found.p.value == 1.0
    assert found.interval is None


def test_tasks_that_cannot_be_compared_are_named() -> None:
    first = [*counted([5, 4], 5), *counted([1], 1, domain="travel"), *counted([2], 5, domain="neobank")]
    second = [*counted([5, 3], 5, agent="bob"), *counted([0], 5, domain="travel", agent="bob")]
    found = compare(first, second, Statistic("pass^k", 2))
    assert found.only_first == ("neobank t-0",)
    assert found.undefined == ("travel t-0",)
    assert found.tasks == 2
    assert found.bounds == Bounds(0.1, 13 / 30)
    assert compare(second, first).only_second == ("neobank t-0",)


def test_agents_without_a_common_task_have_no_difference() -> None:
    found = compare(counted([1]), counted([1], domain="travel", agent="bob"))
    assert (found.exact, found.interval, found.p, found.bounds) == (None, None, None, None)


def test_what_is_open_bounds_the_difference_and_policies_hold_for_both() -> None:
    first = [Counts(agent="ada", domain="d", task="t", trials=8, passed=4, infrastructure=2)]
    second = [Counts(agent="bob", domain="d", task="t", trials=10, passed=5)]
    found = compare(first, second)
    assert found.exact == 0
    assert found.bounds == Bounds(-0.1, 0.1)
    assert (found.coverage_first.share, found.coverage_second.share) == (0.8, 1.0)
    published = compare(first, second, policy=PUBLISHED)
    assert published.exact == Fraction(-1, 10)
    assert published.policy == PUBLISHED


def test_a_side_without_counts_is_refused() -> None:
    with pytest.raises(ValueError, match="both sides"):
        compare([], counted([1]))
