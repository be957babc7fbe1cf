"""What breaks in a tool or a handler ends one trial, and its record says what broke, where and in which call."""

import logging
import sys
from typing import Any, Literal

import anyio
import pytest

from sandbox import Call, Domain, Event, Row, Rows, Toolset, World
from sandbox.breakage import Broke, decided
from sandbox.campaign import MOST_FAULTS, Campaign
from sandbox.escapes import Escaped
from sandbox.mcp_session import Session
from sandbox.records import End
from sandbox.stream import Store
from sandbox.task import Task
from sandbox.world import request
from tests.sandbox.test_campaign import Acting, ends

Kind = Literal["zero", "exit", "interrupt", "cancelled", "generator", "group"]
mill = Toolset("mill")


@mill.table("sacks", ids="SK")
class Sack(Row):
    """A sack."""

    id: str


class Ground(Event, tag="ground", version=1):
    """A sack was ground."""

    id: str


@mill.on(Ground)
def ground(rows: Rows, e: Ground) -> Sack:
    """Breaks on the second sack."""
    if e.id == "SK-2":
        raise LookupError("no wind")
    return rows.get(Sack, e.id)


@mill.tool(emits=[Ground])
def grind(call: Call, id: str, note: str = "") -> None:
    """Grind a sack."""
    call.emit(Ground(id))


@mill.tool()
def stop(call: Call, kind: Kind) -> None:
    """Break in one of many ways."""
    if kind == "zero":
        1 / 0  # noqa: B018
    if kind == "exit":
        sys.exit(3)
    if kind == "interrupt":
        raise KeyboardInterrupt
    if kind == "cancelled":
        raise anyio.get_cancelled_exc_class()
    raise GeneratorExit if kind == "generator" else BaseExceptionGroup("all", [SystemExit("of a group")])


@mill.tool()
def look(call: Call) -> list[Sack]:
    """All sacks."""
    return call.all(Sack)


domain = Domain("mill", mill, seed={"mill_sacks": [{"id": "SK-1"}, {"id": "SK-2"}]})
TASK = Task("grind", "mill", "2026-01-05T09:00:00Z", "Please grind.")


def line(text: str) -> str:
    """The place of the one line in this file that ends so."""
    with open(__file__, encoding="utf-8") as file:
        [number] = [number for number, one in enumerate(file, 1) if one.rstrip().endswith(text)]
    return f"test_breakage.py:{number}"


def told(tool: str, arguments: str) -> str:
    world = World(domain, domain.snapshot, TASK.instant)
    world.call("mill_look")
    with pytest.raises(Broke) as broke:
        decided(world, request(tool, arguments))
    return str(broke.value)


def test_a_tool_that_breaks_is_told_with_its_place_and_its_call() -> None:
    where = line("1 / 0  # noqa: B018")
    called = 'in tool mill_stop, call 2 {"kind": "zero"}'
    assert told("mill_stop", '{"kind": "zero"}') == f"ZeroDivisionError: division by zero at {where}, {called}"


def test_a_handler_that_breaks_is_named_with_its_event_and_the_call_is_cut() -> None:
    text = told("mill_grind", '{"id": "SK-2", "note": "' + "x" * 500 + '"}')
    where = line('        raise LookupError("no wind")')
    called = 'in handler ground on event mill.ground.1, call 2 mill_grind {"id": "SK-2", "note": "xxx'
    assert text.startswith(f"LookupError: no wind at {where}, {called}")
    assert text.endswith("x…")
    assert len(text) < 250


async def visit(kind: str) -> tuple[list[Any], set[str]]:
    """Three repetitions of which the second calls a tool that breaks: how each ended, and the details."""

    async def act(session: Session, repetition: int) -> End:
        await session.call("mill_look", "{}")
        if repetition == 1:
            await session.call("mill_stop", {"kind": kind})
        return "done"

    with Store.in_memory() as store:
        campaign = Campaign(store, "c", domain, [TASK], 3, "oracle")
        with anyio.fail_after(60):
            left = await campaign.run(Acting(act))
        closed = ends(campaign)
    assert [key.repetition for key in left] == [1]
    return [end.end for end in closed.values()], {end.detail for end in closed.values() if end.detail}


BREAKING = {
    "zero": "ZeroDivisionError: division by zero at test_breakage.py:",
    "exit": "SystemExit: 3 at test_breakage.py:",
    "cancelled": "CancelledError: raised in the code itself, nobody had cancelled the trial at test_breakage.py:",
    "generator": "GeneratorExit at test_breakage.py:",
    "group": "SystemExit: of a group at test_breakage.py:",
}


@pytest.mark.anyio
@pytest.mark.parametrize(("kind", "beginning"), BREAKING.items(), ids=BREAKING)
async def test_whatever_a_tool_raises_costs_one_repetition_and_logs_nothing(
    kind: str, beginning: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    ended, [detail] = await visit(kind)
    assert sorted(ended) == ["done"] * 2 + ["infrastructure"] * MOST_FAULTS
    assert detail.startswith(beginning)
    assert detail.endswith(f'in tool mill_stop, call 2 {{"kind":"{kind}"}}')
    assert caplog.records == []


def test_a_keyboard_interrupt_of_a_tool_costs_one_repetition_under_a_runner_of_signals() -> None:
    ended, [detail] = anyio.run(visit, "interrupt")
    assert sorted(ended) == ["done"] * 2 + ["infrastructure"] * MOST_FAULTS
    assert detail.startswith("KeyboardInterrupt at test_breakage.py:")


def test_what_ends_programs_is_an_error_to_whoever_makes_a_call_in_memory() -> None:
    world = World(domain, domain.snapshot, TASK.instant)
    with pytest.raises(Escaped, match=r"^SystemExit: 3$"):
        world.call("mill_stop", kind="exit")
