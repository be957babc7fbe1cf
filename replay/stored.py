"""A stored trial, opened to be looked at: its timeline, its judgement, and how far it is from what was required."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import UUID

import msgspec
from msgspec import Struct

from judges.compare import Comparison, Required
from judges.expectation import Expectation
from judges.outcome import Outcome
from judges.public import RequiredState
from judges.record import Judgement
from judges.verdict import required_of
from replay.keyframes import Recorded
from replay.timeline import StoredStream, Timeline
from replay.trials import judgement_on, key_of
from sandbox.archive import Archive
from sandbox.domain import Domain
from sandbox.effects import Effects, effects_digest
from sandbox.lineage import Fork, forks, record_at, shifted
from sandbox.records import Forked, Record, TrialEnded, TrialKey, TrialOpened, decoded
from sandbox.refusals import UserFault
from sandbox.store_file import StreamFault
from sandbox.stream import Store
from sandbox.values import digest_of


class ForkStream(Struct, frozen=True):
    """A fork, read in one piece with its parent's records 1…`position`."""

    store: Store
    id: UUID
    parent: Recorded
    position: int

    def records(self, *, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        """The verified records from position `after` + 1 to `upto`, one by one."""
        if after < self.position:
            end = self.position if upto is None else min(upto, self.position)
            yield from self.parent.records(after=after, upto=end)
        shift = self.position - 1
        if upto is None or upto > self.position:
            first, last = max(after - shift, 1), None if upto is None else upto - shift
            for record in self.store.records(self.id, after=first, upto=last):
                yield shifted(record, shift)

    def last(self) -> Record | None:
        """The last record; the parent's where the fork has none of its own yet."""
        own = self.store.last(self.id)
        if own is None or own.position == 1:
            return next(iter(self.parent.records(after=self.position - 1, upto=self.position)), None)
        return shifted(own, self.position - 1)


def stream_of(store: Store, trial: UUID) -> Recorded:
    """
    The stream of a trial or a fork.

    Raises:
        StreamFault: a fork's parent is gone, or other than it was.
    """
    first = next(iter(store.records(trial, upto=1)), None)
    forked = None if first is None else decoded(first)
    if not isinstance(forked, Forked):
        return StoredStream(store, trial)
    parent = UUID(forked.parent)
    at = record_at(store, parent, forked.position)
    if at is None or at.digest.hex() != forked.digest:
        text = f"fork {trial} goes on after record {forked.position} of trial {parent}, which is gone or another one"
        raise StreamFault(f"{text} now; restore a copy of the parent", stream=trial, position=1)
    return ForkStream(store, trial, stream_of(store, parent), forked.position)


class StoredTrial(Struct, frozen=True, eq=False):
    """A trial of a store, as far as looking at it needs."""

    key: TrialKey
    domain: Domain
    timeline: Timeline
    opened: TrialOpened
    end: TrialEnded | None
    """None while it has not ended."""
    judgement: Judgement | None
    required: tuple[Required | RequiredState, ...] | None
    """The accepted outcomes, from the store alone; None if it keeps none of them."""
    fork: Fork | None
    """Where it comes from, if it is a fork."""
    briefing: str
    """What the agent was told before the first message, as far as it is still known."""

    @property
    def is_folded_alike(self) -> bool:
        """Whether today's handlers give the effects that were recorded at the end; true also without an end."""
        if self.end is None or self.opened.domain_digest == self.domain.digest:
            return True
        return effects_digest(self.timeline.effects(self.timeline.length)) == self.end.effects

    def distances(self, effects: Effects) -> list[Comparison] | None:
        """These effects against each accepted outcome; None if no outcomes are known."""
        return None if self.required is None else [one.compare(effects) for one in self.required]


def opened_trial(store: Store, domain: Domain, name: str, frames: Path | None = None) -> StoredTrial:
    """
    A trial or fork by name.

    Args:
        name: as `naming.key_named` takes it.
        frames: where keyframes of long trials are cached; in memory by default.

    Raises:
        UserFault: no trial, or several, go by that name.
        StreamFault: it was judged, and its last records, or all of them, or the judgement, are gone.
    """
    archive = Archive(store, domain)
    key = key_of(archive, name)
    stream = stream_of(store, key.id)
    snapshot = archive.snapshots[key.task]

    def cache() -> Store:
        return Store.in_memory() if frames is None else Store.open(frames, create=True)

    timeline = Timeline(domain, snapshot, stream, cache)
    first, last = timeline.record(1), stream.last()
    opened, end = decoded(first), None if last is None else decoded(last)
    if not isinstance(opened, TrialOpened):
        raise StreamFault(f"trial {key.id} does not begin as a trial does; restore a copy of the file")
    judgement = judgement_on(store, key)
    outcomes = kept_outcomes(store, judgement, archive.tasks[key.task].digest)
    required = None
    if outcomes is not None:
        expectation, built = outcomes
        required = tuple(required_of(domain, snapshot, key.task, expectation, one) for one in built)
    fork = next((fork for fork in forks(store) if fork.key == key), None)
    ended = end if isinstance(end, TrialEnded) else None
    return StoredTrial(key, domain, timeline, opened, ended, judgement, required, fork, _briefing(archive, key.task))


def _briefing(archive: Archive, task: str) -> str:
    """The domain's instructions, if they are still those of the campaign, and the task's policy."""
    instructions = archive.domain.instructions
    known = instructions if digest_of(instructions) == archive.seal.instructions_digest else ""
    return "\n\n".join(text for text in (known, archive.tasks[task].policy) if text)


def kept_outcomes(store: Store, judgement: Judgement | None, task: str) -> tuple[Expectation, Sequence[Outcome]] | None:
    """
    The expectation and the built outcomes that a trial was judged by, or else the newest ones of its task.

    Args:
        task: digest of the task.
    """
    names = [judgement.bundle] if judgement is not None else reversed(store.names("expectation"))
    for name in names:
        content, built = store.kept("expectation", name), store.kept("outcomes", name)
        if content is None or built is None:
            continue
        kept = msgspec.json.decode(content, type=_Kept)
        if kept.parts.task == task:
            return kept.expectation, msgspec.json.decode(built, type=tuple[Outcome, ...])
    return None


class _Parts(Struct, frozen=True):
    task: str


class _Kept(Struct, frozen=True):
    parts: _Parts
    expectation: Expectation


def frames_path(store: Path) -> Path:
    """Where keyframes of a store's long trials are: `CAMPAIGN.frames.db` beside `CAMPAIGN.db`."""
    return store.with_name(f"{store.stem}.frames.db")


def split_position(given: str) -> tuple[str, int | None]:
    """The name and the position in `TRIAL@n`; None where no position is given."""
    name, at, number = given.rpartition("@")
    if not at:
        return given, None
    if not number.isascii() or not number.isdigit():
        raise UserFault(f"{number!r} is no position; write TRIAL@n with a number, such as {name}@12")
    return name, int(number)
