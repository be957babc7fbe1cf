"""Many comparisons at once."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.metrics.corrections import benjamini_hochberg, holm

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_holm_is_as_worked_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_benjamini_hochberg_is_as_worked_by_hand() -> None:
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])


@given(P_VALUES, st.floats(0.001, 0.5))
def test_holm_rejects_what_stepping_down_rejects(p_values: list[float], alpha: float) -> None:
    left, rejected = sorted(p_values), 0
    while rejected < len(left) and (len(left) - rejected) * left[rejected] <= alpha:
        rejected += 1
    assert sum(p <= alpha for p in holm(p_values)) == rejected


@given(P_VALUES, st.floats(0.001, 0.5))
def test_benjamini_hochberg_rejects_up_to_the_last_one_under_its_line(p_values: list[float], alpha: float) -> None:
    many = len(p_values)
    under = [rank for rank, p in enumerate(sorted(p_values), 1) if p * many / rank <= alpha]
    assert sum(p <= alpha for p in benjamini_hochberg(p_values)) == max(under, default=0)


@given(P_VALUES)
def test_adjusted_values_keep_the_order_and_are_not_below_the_raw_ones(p_values: list[float]) -> None:
    for adjusted in (holm(p_values), benjamini_hochberg(p_values)):
        assert all(p <= a + 1e-15 and a <= 1 for p, a in zip(p_values, adjusted, strict=True))
        places = sorted(range(len(p_values)), key=p_values.__getitem__)
        assert [adjusted[place] for place in places] == sorted(adjusted)


@given(P_VALUES)
def test_holm_is_the_stricter_one(p_values: list[float]) -> None:
    for strict, lenient in zip(holm(p_values), benjamini_hochberg(p_values), strict=True):
        assert strict >= lenient - 1e-15


@pytest.mark.parametrize("correct", [holm, benjamini_hochberg])
def test_one_comparison_needs_no_correction_and_none_gives_none(
    correct: Callable[[Sequence[float]], list[float]],
) -> None:
    assert correct([0.04]) == [0.04]
    assert correct([]) == []
    with pytest.raises(ValueError, match="0 to 1"):
        correct([1.5])
