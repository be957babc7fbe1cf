"""What is asked of each task, by name: pass@k, pass^k, or the plug-in."""

import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from judges.metrics.counts import Sample
from judges.metrics.estimators import pass_at_k, pass_hat_k, plug_in_pass_hat_k

Kind = Literal["pass@k", "pass^k", "plug-in pass^k"]

_ESTIMATORS: dict[Kind, Callable[[int, int, int], Fraction]] = {
    "pass@k": pass_at_k,
    "pass^k": pass_hat_k,
    "plug-in pass^k": plug_in_pass_hat_k,
}
_FORMULAS: dict[Kind, str] = {
    "pass@k": "unbiased, 1 − C(n−c,k)/C(n,k)",
    "pass^k": "unbiased, C(c,k)/C(n,k)",
    "plug-in pass^k": "plug-in, (c/n)^k, too high on average",
}


class Bounds(Struct, frozen=True):
    """The least and the most that a rate can become once everything that is open has a result."""

    low: float
    high: float


class Statistic(Struct, frozen=True):
    """
    One number for each task, from its n and c.

    Raises:
        ValueError: k is less than 1.
    """

    kind: Kind
    k: int

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"{self.kind} with k = {self.k}: k is at least 1")

    @property
    def name(self) -> str:
        """Such as `pass^5`."""
        return self.kind[:-1] + str(self.k)

    @property
    def family(self) -> str:
        """Which question it answers: `best of 5` or `every one of 5`; for k = 1 these are one."""
        if self.k == 1:
            return "one attempt"
        return f"best of {self.k}" if self.kind == "pass@k" else f"every one of {self.k}"

    @property
    def estimator(self) -> str:
        """How it is estimated; for k = 1 they are all c/n."""
        return "c/n" if self.k == 1 else _FORMULAS[self.kind]

    def is_defined(self, sample: Sample) -> bool:
        """Whether a task has an estimate: k trials or more."""
        return sample.trials >= self.k

    def of(self, sample: Sample) -> Fraction:
        """The estimate for a task; ValueError if it has fewer trials than k."""
        return self._estimate(sample.passed, sample.trials)

    def low(self, sample: Sample) -> Fraction:
        """What the estimate would be if everything open failed; 0 if even then there were fewer trials than k."""
        whole = sample.trials + sample.open
        return self._estimate(sample.passed, whole) if whole >= self.k else Fraction(0)

    def high(self, sample: Sample) -> Fraction:
        """What the estimate would be if everything open passed; 1 if even then there were fewer trials than k."""
        whole = sample.trials + sample.open
        return self._estimate(sample.passed + sample.open, whole) if whole >= self.k else Fraction(1)

    def _estimate(self, passed: int, trials: int) -> Fraction:
        return _estimated(self.kind, passed, trials, self.k)


@lru_cache(maxsize=65_536)
def _estimated(kind: Kind, passed: int, trials: int, k: int) -> Fraction:
    """Hundreds of tasks have a handful of different counts among them."""
    return _ESTIMATORS[kind](passed, trials, k)


PASS_AT_1 = Statistic("pass@k", 1)


def statistic_named(name: str) -> Statistic:
    """
    The statistic that goes by a name.

    Args:
        name: `pass@K`, `pass^K` or `plug-in pass^K`, such as `pass^5`.

    Raises:
        ValueError: no statistic goes by that name.
    """
    found = re.fullmatch(r"(?P<kind>pass@|pass\^|plug-in pass\^)(?P<k>[1-9][0-9]{0,5})", name)
    if not found:
        raise ValueError(f"no statistic {name!r}; write pass@K or pass^K, such as pass^5")
    kinds: dict[str, Kind] = {kind[:-1]: kind for kind in _ESTIMATORS}
    return Statistic(kinds[found["kind"]], int(found["k"]))
