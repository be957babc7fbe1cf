"""Whether records continue a stream: positions without a gap, digests chained one over the other."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Self
from uuid import UUID

from sandbox.records import Record, chained, genesis
from sandbox.store_file import StreamConflict, StreamFault

_MOST_TAILS = 10_000


class Tail(NamedTuple):
    """The end of a stream."""

    position: int
    digest: bytes

    @classmethod
    def after(cls, stream: UUID, last: Record | None) -> Self:
        """The end of a stream with this last record, None for one that has not begun."""
        return cls(last.position, last.digest) if last else cls(0, genesis(stream))


class Stream(NamedTuple):
    """A stream by its place, for the texts of faults."""

    store: str
    id: UUID

    def fault(self, position: int, why: str, kind: type[StreamFault] = StreamFault) -> StreamFault:
        """What is wrong with one record."""
        text = f"{self.store}: record {position} of stream {self.id} {why}"
        return kind(text, stream=self.id, position=position)

    def taken(self, record: Record) -> StreamFault:
        """Somebody else wrote another record at this one's position."""
        why = "is already another one: somebody else writes this stream; stop one of the two, then start a new attempt"
        return self.fault(record.position, why, StreamConflict)

    def ensure_next(self, record: Record, position: int) -> None:
        """Return if a record that was read has the position that comes next."""
        if record.position != position:
            raise self.fault(position, f"is missing: the next one stored is {record.position}; restore a copy")

    def verified(self, tail: Tail, records: Sequence[Record]) -> Iterator[Record]:
        """Records that were read, as far as each follows the one before."""
        position, last = tail
        for record in records:
            position += 1
            self.ensure_next(record, position)
            if record.digest != _digest(last, record):
                raise self.fault(position, "breaks the digest chain; restore a copy")
            last = record.digest
            yield record

    def ensure_continues(self, tail: Tail, records: Sequence[Record]) -> None:
        """Return if records may be appended."""
        position, last = tail
        for record in records:
            if record.position != position + 1:
                why = f"cannot be appended: the stream ends at {position}; rebuild the trial from it and go on there"
                raise self.fault(record.position, why)
            if record.digest != _digest(last, record):
                why = "cannot be appended: its digest is not chained over the record before; seal it on the last one"
                raise self.fault(record.position, why)
            position, last = record.position, record.digest


class Ends:
    """The ends of the streams that are appended to, and what may follow them. A few hundred are live at once."""

    def __init__(
        self, store: str, last: Callable[[UUID], Record | None], read: Callable[[UUID, int, int], Sequence[Record]]
    ) -> None:
        self.store = store
        self._last = last
        self._read = read
        self._tails: dict[UUID, Tail] = {}

    def tail(self, stream: UUID) -> Tail:
        """Where the stream ends, as far as this process knows."""
        if stream not in self._tails:
            self._remember(stream, Tail.after(stream, self._last(stream)))
        return self._tails[stream]

    def advance(self, stream: UUID, last: Record) -> None:
        """The stream is stored up to this record."""
        self._remember(stream, Tail.after(stream, last))

    def forget(self, stream: UUID) -> None:
        """Look into the store the next time."""
        self._tails.pop(stream, None)

    def _remember(self, stream: UUID, tail: Tail) -> None:
        self._tails.pop(stream, None)
        if len(self._tails) >= _MOST_TAILS:
            del self._tails[next(iter(self._tails))]
        self._tails[stream] = tail

    def continuing(self, stream: UUID, records: Sequence[Record], pending: Sequence[Record]) -> Sequence[Record]:
        """
        Those of the records that are not stored yet.

        Args:
            pending: what goes before them in the same commit.

        Raises:
            StreamFault: they do not continue the stream, also when the store is asked anew where it ends.
        """
        known = stream in self._tails and not pending
        try:
            return self._new(stream, records, pending)
        except StreamFault:
            if not known:
                raise
        self.forget(stream)
        return self._new(stream, records, pending)

    def _new(self, stream: UUID, records: Sequence[Record], pending: Sequence[Record]) -> Sequence[Record]:
        if not records:
            return records
        tail = Tail.after(stream, pending[-1]) if pending else self.tail(stream)
        place = Stream(self.store, stream)
        repeated = [record for record in records if record.position <= tail.position]
        if repeated:
            stored = {r.position: r for r in self._read(stream, repeated[0].position - 1, repeated[-1].position)}
            stored.update((r.position, r) for r in pending)
            for record in repeated:
                if stored.get(record.position) != record:
                    raise place.taken(record)
        new = records[len(repeated) :]
        place.ensure_continues(tail, new)
        return new


def _digest(previous: bytes, r: Record) -> bytes:
    return chained(previous, r.position, r.topic, r.time, r.cause, r.payload, r.telemetry)
