"""Results of other tools as data: what each trial came to, and what it cost, as far as their files say."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Literal, get_args

from msgspec import Struct

from judges.metrics.signatures import NORMAL_ENDS
from sandbox.foreign import ImportFault
from sandbox.prices import Cost
from sandbox.records import End, Replied
from sandbox.spent import LOST, Spent, spent_by
from sandbox.usage import Usage

Result = Literal["pass", "fail", "ungradeable"]
Party = Literal["agent", "user", "judge"]
Numbering = Literal["given", "appearance"]
"""Where repetition numbers are from: the file, or the order in which a task's trials stand in it."""

ENDS: tuple[End, ...] = get_args(End)
MOST_REPETITIONS = 10_000
"""Of a task."""
MOST_TRIALS = 1_000_000
"""Of a file."""
LONGEST_NAME = 1000
"""Characters of the name of a task, an agent or a domain."""
LONGEST_DETAIL = 500
"""Characters of a trial's detail that are kept."""
MOST_USD = 1_000_000_000
PLACES = 18
"""Decimals of a cost that are kept."""


class Paid(Struct, frozen=True):
    """What a file says that a party of a trial cost."""

    party: Party
    usd: str
    """A decimal."""


class ForeignTrial(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt at one repetition of a task, by what a file says of it."""

    task: str
    repetition: int = 0
    """From 0."""
    attempt: int = 1
    """From 1; the first that is not infrastructure counts."""
    end: End
    result: Result
    flags: tuple[str, ...] = ()
    detail: str = ""
    """Why there is no verdict, or what broke; of a failure what the file says in a few words."""
    reward: float | None = None
    """From 0 to 1, as the file gives it."""
    calls: int | None = None
    """Of tools, by the agent; None, here and below: not known."""
    refused: int | None = None
    """Calls among them that were answered by an error."""
    wrote: bool | None = None
    ended_normally: bool | None = None
    last_is_good: bool | None = None
    """Whether the last call was answered, and not by an error."""
    spent: tuple[Spent, ...] = ()
    """Model calls by party and by what is known of them; a party that the file says nothing about is not there."""
    paid: tuple[Paid, ...] = ()
    """By party; one whose cost the file does not say is not there."""
    place: str = ""
    """Where in its file it stands."""

    @property
    def is_infrastructure(self) -> bool:
        """Whether it broke on the side of whoever ran it, and counts for nothing."""
        return self.end == "infrastructure"


class Source(Struct, frozen=True):
    """A file that results are from."""

    name: str
    """Without its folder."""
    sha256: str
    """Of its bytes, hexadecimal."""
    trials: int
    """How many of it are in this campaign."""


class ForeignResults(Struct, frozen=True, kw_only=True):
    """All that is known of one agent's trials in one domain."""

    format: str
    sources: tuple[Source, ...]
    numbering: Numbering
    refusals: tuple[str, ...] = ()
    """Tasks of which the file says that they are passed by refusing, or by changing nothing."""
    trials: tuple[ForeignTrial, ...] = ()
    """Task by task in the order of the seal, by repetition and attempt."""


class Read(Struct, frozen=True):
    """A trial as it was read, before it has a place among the others."""

    where: str
    """File and line, or whatever leads to it."""
    number: int | None
    """Its repetition, if the file gives one."""
    trial: ForeignTrial


class Reading(Struct, frozen=True, kw_only=True):
    """What one file says of one agent in one domain."""

    format: str
    file: str
    sha256: str
    agent: str
    domain: str
    settings: str
    """JSON: what tells the agent from others of its name."""
    trials: tuple[Read, ...]
    planned: int = 0
    """Repetitions, if the file says how many there were to be."""
    tasks: tuple[str, ...] = ()
    """Tasks that the file lists, with or without trials."""
    refusals: tuple[str, ...] = ()


def ends_normally(end: End) -> bool | None:
    """Whether agent or user ended the work; None where the trial broke."""
    return None if end == "infrastructure" else end in NORMAL_ENDS


def spent_on(party: Party, model: str, usages: Iterable[Usage]) -> tuple[Spent, ...]:
    """
    Answered calls of a party, in groups that are alike.

    Args:
        model: that was asked; empty if nobody says which.
    """
    return tuple(spent_by(Replied(party, 0, model, "", "", "", "", usage) for usage in usages))


def untold(party: Party, model: str) -> tuple[Spent, ...]:
    """Calls of which there is nothing but that there must have been some: they count as one without a price."""
    return (Spent(party, model, "", LOST, 1),)


def costs_given(trials: Iterable[ForeignTrial]) -> dict[str, Cost]:
    """Sums by party of what the files say that trials cost; calls of which they do not say it are unpriced."""
    found: dict[str, Cost] = {}
    for trial in trials:
        paid = {one.party: Cost(Decimal(one.usd)) for one in trial.paid}
        told = {one.party: Cost() for one in trial.spent} | paid
        for party, cost in told.items():
            calls = sum(one.attempts for one in trial.spent if one.party == party and party not in paid)
            found[party] = found.get(party, Cost()) + cost + Cost(unpriced=calls)
    return dict(sorted(found.items()))


def money(usd: float | None, where: str) -> str | None:
    """An amount as a decimal; ImportFault if it is negative, no number, or beyond belief."""
    if usd is None:
        return None
    if not 0 <= usd <= MOST_USD:
        raise ImportFault(f"{where} is {usd!r}; a cost is a number of US dollars from 0 to {MOST_USD:,}")
    exact = Decimal(repr(float(usd)))
    return f"{round(exact, PLACES).normalize():f}"


def rated(reward: float | None, where: str) -> float | None:
    """A reward; ImportFault if it is no number from 0 to 1."""
    if reward is not None and not 0 <= reward <= 1 + 1e-6:
        raise ImportFault(f"{where} is {reward!r}; a reward is a number from 0 to 1")
    return reward


def named(text: str, what: str, where: str) -> str:
    """A name that can stand in records; ImportFault if it cannot."""
    if not text.strip() or len(text) > LONGEST_NAME or not text.isprintable():
        raise ImportFault(
            f"{where}: {what} {text[:40]!r} cannot be a name; it has 1 to {LONGEST_NAME} printable characters"
        )
    return text


def told(*parts: str) -> str:
    """A detail of bounded length, in characters that can be stored and shown."""
    text = "; ".join(part for part in parts if part)[: LONGEST_DETAIL + 1]
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= LONGEST_DETAIL else text[: LONGEST_DETAIL - 1] + "…"
