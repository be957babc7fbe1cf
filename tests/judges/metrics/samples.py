"""Counts to test with, and strategies for them."""

from collections.abc import Iterable

from hypothesis import strategies as st

from judges.metrics.counts import Counts


def counted(passes: Iterable[int], trials: int = 20, *, agent: str = "ada", domain: str = "retail") -> list[Counts]:
    """One task for each number of passes, all with as many trials."""
    return [
        Counts(agent=agent, domain=domain, task=f"t-{place}", trials=trials, passed=passed)
        for place, passed in enumerate(passes)
    ]


def task(
    name: str,
    trials: int,
    passed: int,
    *,
    domain: str = "retail",
    ungradeable: int = 0,
    infrastructure: int = 0,
    missing: int = 0,
) -> Counts:
    """One task of one agent."""
    return Counts(
        agent="ada",
        domain=domain,
        task=name,
        trials=trials,
        passed=passed,
        ungradeable=ungradeable,
        infrastructure=infrastructure,
        missing=missing,
    )


@st.composite
def tasks(draw: st.DrawFn, task: str = "t", domain: str = "retail", most: int = 4) -> Counts:
    """A task with up to `most` of each kind of end."""
    small = st.integers(0, most)
    passed, failed, ungradeable = draw(small), draw(small), draw(small)
    faulted_passed, faulted_failed = draw(st.integers(0, passed)), draw(st.integers(0, failed))
    return Counts(
        agent="ada",
        domain=domain,
        task=task,
        trials=passed + failed + ungradeable,
        passed=passed,
        ungradeable=ungradeable,
        infrastructure=draw(small),
        missing=draw(small),
        user_faults=faulted_passed + faulted_failed,
        user_faults_passed=faulted_passed,
    )


@st.composite
def suites(draw: st.DrawFn) -> list[Counts]:
    """One to six tasks in up to three domains."""
    domains = draw(st.lists(st.sampled_from(["retail", "travel", "neobank"]), min_size=1, max_size=6))
    return [draw(tasks(f"t-{place}", domain)) for place, domain in enumerate(domains)]
