"""What was acknowledged is there after a crash, a full disk, or a folder that became read-only."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.records import Chain, Record
from sandbox.store_file import log_of
from sandbox.stream import Store, StoreUnusable
from tests.sandbox.appending import LAST
from tests.sandbox.streams import batches, drafts, raw, sealed, stream

ROOT = Path(__file__).parents[2]
A = stream(1)


def acknowledged(path: Path, trials: int, seed: int, lines: int) -> dict[int, int]:
    """Let a process append until it has printed so many lines, kill it, and take all it printed."""
    command = [sys.executable, "-m", "tests.sandbox.appending", str(path), str(trials), str(seed)]
    positions: dict[int, int] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as child:
        assert child.stdout is not None
        for count, line in enumerate(child.stdout, 1):
            if count == lines:
                child.kill()
            if line.endswith("\n"):
                number, position = line.split()
                positions[int(number)] = int(position)
    assert child.returncode == -9
    return positions


def ensure_whole_batches(records: list[Record]) -> None:
    first = 1
    for record in records:
        if record.topic == LAST:
            assert int.from_bytes(record.payload, "big") == first
            first = record.position + 1
    assert first == len(records) + 1


@pytest.mark.parametrize("trials", [1, 20, 200])
def test_what_a_killed_process_acknowledged_is_there_and_no_batch_is_half_there(tmp_path: Path, trials: int) -> None:
    path, chance, promised = tmp_path / "CAMPAIGN.db", random.Random(trials), dict[int, int]()
    for seed in range(5):
        promised |= acknowledged(path, trials, seed, lines=chance.randint(1, 12 * trials + 100))
        assert log_of(path).exists()
        with Store.open(path, read_only=True) as store:
            for number in range(trials):
                records = store.read(stream(number))
                assert len(records) >= promised.get(number, 0)
                ensure_whole_batches(records)
    with Store.open(path) as store:
        for number in range(trials):
            last = store.last(stream(number))
            chain = Chain(stream(number), last.position, last.digest) if last else Chain(stream(number))
            assert store.append([(stream(number), sealed(chain, 1))]) == [None]
            assert store.last(stream(number)) != last


def mounted(folder: Path, options: str) -> None:
    """Mount a small file system of its own, or skip."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"this machine lets nobody mount a small file system: {made.stderr.strip()}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted(folder, "size=512k")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_stores_nothing_by_halves_and_the_store_goes_on_once_there_is_space(small_disk: Path) -> None:
    path, ballast = small_disk / "c.db", small_disk / "ballast"
    ballast.write_bytes(bytes(150_000))
    chain, stored = Chain(A), list[Record]()
    with Store.open(path, create=True, durability="power") as store:
        for _ in range(100):
            records = chain.sealed(drafts(5, 4000), b"")
            [fault] = store.append([(A, records)])
            if fault is not None:
                break
            chain.advance(records)
            stored += records
        assert isinstance(fault, StoreUnusable)
        assert "the disk is full; nothing of this was stored" in str(fault)
        assert stored
        assert store.read(A) == stored
        [again] = store.append([(A, records)])
        assert isinstance(again, StoreUnusable)
        ballast.unlink()
        assert store.append([(A, records)]) == [None]
        assert store.read(A) == stored + records
    with Store.open(path, read_only=True) as store:
        assert store.read(A) == stored + records


def test_a_store_page_limit_is_a_full_disk_too(tmp_path: Path) -> None:
    first, second = batches(A, [2, 3])
    with Store.open(tmp_path / "c.db", create=True) as store:
        assert store.append([(A, first)]) == [None]
        recorder = store._events.recorder
        with recorder.datastore.transaction(commit=False) as cursor:  # type: ignore[attr-defined]
            cursor.execute("PRAGMA max_page_count = 4")
        [fault] = store.append([(A, sealed(Chain(A, 2, first[-1].digest), 3, size=9000))])
        assert fault is not None
        assert "the disk is full" in str(fault)
        with recorder.datastore.transaction(commit=False) as cursor:  # type: ignore[attr-defined]
            cursor.execute("PRAGMA max_page_count = 4000")
        assert store.append([(A, second)]) == [None]
        assert store.read(A) == first + second


def test_a_commit_that_fails_at_its_very_end_leaves_the_store_usable(tmp_path: Path) -> None:
    path, records = tmp_path / "c.db", sealed(Chain(A), 2)
    with Store.open(path, create=True) as store, raw(path) as other:
        with store._events.recorder.datastore.get_connection(commit=False) as connection:  # type: ignore[attr-defined]
            connection.cursor().execute("PRAGMA foreign_keys = ON")
        other.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
        other.execute("CREATE TABLE child (parent REFERENCES parent DEFERRABLE INITIALLY DEFERRED)")
        other.execute("CREATE TRIGGER late AFTER INSERT ON stored_events BEGIN INSERT INTO child VALUES (7); END")
        assert store.append([(A, records)]) != [None]
        assert not store.has(A)
        other.execute("DROP TRIGGER late")
        assert store.append([(A, records)]) == [None]
        assert store.read(A) == records


@pytest.fixture
def sealable(tmp_path: Path) -> Iterator[tuple[Path, list[str]]]:
    """A folder, and how it is made read-only; root is not stopped by permissions, only by a mount."""
    folder = tmp_path / "folder"
    folder.mkdir()
    if os.geteuid() != 0:
        yield folder, ["chmod", "-R", "a-w", str(folder)]
        subprocess.run(["chmod", "-R", "u+w", str(folder)], check=True)
        return
    mounted(folder, "size=8m")
    yield folder, ["mount", "-o", "remount,ro", str(folder)]
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_closed_store_in_a_read_only_folder_can_be_read_but_not_written(sealable: tuple[Path, list[str]]) -> None:
    folder, seal = sealable
    records = sealed(Chain(A), 3)
    with Store.open(folder / "c.db", create=True) as store:
        store.append([(A, records)])
    subprocess.run(seal, check=True)
    with Store.open(folder / "c.db", read_only=True) as store:
        assert store.read(A) == records
    for path, create in ((folder / "c.db", False), (folder / "new.db", True)):
        with pytest.raises(StoreUnusable, match=f"{path.name}: cannot be"):
            Store.open(path, create=create)
    refused = pytest.raises(StoreUnusable, match="cannot be leased")
    with Store.open(folder / "c.db", read_only=True) as store, refused, store.lease("me"):
        pytest.fail("a lease that nobody can see")


def test_an_unclosed_store_in_a_read_only_folder_is_read_or_refused_with_what_to_do(
    sealable: tuple[Path, list[str]],
) -> None:
    folder, seal = sealable
    promised = acknowledged(folder / "c.db", 3, 1, lines=20)
    (folder / "c.db-shm").unlink()
    subprocess.run(seal, check=True)
    with pytest.raises(StoreUnusable, match=r"copy the file and, if it is there, its -wal to another folder"):
        Store.open(folder / "c.db", read_only=True)
    copy = folder.parent
    for name in ("c.db", "c.db-wal"):
        (copy / name).write_bytes((folder / name).read_bytes())
    with Store.open(copy / "c.db", read_only=True) as store:
        for number, position in promised.items():
            assert len(store.read(stream(number))) >= position
