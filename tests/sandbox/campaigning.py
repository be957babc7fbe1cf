"""
A process to be killed: a campaign whose agent prints a marker for each call that was answered.

The marker names task, repetition and process, and stands in the call's arguments too.
"""

import os
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import anyio

from sandbox.campaign import Campaign
from sandbox.mcp_session import Session
from sandbox.records import End
from sandbox.stream import Store
from tests.sandbox import shopfloor

TASKS, REPETITIONS, CALLS = 20, 10, 3


class Marking:
    """Leaves so many remarks, each with a marker of its own, and tells of each that was answered."""

    name = "marking"

    def __init__(self, tell: Callable[[str], None], calls: int = CALLS) -> None:
        self._tell = tell
        self._calls = calls
        self._numbers = count()

    async def attempt(self, session: Session, repetition: int) -> End:
        for _ in range(self._calls):
            marker = f"{session.task.id}/{repetition}/{os.getpid()}-{next(self._numbers)};"
            answer = await session.call("shop_remark", {"id": "SO-1", "text": marker})
            assert marker in answer.text
            self._tell(marker)
        return "done"


def campaign(store: Store) -> Campaign:
    """The campaign of this process, and of whoever goes on with it."""
    tasks = [shopfloor.task(f"task-{number}") for number in range(TASKS)]
    return Campaign(store, "killed", shopfloor.domain, tasks, REPETITIONS, Marking.name)


async def main(path: Path) -> None:
    """Run it; each line goes out at once and whole."""
    with Store.open(path, create=True) as store:
        await campaign(store).run(Marking(lambda marker: print(marker, flush=True)))


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
