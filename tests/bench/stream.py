"""What an append costs beside plain SQLite, and what 200 writers do to an event loop."""

import gc
import sqlite3
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from uuid import UUID

import anyio
import msgspec

from sandbox.records import Chain, Draft, Record
from sandbox.stream import Durability, Store
from sandbox.writer import Writer
from tests.bench import Line
from tests.sandbox.streams import stream

MOST_TIMES_RAW = 3.0
MOST_STALL_MS = 50.0
LEAST_RECORDS_PER_S = 10_000
WRITERS = 200

TABLE = (
    "CREATE TABLE stored_events (originator_id TEXT, originator_version INTEGER, topic TEXT, state BLOB, "
    "PRIMARY KEY (originator_id, originator_version)) WITHOUT ROWID"
)


def measure() -> list[Line]:
    """All lines; takes about half a minute."""
    lines = [beside_raw(durability, size) for durability in ("process", "power") for size in (1, 20)]
    return [*lines, read_back(), *many_writers("process"), *many_writers("power")]


def streams_of(batch: int, count: int, first: int) -> list[tuple[UUID, list[list[Record]]]]:
    """Trials of 20 records of 150 bytes, cut into batches."""
    telemetry, made = msgspec.msgpack.encode({"wall": 1.5e9, "took_ms": 1.5}), []
    for number in range(first, first + count):
        chain, batches = Chain(stream(number)), []
        for _ in range(20 // batch):
            batches.append(chain.sealed([Draft("desk.noted.1", "2025-10-01T13:00:00Z", bytes(60))] * batch, telemetry))
            chain.advance(batches[-1])
        made.append((chain.stream, batches))
    return made


def timed(work: Callable[[], None]) -> float:
    """Seconds of wall time without garbage collection."""
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    work()
    took = time.perf_counter() - start
    gc.enable()
    return took


def append_raw(connection: sqlite3.Connection, trials: list[tuple[UUID, list[list[Record]]]]) -> Callable[[], None]:
    """The same rows with executemany."""
    commits = [
        [
            (of.hex, r.position, r.topic, msgspec.msgpack.encode((r.time, r.cause, r.payload, r.telemetry, r.digest)))
            for r in batch
        ]
        for of, batches in trials
        for batch in batches
    ]

    def work() -> None:
        for rows in commits:
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO stored_events VALUES (?,?,?,?)", rows)
            connection.execute("COMMIT")

    return work


def append_stored(store: Store, trials: list[tuple[UUID, list[list[Record]]]]) -> Callable[[], None]:
    """Through the store."""

    def work() -> None:
        for of, batches in trials:
            for batch in batches:
                assert store.append([(of, batch)]) == [None]

    return work


def beside_raw(durability: Durability, size: int) -> Line:
    """The median ratio of interleaved rounds."""
    synchronous = {"process": "NORMAL", "power": "FULL"}[durability]
    ratios, costs = [], []
    with TemporaryDirectory() as folder, Store.open(Path(folder) / "c.db", create=True, durability=durability) as store:
        connection = sqlite3.connect(Path(folder) / "raw.db", isolation_level=None)
        for statement in ("PRAGMA journal_mode=WAL", f"PRAGMA synchronous={synchronous}", TABLE):
            connection.execute(statement)
        for turn in range(9):
            trials = streams_of(size, 20 if size == 1 else 100, turn * 100)
            raw, stored = timed(append_raw(connection, trials)), timed(append_stored(store, trials))
            ratios.append(stored / raw)
            costs.append(stored / (20 * len(trials)) * 1e6)
        connection.close()
    ratio = median(ratios)
    return Line(
        f"durable append, {size} per commit, {synchronous}",
        f"{ratio:.1f} × raw sqlite3 ({median(costs):.0f} µs a record)",
        f"≤ {MOST_TIMES_RAW:.0f} ×",
        ratio <= MOST_TIMES_RAW,
    )


def read_back() -> Line:
    """One long stream, decoded and verified."""
    with TemporaryDirectory() as folder, Store.open(Path(folder) / "c.db", create=True) as store:
        chain = Chain(stream(1))
        records = chain.sealed([Draft("desk.noted.1", "2025-10-01T13:00:00Z", bytes(60))] * 50_000, b"")
        store.append([(stream(1), records)])
        took = timed(lambda: deque(store.records(stream(1)), 0).clear())
    return Line("read and verify a stream of 50,000", f"{took / 50_000 * 1e6:.1f} µs a record", "", None)


def many_writers(durability: Durability) -> list[Line]:
    """200 trials that append four records at a time, in one event loop."""
    trials = streams_of(4, WRITERS * 5, 0)
    stalls: list[float] = []

    async def trial(writer: Writer, mine: list[tuple[UUID, list[list[Record]]]]) -> None:
        for of, batches in mine:
            for batch in batches:
                await writer.append(of, batch)

    async def watch() -> None:
        while True:
            start = time.perf_counter()
            await anyio.sleep(0.001)
            stalls.append((time.perf_counter() - start - 0.001) * 1000)

    async def run(store: Store) -> None:
        async with anyio.create_task_group() as watching:
            watching.start_soon(watch)
            async with Writer(store) as writer, anyio.create_task_group() as tasks:
                for place in range(WRITERS):
                    tasks.start_soon(trial, writer, trials[place::WRITERS])
            watching.cancel_scope.cancel()

    with TemporaryDirectory() as folder, Store.open(Path(folder) / "c.db", create=True, durability=durability) as store:
        start = time.perf_counter()
        anyio.run(run, store)
        speed = 20 * len(trials) / (time.perf_counter() - start)
    stall, name = quantiles(stalls, n=100)[98], {"process": "NORMAL", "power": "FULL"}[durability]
    return [
        Line(
            f"{WRITERS} concurrent writers, {name}: stall of the loop, p99 (longest)",
            f"{stall:.1f} ms ({max(stalls):.1f})",
            f"< {MOST_STALL_MS:.0f} ms",
            stall < MOST_STALL_MS,
        ),
        Line(
            f"{WRITERS} concurrent writers, {name}: records per second",
            f"{speed:,.0f}",
            f"≥ {LEAST_RECORDS_PER_S:,}",
            speed >= LEAST_RECORDS_PER_S,
        ),
    ]
