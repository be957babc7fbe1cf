"""The point of no return: the last position from which the rest of a golden way still leads to a pass."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from judges.verdict import Evidence
from replay.calls import Made, Pair, names_now, paired
from replay.trials import Recording
from replay.workshop import Planned, Workshop
from sandbox.fold import fold
from sandbox.lineage import complete_positions
from sandbox.records import Record
from sandbox.snapshot import Overlay
from sandbox.values import plain


class NoReturn(Struct, frozen=True):
    """From where a trial could still have been brought to a pass."""

    position: int
    """The last such position, at which the trial can be forked; 0 if there is none."""
    outcome: str = ""
    """The accepted outcome that the rest leads to."""
    rest: tuple[Made, ...] = ()
    """The golden calls that are still to be made there, with the golden ids."""
    fatal: Made | None = None
    """The call after which nothing helps; None if the last position is the trial's end."""
    passed: bool = False
    """Whether the trial passes as it is."""


def point_of_no_return(workshop: Workshop, trial: Recording) -> NoReturn:
    """
    The last position of a trial from which golden calls still lead to a pass.

    Tried are the states after each call that wrote rows. The rest of an outcome's calls there are the writing ones
    without a counterpart in the trial so far: a call counts as done if one did the same to the same rows, free text
    and volatile values aside, whatever tool did it. Where that rest fails, those are made again as
    well whose values have been overwritten since. Rubrics are left out.
    """
    evidence = workshop.evidence(trial)
    calls = workshop.calls(trial.records)
    possible = complete_positions(trial.records)
    wrote = [call for call in calls if call.written]
    if not possible:
        return NoReturn(0, passed=workshop.is_right(evidence))
    ends = [(call.position - 1, call) for call in wrote] + [(possible[-1], None)]
    for position, fatal in reversed(ends):
        at = max((place for place in possible if place <= position), default=0)
        found = _way(workshop, evidence, trial.records[:at], [call for call in calls if call.end <= at])
        if at and found is not None:
            outcome, rest = found
            passed = fatal is None and workshop.is_right(evidence)
            return NoReturn(at, outcome, rest, fatal, passed)
    return NoReturn(0, fatal=wrote[0] if wrote else None, passed=workshop.is_right(evidence))


def _way(
    workshop: Workshop, evidence: Evidence, prefix: Sequence[Record], done: Sequence[Made]
) -> tuple[str, tuple[Made, ...]] | None:
    """The outcome that can still be reached after some records, and the calls that reach it."""
    if workshop.refusal and workshop.is_right(workshop.redone([], evidence, prefix)):
        return "refusal", ()
    rows = fold(workshop.domain, workshop.snapshot, prefix)
    for golden in workshop.goldens:
        pairs = paired(golden.calls, done)
        names = names_now(pairs)
        for rest in _rests(workshop, rows, pairs):
            redone = workshop.redone([Planned(call, is_golden=True) for call in rest], evidence, prefix, names)
            if workshop.is_right(redone):
                return golden.outcome, tuple(rest)
    return None


def _rests(workshop: Workshop, rows: Overlay, pairs: Sequence[Pair]) -> Iterator[list[Made]]:
    writing = [pair for pair in pairs if workshop.writes(pair.golden)]
    left = [pair.golden for pair in writing if pair.done is None]
    yield left
    again = [pair.golden for pair in writing if pair.done is None or not _stands(rows, pair.done)]
    if again != left:
        yield again


def _stands(rows: Overlay, call: Made) -> bool:
    """Whether what a call wrote is still there."""
    for (table, key), row in call.written.items():
        found = rows.get(table, key)
        now = None if found is None else plain(found)
        if row.after is None or now is None:
            if now != row.after:
                return False
            continue
        before = row.before or {}
        if any(now.get(name) != value for name, value in row.after.items() if before.get(name) != value):
            return False
    return True
