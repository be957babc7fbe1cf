"""Who is worth the money."""

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from judges.metrics.cost import unit_cost
from judges.metrics.frontier import Point, Step, frontier, point, steps
from sandbox.prices import Cost

POINTS = st.lists(
    st.builds(Point, st.just("x"), st.none() | st.integers(0, 6), st.integers(0, 6), st.booleans()), max_size=7
)


def places(*points: tuple[int | None, int] | tuple[int | None, int, bool]) -> list[str]:
    return list(frontier([Point(str(n), *values) for n, values in enumerate(points)]))


def test_a_point_is_off_if_another_is_as_cheap_and_as_good_and_better_in_one() -> None:
    assert places((1, 1), (2, 2), (3, 2), (2, 1), (4, 3)) == ["on", "on", "off", "off", "on"]


def test_equal_points_stand_and_fall_together() -> None:
    assert places((1, 1), (1, 1)) == ["on", "on"]
    assert places((1, 1), (1, 1), (1, 2)) == ["off", "off", "on"]


def test_what_no_money_buys_is_off() -> None:
    assert places((None, 0), (5, 1)) == ["off", "on"]
    assert places((None, 9)) == ["off"]


def test_a_lower_bound_makes_unsure_what_it_could_turn() -> None:
    assert places((1, 1, True), (2, 2)) == ["unsure", "on"]
    assert places((1, 2, True), (2, 1)) == ["on", "unsure"]
    assert places((3, 1, True), (2, 2)) == ["off", "on"]
    assert places((1, 1, True), (1, 1)) == ["unsure", "on"]
    assert places((1, 3, True), (2, 2), (3, 1)) == ["on", "unsure", "off"]


@given(POINTS)
def test_without_missing_prices_it_is_the_plain_definition(points: list[Point]) -> None:
    known = [Point(p.agent, p.cost, p.good) for p in points]
    for p, place in zip(known, frontier(known), strict=True):
        beaten = p.cost is None or any(
            q.cost is not None and q.cost <= p.cost and q.good >= p.good and (q.cost, q.good) != (p.cost, p.good)
            for q in known
        )
        assert place == ("off" if beaten else "on")


@given(POINTS, st.lists(st.integers(0, 8), min_size=7, max_size=7))
def test_a_sure_place_stays_whatever_the_true_costs_are(points: list[Point], more: list[int]) -> None:
    true = [
        Point(p.agent, p.cost + extra if p.is_lower_bound and p.cost is not None else p.cost, p.good)
        for p, extra in zip(points, more, strict=False)
    ]
    for place, truly in zip(frontier(points), frontier(true), strict=True):
        assert place in ("unsure", truly)


@given(POINTS)
def test_steps_go_up_in_cost_and_in_what_it_is_good_for(points: list[Point]) -> None:
    for step in steps([Point(str(n), p.cost, p.good) for n, p in enumerate(points)]):
        assert step.more_cost is not None
        assert step.more_cost > 0
        assert step.more_good > 0


def test_steps_name_who_and_how_much() -> None:
    points = [Point("dear", 5, 9), Point("cheap", Decimal("0.5"), 2), Point("waste", 6, 8), Point("twin", 5, 9)]
    assert steps(points) == [Step("cheap", "dear", Fraction(9, 2), Fraction(7))]


def test_a_step_to_a_cost_that_is_not_fully_known_has_no_price() -> None:
    assert steps([Point("a", 1, 1), Point("b", 3, 2, True)]) == [Step("a", "b", None, Fraction(1))]


def test_a_unit_cost_makes_a_point() -> None:
    found = point("ada", unit_cost(Cost(Decimal(3), 1), 2, "attempt", "agent"), 7)
    assert found == Point("ada", Fraction(3, 2), 7, True)
