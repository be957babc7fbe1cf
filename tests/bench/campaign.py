"""A thousand trials of a model at once: speed, memory, how long the event loop is held up, and killed at half of it."""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import quantiles
from tempfile import TemporaryDirectory

import anyio
from anyio import CapacityLimiter, to_thread
from msgspec import Struct

from judges.court import Court
from judges.expectation import Accepted, Expectation, GoldenCall
from judges.pack import PackTask
from judges.record import KIND
from judges.record import decoded as judgement_in
from sandbox.archive import INTERRUPTED, Archive
from sandbox.campaign import Campaign, Closed
from sandbox.loop import ModelAgent
from sandbox.model_settings import ModelSettings
from sandbox.protocols import Limits, ThinkingBox
from sandbox.records import ToolCalled, TrialEnded, decoded
from sandbox.stream import Store
from sandbox.task import UserContext
from tests.bench import Line
from tests.sandbox import shopfloor
from tests.stub import Asked, Outcome, Turn, call

TRIALS, TASKS, LATENCY_S = 1000, 10, 0.05
MOST_STALL_MS, MOST_MB = 50.0, 600.0
ROOT = Path(__file__).resolve().parents[2]
_CHILD = (sys.executable, "-m", "tests.bench.campaign")


class Measured(Struct, frozen=True):
    """One campaign in a process of its own."""

    trials_per_s: float
    p99_ms: float
    longest_ms: float
    own_ms: float
    """99th percentile of what the loop's thread computed meanwhile: the stall without what others did to it."""
    resident_mb: float
    foreign: int
    """Trials that hold a marker of another task."""


class Totals(Struct, frozen=True):
    """What a finished campaign holds, whichever way it came about."""

    passed: int
    records: dict[str, int]
    """Of the trials that count, by end."""
    counted: Counter[int]
    """How many repetitions have so many trials that count."""


def measure() -> list[Line]:
    """All lines; takes about two minutes."""
    with _stub() as url:
        made = subprocess.check_output([*_CHILD, url], cwd=ROOT, text=True, timeout=300)
        return [*_lines(Measured(**json.loads(made))), _killed(url)]


@contextmanager
def _stub() -> Iterator[str]:
    """An endpoint in a process of its own, so that its work holds up nobody's loop but its own."""
    command = [sys.executable, "-m", "tests.stub", "--script", f"{__name__}:remarking", "--latency-s", str(LATENCY_S)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as stub:
        assert stub.stdout is not None
        try:
            yield stub.stdout.readline().strip()
        finally:
            stub.terminate()


def _lines(found: Measured) -> list[Line]:
    what = f"{TRIALS} trials of a model at once, {LATENCY_S * 1000:.0f} ms latency"
    return [
        Line(f"{what}: rate", f"{found.trials_per_s:.0f} a second", "", None),
        Line(
            f"{what}: event loop stall",
            f"p99 {found.p99_ms:.1f} ms, longest {found.longest_ms:.0f} ms",
            f"p99 ≤ {MOST_STALL_MS:.0f} ms",
            found.p99_ms <= MOST_STALL_MS,
        ),
        Line(f"{what}: of that its own computing", f"p99 {found.own_ms:.1f} ms", "", None),
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


def _killed(url: str) -> Line:
    """A judged campaign that is killed when half of it is closed and gone on with, beside one that nobody stopped."""
    with TemporaryDirectory() as folder:
        whole, halved = Path(folder) / "whole.db", Path(folder) / "halved.db"
        _judged_to_the_end(url, whole)
        with subprocess.Popen([*_CHILD, url, str(halved)], cwd=ROOT, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.kill()
        before = _closed(halved)
        _judged_to_the_end(url, halved)
        after = _closed(halved)
        broken = Counter(end.detail for end in after.values() if end.end == "infrastructure")
        kept = all(after[trial] == end for trial, end in before.items())
        same = totals(halved) == totals(whole) and kept and set(broken) == {INTERRUPTED}
    told = f"{len(before)} closed, {broken[INTERRUPTED]} interrupted"
    return Line("kill at half and resume: totals equal", f"{'yes' if same else 'no'} ({told})", "yes", same)


def totals(path: Path) -> Totals:
    """Of a judged campaign."""
    with Store.open(path, read_only=True) as store:
        judgements = [judgement_in(store.kept(KIND, name) or b"") for name in store.names(KIND)]
        passed = {one.trial for one in judgements if one.verdict.result == "pass"}
        trials = [
            (key, len(records), end)
            for key, records in Archive(store, shopfloor.domain).closed()
            if isinstance(end := decoded(records[-1]), TrialEnded) and end.end != "infrastructure"
        ]
    records: Counter[str] = Counter()
    for _, length, end in trials:
        records[end.end] += length
    counted = Counter((key.task, key.repetition) for key, _, _ in trials)
    return Totals(len(passed & {key.id.hex for key, _, _ in trials}), dict(records), Counter(counted.values()))


def _closed(path: Path) -> dict[str, TrialEnded]:
    with Store.open(path) as store:
        found = {key.id.hex: decoded(records[-1]) for key, records in Archive(store, shopfloor.domain).closed()}
    return {trial: end for trial, end in found.items() if isinstance(end, TrialEnded)}


def _judged_to_the_end(url: str, path: Path) -> None:
    subprocess.run([*_CHILD, url, str(path)], cwd=ROOT, stdout=subprocess.DEVNULL, check=True, timeout=300)


async def _judged(url: str, path: Path) -> None:
    """Run a judged campaign, or go on with it; a line is printed when half of it is closed. One task fails."""
    agent, items = ModelAgent("stub", ModelSettings(url, "stub-1"), ThinkingBox(), Limits()), []
    for task in (shopfloor.task(f"task-{number}") for number in range(TASKS)):
        text = "nothing" if task.id == "task-0" else f"{task.goal} 1"
        golden = GoldenCall("shop_remark", {"id": "SO-1", "text": text})
        items.append(PackTask(task, UserContext(task.id), Expectation((Accepted("remarked", (golden,)),))))
    with Store.open(path, create=True) as store:
        court, one = Court(store, shopfloor.domain, items), CapacityLimiter(1)
        tasks = [item.task for item in items]
        campaign = Campaign(store, "bench", shopfloor.domain, tasks, TRIALS // TASKS, agent.name)
        closed = 0

        async def judge(trial: Closed) -> None:
            nonlocal closed
            closed += 1
            if closed == TRIALS // 2:
                print("half", flush=True)
            await to_thread.run_sync(court.judge, trial, campaign.snapshots[trial.key.task], limiter=one)

        assert await campaign.run(agent, concurrency=TRIALS, on_closed=judge) == []


async def _campaign(url: str, path: Path) -> Measured:
    tasks = [shopfloor.task(f"task-{number}") for number in range(TASKS)]
    stalls: list[float] = []
    own: list[float] = []

    async def watch() -> None:
        while True:
            start, computed = time.perf_counter(), time.thread_time()
            await anyio.sleep(0.001)
            stalls.append((time.perf_counter() - start - 0.001) * 1000)
            own.append((time.thread_time() - computed) * 1000)

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
    p99, own_p99 = (quantiles(times, n=100, method="inclusive")[98] for times in (stalls, own))
    return Measured(TRIALS / took, p99, max(stalls), own_p99, resident, foreign)


def _foreign(store: Store) -> int:
    found = 0
    for key, records in Archive(store, shopfloor.domain).closed():
        calls = [payload for record in records if isinstance(payload := decoded(record), ToolCalled)]
        found += len(calls) != 2 or any(f"Please see to {key.task}. " not in one.arguments for one in calls)
    return found


def _peak_mb() -> float:
    return getrusage(RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    if len(sys.argv) == 3:
        anyio.run(_judged, sys.argv[1], Path(sys.argv[2]))
    else:
        with TemporaryDirectory() as folder:
            measured = anyio.run(_campaign, sys.argv[1], Path(folder) / "c.db")
        print(json.dumps({name: getattr(measured, name) for name in Measured.__struct_fields__}))
