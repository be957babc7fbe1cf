"""Keyframes: what each thousand records of a trial did, so that no state is folded from the first record on."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import msgspec
from msgspec import Struct

from sandbox.domain import Domain
from sandbox.fold import Fold, Write
from sandbox.records import OWN_TOPICS, Record
from sandbox.snapshot import Overlay, Snapshot
from sandbox.store_file import StreamFault
from sandbox.stream import Store
from sandbox.values import digest_of

EVERY = 1_000
"""Records that a keyframe covers, unless told otherwise."""
KIND = "keyframe"
EVENT, CALL, RETURN, REFUSAL, SAID, OTHER = (b"E", b"C", b"R", b"X", b"S", b"-")
"""Kinds of records, a byte each."""

_KINDS = {
    "trial.called.1": CALL,
    "trial.returned.1": RETURN,
    "trial.refused.1": REFUSAL,
    "trial.said.1": SAID,
}
_encode = msgspec.msgpack.Encoder().encode


class Recorded(Protocol):
    """A stream that can be read from anywhere, such as a stored trial or a fork spliced to its parent."""

    def records(self, *, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        """The verified records from position `after` + 1 to `upto`, one by one."""

    def last(self) -> Record | None:
        """The last record."""


class Keyframe(Struct, frozen=True, array_like=True):
    """What a span of records did."""

    kinds: bytes
    """Of each record."""
    touched: tuple[tuple[str, str], ...]
    """Table and key of every row that was written, also if it is as it was."""
    rows: tuple[tuple[str, str, bytes | None, bool], ...]
    """Table, key, row as msgpack (None: it is gone), and whether it stands at a new place, in the order written."""


def kind_of(record: Record) -> bytes:
    """One of `EVENT`, `CALL`, `RETURN`, `REFUSAL`, `SAID`, `OTHER`."""
    return _KINDS.get(record.topic, OTHER if record.topic in OWN_TOPICS else EVENT)


class Keyframes:
    """
    The states of a stream at every so many records.

    Args:
        cache: opens the store of keyframes; asked only for a stream that is long enough. A cache may be lost, stale or
            damaged: what it does not give is folded again.
        every: records that a keyframe covers.
    """

    def __init__(
        self, domain: Domain, snapshot: Snapshot, stream: Recorded, cache: Callable[[], Store], every: int = EVERY
    ) -> None:
        self.every = every
        self.domain = domain
        self.snapshot = snapshot
        self.stream = stream
        last = stream.last()
        self.length = 0 if last is None else last.position
        self._name = digest_of([b"" if last is None else last.digest, domain.digest, snapshot.digest, every])
        self._open = cache
        self._cache: Store | None = None
        self._states: dict[int, Overlay] = {}

    def state(self, number: int) -> Overlay:
        """The rows after that many whole spans; the last two asked for are kept. Nobody may write into it."""
        if number not in self._states:
            at = max((span for span in self._states if span < number), default=0)
            rows = Overlay(self.snapshot)
            if at:
                rows.merge(self._states[at])
            for span in range(at, number):
                self.apply(self._kept(span) or self._made(span, rows), rows)
            while len(self._states) > 1:
                del self._states[next(iter(self._states))]
            self._states[number] = rows
        return self._states[number]

    def frame(self, number: int, before: Overlay) -> Keyframe | None:
        """
        What the records of a span did; None if the stream ends within it.

        Args:
            before: the rows after the spans before it.
        """
        if (number + 1) * self.every > self.length:
            return None
        return self._kept(number) or self._made(number, before)

    def frame_at_hand(self, number: int) -> Keyframe | None:
        """The same, but None also where it would have to be folded."""
        return self._kept(number) if (number + 1) * self.every <= self.length else None

    def close(self) -> None:
        """Let go of the cache."""
        if self._cache is not None:
            self._cache.close()
            self._cache = None

    def _made(self, number: int, before: Overlay) -> Keyframe:
        """A span folded on the state before it, and put into the cache."""
        writes: list[Write] = []
        folding = Fold(self.domain, self.snapshot, writes)
        folding.overlay = Overlay(before)
        kinds: list[bytes] = []
        for record in self.stream.records(after=number * self.every, upto=(number + 1) * self.every):
            folding.take(record)
            kinds.append(kind_of(record))
        touched = tuple(dict.fromkeys((write.table, write.key) for write in writes))
        rows = tuple(
            (table, key, None if row is None else _encode(row), moved)
            for table, key, row, moved in folding.overlay.touched()
        )
        frame = Keyframe(b"".join(kinds), touched, rows)
        self._try(lambda cache: cache.keep(KIND, f"{self._name}/{number}", _encode(frame)))
        return frame

    def _kept(self, number: int) -> Keyframe | None:
        found: list[Keyframe] = []

        def read(cache: Store) -> None:
            content = cache.kept(KIND, f"{self._name}/{number}")
            if content is not None:
                found.append(_decode(content))

        self._try(read)
        return found[0] if found else None

    def _try(self, work: Callable[[Store], None]) -> None:
        """Use the cache; one that cannot be used is left alone, and memory serves instead."""
        try:
            if self._cache is None:
                self._cache = self._open()
            work(self._cache)
        except (StreamFault, OSError, msgspec.DecodeError):
            self.close()
            self._open = Store.in_memory

    def apply(self, frame: Keyframe, rows: Overlay) -> None:
        """Write into the rows what a span did."""
        for table, key, content, moved in frame.rows:
            if content is None or moved:
                rows.drop(table, key)
            if content is not None:
                rows.put(table, key, self.domain.tables[table].shape.decoded(content))


_decode = msgspec.msgpack.Decoder(Keyframe).decode


def folded(domain: Domain, snapshot: Snapshot, before: Overlay, records: Iterable[Record]) -> Overlay:
    """The rows after these records, on top of the rows before them, which stay as they are."""
    folding = Fold(domain, snapshot)
    folding.overlay = Overlay(before)
    for record in records:
        folding.take(record)
    return folding.overlay
