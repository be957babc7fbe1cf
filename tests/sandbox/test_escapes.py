"""Whatever an agent raises or cancels costs one repetition; Ctrl-C and a cancellation from outside still stop all."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import anyio
import pytest

from sandbox.campaign import MOST_FAULTS
from sandbox.escapes import contained
from sandbox.mcp_session import Session
from sandbox.records import End
from sandbox.stream import Store
from tests.sandbox.test_campaign import TASKS, Acting, ends, made, one_remark

ROOT = Path(__file__).resolve().parents[2]


async def cancelled() -> NoReturn:
    raise asyncio.CancelledError


async def awaits_a_cancelled_task() -> None:
    task = asyncio.create_task(asyncio.sleep(60))
    await asyncio.sleep(0)
    task.cancel()
    await task


async def cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


async def exits() -> None:
    sys.exit(3)


async def interrupts() -> None:
    raise KeyboardInterrupt


async def ends_as_a_generator() -> None:
    raise GeneratorExit


async def raises_a_group() -> None:
    raise BaseExceptionGroup("two", [SystemExit(4), ValueError()])


NOBODY = "raised in the code itself, nobody had cancelled the trial"
WAYS = {
    cancelled: f"CancelledError: {NOBODY}",
    awaits_a_cancelled_task: f"CancelledError: {NOBODY}",
    cancels_itself: f"CancelledError: {NOBODY}",
    exits: "SystemExit: 3",
    interrupts: "KeyboardInterrupt",
    ends_as_a_generator: "GeneratorExit",
    raises_a_group: "SystemExit: 4",
}


@pytest.mark.parametrize(("way", "detail"), WAYS.items(), ids=[way.__name__ for way in WAYS])
def test_whatever_an_agent_raises_costs_one_repetition(way: Any, detail: str) -> None:
    async def act(session: Session, repetition: int) -> End:
        if session.task.id == "two" and repetition == 1:
            await way()
        return await one_remark(session, repetition)

    async def run(store: Store) -> list[Any]:
        with anyio.fail_after(60):
            return await made(store).run(Acting(act))

    store = Store.in_memory()
    [left] = anyio.run(run, store)
    assert (left.task, left.repetition) == ("two", 1)
    told = [end.detail for end in ends(made(store)).values() if end.end == "infrastructure"]
    assert told == [detail] * MOST_FAULTS
    assert sum(end.end == "done" for end in ends(made(store)).values()) == 2 * len(TASKS) - 1


def test_a_cancellation_from_outside_goes_through_and_closes_nothing() -> None:
    async def run(store: Store) -> bool:
        async def act(session: Session, repetition: int) -> End:
            scope.cancel()
            await anyio.sleep_forever()
            return "done"

        with anyio.fail_after(60), anyio.CancelScope() as scope:
            await made(store).run(Acting(act))
        return scope.cancelled_caught

    store = Store.in_memory()
    assert anyio.run(run, store)
    assert ends(made(store)) == {}


@pytest.mark.anyio
async def test_the_result_and_an_ordinary_error_come_as_they_are() -> None:
    async def seven() -> int:
        return 7

    async def wrong() -> int:
        raise KeyError("x")

    assert await contained(seven) == 7
    with pytest.raises(KeyError, match="x"):
        await contained(wrong)


WAITING = """
import sys, time, anyio
from sandbox.stream import Store
from tests.sandbox.test_campaign import Acting, made

async def act(session, repetition):
    print("working", flush=True)
    if sys.argv[1] == "waits":
        await anyio.sleep_forever()
    while True:
        time.sleep(0.01)

try:
    anyio.run(made(Store.in_memory()).run, Acting(act))
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.parametrize("agent", ["waits", "blocks the loop"])
def test_ctrl_c_stops_a_campaign_whatever_its_agent_does(agent: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", WAITING, agent]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "working\n"
        for _ in range(200):
            # Two signals that are sent at once may arrive as one.
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
                break
        else:
            process.kill()
        out, _ = process.communicate(timeout=60)
    assert out.splitlines()[-1] == "stopped"
