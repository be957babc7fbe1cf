"""Numbers as they are shown: rounded half up in decimals."""

from decimal import Decimal
from fractions import Fraction
from math import floor, isfinite

Number = Fraction | Decimal | float


def half_up(value: Number, places: int) -> Decimal:
    """
    A number rounded to so many decimals, halves away from zero: 33.825 → 33.83, where binary floats often give 33.82.

    Fractions, integers and decimals are rounded exactly. A float is taken as the shortest decimal that reads back as
    that float, as Python prints it.

    Raises:
        ValueError: the number is not finite, or `places` is negative.
    """
    if places < 0:
        raise ValueError(f"{places} decimal places; give 0 or more")
    exact = _exact(value)
    units = floor(abs(exact) * 10**places + Fraction(1, 2))
    # Built from its digits, so that no decimal context rounds it again.
    return Decimal((exact < 0 < units, tuple(int(digit) for digit in str(units)), -places))


def percent(share: Number, places: int = 2) -> Decimal:
    """A share of 1 in percent, rounded half up: 897/2080 → 43.13."""
    return half_up(_exact(share) * 100, places)


def _exact(value: Number) -> Fraction:
    if not isfinite(value):
        raise ValueError(f"{value} cannot be rounded; only finite numbers can")
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
