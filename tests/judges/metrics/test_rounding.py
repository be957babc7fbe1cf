"""Half up, in decimals."""

from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.metrics.rounding import half_up, percent


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [
        (Decimal("33.825"), 2, "33.83"),
        (33.825, 2, "33.83"),
        (2.675, 2, "2.68"),
        (0.5, 0, "1"),
        (2.5, 0, "3"),
        (Fraction(-5, 2), 0, "-3"),
        (Decimal("-2.5"), 0, "-3"),
        (Fraction(-1, 1000), 2, "0.00"),
        (Decimal("-0.001"), 2, "0.00"),
        (-0.0, 1, "0.0"),
        (Fraction(2, 3), 4, "0.6667"),
        (7, 2, "7.00"),
        (Decimal("0.0049"), 2, "0.00"),
        (Decimal("999.995"), 2, "1000.00"),
        (Decimal("1E+3"), 1, "1000.0"),
        (1e22, 1, "10000000000000000000000.0"),
    ],
)
def test_halves_go_up_and_the_decimals_stay(value: Decimal | Fraction | float, places: int, text: str) -> None:
    assert str(half_up(value, places)) == text


def test_a_share_is_shown_in_percent() -> None:
    assert str(percent(Fraction(897, 2080))) == "43.13"
    assert str(percent(0.43125)) == "43.13"
    assert str(percent(1)) == "100.00"


@given(st.decimals(-(10**9), 10**9, allow_nan=False, places=6), st.integers(0, 6))
def test_fractions_decimals_and_the_decimal_module_agree(value: Decimal, places: int) -> None:
    with localcontext(prec=60):
        expected = value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
    assert half_up(value, places) == half_up(Fraction(value), places) == expected


@given(st.fractions(-1000, 1000), st.integers(0, 8))
def test_rounding_moves_by_half_a_unit_at_most(value: Fraction, places: int) -> None:
    assert abs(Fraction(half_up(value, places)) - value) <= Fraction(1, 2 * 10**places)


def test_a_small_decimal_context_changes_nothing() -> None:
    with localcontext(prec=3):
        assert str(half_up(Decimal("123456.785"), 2)) == "123456.79"
        assert str(half_up(Fraction(123456785, 1000), 2)) == "123456.79"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("NaN"), Decimal("-Infinity")])
def test_what_is_no_number_is_refused(value: float | Decimal) -> None:
    with pytest.raises(ValueError, match="only finite numbers"):
        half_up(value, 2)


def test_negative_places_are_refused() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        half_up(1, -1)
