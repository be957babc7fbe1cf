"""Small stored campaigns with a known mistake in them."""

from collections.abc import Sequence
from pathlib import Path

from judges.campaigns import run_judged
from judges.court import plans_of
from judges.pack import tasks_of
from sandbox.agents import PlannedCall, Scripted
from sandbox.archive import Archive
from sandbox.registry import domain_named
from sandbox.stream import Store

RETAIL = domain_named("retail")
TASK = "stuck-warranty"
"""Its golden calls: eight reads, then a claim is filed (9), the ticket put on hold (10), a comment written (11)."""
TASKS = {item.task.id: item for item in tasks_of(RETAIL)}
GOLDEN = plans_of(TASKS.values())[TASK]
CLAIM, HOLD, COMMENT = GOLDEN[8], GOLDEN[9], GOLDEN[10]
SOLVE = PlannedCall("zendesk_update_item", {"table": "tickets", "id": "7", "item": {"status": "solved"}})


def ran(path: Path, plan: Sequence[PlannedCall], *, task: str = TASK, repetitions: int = 1) -> Path:
    """A judged campaign of one agent that follows a plan."""
    agent = Scripted("tester", {task: plan})
    assert run_judged(path, RETAIL, [TASKS[task]], agent, repetitions, name="test") == []
    return path


def archive(store: Store) -> Archive:
    """The campaign in a store."""
    return Archive(store, RETAIL)
