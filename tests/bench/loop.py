"""How many trials a second go through MCP client and store, and how long they keep an event loop from others."""

import time
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

import anyio

from sandbox.agents import PlannedCall, oracle
from sandbox.campaign import Campaign, StoreJournal
from sandbox.records import TrialKey
from sandbox.stream import Durability, Store
from sandbox.task import snapshot_of
from sandbox.trial import Trial
from sandbox.world import request
from sandbox.writer import Writer
from tests.bench import Line
from tests.sandbox import shopfloor

TRIALS, CALLS = 200, 5
LEAST_TRIALS_PER_S = 40
MOST_STALL_MS = 50.0
WRITERS, ROUNDS = 200, 40


def measure() -> list[Line]:
    """All lines; takes about half a minute."""
    return [trials_per_second("process"), trials_per_second("power"), stall()]


def trials_per_second(durability: Durability) -> Line:
    """A campaign of scripted trials: five calls each, through a real client, eight at a time."""
    rates = [anyio.run(_campaign_rate, durability) for _ in range(3)]
    rate = median(rates)
    return Line(
        f"trials of {CALLS} calls through MCP and store, {durability}",
        f"{rate:.0f} a second ({rate * CALLS:.0f} calls a second)",
        f"≥ {LEAST_TRIALS_PER_S} a second",
        rate >= LEAST_TRIALS_PER_S,
    )


async def _campaign_rate(durability: Durability) -> float:
    task = shopfloor.task()
    reads = [PlannedCall("shop_list_orders", {})]
    agent = oracle({task.id: [*reads, *shopfloor.remarks(CALLS - 1)]})
    with TemporaryDirectory() as folder, Store.open(Path(folder) / "c.db", create=True, durability=durability) as store:
        campaign = Campaign(store, "bench", shopfloor.domain, [task], TRIALS, agent.name)
        start = time.perf_counter()
        assert await campaign.run(agent) == []
        return TRIALS / (time.perf_counter() - start)


def stall() -> Line:
    """99th percentile of how much later than asked a sleeper wakes while 200 trials write."""
    stalls = anyio.run(_stalls)
    p99 = quantiles(stalls, n=100, method="inclusive")[98]
    return Line(
        f"event loop stall with {WRITERS} trials writing, power",
        f"p99 {p99:.1f} ms, longest {max(stalls):.1f} ms",
        f"p99 ≤ {MOST_STALL_MS:.0f} ms",
        p99 <= MOST_STALL_MS,
    )


async def _stalls() -> list[float]:
    stalls: list[float] = []
    task = shopfloor.task()
    snapshot = snapshot_of(shopfloor.domain, task)

    async def write(journal: StoreJournal, number: int) -> None:
        key = TrialKey("bench", task.id, number, 1)
        trial = await Trial.open(key, task, shopfloor.domain, snapshot, journal, agent="bench")
        for place in range(ROUNDS):
            await trial.call(request("shop_remark", f'{{"id":"SO-1","text":"{place}"}}'))
        await trial.end("done")

    async def watch() -> None:
        while True:
            start = time.perf_counter()
            await anyio.sleep(0.001)
            stalls.append((time.perf_counter() - start - 0.001) * 1000)

    with TemporaryDirectory() as folder, Store.open(Path(folder) / "c.db", create=True, durability="power") as store:
        async with Writer(store) as writer, anyio.create_task_group() as watching:
            watching.start_soon(watch)
            async with anyio.create_task_group() as writing:
                for number in range(WRITERS):
                    writing.start_soon(write, StoreJournal(store, writer), number)
            watching.cancel_scope.cancel()
    return stalls
