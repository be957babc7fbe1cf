"""A stream reads back as it was written, or the store says where and why not."""

import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from sandbox.records import Chain
from sandbox.store_file import APPLICATION_ID, FORMAT, log_of, read_header
from sandbox.stream import Store, StoreUnusable, StreamConflict, StreamFault
from tests.sandbox.streams import batches, raw, sealed, stream

A, B = stream(1), stream(2)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "CAMPAIGN.db"


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, path: Path) -> Iterator[Store]:
    with Store.open(path, create=True) if request.param == "file" else Store.in_memory() as opened:
        yield opened


def put(store: Store, *groups: tuple[int, int]) -> None:
    """Streams by number, each with so many records."""
    assert store.append([(stream(number), sealed(Chain(stream(number)), count)) for number, count in groups]) == [
        None
    ] * len(groups)


def only_fault(store: Store, *batch: object) -> StreamFault:
    [fault] = store.append([batch])  # type: ignore[list-item]
    assert fault is not None
    return fault


# What was appended reads back.


@settings(max_examples=40)
@given(
    plan=st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=6), max_size=8),
    in_file=st.booleans(),
    chunk=st.integers(1, 7),
)
def test_any_interleaving_of_appends_reads_back_equal(
    plan: list[list[tuple[int, int]]], in_file: bool, chunk: int
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "c.db"
        store = Store.open(path, create=True) if in_file else Store.in_memory()
        chains = {number: Chain(stream(number)) for number in range(4)}
        written: dict[int, list[object]] = {number: [] for number in range(4)}
        for commit in plan:
            group = [(number, sealed(chains[number], count)) for number, count in commit]
            assert not any(store.append([(stream(number), records) for number, records in group]))
            for number, records in group:
                written[number].extend(records)
        if in_file:
            store.close()
            store = Store.open(path, read_only=True)
        with store:
            for number, expected in written.items():
                assert store.read(stream(number)) == expected
                assert list(store.records(stream(number), chunk=chunk)) == expected
                assert store.last(stream(number)) == (expected[-1] if expected else None)
                assert store.has(stream(number)) is bool(expected)


@settings(max_examples=60)
@given(
    length=st.integers(0, 12), after=st.integers(0, 14), upto=st.none() | st.integers(0, 14), chunk=st.integers(1, 5)
)
def test_a_part_of_a_stream_is_that_slice_of_it(length: int, after: int, upto: int | None, chunk: int) -> None:
    store = Store.in_memory()
    put(store, (1, length))
    assert list(store.records(A, after=after, upto=upto, chunk=chunk)) == store.read(A)[after:upto]


def test_streams_of_one_commit_may_be_the_same_stream(store: Store) -> None:
    first, second = batches(A, [2, 3])
    assert store.append([(A, first), (B, sealed(Chain(B), 1)), (A, second)]) == [None, None, None]
    assert store.read(A) == first + second


def test_appending_nothing_is_success_and_leaves_no_stream(store: Store) -> None:
    assert store.append([(A, [])]) == [None]
    assert store.append([]) == []
    assert not store.has(A)


# What does not continue a stream is refused.


def test_a_gap_is_refused_and_named(store: Store) -> None:
    first, _, third = batches(A, [2, 2, 1])
    store.append([(A, first)])
    fault = only_fault(store, A, third)
    assert (fault.stream, fault.position) == (A, 5)
    assert "the stream ends at 2" in str(fault)
    assert store.read(A) == first


def test_a_gap_within_a_batch_is_refused_whole(store: Store) -> None:
    records = sealed(Chain(A), 4)
    assert only_fault(store, A, records[:2] + records[3:]).position == 4
    assert not store.has(A)


def test_a_record_sealed_for_another_stream_or_changed_after_sealing_is_refused(store: Store) -> None:
    assert "not chained" in str(only_fault(store, A, sealed(Chain(B), 1)))
    first, second = sealed(Chain(A), 2)
    assert only_fault(store, A, [first, replace(second, payload=b"changed")]).position == 2
    assert not store.has(A)


def test_a_fault_keeps_no_other_stream_back(store: Store) -> None:
    faults = store.append([(A, sealed(Chain(A), 3)[1:]), (B, sealed(Chain(B), 2))])
    assert [fault is None for fault in faults] == [False, True]
    assert len(store.read(B)) == 2


# The same again is success.


@settings(max_examples=40)
@given(split=st.integers(0, 6), start=st.integers(0, 6), forget=st.booleans())
def test_appending_the_same_records_again_is_success(split: int, start: int, forget: bool) -> None:
    store, records = Store.in_memory(), sealed(Chain(A), 6)
    store.append([(A, records[:split])])
    if forget:
        store.forget(A)
    assert store.append([(A, records[min(start, split) :]), (A, records[start:])]) == [None, None]
    assert store.read(A) == records


def test_other_records_at_a_taken_position_are_a_conflict(store: Store) -> None:
    put(store, (1, 3))
    kept = store.read(A)
    fault = only_fault(store, A, sealed(Chain(A), 2, size=9))
    assert isinstance(fault, StreamConflict)
    assert fault.position == 1
    assert store.read(A) == kept


# Two writers on one file, without a lease.


def test_the_slower_of_two_writers_gets_a_conflict_and_its_other_streams_are_stored(path: Path) -> None:
    with Store.open(path, create=True) as one, Store.open(path) as two:
        start = Chain(A)
        put(one, (1, 2))
        assert two.append([(A, sealed(start, 2))]) == [None]
        mine, theirs = Chain(A, start.position, start.last), Chain(A, start.position, start.last)
        assert one.append([(A, sealed(mine, 2))]) == [None]
        conflict, stored = two.append([(A, sealed(theirs, 2, telemetry=b"other")), (B, sealed(Chain(B), 1))])
        assert isinstance(conflict, StreamConflict)
        assert "somebody else writes this stream" in str(conflict)
        assert stored is None
        assert len(one.read(A)) == 4
        assert len(one.read(B)) == 1


def test_a_writer_goes_on_where_another_one_stopped(path: Path) -> None:
    first, second, third = batches(A, [2, 2, 2])
    with Store.open(path, create=True) as one, Store.open(path) as two:
        assert one.append([(A, first)]) == [None]
        assert two.append([(A, second)]) == [None]
        assert one.append([(A, third)]) == [None]
        assert one.append([(A, second)]) == [None]
        assert two.read(A) == first + second + third


def test_the_same_records_from_two_writers_are_success_for_both(path: Path) -> None:
    first, second = batches(A, [2, 2])
    with Store.open(path, create=True) as one, Store.open(path) as two:
        assert one.append([(A, first)]) == [None]
        assert two.append([(A, second)]) == [None]
        assert one.append([(A, second), (B, sealed(Chain(B), 1))]) == [None, None]
        assert one.read(A) == first + second


def test_a_database_locked_by_another_program_is_named_and_nothing_is_stored(path: Path) -> None:
    with Store.open(path, create=True, lock_timeout_s=1) as store, raw(path) as other:
        other.execute("BEGIN IMMEDIATE")
        fault = only_fault(store, A, sealed(Chain(A), 2))
        assert isinstance(fault, StoreUnusable)
        assert "the database is locked" in str(fault)
        other.execute("ROLLBACK")
        put(store, (1, 2))


# The lease.


def test_a_lease_keeps_others_off_and_names_its_holder(path: Path) -> None:
    with Store.open(path, create=True) as one, Store.open(path) as two:
        named = pytest.raises(StoreUnusable, match=r"run nightly \(process \d+\) is working")
        with one.lease("run nightly"), named, two.lease("run by hand"):
            pytest.fail("two leases")
        with two.lease("run by hand"):
            pass


def test_a_lease_dies_with_its_process(path: Path) -> None:
    script = (
        "import sys; from sandbox.stream import Store\n"
        "with Store.open(sys.argv[1]) as store, store.lease('doomed'): print('held', flush=True); sys.stdin.read()"
    )
    Store.open(path, create=True).close()
    with Store.open(path) as store:
        with subprocess.Popen(
            [sys.executable, "-c", script, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "held\n"
            with pytest.raises(StoreUnusable, match="doomed"), store.lease("me"):
                pass
            child.kill()
        with store.lease("me"):
            pass


# Damage is found and named.


def damaged(path: Path, statement: str, *values: object) -> StreamFault:
    """Change the file of a stream of five behind the store's back, and read."""
    if path.exists():
        path.unlink()
    with Store.open(path, create=True) as store:
        put(store, (1, 5), (2, 5))
    with raw(path) as connection:
        assert connection.execute(statement, values).rowcount > 0
    with Store.open(path, read_only=True) as store, pytest.raises(StreamFault) as caught:
        store.read(A)
    return caught.value


def test_a_flipped_bit_anywhere_in_a_row_is_found_and_named(path: Path) -> None:
    with Store.open(path, create=True) as store:
        put(store, (1, 4))
    with raw(path) as connection, Store.open(path, read_only=True) as reader:
        rows = connection.execute("SELECT originator_version, topic, state FROM stored_events").fetchall()
        for position, topic, state in rows[1:3]:
            for column, content in (("topic", topic.encode()), ("state", state)):
                change = f"UPDATE stored_events SET {column} = {{}} WHERE originator_version = {position}"
                change = change.format("CAST(? AS TEXT)" if column == "topic" else "?")
                for place in range(len(content) * 8):
                    flipped = bytearray(content)
                    flipped[place // 8] ^= 1 << place % 8
                    connection.execute(change, (bytes(flipped),))
                    with pytest.raises(StreamFault) as caught:
                        reader.read(A)
                    assert (caught.value.stream, caught.value.position) == (A, position), (column, place)
                connection.execute(change, (content,))
        assert len(reader.read(A)) == 4


@pytest.mark.parametrize("position", [1, 2, 4])
def test_a_deleted_record_is_found_and_named(path: Path, position: int) -> None:
    fault = damaged(
        path, "DELETE FROM stored_events WHERE originator_id = ? AND originator_version = ?", A.hex, position
    )
    assert fault.position == position
    assert "is missing" in str(fault)
    assert str(path) in str(fault)


def test_swapped_records_are_found(path: Path) -> None:
    swap = (
        "UPDATE stored_events SET state = (SELECT o.state FROM stored_events o WHERE o.originator_id = ? "
        "AND o.originator_version = 6 - stored_events.originator_version) "
        "WHERE originator_id = ? AND originator_version IN (2, 4)"
    )
    assert damaged(path, swap, A.hex, A.hex).position == 2
    assert damaged(path, swap, B.hex, A.hex).position == 2


def test_a_stream_under_another_ones_id_is_found(path: Path) -> None:
    with Store.open(path, create=True) as store:
        put(store, (2, 3))
    with raw(path) as connection:
        connection.execute("UPDATE stored_events SET originator_id = ?", (A.hex,))
    with Store.open(path) as store, pytest.raises(StreamFault, match=r"record 1 of stream .* breaks the digest chain"):
        store.read(A)


def test_what_is_missing_before_or_right_behind_a_part_is_found(path: Path) -> None:
    with Store.open(path, create=True) as store:
        put(store, (1, 6))
        with raw(path) as connection:
            connection.execute("DELETE FROM stored_events WHERE originator_version = 3")
        for after, upto in ((2, None), (2, 3), (3, 6), (0, 4)):
            with pytest.raises(StreamFault) as caught:
                store.read(A, after=after, upto=upto)
            assert caught.value.position == 3
        assert len(store.read(A, after=4)) == 2


@pytest.mark.parametrize("value", [None, "text", 1.5])
def test_a_state_of_another_type_is_found(path: Path, value: object) -> None:
    fault = damaged(path, "UPDATE stored_events SET state = ? WHERE originator_version = 3", value)
    assert fault.position == 3


# Content under a name.


def test_content_is_kept_by_kind_and_name_in_order(store: Store) -> None:
    for kind, name in (("layer", "b"), ("layer", "a"), ("task", "a")):
        store.keep(kind, name, f"{kind} {name}".encode())
    assert store.names("layer") == ["b", "a"]
    assert store.names("task") == ["a"]
    assert store.names("seal") == []
    assert store.kept("task", "a") == b"task a"
    assert store.kept("task", "b") is None


def test_keeping_the_same_again_is_success_and_other_content_is_a_fault(store: Store) -> None:
    store.keep("layer", "a", b"one")
    store.keep("layer", "a", b"one")
    with pytest.raises(StreamConflict, match=r"layer 'a'.* has other content already"):
        store.keep("layer", "a", b"two")
    assert store.kept("layer", "a") == b"one"
    assert store.names("layer") == ["a"]


@pytest.mark.parametrize("kind", ["", "Layer", "a.b", "a b", "1"])
def test_a_kind_is_one_lower_case_word(store: Store, kind: str) -> None:
    with pytest.raises(ValueError, match="is no kind of content"):
        store.keep(kind, "a", b"one")
    assert store.names(kind) == []


def test_two_writers_keep_under_one_index(path: Path) -> None:
    with Store.open(path, create=True) as one, Store.open(path) as two:
        for name in ("a", "b", "c"):
            one.keep("layer", f"one-{name}", b"1")
            two.keep("layer", f"two-{name}", b"2")
            two.keep("layer", f"one-{name}", b"1")
        assert one.names("layer") == ["one-a", "two-a", "one-b", "two-b", "one-c", "two-c"]


def test_ten_megabytes_are_kept(path: Path) -> None:
    content = bytes(range(256)) * 40_000
    with Store.open(path, create=True) as store:
        store.keep("layer", "large", content)
    with Store.open(path, read_only=True) as store:
        assert store.kept("layer", "large") == content


def test_changed_content_is_found(path: Path) -> None:
    with Store.open(path, create=True) as store:
        store.keep("layer", "a", b"content")
    with raw(path) as connection:
        connection.execute("UPDATE stored_events SET state = replace(state, 'content', 'CONTENT')")
    with Store.open(path) as store, pytest.raises(StreamFault):
        store.kept("layer", "a")


# The file.


def test_a_closed_store_is_one_file_and_reading_leaves_nothing_beside_it(path: Path) -> None:
    with Store.open(path, create=True) as store:
        put(store, (1, 3))
        assert log_of(path).exists()
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    with Store.open(path, read_only=True) as store:
        assert len(store.read(A)) == 3
        assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_reader_sees_what_a_writer_acknowledged_and_survives_its_end(path: Path) -> None:
    first, second = batches(A, [2, 2])
    writer = Store.open(path, create=True)
    writer.append([(A, first)])
    with Store.open(path, read_only=True) as reader:
        assert reader.read(A) == first
        writer.append([(A, second)])
        assert reader.read(A) == first + second
        writer.close()
        assert reader.read(A) == first + second
    with Store.open(path) as store:
        assert store.read(A) == first + second


def test_a_copy_without_its_log_is_refused_unless_it_is_asked_for(path: Path, tmp_path: Path) -> None:
    alone, whole = tmp_path / "alone" / "c.db", tmp_path / "whole" / "c.db"
    with Store.open(path, create=True) as store:
        put(store, (1, 3))
        for copy in (alone, whole):
            copy.parent.mkdir()
            shutil.copy(path, copy)
        shutil.copy(log_of(path), log_of(whole))
    for read_only in (True, False):
        told = r"write-ahead log c\.db-wal is missing: records may be lost.*trialbox recover"
        with pytest.raises(StoreUnusable, match=told):
            Store.open(alone, read_only=read_only)
    with Store.open(whole) as store:
        assert len(store.read(A)) == 3
    with Store.open(alone, without_log=True) as store:
        assert store.read(A) == []
    Store.open(alone).close()


def test_a_store_that_was_never_closed_is_complete_once_its_objects_are_gone(path: Path) -> None:
    script = (
        "import sys; from sandbox.stream import Store; from tests.sandbox.test_stream import put\n"
        "store = Store.open(sys.argv[1], create=True); put(store, (1, 3)); sys.exit('an error nobody caught')"
    )
    command = [sys.executable, "-c", script, str(path)]
    child = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert child.stderr == "an error nobody caught\n"
    with Store.open(path) as store:
        assert len(store.read(A)) == 3


def test_a_newer_store_is_refused_by_name_and_left_alone(path: Path) -> None:
    Store.open(path, create=True).close()
    with raw(path) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    before = path.read_bytes()
    with pytest.raises(StoreUnusable, match=f"written in format {FORMAT + 1}.*reads format {FORMAT}: update"):
        Store.open(path)
    assert path.read_bytes() == before


def test_the_header_marks_the_file_and_whether_it_is_being_written(path: Path) -> None:
    with Store.open(path, create=True):
        assert read_header(path).being_written
    header = read_header(path)
    assert (header.application, header.format, header.being_written) == (APPLICATION_ID, FORMAT, False)


def test_what_is_no_store_is_refused(path: Path) -> None:
    with pytest.raises(StoreUnusable, match="no such store"):
        Store.open(path)
    for content in (b"", b"hello", b"SQLite format 3\x00" + bytes(200)):
        path.write_bytes(content)
        with pytest.raises(StoreUnusable, match="is no Trialbox store"):
            Store.open(path, create=True)
        assert path.read_bytes() == content
    path.unlink()
    with raw(path) as connection:
        connection.execute("CREATE TABLE stored_events (a)")
    with pytest.raises(StoreUnusable, match="is no Trialbox store"):
        Store.open(path, read_only=True)


def test_a_file_cut_short_or_overwritten_is_called_damaged(path: Path) -> None:
    with Store.open(path, create=True) as store:
        put(store, (1, 200))
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:100] + b"\xff" * (len(whole) - 100)):
        path.write_bytes(content)
        with pytest.raises(StoreUnusable, match="the file is damaged"), Store.open(path, read_only=True) as store:
            store.read(A)


def test_a_flipped_byte_is_never_more_than_a_fault_of_the_store(path: Path) -> None:
    with Store.open(path, create=True) as store:
        put(store, (1, 3))
        store.keep("layer", "a", b"content")
        written = store.read(A)
    whole = path.read_bytes()
    for place in (place for place in range(100, len(whole), 5) if whole[place]):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x85]) + whole[place + 1 :])
        with suppress(StreamFault), Store.open(path, read_only=True) as store:
            found = store.read(A)
            # Records that are missing at the end leave no trace in a stream.
            assert found == written[: len(found)], place
            assert store.kept("layer", "a") in (b"content", None), place
            assert store.names("layer") in (["a"], []), place
            store.last(A)


def test_a_stream_id_that_is_none_is_told_with_the_file(path: Path) -> None:
    with Store.open(path, create=True) as store:
        put(store, (1, 3))
    with raw(path) as connection:
        [(stored,)] = connection.execute("SELECT DISTINCT originator_id FROM stored_events").fetchall()
    whole = path.read_bytes()
    # The rows lie in the order of their ids: a second one that looks smaller is still found between its neighbours.
    told = set()
    for place in (place for place in range(len(whole)) if whole.startswith(stored.encode(), place)):
        path.write_bytes(whole[:place] + b"!" + whole[place + 1 :])
        try:
            with Store.open(path, read_only=True) as store:
                store.read(A)
        except StoreUnusable as fault:
            told.add(str(fault))
        except StreamFault:
            pass
    assert any(re.search(r"CAMPAIGN\.db: the file is damaged, .*; restore a copy$", one) for one in told)


def test_a_store_opened_for_reading_is_not_appended_to(path: Path) -> None:
    Store.open(path, create=True).close()
    with Store.open(path, read_only=True) as store:
        assert "opened for reading only" in str(only_fault(store, A, sealed(Chain(A), 1)))


def test_a_closed_store_says_so(path: Path) -> None:
    store = Store.open(path, create=True)
    store.close()
    store.close()
    with pytest.raises(StoreUnusable, match="is closed"):
        store.read(A)


@pytest.mark.parametrize(("durability", "synchronous"), [("process", 1), ("power", 2)])
def test_durability_is_what_sqlite_is_told(path: Path, durability: str, synchronous: int) -> None:
    with Store.open(path, create=True, durability=durability) as store:  # type: ignore[arg-type]
        recorder = store._events.recorder
        with recorder.datastore.transaction(commit=False) as cursor:  # type: ignore[attr-defined]
            cursor.execute("PRAGMA synchronous")
            assert cursor.fetchone()[0] == synchronous


def test_a_store_is_found_under_any_path(tmp_path: Path) -> None:
    for name in ("a b.db", "a?mode=memory.db", "a#1%20.db", "ä:memory:.db"):
        with Store.open(tmp_path / name, create=True) as store:
            put(store, (1, 1))
        with Store.open(tmp_path / name) as store:
            assert store.has(A)
    assert sqlite3.sqlite_version_info >= (3, 31)
