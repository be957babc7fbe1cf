"""Which agents are worth their money: no other is at most as expensive and at least as good."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from judges.metrics.cost import UnitCost

Place = Literal["on", "off", "unsure"]
"""On the frontier, off it, or unsure because a price is missing."""


class Point(Struct, frozen=True):
    """An agent's cost, and what it is good for (pass@1, or how many tasks it passes every time)."""

    agent: str
    cost: Fraction | Decimal | int | None
    """None: not to be had at any price, as with cost per success and no success."""
    good: Fraction | Decimal | int
    is_lower_bound: bool = False
    """Whether the true cost may be higher."""


class Step(Struct, frozen=True):
    """From one agent on the frontier to the next dearer one."""

    cheaper: str
    dearer: str
    more_cost: Fraction | None
    """None if the cost of either is only a lower bound."""
    more_good: Fraction


class _Priced(Struct, frozen=True):
    """A point that has a cost, in exact numbers."""

    agent: str
    low: Fraction
    good: Fraction
    is_known: bool


def point(agent: str, cost: UnitCost, good: Fraction | int) -> Point:
    """The point of an agent whose cost was worked out here."""
    return Point(agent, cost.usd, good, cost.is_lower_bound)


def frontier(points: Sequence[Point]) -> list[Place]:
    """
    Where each point is, in the given order.

    A point is off if another is at most as expensive and at least as good, and better in one of the two: agents that
    are equal in both stand and fall together. A point without a cost is off. Where a cost is a lower bound, a point
    is on or off only if it is so whatever the true costs are.
    """
    found = [_priced(point) for point in points]
    others = [item for item in found if item]
    return [_place(item, others) if item else "off" for item in found]


def steps(points: Sequence[Point]) -> list[Step]:
    """From the cheapest agent that is on the frontier for sure to the dearest; of equal ones the first stands."""
    places = frontier(points)
    on = [p for point, place in zip(points, places, strict=True) if place == "on" and (p := _priced(point))]
    by_good = {p.good: p for p in reversed(on)}
    ordered = [by_good[good] for good in sorted(by_good)]
    return [
        Step(a.agent, b.agent, b.low - a.low if a.is_known and b.is_known else None, b.good - a.good)
        for a, b in pairwise(ordered)
    ]


def _priced(point: Point) -> _Priced | None:
    if point.cost is None:
        return None
    return _Priced(point.agent, Fraction(point.cost), Fraction(point.good), not point.is_lower_bound)


def _place(point: _Priced, others: Sequence[_Priced]) -> Place:
    if any(other.is_known and _beats(other, point) for other in others):
        return "off"
    return "unsure" if any(_may_beat(other, point) for other in others if other is not point) else "on"


def _may_beat(other: _Priced, point: _Priced) -> bool:
    """With the other's cost at its lowest, and the point's as high as it may be."""
    return _beats(other, point) if point.is_known else other.good >= point.good


def _beats(other: _Priced, point: _Priced) -> bool:
    """By the costs as they are known."""
    is_different = other.low < point.low or other.good > point.good
    return other.low <= point.low and other.good >= point.good and is_different
