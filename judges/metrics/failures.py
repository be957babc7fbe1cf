"""What the failed trials of some agents have in common: signatures, groups, findings, clean ends, recovery."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from judges.findings import FindingKind
from judges.metrics.calls import MadeCall, calls_of, made_good
from judges.metrics.signatures import GROUPS, NAMES, NORMAL_ENDS, Signature, signature_of
from judges.verdict import Verdict
from sandbox.fold import end_of
from sandbox.records import Record, TrialKey

FINDINGS: tuple[FindingKind, ...] = ("wrong", "extra", "missing")


class Declined(Struct, frozen=True):
    """One class of refusal in one trial."""

    refusal: str
    is_made_good: bool
    """Whether every call that was declined so was made good later."""


class Note(Struct, frozen=True, kw_only=True):
    """All that the figures below read of a trial."""

    agent: str
    trial: TrialKey
    result: str
    """pass, fail or ungradeable."""
    signature: Signature | None
    """Of a failed trial."""
    ended_normally: bool
    wrote: bool
    """Whether a call changed a row."""
    last_is_good: bool
    """Whether the last call was answered and not declined."""
    findings: frozenset[FindingKind] = frozenset()
    declined: tuple[Declined, ...] = ()

    @property
    def looks_clean(self) -> bool:
        """Ended normally, changed something, and the last answer of a tool was no refusal."""
        return self.ended_normally and self.wrote and self.last_is_good


def noted(agent: str, trial: TrialKey, records: Sequence[Record], verdict: Verdict | None, known: str = "") -> Note:
    """
    A closed trial as a note.

    Args:
        verdict: None if nobody has judged it, which is ungradeable.
        known: as for `signature_of`.
    """
    calls = calls_of(records)
    result = "ungradeable" if verdict is None else verdict.result
    end = end_of(records)
    return Note(
        agent=agent,
        trial=trial,
        result=result,
        signature=signature_of(records, verdict, known) if verdict is not None and result == "fail" else None,
        ended_normally=end is not None and end.end in NORMAL_ENDS,
        wrote=any(call.wrote for call in calls),
        last_is_good=bool(calls) and not calls[-1].refusal,
        findings=frozenset(finding.kind for finding in (verdict.findings if verdict else ())),
        declined=_declined(calls),
    )


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
    """How many trials by name, in the order of the rules; they add up to `failed`."""
    groups: Mapping[str, int]
    """The same, rolled up."""
    findings: Mapping[str, int]
    """How many trials have a finding of each kind. One trial may have several."""
    ended_normally: int
    wrote: int
    """Of those that ended normally."""
    looks_clean: int
    """Of those that also wrote."""

    def share(self, number: int) -> Fraction | None:
        """Of the failed trials; None without any."""
        return Fraction(number, self.failed) if self.failed else None


def failures_of(agent: str, notes: Iterable[Note]) -> Failures:
    """The failures of one agent; notes of others are left out."""
    own = [note for note in notes if note.agent == agent]
    failed = [note for note in own if note.result == "fail"]
    signatures = [note.signature for note in failed if note.signature is not None]
    normal = [note for note in failed if note.ended_normally]
    return Failures(
        agent=agent,
        trials=len(own),
        failed=len(failed),
        signatures={name: sum(one.name == name for one in signatures) for name in NAMES},
        groups={group: sum(one.group == group for one in signatures) for group in GROUPS},
        findings={kind: sum(kind in note.findings for note in failed) for kind in FINDINGS},
        ended_normally=len(normal),
        wrote=sum(note.wrote for note in normal),
        looks_clean=sum(note.looks_clean for note in normal),
    )


def by_agent(notes: Sequence[Note]) -> list[Failures]:
    """One for each agent, in the order of their names."""
    return [failures_of(agent, notes) for agent in sorted({note.agent for note in notes})]


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
    met: dict[str, list[tuple[bool, bool]]] = {}
    for note in notes:
        for one in note.declined:
            met.setdefault(one.refusal, []).append((one.is_made_good, note.result == "pass"))
    return [
        Recovery(refusal, len(trials), sum(good for good, _ in trials), sum(passed for _, passed in trials))
        for refusal, trials in sorted(met.items())
    ]
