"""What the failed trials of some agents have in common: signatures, groups, findings, clean ends, recovery."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from judges.findings import FindingKind
from judges.metrics.calls import MadeCall, calls_of, made_good
from judges.metrics.signatures import GROUPS, NAMES
from sandbox.records import Record

FINDINGS: tuple[FindingKind, ...] = ("wrong", "extra", "missing")


class Declined(Struct, frozen=True):
    """One class of refusal in one trial."""

    refusal: str
    is_made_good: bool
    """Whether every call that was declined so was made good later."""


class Facts(Struct, frozen=True):
    """What is counted of a trial whatever its verdict."""

    wrote: bool
    """Whether a call changed a row."""
    last_is_good: bool
    """Whether the last call was answered and not declined."""
    declined: tuple[Declined, ...] = ()


class Note(Struct, frozen=True, kw_only=True):
    """All that the figures below read of some trials that are alike in it."""

    agent: str
    result: str
    """pass, fail or ungradeable."""
    signature: str = ""
    """Of failed trials; empty where nobody knows it, as of trials whose records are elsewhere."""
    group: str = ""
    ended_normally: bool
    wrote: bool
    last_is_good: bool
    findings: frozenset[str] = frozenset()
    declined: tuple[Declined, ...] = ()
    trials: int = 1
    """How many."""

    @property
    def looks_clean(self) -> bool:
        """Ended normally, changed something, and the last answer of a tool was no refusal."""
        return self.ended_normally and self.wrote and self.last_is_good


def facts_of(records: Sequence[Record]) -> Facts:
    """What a closed trial's own records say."""
    calls = calls_of(records)
    return Facts(any(call.wrote for call in calls), bool(calls) and not calls[-1].refusal, _declined(calls))


def _declined(calls: Sequence[MadeCall]) -> tuple[Declined, ...]:
    found: dict[str, bool] = {}
    for place, call in enumerate(calls):
        if call.refusal:
            is_good = made_good(calls, place) is not None
            found[call.refusal] = found.get(call.refusal, True) and is_good
    return tuple(Declined(refusal, found[refusal]) for refusal in sorted(found))


class Failures(Struct, frozen=True, kw_only=True):
    """The failed trials of one agent; of the shares, all are of its failed trials."""

    agent: str
    trials: int
    """With a verdict, an ungradeable one too."""
    failed: int
    signatures: Mapping[str, int]
    """How many trials by name, in the order of the rules; they add up to `failed` where each one's is known."""
    groups: Mapping[str, int]
    """The same, rolled up."""
    findings: Mapping[str, int]
    """How many trials have a finding of each kind. One trial may have several."""
    ended_normally: int
    wrote: int
    """Of those that ended normally."""
    looks_clean: int
    """Of those that also wrote."""
    signed: int
    """Of the failed trials those whose signature is known; of imported results none is, nor what they wrote."""

    def share(self, number: int) -> Fraction | None:
        """Of the failed trials; None without any."""
        return Fraction(number, self.failed) if self.failed else None


def failures_of(agent: str, notes: Iterable[Note]) -> Failures:
    """The failures of one agent; notes of others are left out."""
    own = [note for note in notes if note.agent == agent]
    failed = [note for note in own if note.result == "fail"]
    normal = [note for note in failed if note.ended_normally]
    return Failures(
        agent=agent,
        trials=_trials(own),
        failed=_trials(failed),
        signatures={name: _trials(note for note in failed if note.signature == name) for name in NAMES},
        groups={group: _trials(note for note in failed if note.group == group) for group in GROUPS},
        findings={kind: _trials(note for note in failed if kind in note.findings) for kind in FINDINGS},
        ended_normally=_trials(normal),
        wrote=_trials(note for note in normal if note.wrote),
        looks_clean=_trials(note for note in normal if note.looks_clean),
        signed=_trials(note for note in failed if note.signature),
    )


def _trials(notes: Iterable[Note]) -> int:
    return sum(note.trials for note in notes)


def by_agent(notes: Iterable[Note]) -> list[Failures]:
    """One for each agent, in the order of their names."""
    found: dict[str, list[Note]] = {}
    for note in notes:
        found.setdefault(note.agent, []).append(note)
    return [failures_of(agent, found[agent]) for agent in sorted(found)]


def mean_share(found: Iterable[Failures], number: Callable[[Failures], int]) -> Fraction | None:
    """
    The unweighted mean of the agents' shares: an agent with few failures weighs as much as one with many.

    Args:
        number: whose share is meant, such as `lambda one: one.groups["Tool usage"]`.

    Returns:
        None if no agent failed; one that never failed has no shares and is left out.
    """
    return mean_of([share for one in found if (share := one.share(number(one))) is not None])


def mean_of(shares: Sequence[Fraction]) -> Fraction | None:
    """The unweighted mean; None of nothing."""
    return sum(shares, Fraction(0)) / len(shares) if shares else None


class Recovery(Struct, frozen=True):
    """What became of the trials that met one class of refusal."""

    refusal: str
    met: int
    """Trials in which a call was declined so, passed ones among them."""
    made_good: int
    """Of these: every such call was made good by a later one."""
    passed: int
    """Of these: the trial passed, made good or not."""


def recoveries(notes: Iterable[Note]) -> list[Recovery]:
    """One for each class that was met, by name; a trial that met two is in both."""
    met: dict[str, list[tuple[bool, Note]]] = {}
    for note in notes:
        for one in note.declined:
            met.setdefault(one.refusal, []).append((one.is_made_good, note))
    return [
        Recovery(
            refusal,
            _trials(note for _, note in found),
            _trials(note for is_good, note in found if is_good),
            _trials(note for _, note in found if note.result == "pass"),
        )
        for refusal, found in sorted(met.items())
    ]
