"""Repair: the smallest change of a failed trial's calls that makes it pass."""

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import combinations
from typing import Literal

from msgspec import Struct

from judges.verdict import Evidence
from replay.calls import Made
from replay.trials import Recording
from replay.workshop import Golden, Planned, Workshop

MOST_EXHAUSTIVE = 12
"""Differing calls up to which every combination is tried, the small ones first."""


class Change(Struct, frozen=True):
    """One call that is left out, made instead of another, or made in addition."""

    kind: Literal["instead", "leave out", "also"]
    place: int
    """Of the trial's own writing call that is replaced or left out, or before which the golden one comes."""
    after: int
    """Number of the call that it is about, or after which it is made; 0: before the first."""
    own: Made | None = None
    golden: Made | None = None


class Repair(Struct, frozen=True):
    """What would have made a trial pass."""

    passed: bool
    """It passes as it is; there is nothing to repair."""
    outcome: str = ""
    changes: tuple[Change, ...] = ()
    """Empty, if it did not pass, when no change of calls makes it pass."""
    is_minimal: bool = False
    """No smaller combination of these candidates passes; else none of the changes can be left out alone."""
    tried: int = 0
    """Combinations that were re-executed and judged."""


def repaired(workshop: Workshop, trial: Recording) -> Repair:
    """
    The smallest change of calls that makes a trial pass, by re-executing what is left on a fresh world.

    Candidates are the differences between the trial's writing calls and those of an accepted outcome, aligned by what
    they did. Up to 12 of them every combination is tried, the small ones first; above that delta debugging finds one
    of which no single change can be left out. Rubrics are left out, since nothing here can answer them.
    """
    evidence = workshop.evidence(trial)
    if workshop.is_right(evidence):
        return Repair(True)
    calls = workshop.calls(trial.records)
    own = [call for call in calls if workshop.writes(call)]
    last = calls[-1].number if calls else 0
    best: Repair | None = None
    tried = 0
    for golden in workshop.goldens or [Golden("refusal", ())]:
        wanted = [call for call in golden.calls if workshop.writes(call)]
        search = _Search(workshop, evidence, own, candidates(own, wanted, last))
        changes = search.smallest(len(best.changes) - 1 if best else len(search.candidates))
        tried += search.tried
        if changes is not None:
            best = Repair(False, golden.outcome, changes, len(search.candidates) <= MOST_EXHAUSTIVE)
    if best is None:
        return Repair(False, tried=tried)
    return Repair(False, best.outcome, best.changes, best.is_minimal, tried)


def candidates(own: Sequence[Made], golden: Sequence[Made], last: int) -> list[Change]:
    """
    The differences between two sequences of writing calls, as changes that can be made one without the other.

    Args:
        last: number of the trial's last call.
    """
    numbers = [call.number - 1 for call in own] + [last]
    matcher = SequenceMatcher(None, [call.likeness for call in own], [call.likeness for call in golden], autojunk=False)
    found: list[Change] = []
    for tag, first, after, start, stop in matcher.get_opcodes():
        if tag != "equal":
            found += _in_block(own, range(first, after), golden[start:stop], numbers)
    return found


def _in_block(own: Sequence[Made], places: range, golden: Sequence[Made], numbers: Sequence[int]) -> Iterator[Change]:
    """Calls of one tool replace each other; what is left is left out, or made in addition."""
    left = list(golden)
    at = places.start
    for place in places:
        instead = next((call for call in left if call.tool == own[place].tool), None)
        if instead is not None:
            for call in left[: left.index(instead)]:
                yield Change("also", place, numbers[place], golden=call)
            left = left[left.index(instead) + 1 :]
            yield Change("instead", place, own[place].number, own[place], instead)
        else:
            yield Change("leave out", place, own[place].number, own[place])
        at = place + 1
    for call in left:
        yield Change("also", at, numbers[at], golden=call)


class _Search:
    """Combinations of candidates, each re-executed once."""

    def __init__(self, workshop: Workshop, evidence: Evidence, own: Sequence[Made], changes: Sequence[Change]) -> None:
        self.workshop = workshop
        self.evidence = evidence
        self.own = own
        self.candidates = list(changes)
        self.tried = 0

    def smallest(self, most: int) -> tuple[Change, ...] | None:
        """The smallest combination of at most so many that passes."""
        if len(self.candidates) <= MOST_EXHAUSTIVE:
            return next(
                (
                    chosen
                    for size in range(1, min(most, len(self.candidates)) + 1)
                    for chosen in combinations(self.candidates, size)
                    if self.passes(chosen)
                ),
                None,
            )
        if not self.passes(self.candidates):
            return None
        chosen = tuple(minimised(self.candidates, self.passes))
        return chosen if len(chosen) <= most else None

    def passes(self, chosen: Sequence[Change]) -> bool:
        """Whether the trial passes with these changes."""
        self.tried += 1
        return self.workshop.is_right(self.workshop.redone(planned(self.own, chosen), self.evidence))


def planned(own: Sequence[Made], chosen: Sequence[Change]) -> Iterator[Planned]:
    """The trial's writing calls with some changes; each of its own is made at the virtual time that it had."""
    instead = {change.place: change for change in chosen if change.kind != "also"}
    for place in range(len(own) + 1):
        for change in chosen:
            if change.kind == "also" and change.place == place and change.golden is not None:
                yield Planned(change.golden, is_golden=True)
        if place == len(own):
            return
        change_here = instead.get(place)
        if change_here is None:
            yield Planned(own[place], is_golden=False, clock=own[place].number - 1)
        elif change_here.golden is not None:
            yield Planned(change_here.golden, is_golden=True, clock=own[place].number - 1)


def minimised(items: Sequence[Change], passes: Callable[[Sequence[Change]], bool]) -> list[Change]:
    """
    A part of the items that passes and of which no single one can be left out.

    Delta debugging, algorithm ddmin: Zeller and Hildebrandt, IEEE TSE 28(2), 2002.

    Args:
        items: together they pass.
    """
    kept, parts = list(items), 2
    while len(kept) >= 2:
        size = -(-len(kept) // parts)
        starts = range(0, len(kept), size)
        chunks = [kept[start : start + size] for start in starts]
        rests = [kept[:start] + kept[start + size :] for start in starts]
        smaller = next((chunk for chunk in chunks if len(chunk) < len(kept) and passes(chunk)), None)
        if smaller is not None:
            kept, parts = smaller, 2
            continue
        smaller = next((rest for rest in rests if rest and passes(rest)), None)
        if smaller is not None:
            kept, parts = smaller, max(parts - 1, 2)
        elif parts >= len(kept):
            break
        else:
            parts = min(parts * 2, len(kept))
    return kept
