"""Rows of the read models, and what is read from them."""

from msgspec import Struct


class TrialRow(Struct, frozen=True):
    """A closed trial."""

    trial: str
    """Hexadecimal, 32 characters."""
    campaign: str
    task: str
    repetition: int
    attempt: int
    agent: str
    end: str
    flags: str
    """Joined by blanks."""
    detail: str
    calls: int
    refused: int
    records: int
    effects: str
    """Digest."""
    domain_digest: str
    """Of the code that folded the effects."""


class EffectsRow(Struct, frozen=True):
    """An effect set under its digest, with the domain code that folded it."""

    digest: str
    domain_digest: str
    content: bytes


class VerdictRow(Struct, frozen=True):
    """What one judge bundle says of one trial."""

    trial: str
    bundle: str
    result: str
    outcome: str
    findings: int
    """How many."""
    place: int
    """In the order of judging; a later one is newer."""
    kinds: str = ""
    """Of findings, joined by blanks."""
    refusal: int = 0
    """1 if by this bundle the task is passed by refusing, or by doing nothing."""
    signature: str = ""
    """Of a failed trial."""
    grouping: str = ""
    """The group of the signature."""
    position: int = 0
    """Of the record that shows the signature."""
    reason: str = ""
    """One printable line."""
    kept: str = ""
    """The stream, in hexadecimal, in which the store keeps the judgement; empty of an imported one."""


class NoteRow(Struct, frozen=True):
    """What is counted of a closed trial, whatever its verdict."""

    trial: str
    wrote: int
    """1 if a call changed a row."""
    last_is_good: int
    """1 if the last call was answered and not declined."""
    declined: str
    """Classes of refusal that it met, joined by blanks, each with `+` if every such call was made good."""
    judge_calls: int = 0
    """Calls of a rubric judge about it."""


class UsageRow(Struct, frozen=True):
    """What attempts of one party at one model in, or about, one trial used; see `spent.Spent`."""

    trial: str
    party: str
    model: str
    served: str
    shape: str
    attempts: int
    uncached_input: int
    cache_read: int
    cache_write: int
    cache_write_long: int
    output: int
    reasoning: int
    least: int
    most: int


class Lot(Struct, frozen=True):
    """Trials of a task that are alike in all that is counted."""

    agent: str
    task: str
    end: str
    flags: str
    result: str
    bundle: str
    """The judge bundle of the newest verdict; empty without a verdict."""
    signature: str
    grouping: str
    kinds: str
    refusal: int
    wrote: int
    last_is_good: int
    declined: str
    trials: int
    """How many."""


class Case(Struct, frozen=True):
    """A failed trial."""

    trial: str
    task: str
    repetition: int
    attempt: int
    end: str
    signature: str
    grouping: str
    position: int
    reason: str
    kinds: str
    findings: int
    wrote: int
    last_is_good: int


class Score(Struct, frozen=True):
    """An agent's verdicts on one task."""

    agent: str
    task: str
    trials: int
    passed: int
    failed: int
    ungradeable: int
    bundles: tuple[str, ...] = ()
    """The judge bundles that gave the verdicts which count; of more than one they must not be summed up."""
    planned: int = 0
    """Repetitions of the campaign; 0 where that is not known."""


ViewRow = TrialRow | EffectsRow | VerdictRow | NoteRow | UsageRow
