"""Many comparisons at once: p-values adjusted so that chance findings stay rare."""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """
    Adjusted p-values, in the given order: those below α hold all at once, with at most α for any false finding.

    Holm 1979, Scandinavian Journal of Statistics 6, 65-70. Holds whatever the tests have to do with each other.
    """
    _ensure_p(p_values)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(_ascending(p_values)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """
    Adjusted p-values, in the given order: of those below α a share of at most α is false, on average.

    Benjamini & Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x. Holds for independent or positively dependent
    tests.
    """
    _ensure_p(p_values)
    adjusted = [0.0] * len(p_values)
    lowest = 1.0
    for rank, place in reversed(list(enumerate(_ascending(p_values), 1))):
        lowest = min(lowest, p_values[place] * len(p_values) / rank)
        adjusted[place] = lowest
    return adjusted


def _ascending(p_values: Sequence[float]) -> list[int]:
    return sorted(range(len(p_values)), key=p_values.__getitem__)


def _ensure_p(p_values: Sequence[float]) -> None:
    for p in p_values:
        if not 0 <= p <= 1:
            raise ValueError(f"a p-value of {p}: p-values are 0 to 1")
