"""A campaign: tasks × k repetitions × one agent, its inputs sealed at the start, every attempt accounted for."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from uuid import UUID

import anyio
import msgspec
from anyio import Semaphore, to_thread
from msgspec import Struct

from sandbox.agents import USER_FAULT, Agent, Finished, ready
from sandbox.archive import (
    INTERRUPTED,
    CampaignDiffers,
    Seal,
    SealedTask,
    attempts_of,
    ensure_extends,
    keep_seal,
    keys_of,
    newest_seal,
)
from sandbox.breakage import Broke
from sandbox.domain import Domain
from sandbox.effects import Effects
from sandbox.escapes import Escaped, contained
from sandbox.fold import end_of
from sandbox.garbage import rarely_collected
from sandbox.gate import Gate
from sandbox.in_flight import call_on_the_way
from sandbox.lineage import Seen
from sandbox.mcp_session import connected
from sandbox.model_faults import ModelFault, is_lasting
from sandbox.projection import folded_effects
from sandbox.records import End, Record, TrialEnded, TrialKey
from sandbox.refusals import UserFault
from sandbox.stream import Store
from sandbox.task import Task, snapshot_of
from sandbox.trial import VERSION, Ended, Journal, Trial, tools_digest
from sandbox.values import canonical, digest_of
from sandbox.writer import Writer

MOST_FAULTS = 3
"""Attempts at one repetition that may break on our side before it is left unresolved; interruptions do not count."""

log = logging.getLogger("trialbox")


class Closed(Struct, frozen=True):
    """A trial that has ended, with all that a judge may ask for."""

    key: TrialKey
    task: Task
    end: TrialEnded
    effects: Effects
    records: Sequence[Record]


OnClosed = Callable[[Closed], Awaitable[None]]
"""Called for every closed trial, also for those that an earlier run has closed."""


class StoreJournal:
    """A store as a trial's journal: appends are committed in groups, reads are verified."""

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store = store
        self._writer = writer

    async def append(self, stream: UUID, records: Sequence[Record]) -> None:
        """Return when the records are durable."""
        await self._writer.append(stream, records)

    async def read(self, stream: UUID) -> list[Record]:
        """All records of a stream."""
        return await to_thread.run_sync(self._store.read, stream)


class Campaign:
    """
    A sealed campaign in its store.

    Args:
        store: where everything goes; the caller opens and closes it.
        name: of the campaign; part of every trial's identity.
        domain: the business that the tasks are about.
        tasks: public parts only.
        repetitions: k, attempts that count for each task.
        agent: name of the agent; part of the seal.
        agent_settings: what else tells it from others of its name; part of the seal.
        users: digest of what the user of a task is told, by task id, where a user takes part; part of the seal.

    Raises:
        CampaignDiffers: the store holds a campaign of other inputs.
        UserFault: no tasks, two of one id, or k below 1.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        domain: Domain,
        tasks: Sequence[Task],
        repetitions: int,
        agent: str,
        agent_settings: str = "",
        users: Mapping[str, str] = {},
    ) -> None:
        if not tasks or repetitions < 1:
            raise UserFault(f"campaign {name} has {len(tasks)} tasks × {repetitions} repetitions; nothing would run")
        self.store = store
        self.domain = domain
        self.tasks = {task.id: task for task in tasks}
        if len(self.tasks) < len(tasks):
            raise UserFault(f"campaign {name} has two tasks of one id; every trial must be told apart")
        for task in tasks:
            if task.domain != domain.name:
                raise UserFault(
                    f"task {task.id} is of domain {task.domain!r}; campaign {name} is about {domain.name!r}"
                )
        self.snapshots = {task.id: snapshot_of(domain, task) for task in tasks}
        self.seal = self._sealed(name, repetitions, agent, agent_settings, users)
        self._keep()

    async def run(
        self,
        agent: Agent,
        *,
        concurrency: int = 8,
        on_closed: OnClosed | None = None,
        gate: Gate | None = None,
        retries_user_faults: bool = False,
        most_faults: int = MOST_FAULTS,
    ) -> list[TrialKey]:
        """
        Attempt every repetition that has no counted trial yet.

        A trial that was interrupted is closed as infrastructure and attempted again, on a fresh view.

        Args:
            gate: in front of every call. Its settings belong into the campaign's `agent_settings`.
            retries_user_faults: whether a trial whose user did wrong is closed as infrastructure and attempted again.
            most_faults: attempts at one repetition that may break on our side, in all runs together. One that the
                model's endpoint refuses for good is none of them, and is made once in each run.

        Returns:
            The repetitions that are left without a counted trial after the last attempt.

        Raises:
            CampaignDiffers: the campaign is sealed for an agent of another name.
        """
        if agent.name != self.seal.agent:
            raise CampaignDiffers(
                f"campaign {self.seal.name!r} is sealed for agent {self.seal.agent!r}, not {agent.name!r}"
            )
        free, unresolved = Semaphore(concurrency), list[TrialKey]()
        with self.store.lease(f"campaign {self.seal.name}"), rarely_collected():
            async with AsyncExitStack() as stack:
                journal = StoreJournal(self.store, await stack.enter_async_context(Writer(self.store)))
                await stack.enter_async_context(ready(agent))
                tasks = await stack.enter_async_context(anyio.create_task_group())

                async def attempt(key: TrialKey) -> Ended:
                    trial = await self._opened(key, agent, journal, gate)
                    return await attempted(trial, agent, key.repetition, retries_user_faults=retries_user_faults)

                async def resolve(key: TrialKey) -> None:
                    try:
                        if not await self._resolved(key, attempt, journal, on_closed, most_faults):
                            unresolved.append(key)
                    finally:
                        free.release()

                for key in keys_of(self.seal):
                    # One start per pass of the event loop: a thousand in one would hold up those that run.
                    await free.acquire()
                    tasks.start_soon(resolve, key)
        return sorted(unresolved)

    async def _resolved(
        self,
        first: TrialKey,
        attempt: Callable[[TrialKey], Awaitable[Ended]],
        journal: Journal,
        on_closed: OnClosed | None,
        most_faults: int,
    ) -> bool:
        faults, is_hopeless = 0, False
        for key in attempts_of(first):
            is_there = await to_thread.run_sync(self.store.has, key.id)
            if not is_there and (is_hopeless or faults >= most_faults):
                return False
            ended = await (self._taken_up(key, journal) if is_there else attempt(key))
            if on_closed is not None:
                records = await journal.read(key.id)
                await on_closed(Closed(key, self.tasks[key.task], ended.record, ended.effects, records))
            if ended.record.end != "infrastructure":
                return True
            if is_lasting(ended.record.detail):
                # Nothing but a change of the endpoint helps: one try in each run, so that the same command mends it.
                is_hopeless = not is_there
            else:
                faults += ended.record.detail != INTERRUPTED
        raise AssertionError("attempts have no end")

    async def _opened(self, key: TrialKey, agent: Agent, journal: Journal, gate: Gate | None) -> Trial:
        task, snapshot = self.tasks[key.task], self.snapshots[key.task]
        return await Trial.open(key, task, self.domain, snapshot, journal, agent=agent.name, gate=gate)

    async def _taken_up(self, key: TrialKey, journal: Journal) -> Ended:
        """How a trial that is in the store ended; an interrupted one is closed now."""
        snapshot = self.snapshots[key.task]
        records = await journal.read(key.id)
        end = end_of(records)
        if end is not None:
            return Ended(end, folded_effects(self.domain, snapshot, records))
        trial = Trial(key, self.tasks[key.task], self.domain, snapshot, journal)
        await trial.resume()
        if (lost := call_on_the_way(records, self.seal.agent_settings)) is not None:
            await trial.record(lost)
        return await trial.end("infrastructure", detail=INTERRUPTED)

    def _sealed(self, name: str, repetitions: int, agent: str, agent_settings: str, users: Mapping[str, str]) -> Seal:
        tasks = [
            SealedTask(
                task.id,
                task.digest,
                tuple(layer.digest for layer in self.snapshots[task.id].layers),
                tools_digest(self.domain, task),
                users.get(task.id, ""),
            )
            for task in self.tasks.values()
        ]
        told = digest_of(self.domain.instructions)
        inputs = (told, agent, repetitions, tuple(tasks), VERSION, self.domain.mounting, agent_settings)
        return Seal(name, self.domain.name, self.domain.digest, *inputs)

    def _keep(self) -> None:
        """Seal the campaign, or extend what is sealed; while another run has it nothing is extended."""
        kept = newest_seal(self.store)
        if kept is not None:
            ensure_extends(kept, self.seal)
        if kept != self.seal:
            with self.store.lease(f"campaign {self.seal.name}"):
                self._keep_inputs()
                keep_seal(self.store, self.seal)

    def _keep_inputs(self) -> None:
        for task_id, snapshot in self.snapshots.items():
            for layer in snapshot.layers:
                self.store.keep("layer", layer.digest, layer.content)
            task = self.tasks[task_id]
            self.store.keep("task", task.digest, canonical(msgspec.to_builtins(task)))


async def attempted(
    trial: Trial,
    agent: Agent,
    repetition: int,
    past: Sequence[Seen] = (),
    *,
    retries_user_faults: bool = False,
) -> Ended:
    """
    Let an agent work on an open trial, and close it. Whatever breaks is recorded as infrastructure.

    Args:
        past: of a fork, what was said, asked and seen before.
        retries_user_faults: whether what a faulty user spoiled is infrastructure.
    """
    end: End = "infrastructure"
    detail = ""
    flags: tuple[str, ...] = ()
    try:
        async with connected(trial, past) as session:
            given = await contained(lambda: agent.attempt(session, repetition))
        made = given if isinstance(given, Finished) else Finished(given)
        end, flags, detail = msgspec.convert(made.end, End), made.flags, made.detail
        if retries_user_faults and USER_FAULT in flags:
            end, detail = "infrastructure", "the simulated user did wrong; the stream says how"
    except Exception as error:  # noqa: BLE001 - the edge of a trial: what broke is recorded, nothing is lost
        detail = _told(error)
    if trial.fault is not None:
        end, detail = "infrastructure", _told(trial.fault)
    ended = await trial.end(end, detail=detail, flags=flags)
    log.info(json.dumps({"trial": str(trial.id), **msgspec.to_builtins(trial.key), "end": end, "detail": detail}))
    return ended


def _told(error: BaseException) -> str:
    inner = error
    while isinstance(inner, BaseExceptionGroup) and inner.exceptions:
        inner = inner.exceptions[0]
    if isinstance(inner, Broke | Escaped):
        return str(inner)
    name = inner.kind if isinstance(inner, ModelFault) else type(inner).__name__
    return f"{name}: {inner}"
