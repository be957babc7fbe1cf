"""Counts and policies: nothing that went wrong is dropped without a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert

from judges.metrics.counts import (
    DEFAULT,
    PUBLISHED,
    Counts,
    Policy,
    Treatment,
    by_agent,
    by_domain,
    coverage,
    refusals_only,
    settled,
    without_refusals,
)
from tests.judges.metrics.samples import counted, tasks

TROUBLED = Counts(
    agent="ada",
    domain="retail",
    task="t-1",
    trials=16,
    passed=9,
    ungradeable=2,
    infrastructure=3,
    missing=1,
    user_faults=4,
    user_faults_passed=1,
)
POLICIES = st.builds(
    Policy,
    st.sampled_from([Treatment.EXCLUDED, Treatment.FAILURES, Treatment.RETRIED]),
    st.sampled_from([Treatment.EXCLUDED, Treatment.FAILURES, Treatment.RETRIED]),
    st.sampled_from(Treatment),
)


@pytest.mark.parametrize(
    ("policy", "passed", "trials", "still_open"),
    [
        (DEFAULT, 9, 14, 1 + 3 + 2),
        (PUBLISHED, 9, 14 + 3 + 2, 1),
        (Policy(Treatment.EXCLUDED, Treatment.EXCLUDED, Treatment.EXCLUDED), 8, 10, 1),
        (Policy(Treatment.EXCLUDED, Treatment.RETRIED, Treatment.RETRIED), 8, 10, 1 + 2 + 4),
        (Policy(Treatment.EXCLUDED, Treatment.EXCLUDED, Treatment.FAILURES), 8, 14, 1),
        (Policy(Treatment.FAILURES, Treatment.EXCLUDED, Treatment.JUDGED), 9, 17, 1),
    ],
)
def test_a_policy_says_which_trials_count_and_which_stay_open(
    policy: Policy, passed: int, trials: int, still_open: int
) -> None:
    sample = settled(TROUBLED, policy)
    assert (sample.passed, sample.trials, sample.open) == (passed, trials, still_open)


@given(tasks(), POLICIES)
def test_every_repetition_counts_or_is_open_or_is_excluded_by_name(counts: Counts, policy: Policy) -> None:
    sample = settled(counts, policy)
    treated = {
        policy.infrastructure: counts.infrastructure,
        policy.ungradeable: counts.ungradeable,
        policy.user_faults: counts.user_faults,
    }
    excluded = sum(
        number
        for treatment, number in [
            (policy.infrastructure, counts.infrastructure),
            (policy.ungradeable, counts.ungradeable),
            (policy.user_faults, counts.user_faults),
        ]
        if treatment is Treatment.EXCLUDED
    )
    assert sample.trials + sample.open + excluded == counts.planned
    assert 0 <= sample.passed <= sample.trials
    assert all(f"{treatment}" in policy.name for treatment in treated)


@given(tasks(), POLICIES)
def test_coverage_is_the_same_under_every_policy(counts: Counts, policy: Policy) -> None:
    found = coverage([counts])
    assert found.judged == counts.passed + counts.failed
    assert found.judged + counts.ungradeable + counts.infrastructure + counts.missing == found.planned


def test_coverage_is_a_share_of_the_plan() -> None:
    assert coverage([TROUBLED]).share == 14 / 20
    assert coverage([]).share == 1.0


def test_the_published_convention_is_named_as_such() -> None:
    assert PUBLISHED.name == (
        "infrastructure failures, ungradeable failures, user faults judged (published convention)"
    )
    assert "published" not in DEFAULT.name


def test_a_verdict_cannot_stand_where_there_is_none() -> None:
    with pytest.raises(ValueError, match="only a user fault leaves a verdict"):
        Policy(infrastructure=Treatment.JUDGED)


@pytest.mark.parametrize(
    "numbers",
    [
        {"trials": 3, "passed": 4},
        {"trials": 3, "passed": 2, "ungradeable": 2},
        {"trials": -1, "passed": 0},
        {"trials": 3, "passed": 1, "infrastructure": -1},
        {"trials": 3, "passed": 1, "missing": -1},
        {"trials": 3, "passed": 1, "user_faults": 1, "user_faults_passed": 2},
        {"trials": 3, "passed": 1, "user_faults": 3, "user_faults_passed": 0},
        {"trials": 3, "passed": 3, "user_faults": 1, "user_faults_passed": 0},
    ],
)
def test_counts_that_contradict_each_other_are_refused(numbers: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="ada at retail t-1 contradict"):
        convert({"agent": "ada", "domain": "retail", "task": "t-1", **numbers}, Counts)


def test_counts_are_told_apart_by_domain_agent_and_refusal() -> None:
    retail, travel = counted([1], domain="retail"), counted([2], domain="travel", agent="bob")
    refusal = Counts(agent="ada", domain="retail", task="r", trials=1, passed=1, refusal=True)
    every = [*travel, *retail, refusal]
    assert by_domain(every) == {"retail": [*retail, refusal], "travel": travel}
    assert by_agent(every) == {"ada": [*retail, refusal], "bob": travel}
    assert refusals_only(every) == [refusal]
    assert without_refusals(every) == [*travel, *retail]
