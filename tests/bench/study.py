"""A study at the size of the published one: twenty agents, 507 tasks, twenty repetitions, from stores on disk."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from judges.court import Court, keep_judgements
from judges.metrics.counted import Counted, counted
from judges.pack import PackTask, tasks_of
from judges.read_models import views_path
from judges.record import Judgement
from judges.spending import keep_prices
from sandbox.agents import PlannedCall
from sandbox.campaign import Campaign, Closed
from sandbox.domain import Domain
from sandbox.effects import Effects, effects_digest
from sandbox.prices import price_table
from sandbox.records import Chain, Draft, Record, Replied, Said, TrialEnded, TrialKey, TrialOpened, draft
from sandbox.refusals import Refused
from sandbox.registry import domain_named
from sandbox.snapshot import Snapshot
from sandbox.stream import Store
from sandbox.usage import Usage
from sandbox.values import canonical
from sandbox.world import Request, World
from tests.bench import Line

AGENTS, TASKS, REPETITIONS = 20, 507, 20
TRIALS = AGENTS * TASKS * REPETITIONS
STATS_S, REPORT_S, MOST_MB = 5.0, 60.0, 1000.0
REBUILT = 2
"""Stores whose read models are dropped and made again a second time."""
PRICES = {"source": "here", "date": "2026-01-01", "models": {"m-1": {"input": 0.5, "cache_read": 0.05, "output": 2}}}
SETTINGS = '{"agent":{"model":{"model":"m-1"}}}'


class Way(Struct, frozen=True):
    """What one agent may do at one task: everything of its trial but whose it is."""

    drafts: tuple[Draft, ...]
    effects: Effects


def measure() -> list[Line]:
    """All lines; takes about five minutes and a gigabyte in the temporary folder."""
    with TemporaryDirectory() as folder:
        started = time.perf_counter()
        paths = list(stored(Path(folder)))
        size = sum(path.stat().st_size for path in paths) / 2**20
        print(f"  {TRIALS:,} trials in {AGENTS} stores made in {time.perf_counter() - started:.0f} s, {size:.0f} MB")
        made = [counted(path) for path in paths]
        names = [str(path) for path in paths]
        stats = _run(["stats", *names])
        report = _run(["report", *names, "-o", str(Path(folder) / "report")])
        equal = all(_again(path) == one for path, one in zip(paths[:REBUILT], made, strict=False))
    what = f"{TRIALS:,} trials of {AGENTS} agents"
    return [
        Line(f"stats, {what}, one core", f"{stats.took_s:.1f} s", f"< {STATS_S:.0f} s", stats.took_s < STATS_S),
        Line(f"report, {what}, one core", f"{report.took_s:.1f} s", f"< {REPORT_S:.0f} s", report.took_s < REPORT_S),
        *(
            Line(
                f"{name}: resident memory",
                f"{one.mb:.0f} MB",
                f"< {MOST_MB:.0f} MB",
                one.mb < MOST_MB,
            )
            for name, one in (("stats", stats), ("report", report))
        ),
        Line(f"read models dropped and made again, {REBUILT} stores: equal", "yes" if equal else "NO", "yes", equal),
    ]


class Ran(Struct, frozen=True):
    """A command in a process of its own, on one core."""

    took_s: float
    mb: float


def _run(arguments: Sequence[str]) -> Ran:
    started = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), 1)
        os.execv(sys.executable, [sys.executable, "-m", "trialbox", *arguments])
    _, status, usage = os.wait4(pid, 0)
    assert status == 0, f"trialbox {arguments[0]} ended with {status}"
    return Ran(time.perf_counter() - started, usage.ru_maxrss / 1024)


def _again(path: Path) -> Counted:
    views_path(path).unlink()
    return counted(path)


def stored(folder: Path) -> Iterator[Path]:
    """A store for each agent; the agents differ in how often they do what is right."""
    domain = domain_named("probe")
    base = [item for item in tasks_of(domain) if any(way.calls for way in item.expectation.outcomes)]
    tasks = [_renamed(base[place % len(base)], f"task-{place:03}") for place in range(TASKS)]
    for number in range(AGENTS):
        path = folder / f"agent-{number:02}.db"
        _campaign(path, domain, tasks, f"agent-{number:02}", Random(number))
        yield path


def _renamed(item: PackTask, name: str) -> PackTask:
    return PackTask(replace(item.task, id=name), replace(item.user, task=name), item.expectation)


def _campaign(path: Path, domain: Domain, tasks: Sequence[PackTask], agent: str, random: Random) -> None:
    with Store.open(path, create=True) as store:
        court = Court(store, domain, tasks)
        public = [item.task for item in tasks]
        campaign = Campaign(store, agent, domain, public, REPETITIONS, agent, SETTINGS)
        keep_prices(store, price_table(PRICES, "prices"))
        trials = _trials(domain, tasks, campaign.snapshots, court, agent, random)
        while chunk := list(islice(trials, 1000)):
            assert not any(store.append([(key.id, records) for key, records, _ in chunk]))
            keep_judgements(store, [judgement for _, _, judgement in chunk if judgement is not None], ())


def _trials(
    domain: Domain,
    tasks: Sequence[PackTask],
    snapshots: Any,
    court: Court,
    agent: str,
    random: Random,
) -> Iterator[tuple[TrialKey, list[Record], Judgement | None]]:
    """Trials with their judgements; None where it is in the store already."""
    for item in tasks:
        right, *wrong = _ways(domain, item, snapshots[item.task.id])
        judged: dict[int, Judgement] = {}
        skill = random.betavariate(1, 1)
        for repetition in range(REPETITIONS):
            key = TrialKey(agent, item.task.id, repetition, 1)
            way = right if random.random() < skill else random.choice(wrong)
            records = _records(domain, key, item, snapshots[item.task.id], way)
            if id(way) in judged:
                yield key, records, replace(judged[id(way)], trial=key.id.hex)
                continue
            closed = Closed(key, item.task, TrialEnded("done", effects_digest(way.effects)), way.effects, records)
            judged[id(way)] = court.judge(closed, snapshots[item.task.id])
            yield key, records, None


def _ways(domain: Domain, item: PackTask, snapshot: Snapshot) -> list[Way]:
    """The golden way, then without its last call, without its first, with its first made twice, and nothing at all."""
    plan = [PlannedCall(call.tool, call.arguments) for call in item.expectation.outcomes[0].calls]
    return [_way(domain, item, snapshot, calls) for calls in (plan, plan[:-1], plan[1:], [plan[0], *plan], [])]


def _way(domain: Domain, item: PackTask, snapshot: Snapshot, calls: Sequence[PlannedCall]) -> Way:
    world, start = World(domain, snapshot, item.task.instant), item.task.instant
    drafts = [draft(Said("user", item.task.goal), start)]
    position = 2
    for place, call in enumerate(calls, 1):
        drafts.append(draft(_replied("agent", place), world.now))
        position += 1
        try:
            decision = world.decide(Request(call.tool, canonical(call.arguments).decode()))
        except Refused:
            continue
        world.apply(decision, position + 1)
        drafts += decision.drafts
        position += len(decision.drafts)
    drafts += [draft(_replied("user", 1), world.now), draft(Said("assistant", "All done!"), world.now)]
    drafts.append(draft(TrialEnded("done", effects_digest(world.effects)), world.now))
    return Way(tuple(drafts), world.effects)


def _replied(party: str, number: int) -> Replied:
    reply = canonical({"choices": [{"message": {"content": "I will see to it. " * 10}}]}).decode()
    return Replied(party, number, "m-1", "m-1", "0" * 64, reply, "stop", Usage(900, 4000, 0, 120 + number, 40))


def _records(domain: Domain, key: TrialKey, item: PackTask, snapshot: Snapshot, way: Way) -> list[Record]:
    chain, records = Chain(key.id), list[Record]()
    layers = tuple(layer.digest for layer in snapshot.layers)
    opened = TrialOpened(
        key, domain.name, key.campaign, item.task.instant, item.task.digest, layers, domain.digest, "", "0"
    )
    for batch in _batches([draft(opened, item.task.instant), *way.drafts]):
        sealed = chain.sealed(batch, b"")
        chain.advance(sealed)
        records += sealed
    return records


def _batches(drafts: Sequence[Draft]) -> Iterator[list[Draft]]:
    """Each call with what it caused, since causes count from the head of a batch."""
    batch: list[Draft] = []
    for one in drafts:
        if batch and not one.from_call:
            yield batch
            batch = []
        batch.append(one)
    yield batch
