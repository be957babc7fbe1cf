"""Who awaits an append may rely on it, whoever else appends, is refused or is cancelled at the time."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from threading import Event as ThreadEvent
from uuid import UUID

import anyio
import pytest
from anyio import CancelScope, create_task_group, fail_after
from anyio.lowlevel import checkpoint

from sandbox.records import Chain, Record
from sandbox.stream import Batch, Store, StoreUnusable, StreamConflict, StreamFault
from sandbox.writer import Writer
from tests.sandbox.streams import batches, raw, sealed, stream

pytestmark = pytest.mark.anyio
A, B = stream(1), stream(2)


class GatedStore(Store):
    """A store whose commits wait until the test lets them pass, and are counted."""

    gate = ThreadEvent()
    sizes: list[int]

    def append(self, batches: list[Batch]) -> list[StreamFault | None]:  # type: ignore[override]
        assert self.gate.wait(10)
        self.sizes.append(len(batches))
        return super().append(batches)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GatedStore]:
    with GatedStore.open(tmp_path / "c.db", create=True) as opened:
        opened.gate, opened.sizes = ThreadEvent(), []
        opened.gate.set()
        yield opened


@pytest.fixture(autouse=True)
async def bounded(anyio_backend: str) -> AsyncIterator[None]:
    with fail_after(20):
        yield


async def test_200_trials_append_at_once_and_every_record_is_there(store: GatedStore) -> None:
    plans = {stream(number): batches(stream(number), [1, 3, 2, 4]) for number in range(200)}

    async def trial(writer: Writer, of: UUID, plan: list[list[Record]]) -> None:
        for records in plan:
            await writer.append(of, records)
            assert store.last(of) == records[-1]

    async with Writer(store) as writer, create_task_group() as trials:
        for of, plan in plans.items():
            trials.start_soon(trial, writer, of, plan)
    for of, plan in plans.items():
        assert store.read(of) == [record for records in plan for record in records]
    assert sum(store.sizes) == 800
    assert len(store.sizes) < 400


async def test_what_waits_goes_into_one_commit(store: GatedStore) -> None:
    store.gate.clear()
    async with Writer(store) as writer, create_task_group() as trials:
        for number in range(50):
            trials.start_soon(writer.append, stream(number), sealed(Chain(stream(number)), 2))
        await anyio.wait_all_tasks_blocked()
        store.gate.set()
    assert store.sizes[-1] >= 49
    assert sum(store.sizes) == 50


async def test_a_fault_reaches_its_own_trial_only(store: GatedStore) -> None:
    store.gate.clear()
    faults: list[StreamFault] = []

    async def gap(writer: Writer) -> None:
        with pytest.raises(StreamFault, match="the stream ends at 0") as caught:
            await writer.append(A, sealed(Chain(A), 3)[1:])
        faults.append(caught.value)

    async with Writer(store) as writer, create_task_group() as trials:
        trials.start_soon(gap, writer)
        trials.start_soon(writer.append, B, sealed(Chain(B), 2))
        await anyio.wait_all_tasks_blocked()
        store.gate.set()
    assert [fault.position for fault in faults] == [2]
    assert len(store.read(B)) == 2


async def test_a_conflict_in_a_group_commit_rolls_nobody_else_back(store: GatedStore) -> None:
    start = Chain(A)
    store.append([(A, sealed(start, 1))])
    assert store.path is not None
    with Store.open(store.path) as other:
        other.append([(A, sealed(Chain(A, start.position, start.last), 1, telemetry=b"other"))])
    conflicts: list[StreamConflict] = []

    async def slower(writer: Writer) -> None:
        with pytest.raises(StreamConflict) as caught:
            await writer.append(A, sealed(start, 1))
        conflicts.append(caught.value)

    store.gate.clear()
    async with Writer(store) as writer, create_task_group() as trials:
        trials.start_soon(slower, writer)
        for number in range(2, 12):
            trials.start_soon(writer.append, stream(number), sealed(Chain(stream(number)), 2))
        await anyio.wait_all_tasks_blocked()
        store.gate.set()
    assert len(conflicts) == 1
    assert all(len(store.read(stream(number))) == 2 for number in range(2, 12))


async def test_who_is_cancelled_while_waiting_leaves_whole_batches(store: GatedStore) -> None:
    first, second = batches(A, [2, 3])
    store.gate.clear()
    async with Writer(store) as writer:
        async with create_task_group() as tasks:
            tasks.start_soon(writer.append, A, first)
            tasks.start_soon(writer.append, A, second)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        assert not store.sizes
        store.gate.set()
        await writer.append(B, sealed(Chain(B), 1))
        assert store.read(A) == first + second


async def test_a_cancelled_run_finishes_what_was_handed_over(store: GatedStore) -> None:
    store.gate.clear()
    with CancelScope() as run:
        async with Writer(store) as writer, create_task_group() as trials:
            for number in range(20):
                trials.start_soon(writer.append, stream(number), sealed(Chain(stream(number)), 2))
                if number in (0, 19):
                    await anyio.wait_all_tasks_blocked()
            run.cancel()
            store.gate.set()
    assert run.cancelled_caught
    assert all(len(store.read(stream(number))) == 2 for number in range(20))


async def test_an_error_inside_comes_out_as_it_is(store: GatedStore) -> None:
    async def failing() -> None:
        async with Writer(store) as writer:
            await writer.append(A, sealed(Chain(A), 1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await failing()
    assert store.has(A)


async def test_a_closed_writer_takes_nothing(store: GatedStore) -> None:
    writer = Writer(store)
    with pytest.raises(StreamFault, match="the writer is closed"):
        await writer.append(A, sealed(Chain(A), 1))
    async with writer:
        pass
    with pytest.raises(StreamFault, match="the writer is closed"):
        await writer.append(A, sealed(Chain(A), 1))
    assert not store.has(A)


async def test_nobody_waits_for_a_writer_that_broke_down(store: GatedStore) -> None:
    async def broken(writer: Writer) -> None:
        with pytest.raises(StreamFault, match="the writer broke down"):
            await writer.append(A, [None])  # type: ignore[list-item]

    async def run() -> None:
        async with Writer(store) as writer:
            with CancelScope(shield=True):
                await broken(writer)

    with pytest.raises(ExceptionGroup) as caught:
        await run()
    assert caught.group_contains(AttributeError)


async def test_a_locked_database_is_a_fault_and_the_loop_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "locked.db"
    with Store.open(path, create=True, lock_timeout_s=1) as store, raw(path) as other:
        other.execute("BEGIN IMMEDIATE")
        async with Writer(store) as writer:
            with pytest.raises(StoreUnusable, match="locked"):
                await writer.append(A, sealed(Chain(A), 1))
            other.execute("ROLLBACK")
            await writer.append(A, sealed(Chain(A), 1))
        assert store.has(A)


async def test_those_who_waited_for_one_commit_go_on_a_few_at_a_time(store: GatedStore) -> None:
    passes, woken = 0, Counter[int]()

    async def count() -> None:
        nonlocal passes
        while True:
            passes += 1
            await checkpoint()

    async def trial(writer: Writer, of: UUID) -> None:
        await writer.append(of, batches(of, [1])[0])
        woken[passes] += 1

    async with create_task_group() as counting:
        counting.start_soon(count)
        async with Writer(store) as writer, create_task_group() as trials:
            for number in range(100):
                trials.start_soon(trial, writer, stream(number))
        counting.cancel_scope.cancel()
    assert max(store.sizes) > 10 >= max(woken.values())
    assert woken.total() == 100
