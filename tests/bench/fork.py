"""What it costs to fork a trial: to begin, and to make the first call on the parent's rows."""

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import anyio

from replay.fork import fork_point, fork_trial
from sandbox.campaign import StoreJournal
from sandbox.lineage import Fork, ForkJournal
from sandbox.records import TrialKey
from sandbox.stream import Store
from sandbox.task import snapshot_of
from sandbox.trial import Trial
from sandbox.world import request
from sandbox.writer import Writer
from tests.bench import Line
from tests.sandbox.shopfloor import domain, task

MOST_FORK_MS = 10.0
ROUNDS = 15
CALL = request("shop_remark", '{"id":"SO-1","text":"hello"}')


def measure() -> list[Line]:
    """For a short and a long parent."""
    return [line for calls in (8, 3_333) for line in anyio.run(_forked, calls)]


async def _forked(calls: int) -> list[Line]:
    with TemporaryDirectory() as folder, Store.open(Path(folder) / "c.db", create=True) as store:
        async with Writer(store) as writer:
            journal = StoreJournal(store, writer)
            length, parent = await _parent(journal, calls)
            forked, called = [], []
            for number in range(ROUNDS):
                key = TrialKey(f"fork {number}", parent.task, 0, 1)
                start = time.perf_counter()
                point = fork_point(store, parent, length)
                await fork_trial(store, journal, Fork(key, parent.id.hex, length, "bench"), point)
                forked.append((time.perf_counter() - start) * 1000)
                trial = Trial(key, task(), domain, snapshot_of(domain, task()), ForkJournal(journal, store.read))
                start = time.perf_counter()
                await trial.call(CALL)
                called.append((time.perf_counter() - start) * 1000)
    return _lines(length, forked, called)


async def _parent(journal: StoreJournal, calls: int) -> tuple[int, TrialKey]:
    """A trial with so many calls, and its length."""
    key = TrialKey("bench", task().id, 0, 1)
    trial = await Trial.open(key, task(), domain, snapshot_of(domain, task()), journal, agent="bench")
    for _ in range(calls):
        await trial.call(CALL)
    return len(await journal.read(key.id)), key


def _lines(length: int, forked: Sequence[float], called: Sequence[float]) -> list[Line]:
    name = f"{length:,} records of the parent"
    return [
        Line(
            f"fork after {name}, on disk",
            f"{median(forked):.1f} ms",
            f"≤ {MOST_FORK_MS:.0f} ms",
            median(forked) <= MOST_FORK_MS,
        ),
        Line(f"its first call, with the fold of {name}", f"{median(called):.1f} ms", "", None),
    ]
