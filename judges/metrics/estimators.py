"""Best of k and every one of k: what n trials of a task, c of them passed, say about k attempts."""

from fractions import Fraction
from math import comb


def pass_at_k(passed: int, trials: int, k: int) -> Fraction:
    """
    Probability that at least one of k independent attempts passes, unbiased: 1 − C(n−c, k) / C(n, k).

    Chen et al. 2021, arXiv:2107.03374. It grows with k; for k = 1 it is c/n.

    Args:
        passed: c, 0 to `trials`.
        trials: n.
        k: 1 to `trials`.

    Returns:
        0 to 1, exactly.

    Raises:
        ValueError: k is larger than `trials` (no unbiased estimate exists then), or a number is out of its range.
    """
    _ensure_defined(passed, trials, k)
    return 1 - Fraction(comb(trials - passed, k), comb(trials, k))


def pass_hat_k(passed: int, trials: int, k: int) -> Fraction:
    """
    Probability that k independent attempts all pass, unbiased: C(c, k) / C(n, k).

    Yao et al. 2024, arXiv:2406.12045. It falls with k; for k = 1 it is c/n; for k = n it is 1 if every trial passed
    and 0 if not.

    Args:
        passed: c, 0 to `trials`.
        trials: n.
        k: 1 to `trials`.

    Returns:
        0 to 1, exactly.

    Raises:
        ValueError: k is larger than `trials` (no unbiased estimate exists then), or a number is out of its range.
    """
    _ensure_defined(passed, trials, k)
    return Fraction(comb(passed, k), comb(trials, k))


def plug_in_pass_hat_k(passed: int, trials: int, k: int) -> Fraction:
    """
    (c/n)^k, which is too high on average for k > 1: only for comparison with numbers that were made this way.

    Args:
        passed: c, 0 to `trials`.
        trials: n.
        k: 1 to `trials`, though the formula has a value beyond, so that it never stands where pass^k cannot.

    Returns:
        0 to 1, exactly.

    Raises:
        ValueError: as `pass_hat_k`.
    """
    _ensure_defined(passed, trials, k)
    return Fraction(passed, trials) ** k


def _ensure_defined(passed: int, trials: int, k: int) -> None:
    if not 0 <= passed <= trials:
        raise ValueError(f"{passed} passed of {trials} trials: passes are 0 to the number of trials")
    if not 1 <= k <= trials:
        raise ValueError(f"k = {k} with {trials} trials is undefined; k is 1 to the number of trials")
