"""Looking at a recorded trial from any position."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from replay.keyframes import EVENT, REFUSAL, kind_of
from replay.origin import origin_of
from replay.timeline import StoredStream, Timeline, text_of
from sandbox.effects import effects_of
from sandbox.fold import UnknownTopic, fold, writes_of
from sandbox.records import Draft, Record
from sandbox.refusals import UserFault
from sandbox.store_file import StreamFault
from sandbox.stream import Store
from sandbox.values import plain
from sandbox.world import Request, request
from tests.sandbox.desk import domain
from tests.sandbox.streams import raw
from tests.sandbox.taped import KEY, SCRIPTS, Taped, content, fresh, played

SPANS = st.sampled_from([1, 3, 7, 1000])


def looked_at(records: list[Record], every: int = 1000, cache: Store | None = None) -> Timeline:
    store = Store.in_memory()
    assert store.append([(KEY.id, records)]) == [None]
    return Timeline(domain, domain.snapshot, StoredStream(store, KEY.id), lambda: cache or Store.in_memory(), every)


def taped(script: list[Request]) -> list[Record]:
    trial = Taped()
    for asked in script:
        trial.ask(asked)
    trial.end()
    return trial.records


@given(SCRIPTS, SPANS)
def test_the_state_at_any_position_is_the_fold_of_the_records_up_to_it(script: list[Request], every: int) -> None:
    records = taped(script)
    timeline = looked_at(records, every)
    for position in [*range(len(records) + 1), *reversed(range(len(records) + 1))]:
        folded = fold(domain, domain.snapshot, records[:position])
        assert content(timeline.state(position)) == content(folded)
        assert timeline.effects(position) == effects_of(domain.snapshot, folded)


@given(SCRIPTS, SPANS)
def test_keyframes_of_an_earlier_look_give_the_same_states(script: list[Request], every: int) -> None:
    records = taped(script)
    cache = Store.in_memory()
    first, second = looked_at(records, every, cache), looked_at(records, every, cache)
    end = content(first.state(len(records)))
    kept = cache.names("keyframe")
    assert len(kept) == len(records) // every
    assert content(second.state(len(records))) == end
    assert cache.names("keyframe") == kept


@given(SCRIPTS, SPANS)
def test_what_an_event_changed_leads_from_one_state_to_the_next(script: list[Request], every: int) -> None:
    records = taped(script)
    timeline = looked_at(records, every)
    for record in records:
        if kind_of(record) != EVENT:
            assert timeline.changes(record.position, record.position) == ()
            continue
        for effect in timeline.changed_by(record.position):
            assert timeline.row(effect.table, effect.key, record.position - 1) == effect.before
            assert timeline.row(effect.table, effect.key, record.position) == effect.row


@given(SCRIPTS, SPANS)
def test_the_history_of_a_row_is_every_event_that_wrote_it(script: list[Request], every: int) -> None:
    records = taped(script)
    timeline = looked_at(records, every)
    writes = writes_of(domain, domain.snapshot, records)
    for table, key in {(write.table, write.key) for write in writes}:
        found = list(timeline.history(table, key, len(records)))
        expected = {write.position for write in writes if (write.table, write.key) == (table, key)}
        assert [write.position for write in found] == sorted(expected)
        for write in found:
            assert write.before == timeline.row(table, key, write.position - 1)
            assert write.after == timeline.row(table, key, write.position)


@given(SCRIPTS, SPANS)
def test_next_and_previous_are_the_nearest_ones(script: list[Request], every: int) -> None:
    records = taped(script)
    timeline = looked_at(records, every)
    events = [record.position for record in records if kind_of(record) == EVENT]
    refusals = [record.position for record in records if kind_of(record) == REFUSAL]
    for position in range(1, len(records) + 1):
        assert timeline.next_change(position) == min((at for at in events if at > position), default=None)
        assert timeline.previous_change(position) == max((at for at in events if at < position), default=None)
        assert timeline.next_refusal(position) == min((at for at in refusals if at > position), default=None)
        assert timeline.count(EVENT + REFUSAL, position) == sum(at <= position for at in events + refusals)


def test_a_call_is_told_whole_from_any_of_its_records() -> None:
    timeline = looked_at(played().records)
    place = timeline.next_change(1)
    assert place is not None
    calls = [timeline.call_at(position) for position in (place - 1, place, place + 1)]
    assert calls[0] is not None
    assert calls == [calls[0]] * 3
    assert (calls[0].tool, calls[0].position, calls[0].answer_position) == ("desk_open_ticket", place - 1, place + 1)
    assert timeline.changed_by(place - 1) == timeline.changed_by(place)


def test_a_refused_call_has_its_class_and_changed_nothing() -> None:
    timeline = looked_at(played().records)
    place = timeline.next_refusal(0)
    assert place is not None
    call = timeline.call_at(place)
    assert call is not None
    assert (call.refusal, call.answer_position) == ("Precondition", place)
    assert timeline.changed_by(place) == ()


def test_a_call_that_was_cut_short_has_no_answer() -> None:
    trial = Taped()
    trial.put(fresh().decide(request("desk_tell_time", "{}")).drafts[:1])
    trial.call("desk_tell_time")
    call = looked_at(trial.records).call_at(2)
    assert call is not None
    assert (call.tool, call.answer_position, call.answer) == ("desk_tell_time", 0, "")


def test_of_a_deleted_row_the_deletion_is_blamed_and_no_value_looked_for() -> None:
    timeline = looked_at(played().records)
    origin = origin_of(timeline, "desk_tickets", "TK-3", "subject", timeline.length)
    assert (origin.value, origin.writes[-1].after, origin.sight) == (UNSET, UNSET, None)
    assert origin.call is not None
    assert origin.call.tool == "desk_remove_ticket"


def test_a_search_goes_on_at_the_start_and_finds_whatever_the_case() -> None:
    timeline = looked_at(played().records, every=4)
    first = timeline.found("i BEGIN", 10)
    assert first is not None
    assert timeline.record(first) == played().records[first - 1]
    assert timeline.found("I begin.", first) == first
    assert timeline.found("nobody says this", 0) is None


@given(st.integers(1, 40))
def test_every_record_has_a_text_that_finds_it(position: int) -> None:
    records = played().records
    record = records[min(position, len(records)) - 1]
    timeline = looked_at(records, every=5)
    assert timeline.found(text_of(record, domain), record.position - 1) == record.position


class Counted:
    """A stream that counts what is read of it."""

    def __init__(self, stream: StoredStream) -> None:
        self.stream = stream
        self.read = 0

    def records(self, *, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        for record in self.stream.records(after=after, upto=upto):
            self.read += 1
            yield record

    def last(self) -> Record | None:
        return self.stream.last()


def counting(trial: Taped) -> None:
    for number in range(90):
        trial.call("desk_count_stock", room="hall", item="lamp", count=number)


def test_with_keyframes_a_far_state_reads_no_more_than_a_span() -> None:
    records = played(counting).records
    store, cache = Store.in_memory(), Store.in_memory()
    store.append([(KEY.id, records)])
    Timeline(domain, domain.snapshot, StoredStream(store, KEY.id), lambda: cache, 10).state(len(records))
    counted = Counted(StoredStream(store, KEY.id))
    timeline = Timeline(domain, domain.snapshot, counted, lambda: cache, 10)
    for position in (len(records) - 1, 155, 158, 40):
        before = counted.read
        timeline.state(position)
        assert counted.read - before <= 10


@pytest.mark.parametrize("damage", ["other", "lost"])
def test_a_cache_that_cannot_be_used_costs_time_alone(tmp_path: Path, damage: str) -> None:
    records = played().records
    path = tmp_path / "c.frames.db"
    if damage == "other":
        path.write_bytes(b"Dear all, this is no store")
    store = Store.in_memory()
    store.append([(KEY.id, records)])
    opened: list[Path] = []

    def cache() -> Store:
        opened.append(path)
        return Store.open(path)

    timeline = Timeline(domain, domain.snapshot, StoredStream(store, KEY.id), cache, 5)
    assert content(timeline.state(len(records))) == content(fold(domain, domain.snapshot, records))
    assert opened == [path]
    assert (path.read_bytes()[:8] if path.exists() else b"") == (b"Dear all" if damage == "other" else b"")


def test_keyframes_of_other_handlers_or_rows_are_not_used() -> None:
    records, cache = played().records, Store.in_memory()
    looked_at(records, 5, cache).state(len(records))
    kept = len(cache.names("keyframe"))
    other = domain.furnished(
        {
            "desk_tickets": [
                {"id": "TK-1", "subject": "x"},
                {"id": "TK-2", "subject": "y"},
                {"id": "TK-3", "subject": "z"},
            ]
        },
        None,
    )
    store = Store.in_memory()
    store.append([(KEY.id, records)])
    Timeline(other, other.snapshot, StoredStream(store, KEY.id), lambda: cache, 5).state(10)
    assert len(cache.names("keyframe")) == kept + 2


def test_an_event_that_is_not_known_any_more_is_named_with_its_position() -> None:
    trial = Taped()
    trial.put([Draft("desk.renamed.1", "2025-10-01T13:00:00Z", b"\x80", True)])
    timeline = looked_at(trial.records)
    assert timeline.state(1).size("desk_tickets") == 3
    with pytest.raises(UnknownTopic, match=r"record 2 has topic 'desk\.renamed\.1'"):
        timeline.state(2)


@pytest.mark.parametrize("position", [-1, 10_000])
def test_a_position_that_is_not_there_is_named_with_those_that_are(position: int) -> None:
    timeline = looked_at(played().records)
    with pytest.raises(UserFault, match=f"no position {position}; the trial has 0"):
        timeline.rows("desk_tickets", position)
    with pytest.raises(UserFault, match="no table 'desk_ticket' in domain desk; it has desk_tickets"):
        timeline.rows("desk_ticket", 1)


def test_position_0_is_the_snapshot() -> None:
    timeline = looked_at(played().records)
    assert timeline.rows("desk_tickets", 0) == [(key, plain(row)) for key, row in domain.snapshot.items("desk_tickets")]
    assert timeline.effects(0) == ()
    with pytest.raises(UserFault, match="no record 0"):
        timeline.record(0)


def test_what_was_handed_out_does_not_change_afterwards() -> None:
    records = played().records
    timeline = looked_at(records, every=4)
    states = [timeline.state(position) for position in range(len(records) + 1)]
    for position, state in enumerate(states):
        assert content(state) == content(fold(domain, domain.snapshot, records[:position]))


def test_a_damaged_record_stops_the_look_and_is_named(tmp_path: Path) -> None:
    records = played().records
    path = tmp_path / "c.db"
    with Store.open(path, create=True) as store:
        assert store.append([(KEY.id, records)]) == [None]
    with raw(path) as connection:
        connection.execute("UPDATE stored_events SET topic = 'trial.said.1' WHERE originator_version = 7")
    with Store.open(path, read_only=True) as store:
        timeline = Timeline(domain, domain.snapshot, StoredStream(store, KEY.id), Store.in_memory, 5)
        assert content(timeline.state(4)) == content(fold(domain, domain.snapshot, records[:4]))
        with pytest.raises(StreamFault, match=r"record 7 .* breaks the digest chain"):
            timeline.state(len(records))
