"""Trials side by side: where two of them part, and all trials of a task as one tree of behaviours. No tool is run."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Literal

from msgspec import Struct

from judges.court import ensure_ended, judgements
from judges.lines import cut
from replay.calls import Line, Made, Step, calls_in, steps_in
from replay.trials import Recording
from sandbox.archive import Archive
from sandbox.fold import end_of
from sandbox.records import TrialOpened, decoded
from sandbox.refusals import UserFault
from sandbox.stream import Store

How = Literal["said", "asked", "answered", "rows", "end"]
"""
In what two trials differ first: who speaks or acts, what is asked, what the agent is told, what the rows become, how
the trial stopped.
"""


class Parting(Struct, frozen=True):
    """Where two trials part."""

    how: How
    calls: int
    """Calls that they have in common before."""
    one: Step | None
    """The first step that differs; None where a trial has no more."""
    other: Step | None


def parting(archive: Archive, one: Recording, other_archive: Archive, other: Recording) -> Parting | None:
    """
    The first step after which rows, or what the agent could see, differ; None if there is none.

    Free text and volatile values are masked, and ids of new rows numbered in order of creation.

    Raises:
        UserFault: the trials are not of one task.
    """
    _ensure_one_task(one, other)
    steps = steps_in(archive.domain, archive.snapshots[one.key.task], one.records)
    others = steps_in(other_archive.domain, other_archive.snapshots[other.key.task], other.records)
    calls = 0
    for a, b in zip_longest(steps, others):
        how = _difference(a, b)
        if how is not None:
            return Parting(how, calls, a, b)
        calls += isinstance(a, Made)
    ends = {end and end.end for end in (end_of(one.records), end_of(other.records))}
    return None if len(ends) == 1 else Parting("end", calls, None, None)


def _difference(one: Step | None, other: Step | None) -> How | None:
    if isinstance(one, Made) and isinstance(other, Made):
        if one.asked != other.asked:
            return "asked"
        if one.wrote != other.wrote:
            return "rows"
        return "answered" if one.answered != other.answered else None
    if isinstance(one, Line) and isinstance(other, Line):
        return "said" if one.role != other.role else None
    return "said" if isinstance(one, Line) or isinstance(other, Line) else "asked"


def _ensure_one_task(one: Recording, other: Recording) -> None:
    opened = [decoded(trial.records[0]) for trial in (one, other)]
    told = [(o.domain, o.key.task, o.task_digest, o.layers) for o in opened if isinstance(o, TrialOpened)]
    if told[0] != told[1]:
        names = [cut(f"{task} of {domain}") for domain, task, _, _ in told]
        if names[0] == names[1]:
            raise UserFault(f"the two trials of task {names[0]} began with other rows or words; compare trials of one")
        raise UserFault(f"the trials are of tasks {names[0]} and {names[1]}; compare trials of one task")


class Counts(Struct, frozen=True):
    """How trials ended up."""

    passed: int = 0
    failed: int = 0
    other: int = 0
    """Ungradeable, infrastructure, or not judged."""

    @property
    def is_mixed(self) -> bool:
        """Passing and failing ones."""
        return bool(self.passed and self.failed)


class Branch(Struct, frozen=True):
    """Trials that made the same calls so far."""

    first: int
    """Number of the first of the calls."""
    calls: tuple[Made, ...]
    """What they have in common after what the branch grows from; empty for the root."""
    counts: Counts
    ended: Counts
    """Of the trials that end here."""
    branches: tuple["Branch", ...]

    @property
    def parts(self) -> bool:
        """Whether passing and failing ones part here: some branch, or the end, has only one kind of a mixture."""
        ways = [self.ended, *(branch.counts for branch in self.branches)]
        return self.counts.is_mixed and any((way.passed or way.failed) and not way.is_mixed for way in ways)


def tree(archive: Archive, task: str) -> Branch:
    """
    The behaviours of all closed trials of a task, equal beginnings folded together; no forks.

    Raises:
        UserFault: the campaign has no such task, or no closed trial of it.
        StreamFault: a judged trial lost its last records.
    """
    ensure_ended(archive.store)
    if task not in archive.tasks:
        raise UserFault(f"no task {task!r} in this campaign; it has {', '.join(map(cut, archive.tasks))}")
    results = results_of(archive.store)
    ways = []
    for key, records in archive.closed():
        if key.task == task:
            end = end_of(records)
            result = "other" if end is None or end.end == "infrastructure" else results.get(key.id.hex, "other")
            ways.append((calls_in(archive.domain, archive.snapshots[task], records), result))
    if not ways:
        raise UserFault(f"no trial of task {cut(task)} has ended yet")
    return _grown(0, (), ways)


def results_of(store: Store) -> Mapping[str, str]:
    """The newest result by the trial's id."""
    return {judgement.trial: judgement.verdict.result for judgement in judgements(store)}


Way = tuple[list[Made], str]


def _grown(depth: int, calls: tuple[Made, ...], ways: Sequence[Way]) -> Branch:
    """A branch from the calls of its trials, of which `depth` are known to be equal."""
    first = depth - len(calls) + 1
    while (step := _common(depth, ways)) is not None and (calls or depth):
        calls, depth = (*calls, step), depth + 1
    ended = [result for made, result in ways if len(made) == depth]
    groups: dict[str, list[Way]] = {}
    for made, result in ways:
        if len(made) > depth:
            groups.setdefault(made[depth].asked, []).append((made, result))
    branches = [_grown(depth + 1, (group[0][0][depth],), group) for group in groups.values()]
    branches.sort(key=lambda branch: -(branch.counts.passed + branch.counts.failed + branch.counts.other))
    return Branch(first, calls, _counted(result for _, result in ways), _counted(ended), tuple(branches))


def _common(depth: int, ways: Sequence[Way]) -> Made | None:
    """The call that all of them make next."""
    if any(len(made) <= depth for made, _ in ways):
        return None
    return ways[0][0][depth] if len({made[depth].asked for made, _ in ways}) == 1 else None


def _counted(results: Iterable[str]) -> Counts:
    found = list(results)
    passed, failed = found.count("pass"), found.count("fail")
    return Counts(passed, failed, len(found) - passed - failed)
