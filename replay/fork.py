"""Fork: another agent, another answer or another throw of the dice from a position of a recorded trial."""

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import anyio
import msgspec
from anyio import to_thread
from msgspec import Struct

from judges.configuration import Configuration, scripted
from judges.court import Court, ensure_has_end
from judges.pack import PackTask
from judges.record import Judgement
from replay.calls import names_now, paired
from replay.courts import furnished, kept_task
from replay.fork_rules import briefed, ensure_known, gate_of, has_gate, under_seal
from replay.trials import judgement_on, trial_named
from replay.workshop import Workshop, with_names
from sandbox.agents import SCRIPTED, Agent, PlannedCall, ready
from sandbox.archive import INTERRUPTED, Archive, attempts_of, domain_of
from sandbox.campaign import Closed, StoreJournal, attempted
from sandbox.gate import Approver, Gate
from sandbox.lineage import KIND, Fork, ForkJournal, complete_positions, ensure_complete, record_at, seen_in, spliced
from sandbox.records import (
    Chain,
    Edited,
    Forked,
    Record,
    Telemetry,
    ToolRefused,
    ToolReturned,
    TrialKey,
    decoded,
    draft,
)
from sandbox.refusals import UserFault
from sandbox.stream import Durability, Store
from sandbox.trial import Journal, Trial
from sandbox.values import canonical, digest_of
from sandbox.writer import Writer


class ForkPoint(Struct, frozen=True):
    """Where forks begin: after a record of a trial, perhaps with another answer in its place."""

    parent: UUID
    task: str
    record: Record
    """At its position in the parent."""
    edited: str | None = None
    """JSON text that the agent sees instead of the answer that the record is."""


class JudgedFork(Struct, frozen=True):
    """A fork that has ended, and what it is worth."""

    fork: Fork
    closed: Closed
    judgement: Judgement


def fork_point(store: Store, parent: TrialKey, position: int, edited: str | None = None) -> ForkPoint:
    """
    A position that a trial can be forked at.

    Raises:
        UserFault: there is no such record, a call is unfinished there, or there is no answer to edit; the nearest
            position that is possible is named. Or the edited answer is no JSON.
    """
    if edited is not None:
        _ensure_json(edited)
    record = record_at(store, parent.id, position) if position > 0 else None
    try:
        if position == 0:
            raise ValueError("position 0 is the snapshot, where nobody has said anything yet")
        if record is None:
            raise ValueError(f"it has no record {position}")
        ensure_complete(record, position)
        if edited is not None and not isinstance(decoded(record), ToolReturned | ToolRefused):
            raise ValueError(f"record {position} is no answer that could be edited")
    except ValueError as fault:
        near = _nearest(spliced(store.read, parent.id), position, answers_only=edited is not None)
        raise UserFault(f"trial {parent.id} cannot be forked at {position}: {fault}; the nearest is {near}") from None
    return ForkPoint(parent.id, parent.task, record, edited)


def _ensure_json(edited: str) -> None:
    try:
        msgspec.json.decode(edited)
    except (msgspec.DecodeError, RecursionError) as fault:
        raise UserFault(f"the edited answer is no JSON: {fault}; write it as a tool would answer") from None


def _nearest(records: Sequence[Record], position: int, *, answers_only: bool) -> str:
    possible = [
        place
        for place in complete_positions(records)
        if not answers_only or isinstance(decoded(records[place - 1]), ToolReturned | ToolRefused)
    ]
    return str(min(possible, key=lambda place: (abs(place - position), place))) if possible else "none"


def fork_key(campaign: str, point: ForkPoint, agent: str, settings: str, repetition: int) -> TrialKey:
    """Who a fork is: the same fork again is the same trial. Its campaign is none that a store can seal."""
    told = [point.parent.hex, point.record.position, agent, settings, point.edited]
    return TrialKey(f"{campaign} fork {digest_of(told)[:16]}", point.task, repetition, 1)


async def fork_trial(store: Store, journal: Journal, fork: Fork, point: ForkPoint) -> None:
    """
    Begin a fork: list it, and put its first record on disk. Its cost does not depend on the length of the parent.

    The parent's records are read when the fork makes its first call, for the rows that it goes on with.
    """
    await to_thread.run_sync(store.keep, KIND, fork.key.id.hex, canonical(msgspec.to_builtins(fork)))
    time, position = point.record.time, point.record.position
    drafts = [draft(Forked(point.parent.hex, position, point.record.digest.hex()), time)]
    if point.edited is not None:
        drafts.append(draft(Edited(position, point.edited), time))
    telemetry = msgspec.msgpack.encode(Telemetry())
    await journal.append(fork.key.id, Chain(fork.key.id).sealed(drafts, telemetry))


async def forked(
    archive: Archive,
    point: ForkPoint,
    agent: Agent,
    *,
    settings: str = "",
    repetitions: int = 1,
    gate: Gate | None = None,
) -> list[tuple[Fork, Closed]]:
    """
    Let an agent go on from a position, so many times. A fork that is there and has ended is not made again.

    Args:
        agent: gets what was before in `session.past`; the user's goal in `session.task`, as in any trial.
        settings: what tells the agent from others of its name.
        gate: in front of every call that is made after the position. Its settings belong into `settings`.
    """
    store, done = archive.store, []
    with store.lease(f"fork of trial {point.parent}"):
        async with Writer(store) as writer, ready(agent):
            journal = StoreJournal(store, writer)
            for repetition in range(repetitions):
                key = fork_key(archive.seal.name, point, agent.name, settings, repetition)
                position, code = point.record.position, archive.domain.digest
                fork = Fork(key, point.parent.hex, position, agent.name, settings, code)
                done.append(await _worked(archive, journal, fork, point, agent, gate))
    return done


async def _worked(
    archive: Archive, journal: Journal, fork: Fork, point: ForkPoint, agent: Agent, gate: Gate | None
) -> tuple[Fork, Closed]:
    store, task = archive.store, archive.tasks[point.task]
    for key in attempts_of(fork.key):
        own = msgspec.structs.replace(fork, key=key)
        spliced_journal = ForkJournal(journal, store.read)
        trial = Trial(key, task, archive.domain, archive.snapshots[task.id], spliced_journal, gate)
        is_there = await to_thread.run_sync(store.has, key.id)
        if await to_thread.run_sync(judgement_on, store, key) is not None:
            ensure_has_end(store, key.id)
        if not is_there:
            await fork_trial(store, journal, own, point)
        past = seen_in(await spliced_journal.read(key.id))
        if not is_there:
            ended = await attempted(trial, agent, key.repetition, past)
        else:
            ended = await trial.end("infrastructure", detail=INTERRUPTED)
        records = await spliced_journal.read(key.id)
        if ended.record.detail != INTERRUPTED:
            return own, Closed(key, task, ended.record, ended.effects, records)
    raise AssertionError("attempts are without end")


def fork_judged(
    path: Path,
    name: str,
    position: int,
    agent: str | Configuration,
    *,
    seed: int = 0,
    repetitions: int = 1,
    edited: str | None = None,
    durability: Durability = "process",
    gated: bool = True,
    approver: Approver | None = None,
    packed: Sequence[PackTask] = (),
) -> list[JudgedFork]:
    """
    Fork a stored trial, and judge what came of it. Protocol, limits and gate are those of the trial's campaign.

    A scripted agent gets the golden calls that the trial has not made yet when it is forked; a model all that was said,
    called and seen until then.

    Args:
        name: of the trial; see `trial_named`.
        agent: one of `SCRIPTED`, or a configuration whose agent goes on, and whose user talks to it.
        gated: whether the campaign's gate stands in front of the calls.
        approver: whom it may ask.
        packed: the tasks with what their users know; needed where a model is the user.

    Raises:
        UserFault: the campaign's gate cannot be made again, or asks and nobody is there.
    """
    given = scripted(agent, seed) if isinstance(agent, str) else agent
    with Store.open(path, durability=durability) as store:
        archive = Archive(store, domain_of(store))
        parent = trial_named(archive, name)
        point = fork_point(store, parent.key, position, edited)
        item, sealed = kept_task(archive, parent.key.task), archive.seal.agent_settings
        rules = under_seal(given, sealed, gated=gated)
        if gated:
            ensure_known(rules, parent.records[:position])
        gate, settings = gate_of(rules, approver), _settings(rules, agent, lacks_gate=not gated and has_gate(sealed))
        made = _agent(rules, archive, item, parent.records[:position], packed)

        async def run() -> list[tuple[Fork, Closed]]:
            return await forked(archive, point, made, settings=settings, repetitions=repetitions, gate=gate)

        court = Court(store, furnished(archive), [item])
        snapshot = archive.snapshots[item.task.id]
        return [JudgedFork(fork, closed, court.judge(closed, snapshot)) for fork, closed in anyio.run(run)]


def _agent(
    rules: Configuration, archive: Archive, item: PackTask, past: Sequence[Record], packed: Sequence[PackTask]
) -> Agent:
    part = rules.written.agent
    if not part.scripted:
        return rules.agent([briefed(archive, item, packed) if "user" in rules.endpoints else item])
    plan = plan_after(Workshop(archive, item.task.id), past)
    agent = SCRIPTED[part.scripted]({item.task.id: plan}, part.seed)
    agent.name = rules.agent_name
    return agent


def _settings(rules: Configuration, agent: str | Configuration, *, lacks_gate: bool) -> str:
    """What tells a fork's agent from others of its name: in words for a script by name, else all of its settings."""
    if not isinstance(agent, str):
        return rules.settings
    seed = rules.written.agent.seed
    return " ".join([f"seed {seed}"] * bool(seed) + ["without the gate"] * lacks_gate)


def plan_after(workshop: Workshop, records: Sequence[Record]) -> list[PlannedCall]:
    """The calls of the first accepted outcome that these records do not hold yet; ids as the trial has them."""
    if not workshop.goldens:
        return []
    pairs = paired(workshop.goldens[0].calls, workshop.calls(records))
    names = names_now(pairs)
    left = [pair.golden for pair in pairs if pair.done is None]
    return [PlannedCall(call.tool, msgspec.json.decode(with_names(call.arguments, names))) for call in left]
