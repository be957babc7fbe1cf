"""A rehearsal: golden calls tried out one after the other, whatever becomes of them."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from judges.expectation import GoldenCall, nearest
from judges.rules import Happened
from sandbox.breakage import told_error
from sandbox.domain import Domain
from sandbox.effects import Effects
from sandbox.records import OWN_TOPICS, Draft
from sandbox.refusals import SandboxFault
from sandbox.snapshot import Snapshot
from sandbox.values import Instant, plain
from sandbox.world import World, request


class Step(Struct, frozen=True):
    """One golden call and what came of it."""

    call: GoldenCall
    fault: str = ""
    """Why it is no call of a way to solve the task; empty if it succeeded."""
    answer: Any = None
    """Plain JSON value; None without one."""
    events: tuple[Happened, ...] = ()


class Rehearsal(Struct, frozen=True):
    """The golden calls of one outcome, and what they bring about together."""

    steps: tuple[Step, ...]
    effects: Effects

    @property
    def events(self) -> tuple[Happened, ...]:
        return tuple(event for step in self.steps for event in step.events)


def rehearsed(domain: Domain, snapshot: Snapshot, start: Instant, calls: Iterable[GoldenCall]) -> Rehearsal:
    """All calls on one fresh world, with every tool at hand; a call that fails is told and the next one tried."""
    world = World(domain, snapshot, start)
    steps: list[Step] = []
    for call in calls:
        steps.append(attempted(world, call))
    return Rehearsal(tuple(steps), world.effects)


def attempted(world: World, call: GoldenCall) -> Step:
    """Make one call in a world."""
    domain = world.domain
    if call.tool not in domain.tools:
        return Step(call, f"there is no tool {call.tool!r}; {nearest(call.tool, domain.tools)}")
    try:
        decision = world.decide(request(call.tool, msgspec.json.encode(call.arguments).decode()))
    except SandboxFault as fault:
        return Step(call, f"it breaks: {fault}")
    except Exception as bug:  # noqa: BLE001 - whatever breaks a tool is told of the task that makes it break
        return Step(call, f"it breaks: {told_error(bug)}")
    world.apply(decision)
    if decision.answer.refusal:
        return Step(call, f"it is refused ({decision.answer.refusal}): {decision.answer.text}")
    answer = msgspec.json.decode(decision.answer.text)
    error = answer.get("error") if isinstance(answer, dict) else None
    if error is not None:
        return Step(call, f"it answers with an error: {error!r}", answer)
    drafts = [draft for draft in decision.drafts if draft.topic not in OWN_TOPICS]
    events = tuple(_happened(domain, draft, world.calls, place) for place, draft in enumerate(drafts, 1))
    return Step(call, "", answer, events)


def _happened(domain: Domain, draft: Draft, call: int, place: int) -> Happened:
    handling = domain.handlings[draft.topic]
    return Happened(place, call, draft.topic, plain(handling.shape.decoded(draft.payload)))
