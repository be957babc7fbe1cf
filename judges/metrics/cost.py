"""What attempts, successes and dependable tasks cost; what has no price makes a cost a lower bound."""

from collections.abc import Mapping
from fractions import Fraction

from msgspec import Struct

from judges.metrics.observed import Observed
from sandbox.prices import Cost, total


class Bill(Struct, frozen=True):
    """What trials cost, by who caused it. All attempts belong in it, also those that broke and were made again."""

    agent: Cost = Cost()
    user: Cost = Cost()
    """The simulated user's model."""
    judge: Cost = Cost()

    def __add__(self, other: "Bill") -> "Bill":
        return Bill(self.agent + other.agent, self.user + other.user, self.judge + other.judge)

    def total(self, *, user: bool, judge: bool) -> Cost:
        """The agent's cost, with or without that of the user and the judge."""
        parts = [self.agent, *([self.user] if user else []), *([self.judge] if judge else [])]
        return total(parts)


def bill_of(costs: Mapping[str, Cost]) -> Bill:
    """The bill of costs by party."""
    return Bill(*(costs.get(party, Cost()) for party in ("agent", "user", "judge")))


class UnitCost(Struct, frozen=True):
    """What one of something costs."""

    usd: Fraction | None
    """Exactly; None if there is none of it: no money buys a success that never came."""
    of: str
    parts: str
    """Whose cost is in it."""
    is_lower_bound: bool


class Costs(Struct, frozen=True):
    """An agent's cost by what one gets for it."""

    attempt: UnitCost
    success: UnitCost
    dependable: UnitCost


def costs(bill: Bill, attempts: int, seen: Observed, *, user: bool, judge: bool) -> Costs:
    """
    Total cost ÷ attempts, ÷ trials that passed, ÷ tasks that were passed every time.

    The first over the second is total / attempts ÷ pass@1, the published form, wherever every attempt counts.

    Args:
        bill: of all attempts, at all tasks and repetitions.
        attempts: how many, also those that broke.
        seen: the literal counts over the same tasks.
    """
    whole = bill.total(user=user, judge=judge)
    parts = " + ".join(["agent", *(["user"] if user else []), *(["judge"] if judge else [])])
    return Costs(
        unit_cost(whole, attempts, "attempt", parts),
        unit_cost(whole, seen.passed, "successful attempt", parts),
        unit_cost(whole, seen.every_time.least, "task passed every time", parts),
    )


def unit_cost(whole: Cost, number: int, of: str, parts: str) -> UnitCost:
    """
    A cost ÷ the number of things that it bought.

    Raises:
        ValueError: the number is negative.
    """
    if number < 0:
        raise ValueError(f"the cost of {number} × {of}: the number is 0 or more")
    return UnitCost(Fraction(whole.usd) / number if number else None, of, parts, whole.is_lower_bound)
