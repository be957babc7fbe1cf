"""Comparisons of two scripts in the shop."""

from collections.abc import Callable, Mapping

import pytest

from judges.compare import Comparison, Required
from judges.outcome import Outcome
from judges.profile import profile_of
from tests.judges.shop import Script, after, domain

Compare = Callable[..., Comparison]


def compare_scripts(
    golden: Script, trial: Script, compare: Mapping[str, Mapping[str, str]] | None = None, limit: int = 20_000
) -> Comparison:
    """The effects of one script against those of another, as required."""
    profile = profile_of(domain, compare or {}, "t")
    required = Required(Outcome("golden", after(golden).effects), domain, domain.snapshot, profile, limit)
    return required.compare(after(trial).effects)


@pytest.fixture
def compare() -> Compare:
    """`compare_scripts`."""
    return compare_scripts
