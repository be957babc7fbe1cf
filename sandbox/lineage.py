"""
Forks: trials that go on from a position of another one. Nothing of the parent is copied; reading splices.

A fork's own stream begins with `Forked(parent, n, …)` and is dense from 1 like every other. Read as a trial, it is the
parent's records 1…n and then its own without the first: what is stored at p stands at n + p - 1. Payloads name
positions as the trial has them. A fork of a fork works the same way.
"""

from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

import msgspec
from anyio import to_thread
from msgspec import Struct

from sandbox.records import (
    Chain,
    Draft,
    Edited,
    Forked,
    Record,
    Said,
    Told,
    ToolCalled,
    ToolRefused,
    ToolReturned,
    TrialKey,
    decoded,
)
from sandbox.refusals import UserFault
from sandbox.store_file import StreamFault
from sandbox.stream import Store
from sandbox.trial import Journal

KIND = "fork"
"""The kind of content under which a store lists its forks, by id."""

Read = Callable[[UUID], Sequence[Record]]
"""The verified records of one stream, as they are stored."""
Seen = Said | Told | ToolCalled | ToolReturned | ToolRefused

_COMPLETE = (Said, Told, ToolReturned, ToolRefused, Edited)
"""Records after which nothing is unfinished."""


class Fork(Struct, frozen=True):
    """Where a fork comes from and who goes on; kept beside its stream, and never among a campaign's sealed keys."""

    key: TrialKey
    parent: str
    """Id of the trial that it forks."""
    position: int
    """The last one that is the parent's. Usage up to it is the parent's, and counted there."""
    agent: str
    settings: str = ""
    domain: str = ""
    """Digest of the domain code that it went on with."""


def spliced(read: Read, stream: UUID) -> list[Record]:
    """
    All records of a trial, with its parent's where it is a fork; empty if there is no such stream.

    Raises:
        StreamFault: the parent is gone, shorter, or other than it was when it was forked.
    """
    pieces: list[list[Record]] = []
    upto: int | None = None
    digest, child, seen = "", stream, {stream}
    while True:
        own = list(read(stream))
        forked = decoded(own[0]) if own else None
        start = forked.position if isinstance(forked, Forked) else 0
        piece = [shifted(record, start - 1) for record in own[1:]] if isinstance(forked, Forked) else own
        piece = piece if upto is None else piece[: max(upto - start, 0)]
        if upto is not None and upto > start and not (len(piece) == upto - start and piece[-1].digest.hex() == digest):
            raise _other_parent(child, stream, upto)
        pieces.append(piece)
        if not isinstance(forked, Forked):
            return [record for piece in reversed(pieces) for record in piece]
        if upto is None or forked.position < upto:
            upto, digest, child = forked.position, forked.digest, stream
        stream = UUID(forked.parent)
        if stream in seen:
            raise StreamFault(f"fork {child} is its own ancestor; restore a copy", stream=child, position=1)
        seen.add(stream)


def record_at(store: Store, stream: UUID, position: int) -> Record | None:
    """One record of a trial, whatever its length; None if the trial ends before or is not there."""
    while True:
        first = store.read(stream, upto=1)
        forked = decoded(first[0]) if first else None
        if not isinstance(forked, Forked) or position > forked.position:
            break
        stream = UUID(forked.parent)
    shift = forked.position - 1 if isinstance(forked, Forked) else 0
    found = store.read(stream, after=position - shift - 1, upto=position - shift)
    return shifted(found[0], shift) if found else None


def forks(store: Store) -> Iterator[Fork]:
    """All forks that a store lists, in the order in which they were made."""
    for name in store.names(KIND):
        kept = store.kept(KIND, name)
        if kept is not None:
            yield msgspec.json.decode(kept, type=Fork)


def children(store: Store, trial: UUID) -> list[Fork]:
    """The forks of one trial. While there are any, its stream is needed to read them."""
    return [fork for fork in forks(store) if UUID(fork.parent) == trial]


def ensure_complete(record: Record, position: int) -> None:
    """Return if nothing is unfinished after this record of a trial; ValueError with the reason if not."""
    payload = decoded(record)
    if record.topic == "trial.ended.1":
        raise ValueError(f"the trial has ended at {position}")
    if not isinstance(payload, _COMPLETE):
        raise ValueError(f"record {position} ({record.topic}) is inside a call or before the user's first words")


def complete_positions(records: Sequence[Record]) -> list[int]:
    """The positions after which a trial can be forked."""
    return [record.position for record in records if isinstance(decoded(record), _COMPLETE)]


def seen_in(records: Sequence[Record]) -> tuple[Seen, ...]:
    """What the agent said, asked and saw, in order, edited answers in place of the recorded ones."""
    seen: dict[int, Seen] = {}
    for record in records:
        payload = decoded(record)
        if isinstance(payload, Seen):
            seen[record.position] = payload
        elif isinstance(payload, Edited):
            seen[payload.position] = ToolReturned(payload.result)
    return tuple(seen.values())


class ForkJournal:
    """A fork's stream for its `Trial`, which reads and writes as if the parent's records were its own."""

    def __init__(self, journal: Journal, read: Read) -> None:
        self._journal = journal
        self._read = read
        self._chain: Chain | None = None

    async def append(self, stream: UUID, records: Sequence[Record]) -> None:
        """Keep records at their places in the fork's own stream."""
        if self._chain is None:
            await self.read(stream)
            assert self._chain is not None
        drafts = [Draft(record.topic, record.time, record.payload, record.cause != 0) for record in records]
        own = self._chain.sealed(drafts, records[0].telemetry if records else b"")
        await self._journal.append(stream, own)
        self._chain.advance(own)

    async def read(self, stream: UUID) -> list[Record]:
        """The parent's records and its own."""
        own = await self._journal.read(stream)
        if not own:
            raise UserFault(f"trial {stream} has no records; fork it first")
        self._chain = Chain(stream)
        self._chain.advance(own)
        return await to_thread.run_sync(spliced, self._read, stream)


def shifted(record: Record, by: int) -> Record:
    """A record of a fork at the place that it has in the trial."""
    r = record
    cause = r.cause + by if r.cause else 0
    return Record(r.position + by, r.topic, r.time, cause, r.payload, r.telemetry, r.digest)


def _other_parent(child: UUID, parent: UUID, position: int) -> StreamFault:
    text = f"fork {child} goes on after record {position} of trial {parent}, which is gone or another one now"
    return StreamFault(f"{text}; restore a copy of the parent", stream=child, position=1)
