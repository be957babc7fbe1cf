"""Journals for tests: the real one over a store, and ones that fail or wait on demand around it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

from anyio import Event

from sandbox import Domain
from sandbox.campaign import StoreJournal
from sandbox.records import Record, TrialKey, decoded
from sandbox.store_file import StoreUnusable
from sandbox.stream import Store
from sandbox.task import snapshot_of
from sandbox.trial import Journal, Trial
from sandbox.writer import Writer
from tests.sandbox import shopfloor


@asynccontextmanager
async def stored(store: Store | None = None) -> AsyncIterator[StoreJournal]:
    """A journal over a store, in memory if none is given."""
    store = store or Store.in_memory()
    async with Writer(store) as writer:
        yield StoreJournal(store, writer)


class Failing:
    """Raises for the appends with these numbers, counted from 1; `keeps` says whether they were stored all the same."""

    def __init__(self, inner: Journal, *numbers: int, keeps: bool = False) -> None:
        self.inner = inner
        self.numbers = numbers
        self.keeps = keeps
        self.count = 0

    async def append(self, stream: UUID, records: Sequence[Record]) -> None:
        self.count += 1
        if self.count in self.numbers:
            if self.keeps:
                await self.inner.append(stream, records)
            raise StoreUnusable("the disk reported an error")
        await self.inner.append(stream, records)

    async def read(self, stream: UUID) -> list[Record]:
        return await self.inner.read(stream)


class Gated:
    """Holds the appends of chosen streams until the gate opens."""

    def __init__(self, inner: Journal) -> None:
        self.inner = inner
        self.held: set[UUID] = set()
        self.waiting = Event()
        self.gate = Event()

    async def append(self, stream: UUID, records: Sequence[Record]) -> None:
        if stream in self.held:
            self.waiting.set()
            await self.gate.wait()
        await self.inner.append(stream, records)

    async def read(self, stream: UUID) -> list[Record]:
        return await self.inner.read(stream)


def made(journal: Journal, repetition: int = 0) -> Trial:
    """A trial object whose stream is not looked at yet."""
    task, domain = shopfloor.task(), shopfloor.domain
    return Trial(TrialKey("c", task.id, repetition, 1), task, domain, snapshot_of(domain, task), journal)


async def opened(journal: Journal, repetition: int = 0, *, domain: Domain = shopfloor.domain) -> Trial:
    """A trial of the shop, opened."""
    task = shopfloor.task()
    key = TrialKey("c", task.id, repetition, 1)
    return await Trial.open(key, task, domain, snapshot_of(domain, task), journal, agent="tester")


def topics(records: Sequence[Record]) -> list[str]:
    """Topics without `trial.` and version."""
    return [record.topic.removeprefix("trial.").rpartition(".")[0] for record in records]


def calls_of(records: Sequence[Record]) -> list[list[Record]]:
    """The records of each call, the call itself first."""
    return [
        [record for record in records if record.cause == called.position]
        for called in records
        if called.topic == "trial.called.1"
    ]


def ensure_whole(records: Sequence[Record]) -> None:
    """Fail if a call has no answer, or more than one, or records that stand elsewhere."""
    for call in calls_of(records):
        assert [r.position for r in call] == list(range(call[0].position, call[0].position + len(call)))
        assert call[-1].topic in ("trial.returned.1", "trial.refused.1")
        assert all(decoded(record) is None or record.topic == "trial.gated.1" for record in call[1:-1])


def limit_pages(store: Store, *, by: int) -> None:
    """Let the store's file grow by so many pages and no more, as a full disk would."""
    with store._events.recorder.datastore.transaction(commit=False) as cursor:  # type: ignore[attr-defined]
        cursor.execute("PRAGMA page_count")
        pages = cursor.fetchone()[0]
        cursor.execute(f"PRAGMA max_page_count={pages + by}")
