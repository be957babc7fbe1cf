"""How many tasks and repetitions it takes to see a difference between two agents."""

from collections.abc import Sequence
from math import ceil, sqrt
from statistics import NormalDist, fmean, variance

from msgspec import Struct

from judges.metrics.counts import DEFAULT, Counts, Policy, Sample, settled


class Spread(Struct, frozen=True):
    """
    Where the variance of a mean over T tasks with n repetitions comes from: (between + within / n) / T.

    Raises:
        ValueError: a variance is negative.
    """

    between: float
    """Variance of the tasks' true values (for a comparison: of their true differences)."""
    within: float
    """Variance of one repetition of a task, mean over tasks (for a comparison: the sum of both agents')."""

    def __post_init__(self) -> None:
        if not (self.between >= 0 and self.within >= 0):
            raise ValueError(f"variances of {self.between} and {self.within}: variances are 0 or more")


class Design(Struct, frozen=True):
    """
    What a comparison should be able to see: a difference in pass@1, of both signs, paired over tasks.

    Raises:
        ValueError: a number is out of its range.
    """

    difference: float
    """In pass@1: above 0, up to 1."""
    alpha: float = 0.05
    """How often a difference may be reported where there is none."""
    power: float = 0.8
    """How often the difference should be seen if it is there."""

    def __post_init__(self) -> None:
        if not (0 < self.difference <= 1 and 0 < self.alpha < self.power < 1):
            raise ValueError(
                f"{self!r}: the difference is above 0, up to 1; alpha above 0, power above alpha and below 1"
            )

    @property
    def error(self) -> float:
        """The standard error that it takes."""
        return self.difference / _reach(self.alpha, self.power)


def spread(counts: Sequence[Counts], policy: Policy = DEFAULT) -> Spread:
    """
    The variances of one agent's passes, from tasks with two trials or more.

    Within: the mean of c(n−c) / (n(n−1)), unbiased. Between: the variance of c/n less what repetitions add to it, not
    below 0.

    Raises:
        ValueError: fewer than two tasks have two trials.
    """
    samples = [s for s in (settled(item, policy) for item in counts) if s.trials > 1]
    if len(samples) < 2:
        raise ValueError(f"{len(samples)} tasks with two trials or more; variances take at least two such tasks")
    seen = variance(s.passed / s.trials for s in samples)
    return Spread(max(0.0, seen - fmean(_within(s) / s.trials for s in samples)), fmean(_within(s) for s in samples))


def spread_of_difference(first: Sequence[Counts], second: Sequence[Counts], policy: Policy = DEFAULT) -> Spread:
    """
    The variances of the difference of two agents, from tasks that both tried twice or more.

    Raises:
        ValueError: there are fewer than two such tasks.
    """
    others = {(item.domain, item.task): settled(item, policy) for item in second}
    both = [(settled(a, policy), others[a.domain, a.task]) for a in first if (a.domain, a.task) in others]
    pairs = [(a, b) for a, b in both if a.trials > 1 and b.trials > 1]
    if len(pairs) < 2:
        raise ValueError(f"{len(pairs)} tasks that both tried twice or more; variances take at least two such tasks")
    seen = variance(a.passed / a.trials - b.passed / b.trials for a, b in pairs)
    noise = fmean(_within(a) / a.trials + _within(b) / b.trials for a, b in pairs)
    return Spread(max(0.0, seen - noise), fmean(_within(a) + _within(b) for a, b in pairs))


def standard_error_of(spread: Spread, tasks: int, repetitions: int) -> float:
    """The standard error of a mean over so many tasks with so many repetitions."""
    _ensure_positive(tasks, repetitions)
    return sqrt((spread.between + spread.within / repetitions) / tasks)


def tasks_needed(spread: Spread, design: Design, repetitions: int) -> int:
    """Tasks that it takes with so many repetitions; at least 2."""
    _ensure_positive(repetitions)
    return max(2, _up((spread.between + spread.within / repetitions) / design.error**2))


def repetitions_needed(spread: Spread, design: Design, tasks: int) -> int | None:
    """Repetitions that it takes with so many tasks; None if no number is enough, because tasks differ too much."""
    _ensure_positive(tasks)
    room = tasks * design.error**2 - spread.between
    if room <= 0:
        return None
    return max(1, _up(spread.within / room))


def detectable(spread: Spread, tasks: int, repetitions: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest difference that so many tasks and repetitions show; above 1 if they show none."""
    return _reach(alpha, power) * standard_error_of(spread, tasks, repetitions)


def power_of(spread: Spread, difference: float, tasks: int, repetitions: int, *, alpha: float = 0.05) -> float:
    """How often a difference is seen; reports of the wrong sign, which are rarer still, do not count."""
    error = standard_error_of(spread, tasks, repetitions)
    if not error:
        return 1.0 if difference else 0.0
    normal = NormalDist()
    return normal.cdf(abs(difference) / error - normal.inv_cdf(1 - alpha / 2))


def _within(sample: Sample) -> float:
    return sample.passed * (sample.trials - sample.passed) / (sample.trials * (sample.trials - 1))


def _reach(alpha: float, power: float) -> float:
    """In standard errors, by the normal approximation (Miller 2024, arXiv:2411.00640, §5)."""
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)


def _up(number: float) -> int:
    """Rounded up, but not for a hair that float arithmetic added to a whole number."""
    return ceil(number - 1e-9 * max(1.0, number))


def _ensure_positive(*numbers: int) -> None:
    if min(numbers) < 1:
        raise ValueError("tasks and repetitions are 1 or more")
