"""Two agents over the same tasks: is one better, and by how much."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm
from random import Random
from typing import Literal

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

Side = Literal["both", "worse", "better"]
"""What counts as evidence: a difference either way, or only the first agent being worse, or better."""

MOST_SUMS = 2**16
"""Exact while the sign flips give at most so many different sums, so always up to 16 tasks that differ."""
FLIPS = 9_999


class PValue(Struct, frozen=True):
    """How often chance alone makes a difference at least as large."""

    value: float
    side: Side
    method: str


class Comparison(Struct, frozen=True):
    """First agent minus second, over the tasks that both have an estimate for; every such task weighs the same."""

    statistic: Statistic
    policy: Policy
    first: str
    second: str
    tasks: int
    """Tasks compared."""
    only_first: tuple[str, ...]
    """Tasks (`domain task`) that only the first agent was given; they are not compared."""
    only_second: tuple[str, ...]
    undefined: tuple[str, ...]
    """Tasks given to both where one has too few trials; they are not compared, but bounds include them."""
    exact: Fraction | None
    """The difference, −1 to 1; None if no task can be compared."""
    standard_error: float | None
    interval: Interval | None
    p: PValue | None
    bounds: Bounds | None
    """The least and the most that the difference can become; None if the agents share no task."""
    coverage_first: Coverage
    """Of the tasks given to both."""
    coverage_second: Coverage

    @property
    def difference(self) -> float | None:
        """`exact` as a float."""
        return None if self.exact is None else float(self.exact)


def compare(
    first: Sequence[Counts],
    second: Sequence[Counts],
    statistic: Statistic = PASS_AT_1,
    policy: Policy = DEFAULT,
    *,
    side: Side = "both",
    seed: int = 0,
    level: float = LEVEL,
    bootstrap: Bootstrap | None = None,
) -> Comparison:
    """
    Compare two agents, task by task.

    Args:
        seed: for the permutation test, where the exact one is too large.
        bootstrap: how to resample tasks for the interval; without it the interval is analytic, cut to −1 and 1.

    Raises:
        ValueError: a side is empty, or has counts of several agents, or of one task twice.
    """
    if not first or not second:
        raise ValueError("a comparison needs counts on both sides")
    ensure_one_agent(first)
    ensure_one_agent(second)
    left, right = _by_task(first), _by_task(second)
    shared = [key for key in left if key in right]
    pairs = {key: (settled(left[key], policy), settled(right[key], policy)) for key in shared}
    differences = {
        key: statistic.of(a) - statistic.of(b)
        for key, (a, b) in pairs.items()
        if statistic.is_defined(a) and statistic.is_defined(b)
    }
    clusters = [[Cluster(float(d)) for d in differences.values()]]
    return Comparison(
        statistic=statistic,
        policy=policy,
        first=first[0].agent,
        second=second[0].agent,
        tasks=len(differences),
        only_first=tuple(key for key in left if key not in right),
        only_second=tuple(key for key in right if key not in left),
        undefined=tuple(key for key in shared if key not in differences),
        exact=sum(differences.values(), Fraction(0)) / len(differences) if differences else None,
        standard_error=standard_error(clusters),
        interval=cut(interval(clusters, bootstrap, level), -1, 1),
        p=sign_flip_p(list(differences.values()), side, seed=seed) if differences else None,
        bounds=_bounds(list(pairs.values()), statistic),
        coverage_first=coverage(left[key] for key in shared),
        coverage_second=coverage(right[key] for key in shared),
    )


def sign_flip_p(
    differences: Iterable[Fraction | int], side: Side = "both", *, seed: int = 0, flips: int = FLIPS
) -> PValue:
    """
    Paired permutation test: if the agents were alike, each task's difference could as well have the other sign.

    Exact where the flips give at most `MOST_SUMS` different sums: the share of all flips whose sum is at least as far
    out as the observed one. Beyond that seeded flips, (r + 1) / (m + 1), which is never 0 and never too small on
    average (Phipson & Smyth 2010, doi:10.2202/1544-6115.1585). Differences that are 0 say nothing either way. With
    unequal numbers of trials the two estimates of a task may differ in shape, and the test is an approximation.

    Args:
        differences: one for each task.
        flips: m.
    """
    found = [Fraction(d) for d in differences]
    # As whole numbers, so that sums are compared exactly.
    scale = lcm(*(d.denominator for d in found))
    signed = [int(d * scale) for d in found if d]
    total = sum(signed) if side != "worse" else -sum(signed)
    if side == "both":
        total = abs(total)
    sizes = [abs(d) for d in signed]
    sums = _subset_sums(sizes)
    if sums is None:
        return PValue(_sampled_p(sizes, total, side, seed, flips), side, f"{flips} sign flips, seed {seed}")
    # A flip that gives plus to the subset s has the sum 2·s − Σ.
    everything = sum(sizes)
    far = sum(ways for s, ways in sums.items() if _is_as_far(2 * s - everything, total, side))
    return PValue(float(Fraction(far, 2 ** len(sizes))), side, "all sign flips, exact")


def _by_task(counts: Sequence[Counts]) -> dict[str, Counts]:
    return {f"{item.domain} {item.task}": item for item in counts}


def _bounds(pairs: Sequence[tuple[Sample, Sample]], statistic: Statistic) -> Bounds | None:
    if not pairs:
        return None
    lows = [statistic.low(first) - statistic.high(second) for first, second in pairs]
    highs = [statistic.high(first) - statistic.low(second) for first, second in pairs]
    return Bounds(float(sum(lows, Fraction(0)) / len(pairs)), float(sum(highs, Fraction(0)) / len(pairs)))


def _subset_sums(sizes: Sequence[int]) -> dict[int, int] | None:
    """How many subsets have each sum; None if there are too many sums."""
    found = {0: 1}
    for size in sizes:
        grown = dict(found)
        for total, ways in found.items():
            grown[total + size] = grown.get(total + size, 0) + ways
        if len(grown) > MOST_SUMS:
            return None
        found = grown
    return found


def _sampled_p(sizes: Sequence[int], total: int, side: Side, seed: int, flips: int) -> float:
    random = Random(seed)
    everything = sum(sizes)
    far = 0
    for _ in range(flips):
        bits = random.getrandbits(len(sizes))
        plus = sum(size for place, size in enumerate(sizes) if bits >> place & 1)
        far += _is_as_far(2 * plus - everything, total, side)
    return (far + 1) / (flips + 1)


def _is_as_far(flipped: int, total: int, side: Side) -> bool:
    """`total` is turned so that more of it is more evidence."""
    return (abs(flipped) if side == "both" else flipped) >= total
