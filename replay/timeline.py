"""A recorded trial at any position: its rows, what each event changed, and what was said and asked around it."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from replay.keyframes import (
    CALL,
    EVENT,
    EVERY,
    REFUSAL,
    RETURN,
    SAID,
    Keyframes,
    Recorded,
    folded,
    kind_of,
)
from sandbox.declarations import Row
from sandbox.domain import Domain
from sandbox.effects import Effects, effects_of
from sandbox.fold import Fold, Write, event_of
from sandbox.records import Edited, Record, Said, ToolCalled, ToolRefused, ToolReturned, decoded
from sandbox.refusals import UserFault
from sandbox.snapshot import Overlay, Snapshot
from sandbox.stream import Store
from sandbox.values import plain


class StoredStream(Struct, frozen=True):
    """One stream of a store."""

    store: Store
    id: UUID

    def records(self, *, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        """The verified records from position `after` + 1 to `upto`, one by one."""
        return self.store.records(self.id, after=after, upto=upto)

    def last(self) -> Record | None:
        """The last record; None if there is no such stream."""
        return self.store.last(self.id)


class Line(Struct, frozen=True):
    """Something that was said."""

    position: int
    role: str
    text: str


class CallSeen(Struct, frozen=True):
    """A call and its answer."""

    position: int
    number: int
    tool: str
    arguments: str
    """As the agent wrote it."""
    answer_position: int
    """0 if the stream ends before it."""
    answer: str
    refusal: str
    """The class of the refusal; empty for a success."""
    edited: str = ""
    """In a fork: what the agent saw instead of the answer, as JSON text; empty if it saw the answer."""


class RowWrite(Struct, frozen=True):
    """One event's write of a row."""

    position: int
    topic: str
    time: str
    cause: int
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class Timeline:
    """
    A recorded trial, to be looked at from any position. Position n is the state after record n; 0 is the snapshot.

    Everything comes from the records: no tool is run. Two thousand records are in memory at most, so that a question
    about a long trial costs a keyframe and a short fold.

    Args:
        cache: opens the store in which keyframes of a long trial are kept.
        every: records that a keyframe covers.

    Raises:
        UserFault: a position that the trial does not have.
        UnknownTopic: an event that today's domain does not know; the text names its position.
        StreamFault: the stream is damaged; the text names the position.
    """

    def __init__(
        self,
        domain: Domain,
        snapshot: Snapshot,
        records: Recorded,
        cache: Callable[[], Store] = Store.in_memory,
        every: int = EVERY,
    ) -> None:
        self.domain = domain
        self.snapshot = snapshot
        self._records = records
        self._keyframes = Keyframes(domain, snapshot, records, cache, every)
        self._every = every
        self.length = self._keyframes.length
        self._spans: dict[int, list[Record]] = {}
        self._kinds: dict[int, bytes] = {}

    def record(self, position: int) -> Record:
        """The record at a position, from 1."""
        if position < 1:
            raise UserFault(f"there is no record {position}; the trial has 1 to {self.length}")
        self.ensure_position(position)
        return self._span((position - 1) // self._every)[(position - 1) % self._every]

    def window(self, first: int, last: int) -> list[Record]:
        """The records from one position to another, as far as there are any."""
        return [self.record(position) for position in range(max(first, 1), min(last, self.length) + 1)]

    def until(self, position: int) -> Iterator[Record]:
        """The records up to a position, one by one."""
        return self._records.records(upto=position)

    def state(self, position: int) -> Overlay:
        """The rows after a record. Nobody may write into it."""
        self.ensure_position(position)
        span, rest = divmod(position, self._every)
        before = self._keyframes.state(span)
        records = self._span(span)[:rest] if rest else []
        return folded(self.domain, self.snapshot, before, records)

    def rows(self, table: str, position: int) -> list[tuple[str, dict[str, Any]]]:
        """Key and plain row of a whole table at a position, in order."""
        self.ensure_table(table)
        return [(key, plain(row)) for key, row in self.state(position).items(table)]

    def row(self, table: str, key: str, position: int) -> dict[str, Any] | None:
        """One plain row at a position; None if it is not there."""
        self.ensure_table(table)
        return _plain(self.state(position).get(table, key))

    def effects(self, position: int) -> Effects:
        """The net change from the snapshot to a position."""
        top = self.state(position)
        rows = Overlay(self.snapshot)
        rows.merge(self._keyframes.state(position // self._every))
        rows.merge(top)
        return effects_of(self.snapshot, rows)

    def changes(self, first: int, last: int) -> Effects:
        """The net change that the records from one position to another made together."""
        before = self.state(max(first, 1) - 1)
        return effects_of(before, folded(self.domain, self.snapshot, before, self.window(first, last)))

    def changed_by(self, position: int) -> Effects:
        """What an event changed; of a call, or an answer, what the whole call did. Else nothing."""
        record = self.record(position)
        if kind_of(record) == EVENT:
            return self.changes(position, position)
        call = self.call_at(position)
        return () if call is None else self.changes(call.position, call.answer_position or self.length)

    def call_at(self, position: int) -> CallSeen | None:
        """The call that a record is, or belongs to; None for what no call caused."""
        record = self.record(position)
        start = record.cause or position
        called = decoded(self.record(start))
        if not isinstance(called, ToolCalled):
            return None
        answer = self._answer(start)
        payload = None if answer is None else decoded(answer)
        place = 0 if answer is None else answer.position
        text, refusal = "", ""
        if isinstance(payload, ToolReturned):
            text = payload.result
        elif isinstance(payload, ToolRefused):
            text, refusal = payload.message, payload.refusal
        edited = self._edited(place)
        return CallSeen(start, called.number, called.tool, called.arguments, place, text, refusal, edited)

    def call_before(self, position: int) -> CallSeen | None:
        """The call at a position, or else the last one before it."""
        if position < 1:
            return None
        start = self.record(position).cause or self.nearest(CALL, position, backward=True)
        return self.call_at(start) if start else None

    def dialogue(self, position: int, before: int = 1, after: int = 1, within: int | None = None) -> list[Line]:
        """
        The last lines said up to a position, and the next ones after it.

        Args:
            within: how many keyframes' records away they are looked for at most.
        """
        earlier, later = self._some(position, -1, before, within), self._some(position + 1, 1, after, within)
        places = [*reversed(earlier), *later]
        return [line for place in places if (line := line_at(self.record(place))) is not None]

    def _some(self, position: int, step: int, most: int, within: int | None) -> list[int]:
        """Where lines of the dialogue are, the first ones from a position on."""
        places: list[int] = []
        while len(places) < most and (place := self.nearest(SAID, position, step < 0, within)) is not None:
            places.append(place)
            position = place + step
        return places

    def count(self, kinds: bytes, position: int) -> int:
        """How many records up to a position are of these kinds."""
        span, rest = divmod(position, self._every)
        whole = sum(_count(self._kinds_in(number), kinds) for number in range(span))
        return whole + (_count(self._kinds_in(span)[:rest], kinds) if rest else 0)

    def nearest(self, kinds: bytes, position: int, backward: bool = False, within: int | None = None) -> int | None:
        """
        The first position of these kinds from one on, that one included; None if there is none.

        Args:
            within: how many keyframes' records away it is looked for at most.
        """
        step = -1 if backward else 1
        start, offset = divmod(position - 1, self._every)
        number = start
        while number >= 0 and number * self._every < self.length and (within is None or abs(number - start) <= within):
            here = self._kinds_in(number)
            places = range(min(offset, len(here) - 1), -1, -1) if backward else range(offset, len(here))
            found = next((place for place in places if here[place] in kinds), None)
            if found is not None:
                return number * self._every + found + 1
            number, offset = number + step, self._every if backward else 0
        return None

    def next_change(self, position: int) -> int | None:
        """The next event after a position."""
        return self.nearest(EVENT, position + 1)

    def previous_change(self, position: int) -> int | None:
        """The last event before a position."""
        return self.nearest(EVENT, position - 1, backward=True)

    def next_refusal(self, position: int) -> int | None:
        """The next refused call's answer after a position."""
        return self.nearest(REFUSAL, position + 1)

    def found(self, text: str, position: int) -> int | None:
        """The next record after a position that holds a text, whatever its case; the search goes on at the start."""
        wanted = text.casefold()
        for after, upto in ((position, self.length), (0, position)):
            for record in self._records.records(after=after, upto=upto) if after < upto else ():
                if wanted in text_of(record, self.domain).casefold():
                    return record.position
        return None

    def history(self, table: str, key: str, position: int) -> Iterator[RowWrite]:
        """Every event up to a position that wrote a row, in order."""
        self.ensure_table(table)
        rows = Overlay(self.snapshot)
        for number in range((position + self._every - 1) // self._every):
            end = min(position, (number + 1) * self._every)
            frame = self._keyframes.frame(number, rows)
            if frame is not None and (table, key) not in frame.touched:
                self._keyframes.apply(frame, rows)
            else:
                yield from self._writes(table, key, self._span(number)[: end - number * self._every], rows)

    def _writes(self, table: str, key: str, records: list[Record], rows: Overlay) -> Iterator[RowWrite]:
        """Those of a row among the records, which are folded into the rows."""
        writes: list[Write] = []
        folding = Fold(self.domain, self.snapshot, writes)
        folding.overlay = rows
        before = _plain(rows.get(table, key))
        for record in records:
            writes.clear()
            folding.take(record)
            if any((write.table, write.key) == (table, key) for write in writes):
                after = _plain(rows.get(table, key))
                yield RowWrite(record.position, record.topic, record.time, record.cause, before, after)
                before = after

    def close(self) -> None:
        """Let go of the cache of keyframes."""
        self._keyframes.close()

    def ensure_table(self, table: str) -> None:
        """Return if the domain has such a table."""
        if table not in self.domain.tables:
            raise UserFault(f"no table {table!r} in domain {self.domain.name}; it has {', '.join(self.domain.tables)}")

    def ensure_position(self, position: int) -> None:
        """Return if the trial has such a position; 0 is its start."""
        if not 0 <= position <= self.length:
            raise UserFault(f"there is no position {position}; the trial has 0 (its start) to {self.length}")

    def _answer(self, start: int) -> Record | None:
        place = self.nearest(RETURN + REFUSAL, start)
        if place is None:
            return None
        record = self.record(place)
        return record if record.cause == start else None

    def _edited(self, place: int) -> str:
        """What stands in for the answer at a position: a fork says so right after it."""
        after = decoded(self.record(place + 1)) if 0 < place < self.length else None
        return after.result if isinstance(after, Edited) and after.position == place else ""

    def _span(self, number: int) -> list[Record]:
        """The records of a span; the last two that were asked for are kept."""
        if number not in self._spans:
            while len(self._spans) > 1:
                del self._spans[next(iter(self._spans))]
            self._spans[number] = list(
                self._records.records(after=number * self._every, upto=(number + 1) * self._every)
            )
        return self._spans[number]

    def _kinds_in(self, number: int) -> bytes:
        if number not in self._kinds:
            frame = self._keyframes.frame_at_hand(number)
            self._kinds[number] = frame.kinds if frame else b"".join(map(kind_of, self._span(number)))
        return self._kinds[number]


def line_at(record: Record) -> Line | None:
    """A record of the dialogue as a line; None for any other record."""
    said = decoded(record)
    return Line(record.position, said.role, said.text) if isinstance(said, Said) else None


def payload_of(record: Record, domain: Domain) -> dict[str, Any]:
    """A record's payload as plain values; an event's in today's version."""
    payload = decoded(record)
    fields: dict[str, Any] = plain(event_of(domain, record)[1] if payload is None else payload)
    return fields


def text_of(record: Record, domain: Domain) -> str:
    """All that a record says, for a search."""
    match decoded(record):
        case Said(text=text):
            return text
        case ToolCalled(tool=tool, arguments=arguments):
            return f"{tool} {arguments}"
        case ToolReturned(result=result):
            return result
        case ToolRefused(refusal=refusal, message=message):
            return f"{refusal} {message}"
    return f"{record.topic} {msgspec.json.encode(payload_of(record, domain)).decode()}"


def _count(here: bytes, kinds: bytes) -> int:
    return sum(here.count(kind) for kind in kinds)


def _plain(row: Row | None) -> dict[str, Any] | None:
    return None if row is None else plain(row)
