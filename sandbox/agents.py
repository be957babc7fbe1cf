"""Agents that need no model: they follow a plan, or only talk, or only read, or follow it carelessly."""

import hashlib
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from msgspec import Struct

from sandbox.mcp_session import Session, ToolView
from sandbox.records import End
from sandbox.slips import leaves, replaced, wrong_values

GOODBYE = "All done! I have taken care of everything for you. Is there anything else I can help with?"
LOOKED = "Thank you for waiting. I have looked into this and everything is in order now."

USER_FAULT = "user_fault"
"""The flag of a trial whose user did wrong."""


class PlannedCall(Struct, frozen=True):
    """One call of a plan."""

    tool: str
    arguments: Mapping[str, Any]


Plan = Sequence[PlannedCall]


class Finished(Struct, frozen=True):
    """How an attempt ended, and what was odd about it."""

    end: End
    flags: tuple[str, ...] = ()
    detail: str = ""
    """Why, in a line, where the end alone does not tell."""


class Agent(Protocol):
    """
    Whatever attempts a task: it gets a session, works, and says how it ended.

    One that is an async context manager too, for its connections, is entered once for a whole campaign.
    """

    name: str

    async def attempt(self, session: Session, repetition: int) -> End | Finished:
        """Work on the session's task. An exception ends the trial as infrastructure."""


@asynccontextmanager
async def ready(agent: object) -> AsyncIterator[None]:
    """An agent, or a user, with its connections open while the block runs, if it has any."""
    if isinstance(agent, AbstractAsyncContextManager):
        async with agent:
            yield
    else:
        yield


class Scripted:
    """
    Follows a plan for each task.

    Args:
        name: stands in every trial.
        plans: by task id; a task without one is only talked about.
        change: what becomes of the plan before it is followed, given the tools and the repetition.
        goodbye: the last words.
    """

    def __init__(
        self,
        name: str,
        plans: Mapping[str, Plan],
        change: Callable[[Plan, Session, int], Plan] = lambda plan, session, repetition: plan,
        goodbye: str = GOODBYE,
    ) -> None:
        self.name = name
        self._plans = plans
        self._change = change
        self._goodbye = goodbye

    async def attempt(self, session: Session, repetition: int) -> End:
        for call in self._change(self._plans.get(session.task.id, ()), session, repetition):
            await session.call(call.tool, call.arguments)
        await session.say(self._goodbye)
        return "done"


def oracle(plans: Mapping[str, Plan]) -> Scripted:
    """Makes the golden calls."""
    return Scripted("oracle", plans)


def null() -> Scripted:
    """Only talks."""
    return Scripted("null", {})


def reader(plans: Mapping[str, Plan]) -> Scripted:
    """Makes the reads among the golden calls, and changes nothing."""

    def reads(plan: Plan, session: Session, repetition: int) -> Plan:
        known = {tool.name for tool in session.tools if tool.is_read}
        return [call for call in plan if call.tool in known]

    return Scripted("reader", plans, reads, LOOKED)


def careless(plans: Mapping[str, Plan], seed: int = 0) -> Scripted:
    """
    Makes the golden calls with a slip in three attempts out of four, and is as polite as ever.

    A slip drops, repeats or alters one writing call (a number, an id, an enumerated value), or stops before it.
    Which one depends on seed, task and repetition alone.
    """

    def slipped(plan: Plan, session: Session, repetition: int) -> Plan:
        dice = random.Random(_seed(seed, session.task.id, repetition))
        tools = {tool.name: tool for tool in session.tools}
        writing = [place for place, call in enumerate(plan) if call.tool in tools and not tools[call.tool].is_read]
        if not writing or dice.random() < 0.25:
            return plan
        place, slip = dice.choice(writing), dice.choice(SLIPS)
        return slip(plan, place, tools, dice)

    return Scripted("careless", plans, slipped)


def _seed(seed: int, task: str, repetition: int) -> int:
    """Python's own hash is salted by process; this is not."""
    return int.from_bytes(hashlib.sha256(f"{seed}\x1f{task}\x1f{repetition}".encode()).digest()[:8], "big")


Slip = Callable[[Plan, int, Mapping[str, ToolView], random.Random], Plan]


def _dropped(plan: Plan, place: int, tools: Mapping[str, ToolView], dice: random.Random) -> Plan:
    return [*plan[:place], *plan[place + 1 :]]


def _repeated(plan: Plan, place: int, tools: Mapping[str, ToolView], dice: random.Random) -> Plan:
    return [*plan[: place + 1], *plan[place:]]


def _stopped(plan: Plan, place: int, tools: Mapping[str, ToolView], dice: random.Random) -> Plan:
    return list(plan[:place])


def _altered(plan: Plan, place: int, tools: Mapping[str, ToolView], dice: random.Random) -> Plan:
    call = plan[place]
    found = [(leaf.path, wrong_values(leaf)) for leaf in leaves(call.arguments, tools[call.tool].schema)]
    choices = [(path, values) for path, values in found if values]
    if not choices:
        return _dropped(plan, place, tools, dice)
    path, values = dice.choice(choices)
    changed = PlannedCall(call.tool, replaced(call.arguments, path, dice.choice(values)))
    return [*plan[:place], changed, *plan[place + 1 :]]


SLIPS: tuple[Slip, ...] = (_dropped, _repeated, _altered, _altered, _altered, _stopped)

SCRIPTED: Mapping[str, Callable[[Mapping[str, Plan], int], Agent]] = {
    "careless": careless,
    "null": lambda plans, seed: null(),
    "oracle": lambda plans, seed: oracle(plans),
    "reader": lambda plans, seed: reader(plans),
}
"""The agents of this module by name, made from plans and a seed."""
