"""Where records are kept: every stream of a campaign in one store, written by one writer, verified by every reader."""

import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from threading import RLock
from typing import Literal, Self, TypeAlias, cast
from uuid import UUID

import msgspec
from eventsourcing.domain import DomainEventProtocol, EventSourcingError
from eventsourcing.persistence import (
    AggregateRecorder,
    ConnectionPoolClosedError,
    EventStore,
    IntegrityError,
    JSONTranscoder,
    Mapper,
    StoredEvent,
)
from eventsourcing.popo import POPOAggregateRecorder
from msgspec import Struct

from sandbox.contents import content_stream, index_stream, kept_records, listed_name
from sandbox.continuity import Ends, Stream, Tail
from sandbox.records import Record
from sandbox.store_file import (
    StoreUnusable,
    StreamConflict,
    StreamFault,
    ensure_complete,
    explained,
    leased,
    place_whole,
    read_header,
)
from sandbox.stream_sqlite import Datastore, Recorder, fill

__all__ = ["Batch", "Durability", "Store", "StoreUnusable", "StreamConflict", "StreamFault"]

Batch: TypeAlias = tuple[UUID, Sequence[Record]]
"""A stream and its next records: stored together, or not at all."""

Durability = Literal["process", "power"]
"""What an acknowledged record survives: a killed process, or the loss of power as well."""

_SYNCHRONOUS = {"process": "NORMAL", "power": "FULL"}
_State = tuple[str, int, bytes, bytes, bytes]
_encode = msgspec.msgpack.Encoder().encode
_decode_state = msgspec.msgpack.Decoder(_State).decode


class _Garbled(StoreUnusable):
    """A row holds text that is none."""


@contextmanager
def _translated(store: str) -> Iterator[None]:
    """Database errors in words; only a taken position goes through as it is."""
    try:
        yield
    except IntegrityError:
        raise
    except ConnectionPoolClosedError:
        raise StoreUnusable(f"{store}: is closed; open it again") from None
    except (sqlite3.Error, EventSourcingError) as error:
        if "Could not decode" in str(error):
            raise _Garbled(f"{store}: holds text that cannot be decoded; restore a copy") from error
        raise explained(store, error) from error


@contextmanager
def _reading(store: str) -> Iterator[None]:
    """Database errors in words, and what the libraries make of a damaged stream id, position or column name."""
    with _translated(store):
        try:
            yield
        except (ValueError, LookupError) as error:
            raise StoreUnusable(f"{store}: the file is damaged, {error}; restore a copy") from error


class _Entry(Struct, frozen=True):
    """A record as the event store takes it."""

    originator_id: UUID
    originator_version: int
    record: Record


class _RecordMapper(Mapper[UUID]):
    """Records as rows: topic and position are columns, the rest is one msgpack array."""

    def __init__(self, store: str) -> None:
        super().__init__(JSONTranscoder())
        self.store = store

    def to_stored_event(self, domain_event: DomainEventProtocol[UUID]) -> StoredEvent:
        entry = cast(_Entry, domain_event)
        r = entry.record
        state = _encode((r.time, r.cause, r.payload, r.telemetry, r.digest))
        return StoredEvent(entry.originator_id, r.position, r.topic, state)

    def to_domain_event(self, stored_event: StoredEvent) -> _Entry:
        stream, position = cast(UUID, stored_event.originator_id), stored_event.originator_version
        try:
            time, cause, payload, telemetry, digest = _decode_state(stored_event.state)
        except (msgspec.MsgspecError, ValueError, TypeError) as error:
            raise Stream(self.store, stream).fault(position, f"cannot be decoded, {error}; restore a copy") from error
        record = Record(position, stored_event.topic, time, cause, payload, telemetry, digest)
        return _Entry(stream, position, record)


class Store:
    """
    Streams of records, appended and never changed.

    Any aggregate recorder of `eventsourcing` can stand behind it. May be used from several threads.
    """

    def __init__(
        self,
        recorder: AggregateRecorder,
        name: str,
        *,
        close: Callable[[], None] = lambda: None,
        path: Path | None = None,
        writable: bool = True,
        chunk: int = 1000,
        bulk: Recorder | None = None,
    ) -> None:
        self.name = name
        self.path = path
        self._events = EventStore(_RecordMapper(name), recorder)
        self._close = close
        self._writable = writable
        self._chunk = chunk
        self._bulk = bulk
        self._ends = Ends(name, self.last, lambda stream, after, upto: self.read(stream, after=after, upto=upto))
        self._lock = RLock()

    @classmethod
    def in_memory(cls) -> Self:
        """A store that is gone with the process."""
        return cls(POPOAggregateRecorder(), "memory", chunk=sys.maxsize)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "process",
        create: bool = False,
        read_only: bool = False,
        without_log: bool = False,
        lock_timeout_s: int = 5,
    ) -> Self:
        """
        The store in a file.

        Args:
            create: make it if it is not there.
            without_log: go on although the write-ahead log of a killed writer was lost.
            lock_timeout_s: how long another process may hold the database before this one gives up.

        Raises:
            StoreUnusable: it is not there, no store, newer, damaged, incomplete, locked or not to be written.
        """
        path = Path(path)
        with _translated(str(path)):
            if create and not path.exists():
                place_whole(path, fill)
            header = read_header(path)
            if not without_log:
                ensure_complete(path, header)
            datastore = Datastore(path, lock_timeout_s, None if read_only else _SYNCHRONOUS[durability])
            recorder = Recorder(datastore)
            store = cls(
                recorder,
                str(path),
                close=datastore.close,
                path=path,
                writable=not read_only,
                bulk=recorder,
            )
            try:
                with _reading(str(path)):
                    recorder.select_events(index_stream(""), limit=1)
            except BaseException:
                datastore.close()
                raise
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave one file that is complete without its log. A second time does nothing."""
        with self._lock:
            self._close()

    def lease(self, holder: str) -> AbstractContextManager[None]:
        """Keep other runs off this campaign while inside; `StoreUnusable` names who has it."""
        return leased(self.path, holder) if self.path else nullcontext()

    def append(self, batches: Sequence[Batch]) -> list[StreamFault | None]:
        """
        Store all batches in one commit; None stands for each that is on disk, also if it was there before.

        A batch that does not continue its stream is left out and does not keep the others back.
        """
        with self._lock:
            faults: list[StreamFault | None] = [None] * len(batches)
            fresh: dict[UUID, list[Record]] = {}
            for place, (stream, records) in enumerate(batches):
                try:
                    new = self._ends.continuing(stream, records, fresh.get(stream, []))
                except StreamFault as fault:
                    faults[place] = fault
                else:
                    fresh.setdefault(stream, []).extend(new)
            try:
                self._commit(fresh)
            except IntegrityError:
                for place in [place for place, fault in enumerate(faults) if fault is None]:
                    faults[place] = self._append_alone(*batches[place])
            except StreamFault as fault:
                faults = [earlier or StoreUnusable(str(fault)) for earlier in faults]
            return faults

    def _append_alone(self, stream: UUID, records: Sequence[Record]) -> StreamFault | None:
        """Like `append`, for one batch that somebody else may have got ahead of."""
        try:
            for _ in range(3):
                with suppress(IntegrityError):
                    self._commit({stream: self._ends.continuing(stream, records, [])})
                    return None
        except StreamFault as fault:
            return fault
        return self._at(stream).taken(records[0])

    def _commit(self, fresh: Mapping[UUID, Sequence[Record]]) -> None:
        """
        All of it in one transaction.

        Raises:
            IntegrityError: a position is taken.
            StoreUnusable: nothing is stored, or after a disk error nobody knows.
        """
        entries = [_Entry(stream, r.position, r) for stream, records in fresh.items() for r in records]
        if not entries:
            return
        if not self._writable:
            raise StoreUnusable(f"{self.name}: was opened for reading only: open it for writing to append")
        try:
            with _translated(self.name):
                self._events.put(entries)
        except BaseException:
            for stream in fresh:
                self._ends.forget(stream)
            raise
        for stream, records in fresh.items():
            if records:
                self._ends.advance(stream, records[-1])

    def forget(self, stream: UUID) -> None:
        """Drop what is remembered of a stream that nobody appends to for now."""
        with self._lock:
            self._ends.forget(stream)

    def _at(self, stream: UUID) -> Stream:
        return Stream(self.name, stream)

    def read(self, stream: UUID, *, after: int = 0, upto: int | None = None) -> list[Record]:
        """The verified records from position `after` + 1 to `upto`; see `records`."""
        return list(self.records(stream, after=after, upto=upto))

    def records(
        self, stream: UUID, *, after: int = 0, upto: int | None = None, chunk: int | None = None
    ) -> Iterator[Record]:
        """
        The same, one by one, a chunk of them in memory. Empty if the stream is unknown or ends before.

        Records missing at the end leave no trace here; whether a trial ended is told by its `TrialEnded`.

        Raises:
            StreamFault: a gap, a record that cannot be decoded or does not fit the chain; its position is named.
        """
        tail, chunk = Tail.after(stream, None), chunk or self._chunk
        if after:
            before = self._select(stream, after - 1, 1)
            if not before:
                return
            self._at(stream).ensure_next(before[0], after)
            tail = Tail.after(stream, before[0])
        while upto is None or tail.position < upto:
            limit = chunk if upto is None else min(chunk, upto - tail.position)
            found = self._select(stream, tail.position, limit)
            yield from self._at(stream).verified(tail, found)
            if len(found) < limit:
                return
            tail = Tail.after(stream, found[-1])

    def last(self, stream: UUID) -> Record | None:
        """The last record, None if there is no such stream."""
        with _reading(self.name):
            entries = list(self._events.get(stream, desc=True, limit=1))
        return cast(_Entry, entries[0]).record if entries else None

    def has(self, stream: UUID) -> bool:
        """Whether the stream has a record."""
        return self.last(stream) is not None

    def _select(self, stream: UUID, after: int, limit: int) -> list[Record]:
        """The records stored after a position; garbled text is searched out, so that its position can be named."""
        try:
            with _reading(self.name):
                found = self._events.get(stream, gt=after, limit=limit)
                return [cast(_Entry, entry).record for entry in found]
        except _Garbled as error:
            if limit == 1:
                raise self._at(stream).fault(after + 1, "holds text that is none; restore a copy") from error
            for position in range(after, after + limit):
                self._select(stream, position, 1)
            raise

    def keep(self, kind: str, name: str, content: bytes) -> None:
        """
        Store named content for good; the same once more changes nothing.

        Args:
            kind: lower-case word, such as "layer".

        Raises:
            StreamFault: the name is taken by other content.
        """
        stream, index = content_stream(kind, name), index_stream(kind)
        with self._lock:
            for _ in range(100):
                stored = self.kept(kind, name)
                if stored == content:
                    return
                if stored is not None:
                    why = f"({kind} {name!r}) has other content already; what is kept never changes, so take a new name"
                    raise self._at(stream).fault(1, why, StreamConflict)
                self._ends.forget(index)
                with suppress(IntegrityError):
                    self._commit(kept_records(kind, name, content, self._ends.tail(index)))
                    self._ends.forget(stream)
                    return
        raise StoreUnusable(f"{self.name}: {kind} {name!r} cannot be kept: others keep getting ahead; try again")

    def kept(self, kind: str, name: str) -> bytes | None:
        """The content kept under a name, verified; None if there is none."""
        records = self.read(content_stream(kind, name))
        return records[0].payload if records else None

    def count(self, kind: str) -> int:
        """How many names of a kind are listed."""
        last = self.last(index_stream(kind))
        return 0 if last is None else last.position

    def differing(self, lengths: Mapping[str, int]) -> list[str]:
        """
        The streams whose last record is not at the position that is given, unverified.

        Args:
            lengths: position by stream, in hexadecimal.
        """
        if self._bulk is not None:
            with _reading(self.name):
                return self._bulk.differing(lengths)
        found = {stream: self.last(UUID(stream)) for stream in lengths}
        return [name for name, last in found.items() if (last.position if last else 0) != lengths[name]]

    def lacking(self, parts: Mapping[str, str]) -> list[str]:
        """
        The streams whose first record is not there, or does not hold a part of a text, unverified.

        Args:
            parts: by stream, in hexadecimal.
        """
        if self._bulk is not None:
            with _reading(self.name):
                return self._bulk.lacking(parts)
        found = {stream: self.read(UUID(stream), upto=1) for stream in parts}
        return [name for name, first in found.items() if not first or parts[name].encode() not in first[0].payload]

    def names(self, kind: str) -> list[str]:
        """What is kept of a kind, in the order it came."""
        return [listed_name(record) for record in self.records(index_stream(kind))]
