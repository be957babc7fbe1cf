"""How the repetitions of a task ended, and what a policy makes of the odd ones."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct


class Counts(Struct, frozen=True, kw_only=True):
    """
    How the repetitions of one agent at one task ended; each repetition is in one of trials, infrastructure, missing.

    Raises:
        ValueError: the numbers contradict each other.
    """

    agent: str
    domain: str
    task: str
    trials: int
    """Repetitions that came to an end that is the agent's: passed, failed or ungradeable."""
    passed: int
    ungradeable: int = 0
    infrastructure: int = 0
    """Repetitions all of whose attempts broke on our side. One that a later attempt made good is a trial."""
    missing: int = 0
    """Repetitions that were planned and never attempted."""
    user_faults: int = 0
    """Of the trials with a yes or no: those in which the simulated user broke its rules."""
    user_faults_passed: int = 0
    refusal: bool = False
    """Whether the task is passed by refusing, so that an agent that does nothing passes it."""

    def __post_init__(self) -> None:
        numbers = (self.trials, self.passed, self.ungradeable, self.infrastructure, self.missing)
        faulted_failed = self.user_faults - self.user_faults_passed
        is_sound = (
            min(*numbers, self.user_faults, self.user_faults_passed, faulted_failed, self.failed) >= 0
            and self.user_faults_passed <= self.passed
            and faulted_failed <= self.failed
        )
        if not is_sound:
            raise ValueError(f"counts of {self.agent} at {self.domain} {self.task} contradict each other: {self!r}")

    @property
    def failed(self) -> int:
        """Trials that were judged and did not pass."""
        return self.trials - self.passed - self.ungradeable

    @property
    def planned(self) -> int:
        """Repetitions that were meant to be run."""
        return self.trials + self.infrastructure + self.missing


class Treatment(StrEnum):
    """What becomes of a repetition that went wrong in a way that is not plainly the agent's."""

    JUDGED = "judged"
    """Its verdict stands. Only a user fault has one."""
    EXCLUDED = "excluded"
    """It is not counted, and bounds do not ask what it would have been. Coverage still shows it."""
    FAILURES = "failures"
    """It counts as not passed."""
    RETRIED = "retried"
    """It is to be tried (or judged) again: not counted until that is done, and bounds leave it open."""


class Policy(Struct, frozen=True):
    """
    The treatment of each kind of trouble. Repetitions that are missing are always open.

    Raises:
        ValueError: a verdict is to stand where there is none.
    """

    infrastructure: Treatment = Treatment.RETRIED
    ungradeable: Treatment = Treatment.RETRIED
    user_faults: Treatment = Treatment.JUDGED

    def __post_init__(self) -> None:
        if Treatment.JUDGED in (self.infrastructure, self.ungradeable):
            raise ValueError("only a user fault leaves a verdict that can stand; exclude, fail or retry the others")

    @property
    def name(self) -> str:
        """What stands beside every number that was made under this policy."""
        return (
            f"infrastructure {self.infrastructure}, ungradeable {self.ungradeable}, user faults {self.user_faults}"
            f"{' (published convention)' if self == PUBLISHED else ''}"
        )


DEFAULT = Policy()
PUBLISHED = Policy(Treatment.FAILURES, Treatment.FAILURES, Treatment.JUDGED)
"""The published convention: passes over all rows, and a row with any error is one that did not pass."""


class Sample(Struct, frozen=True):
    """What a policy leaves of the counts of a task: the numbers that every estimate starts from."""

    domain: str
    task: str
    trials: int
    """n: trials that count."""
    passed: int
    """c: of these, passed."""
    open: int
    """Repetitions that belong to the plan and have no result; each could have passed or failed."""


class Coverage(Struct, frozen=True):
    """How much of the plan has been judged; the same under every policy."""

    judged: int
    """Trials with a yes or no."""
    planned: int
    tasks: int

    @property
    def share(self) -> float:
        """0 to 1; 1 for an empty plan."""
        return self.judged / self.planned if self.planned else 1.0


def settled(counts: Counts, policy: Policy = DEFAULT) -> Sample:
    """The sample that a policy leaves of a task's counts."""
    passed, failed, still_open = counts.passed, counts.failed, counts.missing
    if policy.user_faults is not Treatment.JUDGED:
        passed -= counts.user_faults_passed
        failed -= counts.user_faults - counts.user_faults_passed
    troubles = (
        (policy.infrastructure, counts.infrastructure),
        (policy.ungradeable, counts.ungradeable),
        (policy.user_faults, counts.user_faults),
    )
    failed += sum(number for treatment, number in troubles if treatment is Treatment.FAILURES)
    still_open += sum(number for treatment, number in troubles if treatment is Treatment.RETRIED)
    return Sample(counts.domain, counts.task, passed + failed, passed, still_open)


def coverage(counts: Iterable[Counts]) -> Coverage:
    """How much of the plan of some tasks has been judged."""
    found = list(counts)
    return Coverage(sum(c.trials - c.ungradeable for c in found), sum(c.planned for c in found), len(found))


def by_domain(counts: Iterable[Counts]) -> dict[str, list[Counts]]:
    """The counts of each domain, in the order of their names."""
    found: dict[str, list[Counts]] = {}
    for item in counts:
        found.setdefault(item.domain, []).append(item)
    return dict(sorted(found.items()))


def by_agent(counts: Iterable[Counts]) -> dict[str, list[Counts]]:
    """The counts of each agent, in the order of their names."""
    found: dict[str, list[Counts]] = {}
    for item in counts:
        found.setdefault(item.agent, []).append(item)
    return dict(sorted(found.items()))


def without_refusals(counts: Iterable[Counts]) -> list[Counts]:
    """The tasks that ask for a change, so that refusal tasks can be shown apart."""
    return [item for item in counts if not item.refusal]


def refusals_only(counts: Iterable[Counts]) -> list[Counts]:
    """The tasks that are passed by refusing."""
    return [item for item in counts if item.refusal]


def ensure_one_agent(counts: Sequence[Counts]) -> None:
    """
    Return if all counts are of one agent, and of a task each.

    Raises:
        ValueError: they are not; summing them up would mix agents or count a task twice.
    """
    agents = sorted({item.agent for item in counts})
    if len(agents) > 1:
        raise ValueError(f"counts of several agents ({', '.join(agents)}); give those of one, see by_agent")
    seen: set[tuple[str, str]] = set()
    for item in counts:
        if (item.domain, item.task) in seen:
            raise ValueError(f"{item.domain} {item.task} is counted twice; add its trials up in one Counts")
        seen.add((item.domain, item.task))
