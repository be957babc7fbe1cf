"""Standard errors and intervals with the task as the cluster: trials of one task are no independent evidence."""

from collections.abc import Sequence
from functools import lru_cache
from math import cos, floor, fsum, pi, sin, sqrt, tan
from random import Random
from statistics import NormalDist
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

LEVEL = 0.95
RESAMPLES = 2000


class Cluster(Struct, frozen=True):
    """A task's share in a ratio: its value and its weight (estimate and 1, or passes and trials)."""

    part: float
    whole: float = 1.0


Strata = Sequence[Sequence[Cluster]]
"""One list of tasks, or one for each domain where the mean over domains is meant; no list is empty."""


class Interval(Struct, frozen=True):
    """Where the true value lies, with a confidence."""

    low: float
    high: float
    level: float
    method: str


class Bootstrap(Struct, frozen=True):
    """How to resample tasks. The same seed gives the same interval on every machine."""

    seed: int
    resamples: int = RESAMPLES
    method: Literal["percentile", "BCa"] = "percentile"

    @property
    def name(self) -> str:
        """What stands beside the interval."""
        return f"bootstrap over tasks, {self.method}, {self.resamples} resamples, seed {self.seed}"


ANALYTIC = "t, tasks as clusters"


def ratio(strata: Strata) -> float:
    """The mean over strata of Σ part / Σ whole."""
    return fsum(fsum(c.part for c in tasks) / fsum(c.whole for c in tasks) for tasks in strata) / len(strata)


def standard_error(strata: Strata) -> float | None:
    """
    Cluster-robust standard error of `ratio`, by linearisation.

    For one stratum √(T/(T−1) · Σ (part − r·whole)²) / Σ whole, which for equal weights is the standard deviation of
    the task values over √T (Cochran, Sampling Techniques, 1977, §6.4; Miller 2024, arXiv:2411.00640). Strata are
    fixed and independent: their squares add up.

    Returns:
        0 or more; None if a stratum has fewer than two tasks.
    """
    if any(len(tasks) < 2 for tasks in strata):
        return None
    # Asked of the values, because float sums leave a speck of an error where there is none.
    is_even = all(len({c.part / c.whole for c in tasks}) == 1 for tasks in strata)
    return 0.0 if is_even else sqrt(fsum(_variances(strata)))


def interval(strata: Strata, bootstrap: Bootstrap | None = None, level: float = LEVEL) -> Interval | None:
    """The analytic interval, or the bootstrap one if it is said how; None if the tasks show no spread."""
    return bootstrap_interval(strata, bootstrap, level) if bootstrap else analytic_interval(strata, level)


def analytic_interval(strata: Strata, level: float = LEVEL) -> Interval | None:
    """
    Estimate ± t · standard error, with T−1 degrees of freedom (over strata: Welch–Satterthwaite, rounded down).

    Returns:
        None if a stratum has fewer than two tasks, or if no two tasks differ: no spread was seen, which is no
        certainty about other tasks.
    """
    _ensure_level(level)
    error = standard_error(strata)
    if not error:
        return None
    variances = _variances(strata)
    freedom = fsum(variances) ** 2 / fsum(v**2 / (len(tasks) - 1) for v, tasks in zip(variances, strata, strict=True))
    # A hair is added because the quotient for one stratum, T−1, may come out just below it.
    reach = t_quantile(level, floor(freedom + 1e-9)) * error
    return Interval(ratio(strata) - reach, ratio(strata) + reach, level, ANALYTIC)


def bootstrap_interval(strata: Strata, how: Bootstrap, level: float = LEVEL) -> Interval | None:
    """
    Interval from resampled tasks, each stratum within itself.

    Percentile, or BCa (Efron 1987, doi:10.1080/01621459.1987.10478410), which corrects bias and skewness.

    Returns:
        None as for `analytic_interval`.

    Raises:
        ValueError: fewer than 100 resamples are asked for.
    """
    _ensure_level(level)
    if not standard_error(strata):
        return None
    values = bootstrap_values(strata, how)
    tails = ((1 - level) / 2, (1 + level) / 2)
    low, high = tails if how.method == "percentile" else _corrected(strata, values, tails)
    return Interval(_quantile(values, low), _quantile(values, high), level, how.name)


def bootstrap_values(strata: Strata, how: Bootstrap) -> list[float]:
    """The ratio of each resample, ascending."""
    if how.resamples < 100:
        raise ValueError(f"{how.resamples} resamples say little about an interval; give 100 or more")
    random = Random(how.seed)
    columns = [_Columns.of(tasks) for tasks in strata]
    return sorted(fsum(_resampled(tasks, random) for tasks in columns) / len(strata) for _ in range(how.resamples))


def cut(found: Interval | None, low: float, high: float) -> Interval | None:
    """The interval without what no true value can be."""
    return found and replace(found, low=max(low, found.low), high=min(high, found.high))


@lru_cache(maxsize=256)
def t_quantile(level: float, freedom: int) -> float:
    """
    The t that Student's distribution stays within, up and down, with this probability: 12.706 for 0.95 and 1.

    By bisection of the closed form for whole degrees of freedom (Abramowitz & Stegun 26.7.3 and 26.7.4).

    Args:
        level: between 0 and 1.
        freedom: 1 or more.
    """
    low, high = 0.0, pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_within(middle, freedom) < level else (low, middle)
    return tan((low + high) / 2) * sqrt(freedom)


def _t_within(angle: float, freedom: int) -> float:
    """P(|t| ≤ tan(angle)·√freedom)."""
    is_odd = freedom % 2
    term = cos(angle) if is_odd else 1.0
    series = 0.0
    for step in range(1 + is_odd, freedom, 2):
        series += term
        term *= cos(angle) ** 2 * step / (step + 1)
    return (angle + sin(angle) * series) * 2 / pi if is_odd else sin(angle) * series


def _influences(tasks: Sequence[Cluster]) -> list[float]:
    """How much each task moves the ratio of its stratum; they sum to nought."""
    whole = fsum(c.whole for c in tasks)
    rate = fsum(c.part for c in tasks) / whole
    return [(c.part - rate * c.whole) / whole for c in tasks]


def _variances(strata: Strata) -> list[float]:
    """Each stratum's part of the squared standard error."""
    return [
        len(tasks) / (len(tasks) - 1) * fsum(u**2 for u in _influences(tasks)) / len(strata) ** 2 for tasks in strata
    ]


class _Columns(Struct, frozen=True):
    """A stratum made ready for drawing: equal weights, the usual case, need one column."""

    parts: list[float]
    wholes: list[float] | None
    whole: float

    @classmethod
    def of(cls, tasks: Sequence[Cluster]) -> "_Columns":
        wholes = [c.whole for c in tasks]
        is_even = len(set(wholes)) == 1
        return cls([c.part for c in tasks], None if is_even else wholes, fsum(wholes))


def _resampled(tasks: _Columns, random: Random) -> float:
    if tasks.wholes is None:
        return fsum(random.choices(tasks.parts, k=len(tasks.parts))) / tasks.whole
    places = random.choices(range(len(tasks.parts)), k=len(tasks.parts))
    return fsum(tasks.parts[place] for place in places) / fsum(tasks.wholes[place] for place in places)


def _corrected(strata: Strata, values: Sequence[float], tails: tuple[float, float]) -> tuple[float, float]:
    """The tails moved for bias and acceleration."""
    normal = NormalDist()
    estimate = ratio(strata)
    below = (sum(v < estimate for v in values) + sum(v <= estimate for v in values)) / 2 / len(values)
    bias = normal.inv_cdf(min(max(below, 0.5 / len(values)), 1 - 0.5 / len(values)))
    moves = [u for tasks in strata for u in _influences(tasks)]
    acceleration = fsum(u**3 for u in moves) / (6 * fsum(u**2 for u in moves) ** 1.5)

    def moved(tail: float) -> float:
        shifted = bias + normal.inv_cdf(tail)
        return normal.cdf(bias + shifted / max(1 - acceleration * shifted, 1e-9))

    return moved(tails[0]), moved(tails[1])


def _quantile(ascending: Sequence[float], share: float) -> float:
    """Linear between neighbours."""
    place = min(max(share, 0.0), 1.0) * (len(ascending) - 1)
    left = floor(place)
    right = min(left + 1, len(ascending) - 1)
    return ascending[left] + (ascending[right] - ascending[left]) * (place - left)


def _ensure_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"a confidence of {level}: give one between 0 and 1, such as 0.95")
