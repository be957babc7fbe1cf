"""One line on each agent: how often it passed, how dependably, and what is missing."""

from collections.abc import Iterable
from fractions import Fraction

from msgspec import Struct

from judges.metrics.counts import DEFAULT, Counts, Policy, by_agent
from judges.metrics.observed import Tally, observed


class Standing(Struct, frozen=True):
    """One agent over all its tasks."""

    agent: str
    tasks: int
    trials: int
    """That count."""
    planned: int
    pass_at_1: Fraction | None
    """Trial-pooled; None without a trial that counts."""
    every_time: Tally
    """Tasks passed in each planned repetition: a literal count, no estimate."""
    ungradeable: int


def standings(counts: Iterable[Counts], policy: Policy = DEFAULT) -> list[Standing]:
    """One for each agent, in the order of their names."""
    return [_standing(agent, own, policy) for agent, own in by_agent(counts).items()]


def _standing(agent: str, counts: list[Counts], policy: Policy) -> Standing:
    seen = observed(counts, policy)
    return Standing(
        agent,
        seen.tasks,
        sum(item.trials for item in counts),
        sum(item.planned for item in counts),
        Fraction(seen.passed, seen.trials) if seen.trials else None,
        seen.every_time,
        sum(item.ungradeable for item in counts),
    )
