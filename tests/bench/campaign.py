"""A thousand trials of a model at once: how fast, in how much memory, and how long the event loop is held up."""

import json
import subprocess
import sys
import time
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import quantiles
from tempfile import TemporaryDirectory

import anyio
from msgspec import Struct

from sandbox.archive import Archive
from sandbox.campaign import Campaign
from sandbox.loop import ModelAgent
from sandbox.model_settings import ModelSettings
from sandbox.protocols import Limits, ThinkingBox
from sandbox.records import ToolCalled, decoded
from sandbox.stream import Store
from tests.bench import Line
from tests.sandbox import shopfloor
from tests.stub import Asked, Outcome, Turn, call

TRIALS, TASKS, LATENCY_S = 1000, 10, 0.05
MOST_STALL_MS, MOST_MB = 50.0, 600.0
ROOT = Path(__file__).resolve().parents[2]


class Measured(Struct, frozen=True):
    """One campaign in a process of its own."""

    trials_per_s: float
    p99_ms: float
    longest_ms: float
    resident_mb: float
    foreign: int
    """Trials that hold a marker of another task."""


def measure() -> list[Line]:
    """All lines; takes about a minute."""
    command = [sys.executable, "-m", "tests.stub", "--script", f"{__name__}:remarking", "--latency-s", str(LATENCY_S)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as stub:
        assert stub.stdout is not None
        url = stub.stdout.readline().strip()
        try:
            made = subprocess.check_output([sys.executable, "-m", __name__, url], cwd=ROOT, text=True, timeout=300)
        finally:
            stub.terminate()
    found = Measured(**json.loads(made))
    what = f"{TRIALS} trials of a model at once, {LATENCY_S * 1000:.0f} ms latency"
    return [
        Line(f"{what}: rate", f"{found.trials_per_s:.0f} a second", "", None),
        Line(
            f"{what}: event loop stall",
            f"p99 {found.p99_ms:.1f} ms, longest {found.longest_ms:.0f} ms",
            f"p99 ≤ {MOST_STALL_MS:.0f} ms",
            found.p99_ms <= MOST_STALL_MS,
        ),
        Line(
            f"{what}: resident memory",
            f"{found.resident_mb:.0f} MB",
            f"≤ {MOST_MB:.0f} MB",
            found.resident_mb <= MOST_MB,
        ),
        Line(f"{what}: trials with another's marker", str(found.foreign), "0", found.foreign == 0),
    ]


def remarking(asked: Asked) -> Outcome:
    """The script of an agent that leaves two remarks, each with its task's words, and is done."""
    messages = asked.body["messages"]
    made = sum(message["role"] == "tool" for message in messages)
    if made == 2:
        return Turn("All is done. <DONE>")
    return Turn("", [call("shop_remark", {"id": "SO-1", "text": f"{messages[1]['content']} {made}"}, f"c{made}")])


async def _campaign(url: str, path: Path) -> Measured:
    tasks = [shopfloor.task(f"task-{number}") for number in range(TASKS)]
    stalls: list[float] = []

    async def watch() -> None:
        while True:
            start = time.perf_counter()
            await anyio.sleep(0.001)
            stalls.append((time.perf_counter() - start - 0.001) * 1000)

    agent = ModelAgent("stub", ModelSettings(url, "stub-1"), ThinkingBox(), Limits())
    with Store.open(path, create=True) as store:
        campaign = Campaign(store, "bench", shopfloor.domain, tasks, TRIALS // TASKS, agent.name)
        start = time.perf_counter()
        async with anyio.create_task_group() as watching:
            watching.start_soon(watch)
            assert await campaign.run(agent, concurrency=TRIALS) == []
            watching.cancel_scope.cancel()
        took = time.perf_counter() - start
        resident = _peak_mb()
        foreign = _foreign(store)
    p99 = quantiles(stalls, n=100, method="inclusive")[98]
    return Measured(TRIALS / took, p99, max(stalls), resident, foreign)


def _foreign(store: Store) -> int:
    found = 0
    for key, records in Archive(store, shopfloor.domain).closed():
        calls = [payload for record in records if isinstance(payload := decoded(record), ToolCalled)]
        found += len(calls) != 2 or any(f"Please see to {key.task}. " not in one.arguments for one in calls)
    return found


def _peak_mb() -> float:
    return getrusage(RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        measured = anyio.run(_campaign, sys.argv[1], Path(folder) / "c.db")
    print(json.dumps({name: getattr(measured, name) for name in Measured.__struct_fields__}))
