"""How many trials share one writer: whoever waits goes into the next commit."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self
from uuid import UUID

from anyio import CancelScope, CapacityLimiter, Event, create_task_group, to_thread
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from sandbox.records import Record
from sandbox.stream import Store, StreamFault

_WOKEN_AT_ONCE = 4
_PASSES = 3
"""Of the event loop, before a commit: short where little goes on, and where much does, more go into one commit."""


class _Waiting:
    """A batch on its way to the disk, and who waits for it."""

    def __init__(self, stream: UUID, records: Sequence[Record]) -> None:
        self.stream = stream
        self.records = records
        self.settled = Event()
        self.fault: StreamFault | None = StreamFault("the writer broke down before this was stored; see its own error")

    def settle(self, fault: StreamFault | None) -> None:
        self.fault = fault
        self.settled.set()


class Writer:
    """
    Group commit over a store, for one event loop: `async with Writer(store) as writer`.

    Leaving waits for all that was handed over. The store stays open.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._queue: list[_Waiting] = []
        self._called = Event()
        self._open = False
        self._thread = CapacityLimiter(1)
        self._tasks: TaskGroup

    async def __aenter__(self) -> Self:
        self._tasks = create_task_group()
        await self._tasks.__aenter__()
        self._open = True
        self._tasks.start_soon(self._drain)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._open = False
        self._called.set()
        # The caller's own error goes on as it is: handed to the group, it would come out wrapped.
        await self._tasks.__aexit__(None, None, None)
        return None

    async def append(self, stream: UUID, records: Sequence[Record]) -> None:
        """
        Return when the records are on disk.

        Who is cancelled while waiting knows nothing of them: they are stored, all or none.

        Raises:
            StreamFault: none of them is stored; see `Store.append`.
        """
        if not self._open:
            raise StreamFault("the writer is closed; append while it is open", stream=stream)
        waiting = _Waiting(stream, records)
        self._queue.append(waiting)
        self._called.set()
        await waiting.settled.wait()
        if waiting.fault is not None:
            raise waiting.fault

    async def _drain(self) -> None:
        with CancelScope(shield=True):
            try:
                while self._open or self._queue:
                    await self._called.wait()
                    for _ in range(_PASSES):
                        await checkpoint()
                    self._called = Event()
                    taken, self._queue = self._queue, []
                    if taken:
                        await self._commit(taken)
            finally:
                self._open = False
                for waiting in self._queue:
                    waiting.settled.set()

    async def _commit(self, taken: list[_Waiting]) -> None:
        """One hop to a thread and one commit for all; nobody is left waiting, whatever happens."""
        try:
            batches = [(waiting.stream, waiting.records) for waiting in taken]
            faults = await to_thread.run_sync(self.store.append, batches, limiter=self._thread)
            for place, (waiting, fault) in enumerate(zip(taken, faults, strict=True), 1):
                waiting.settle(fault)
                if place % _WOKEN_AT_ONCE == 0:
                    # All that wait go on in one pass of the event loop; hundreds of them would hold it up.
                    await checkpoint()
        finally:
            for waiting in taken:
                waiting.settled.set()
