"""A trial: one attempt of one agent at one task, recorded as it happens."""

import platform
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol
from uuid import UUID

import anyio
import msgspec
from msgspec import Struct

from sandbox.breakage import decided
from sandbox.domain import Domain
from sandbox.effects import Effects, effects_digest
from sandbox.fold import end_of, rebuilt
from sandbox.gate import Gate, told_effects
from sandbox.records import (
    Chain,
    Draft,
    End,
    Record,
    Replied,
    Said,
    Telemetry,
    Told,
    ToolCalled,
    ToolRefused,
    ToolReturned,
    TrialEnded,
    TrialKey,
    TrialOpened,
    TurnEnded,
    Unanswered,
    UserFaulted,
    decoded,
    draft,
)
from sandbox.refusals import SandboxFault
from sandbox.snapshot import Snapshot
from sandbox.task import Task, visible_tools
from sandbox.values import digest_of
from sandbox.world import Answer, Request, World, recordable

VERSION = "0.1.0"


class Journal(Protocol):
    """Where a trial's records go; what `append` returns from is on disk."""

    async def append(self, stream: UUID, records: Sequence[Record]) -> None:
        """Keep the records, or raise and keep none of them."""

    async def read(self, stream: UUID) -> list[Record]:
        """All records of a stream, verified."""


Aside = Replied | Unanswered | Told | TurnEnded | UserFaulted
"""What stands in a stream beside the dialogue and the calls."""


class TrialOver(SandboxFault):
    """The trial has ended, or broke; nothing more is taken."""


class Ended(Struct, frozen=True):
    """A closed trial."""

    record: TrialEnded
    effects: Effects


class Trial:
    """
    The live trial: an agent's calls go in, answers come out, and everything is on disk before it is answered.

    Built from the public task alone. Calls run one at a time, in the order in which they arrive.

    Args:
        gate: in front of every call, whichever way it comes.
    """

    def __init__(
        self,
        key: TrialKey,
        task: Task,
        domain: Domain,
        snapshot: Snapshot,
        journal: Journal,
        gate: Gate | None = None,
    ) -> None:
        self.key = key
        self.task = task
        self.domain = domain
        self.snapshot = snapshot
        self.journal = journal
        self.gate = gate
        self.id = key.id
        self.fault: BaseException | None = None
        self.ended: Ended | None = None
        self._world: World | None = None
        self._chain = Chain(self.id)
        self._lock = anyio.Lock()
        self._flags = Flags()
        self._writes = {name for name, tool in domain.tools.items() if tool.spec.emits and not tool.spec.idempotent}

    @classmethod
    async def open(
        cls,
        key: TrialKey,
        task: Task,
        domain: Domain,
        snapshot: Snapshot,
        journal: Journal,
        *,
        agent: str,
        gate: Gate | None = None,
    ) -> "Trial":
        """A new trial, its first records on disk: `TrialOpened` and the user's first message."""
        trial = cls(key, task, domain, snapshot, journal, gate)
        opened = TrialOpened(
            key,
            domain.name,
            agent,
            task.instant,
            task.digest,
            tuple(layer.digest for layer in snapshot.layers),
            domain.digest,
            tools_digest(domain, task),
            VERSION,
        )
        trial._world = trial._fresh()
        await trial._append([draft(opened, task.instant), draft(Said("user", task.goal), task.instant)], started=None)
        return trial

    async def call(self, request: Request) -> Answer:
        """
        Decide, put on disk, apply, answer.

        Raises:
            TrialOver: the trial has ended, or our side broke, now or before; `fault` says how, and the trial is to
                be ended as infrastructure.
        """
        async with self._lock:
            self._ensure_open()
            with _Guard(self):
                world = await self._live()
                started = time.perf_counter()
                decision = decided(world, request)
                if self.gate is not None:
                    decision = await self.gate.passed(world, decision)
                position = self._chain.position + 1
                await self._append(decision.drafts, started=started)
                world.apply(decision, position)
            self._flags.see(request, decision.scratch is not None, request.tool in self._writes)
            return decision.answer

    async def say(self, said: Said) -> None:
        """Record a line of the visible dialogue."""
        async with self._lock:
            self._ensure_open()
            with _Guard(self):
                world = await self._live()
                line = msgspec.structs.replace(said, text=recordable(said.text))
                await self._append([draft(line, world.now)], started=None)

    async def record(self, payload: Aside, took_ms: float = 0.0) -> None:
        """
        Record what is neither dialogue nor call.

        Args:
            took_ms: how long it took, for telemetry.
        """
        async with self._lock:
            self._ensure_open()
            with _Guard(self):
                world = await self._live()
                await self._append([draft(payload, world.now)], started=None, took_ms=took_ms)

    async def end_state(self) -> str | None:
        """The trial's effects so far in words, if the gate says that the agent is to see them before it finishes."""
        if self.gate is None or not self.gate.settings.check_end_state:
            return None
        async with self._lock:
            self._ensure_open()
            with _Guard(self):
                return told_effects((await self._live()).effects)

    async def end(self, end: End, *, detail: str = "", flags: Sequence[str] = ()) -> Ended:
        """Close the trial; what it left behind is returned and its digest recorded."""
        async with self._lock:
            world = await self._live()
            if self.ended is not None:
                return self.ended
            effects = world.effects
            raised = tuple(sorted({*flags, *self._flags.raised}))
            record = TrialEnded(end, effects_digest(effects), raised, recordable(detail))
            await self._append([draft(record, world.now)], started=None)
            self.ended = Ended(record, effects)
            return self.ended

    async def resume(self) -> list[Record]:
        """
        Take up a stream that is already there; its records.

        Raises:
            SandboxFault: there is no such stream.
        """
        records = await self.journal.read(self.id)
        if not records:
            raise SandboxFault(f"trial {self.id} has no records; open it first")
        self._world = rebuilt(self._fresh(), records)
        self._chain = Chain(self.id)
        self._chain.advance(records)
        self._flags = Flags()
        for called, wrote in _calls_in(records):
            self._flags.see(Request(called.tool, called.arguments), wrote, called.tool in self._writes)
        ended = end_of(records)
        self.ended = None if ended is None else Ended(ended, self._world.effects)
        return records

    def _fresh(self) -> World:
        return World(self.domain, self.snapshot, self.task.instant, visible_tools(self.domain, self.task))

    async def _live(self) -> World:
        if self._world is None:
            await self.resume()
        assert self._world is not None
        return self._world

    async def _append(self, drafts: Sequence[Draft], *, started: float | None, took_ms: float = 0.0) -> None:
        records = self._chain.sealed(drafts, _telemetry(started, took_ms))
        try:
            # Who is cancelled here could not tell whether the records are on disk, and might read too early.
            with anyio.CancelScope(shield=True):
                await self.journal.append(self.id, records)
        except BaseException:
            self._world = None
            raise
        self._chain.advance(records)

    def _ensure_open(self) -> None:
        if self.ended is not None:
            raise TrialOver(f"trial {self.id} has ended ({self.ended.record.end}); nothing more is taken")
        if self.fault is not None:
            raise _broken(self) from self.fault


class Flags:
    """What is odd about a trial's calls."""

    def __init__(self) -> None:
        self._done: set[tuple[str, str]] = set()
        self._wrote = False
        self._repeated = False

    def see(self, request: Request, wrote: bool, counts_twice: bool) -> None:
        """One call, in order. A repeated call under an idempotency key changed nothing and is no duplicate."""
        self._wrote = self._wrote or wrote
        if wrote and counts_twice:
            call = (request.tool, _normal(request.arguments))
            self._repeated = self._repeated or call in self._done
            self._done.add(call)

    @property
    def raised(self) -> tuple[str, ...]:
        """`no_action`, `suspected_duplicate`."""
        flags = (("no_action", not self._wrote), ("suspected_duplicate", self._repeated))
        return tuple(name for name, is_raised in flags if is_raised)


class _Guard:
    """Remembers what broke inside a call, so that the trial cannot go on, and keeps its words from the agent."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, Exception):
            self._trial.fault = error
            raise _broken(self._trial) from error


def _broken(trial: Trial) -> TrialOver:
    return TrialOver(f"trial {trial.id} broke on our side; nothing more is taken")


def tools_digest(domain: Domain, task: Task) -> str:
    """Digest of all that the agent is told of its tools, and of how it is told no."""
    visible = [domain.tools[name] for name in visible_tools(domain, task)]
    told = [(t.name, t.spec.description, dict(t.schema), t.is_read, t.spec.idempotent) for t in visible]
    return digest_of([domain.refusals, told])


def _normal(arguments: str) -> str:
    try:
        return msgspec.json.encode(msgspec.json.decode(arguments), order="sorted").decode()
    except (msgspec.DecodeError, RecursionError):
        return arguments


def _calls_in(records: Sequence[Record]) -> list[tuple[ToolCalled, bool]]:
    """Each answered call, and whether it emitted an event."""
    calls: list[tuple[ToolCalled, bool]] = []
    called, events = None, 0
    for record in records:
        payload = decoded(record)
        if isinstance(payload, ToolCalled):
            called, events = payload, 0
        elif payload is None:
            events += 1
        elif called is not None and isinstance(payload, ToolReturned | ToolRefused):
            calls.append((called, events > 0 and isinstance(payload, ToolReturned)))
    return calls


_HOST = platform.node()


def _telemetry(started: float | None, took_ms: float) -> bytes:
    took = took_ms if started is None else round((time.perf_counter() - started) * 1000, 3)
    return msgspec.msgpack.encode(Telemetry(round(time.time(), 6), took, _HOST))
