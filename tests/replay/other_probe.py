"""The probe domain as it might have been at another time, and campaigns of scripted agents on it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from domains.probe import domain, probe
from judges.campaigns import run_judged
from judges.court import plans_of
from judges.expectation import Expectation
from judges.pack import PackTask, tasks_of
from sandbox import Domain, Event, Toolset
from sandbox.agents import Agent, PlannedCall, Scripted, oracle

TASKS: Mapping[str, PackTask] = {item.task.id: item for item in tasks_of(domain)}
VASE = "one-broken-vase"
RIGHT = plans_of(TASKS.values())


def altered(
    tools: Mapping[str, Callable[..., Any]] | None = None,
    handlers: Mapping[type[Event], Callable[..., Any]] | None = None,
    without: Sequence[type[Event]] = (),
    emits: Mapping[str, tuple[type[Event], ...]] | None = None,
) -> Domain:
    """The probe with other functions for some tools and event handlers, or with events that it does not know."""
    other = Toolset("probe")
    other.tables, other.upcasters = probe.tables, dict(probe.upcasters)
    other.handlers = {**probe.handlers, **(handlers or {})}
    for event in without:
        del other.handlers[event]
    kept = {name: spec for name, spec in probe.tools.items() if not set(spec.emits) & set(without)}
    changed = {name: replace(probe.tools[name], function=function) for name, function in (tools or {}).items()}
    other.tools = {**kept, **changed}
    for name, events in (emits or {}).items():
        other.tools[name] = replace(other.tools[name], emits=events)
    return Domain("probe", other.mount(prefix=""), package="domains.probe")


def expecting(task: str, **fields: Any) -> PackTask:
    """A task of the probe with another expectation in these fields."""
    item = TASKS[task]
    return replace(item, expectation=replace(item.expectation, **fields))


def ran(
    path: Path,
    tasks: Sequence[PackTask] = tuple(TASKS.values()),
    agent: Agent | None = None,
    *,
    domain: Domain = domain,
    repetitions: int = 2,
) -> Path:
    """A judged campaign in a file; the agent goes the probe's own golden ways unless another one is given."""
    agent = agent or oracle(RIGHT)
    assert run_judged(path, domain, tasks, agent, repetitions, name=f"test-{agent.name}") == []
    return path


def follower(*calls: PlannedCall, task: str = VASE, name: str = "follower") -> Scripted:
    """An agent that makes these calls in one task."""
    return Scripted(name, {task: calls})


def planned(tool: str, /, **arguments: Any) -> PlannedCall:
    """A call of a plan."""
    return PlannedCall(tool, arguments)


def expectations(*tasks: PackTask) -> dict[str, Expectation]:
    """The evaluator's parts by task id."""
    return {item.task.id: item.expectation for item in tasks}
