"""A rate over many tasks, with everything that must stand beside it."""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction

from msgspec import Struct

from judges.metrics.counts import DEFAULT, Counts, Coverage, Policy, Sample, coverage, ensure_one_agent, settled
from judges.metrics.intervals import (
    LEVEL,
    Bootstrap,
    Cluster,
    Interval,
    cut,
    interval,
    standard_error,
)
from judges.metrics.statistic import PASS_AT_1, Bounds, Statistic


class Aggregate(StrEnum):
    """How the tasks become one number. With equally many trials per task the first two agree."""

    TRIAL_POOLED = "trial-pooled"
    """Σ c / Σ n: a task weighs as much as it has trials. Only for one attempt."""
    TASK_MEAN = "mean over tasks"
    """Every task weighs the same."""
    DOMAIN_MEAN = "macro mean over domains"
    """The mean over domains of the mean over tasks: every domain weighs the same."""


class Rate(Struct, frozen=True):
    """A rate of one agent over some tasks."""

    statistic: Statistic
    aggregate: Aggregate
    policy: Policy
    exact: Fraction | None
    """The estimate over the tasks that have one; None if none has, or for the macro mean if a domain has none."""
    standard_error: float | None
    interval: Interval | None
    bounds: Bounds
    """Over all tasks. They do not tell chance, only what open repetitions and too few trials leave unknown."""
    tasks: int
    tasks_defined: int
    """Tasks with enough trials for an estimate."""
    coverage: Coverage

    @property
    def label(self) -> str:
        """What the number is, for the head of a table."""
        asked = f"{self.statistic.name} ({self.statistic.family}; {self.statistic.estimator})"
        return f"{asked}, {self.aggregate}; {self.policy.name}"

    @property
    def estimate(self) -> float | None:
        """`exact` as a float."""
        return None if self.exact is None else float(self.exact)


def rate(
    counts: Sequence[Counts],
    statistic: Statistic = PASS_AT_1,
    aggregate: Aggregate = Aggregate.TASK_MEAN,
    policy: Policy = DEFAULT,
    *,
    level: float = LEVEL,
    bootstrap: Bootstrap | None = None,
) -> Rate:
    """
    The rate of one agent over some tasks.

    Args:
        bootstrap: how to resample; without it the interval is analytic, cut to 0 and 1.

    Raises:
        ValueError: there are no counts, or of several agents, or of one task twice; or trials are to be pooled for
            more than one attempt.
    """
    ensure_one_agent(counts)
    if not counts:
        raise ValueError("a rate over no tasks; give the counts of at least one")
    if aggregate is Aggregate.TRIAL_POOLED and statistic.k > 1:
        raise ValueError(f"{statistic.name} cannot be {aggregate}, it is a number of each task; take their mean")
    samples = [settled(item, policy) for item in counts]
    strata = _strata(samples, aggregate)
    defined = [[s for s in tasks if statistic.is_defined(s)] for tasks in strata]
    is_defined = all(defined)
    clusters = [[_cluster(s, statistic, aggregate) for s in tasks] for tasks in defined]
    return Rate(
        statistic,
        aggregate,
        policy,
        _mean([_estimate(tasks, statistic, aggregate) for tasks in defined]) if is_defined else None,
        standard_error(clusters) if is_defined else None,
        cut(interval(clusters, bootstrap, level), 0, 1) if is_defined else None,
        _bounds(strata, statistic, aggregate),
        len(samples),
        sum(len(tasks) for tasks in defined),
        coverage(counts),
    )


def _strata(samples: Sequence[Sample], aggregate: Aggregate) -> list[list[Sample]]:
    if aggregate is not Aggregate.DOMAIN_MEAN:
        return [list(samples)]
    domains = sorted({s.domain for s in samples})
    return [[s for s in samples if s.domain == domain] for domain in domains]


def _cluster(sample: Sample, statistic: Statistic, aggregate: Aggregate) -> Cluster:
    if aggregate is Aggregate.TRIAL_POOLED:
        return Cluster(sample.passed, sample.trials)
    return Cluster(float(statistic.of(sample)))


def _estimate(tasks: Sequence[Sample], statistic: Statistic, aggregate: Aggregate) -> Fraction:
    if aggregate is Aggregate.TRIAL_POOLED:
        return Fraction(sum(s.passed for s in tasks), sum(s.trials for s in tasks))
    return _mean([statistic.of(s) for s in tasks])


def _mean(values: Sequence[Fraction]) -> Fraction:
    """Exactly; equal values are added up as whole numbers first, since fractions are slow to add."""
    often = Counter((value.numerator, value.denominator) for value in values)
    sums: dict[int, int] = {}
    for (numerator, denominator), times in often.items():
        sums[denominator] = sums.get(denominator, 0) + numerator * times
    return sum((Fraction(whole, denominator) for denominator, whole in sums.items()), Fraction(0)) / len(values)


def _bounds(strata: Sequence[Sequence[Sample]], statistic: Statistic, aggregate: Aggregate) -> Bounds:
    if aggregate is Aggregate.TRIAL_POOLED:
        [tasks] = strata
        pooled = Sample("", "", sum(s.trials for s in tasks), sum(s.passed for s in tasks), sum(s.open for s in tasks))
        return Bounds(float(statistic.low(pooled)), float(statistic.high(pooled)))
    return Bounds(
        float(_mean([_mean([statistic.low(s) for s in tasks]) for tasks in strata])),
        float(_mean([_mean([statistic.high(s) for s in tasks]) for tasks in strata])),
    )
