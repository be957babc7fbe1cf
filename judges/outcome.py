"""Accepted outcomes: what the golden calls of a task bring about, built once when it is loaded."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from judges.changes import changes_of
from judges.expectation import Accepted, Expectation, GoldenCall, TaskInvalid, ensure_criteria, nearest
from judges.profile import Profile, is_misfit, profile_of
from judges.strict import strict_policies
from sandbox.domain import Domain, RowFault
from sandbox.effects import Effects
from sandbox.refusals import Refused, SandboxFault
from sandbox.snapshot import Snapshot
from sandbox.task import Task, snapshot_of, visible_tools
from sandbox.values import ValueFault, moment
from sandbox.world import World


class NothingChanges(TaskInvalid):
    """The golden calls of an outcome have no net effect, and the task does not say that this is right."""


class Outcome(Struct, frozen=True):
    """A set of required effects."""

    name: str
    effects: Effects


def built(domain: Domain, task: Task, expectation: Expectation) -> tuple[Outcome, ...]:
    """
    The task's outcomes, in the order written. A refusal task without outcomes has one, without effects.

    Raises:
        TaskInvalid: a golden call is unknown, hidden from the agent, refused or answered with an error; the calls of
            an outcome change nothing that is compared, though it is no refusal to change anything; a golden value is
            not of the kind that its policy compares; or the task itself does not fit the domain.
    """
    ensure_criteria(expectation, task.id)
    ensure_names(domain, task, expectation)
    snapshot = _snapshot(domain, task)
    is_own = expectation.profile == "own"
    profile = profile_of(domain, expectation.compare, task.id) if is_own else strict_policies(domain, aligned=False)
    outcomes = tuple(Outcome(a.name, _run(domain, task, a, snapshot)) for a in expectation.outcomes)
    for accepted, outcome in zip(expectation.outcomes, outcomes, strict=True):
        if expectation.no_change:
            _ensure_unchanged(profile, outcome, _at(task, accepted))
        elif outcome.effects or not expectation.refusal:
            _ensure_compared(profile, outcome, _at(task, accepted))
    return outcomes or ((Outcome("refusal", ()),) if expectation.refusal else ())


def ensure_names(domain: Domain, task: Task, expectation: Expectation) -> None:
    """Return if every tool is known and shown to the agent, TaskInvalid if not; nothing is run."""
    for name in task.tools:
        if name not in domain.tools:
            raise TaskInvalid(f"task {task.id}, tools: no tool {name!r}; {nearest(name, domain.tools)}")
    for accepted in expectation.outcomes:
        for number, call in enumerate(accepted.calls, 1):
            at = f"{_at(task, accepted)}, call {number}"
            if call.tool not in domain.tools:
                raise TaskInvalid(f"{at}: no tool {call.tool!r}; {nearest(call.tool, domain.tools)}")
            if task.tools and call.tool not in task.tools:
                raise TaskInvalid(f"{at}: the task hides {call.tool} from the agent; add it to `tools`")


def _snapshot(domain: Domain, task: Task) -> Snapshot:
    try:
        moment(task.instant)
        return snapshot_of(domain, task)
    except RowFault as fault:
        raise TaskInvalid(f"task {task.id}, patch: {fault}") from None
    except ValueFault as fault:
        raise TaskInvalid(f"task {task.id}, instant: {fault}") from None


def _run(domain: Domain, task: Task, accepted: Accepted, snapshot: Snapshot) -> Effects:
    """The net effect of the golden calls on a fresh world."""
    world = World(domain, snapshot, task.instant, visible_tools(domain, task))
    for number, call in enumerate(accepted.calls, 1):
        at = f"{_at(task, accepted)}, call {number} {call.tool}"
        error = _error_in(_answer(world, call, at))
        if error is not None:
            raise TaskInvalid(f"{at} answers with an error: {error!r}; golden calls must succeed")
    return world.effects


def _answer(world: World, call: GoldenCall, at: str) -> Any:
    try:
        return world.call(call.tool, **call.arguments)
    except Refused as refused:
        raise TaskInvalid(f"{at} is refused ({refused.kind}): {refused.message}") from None
    except SandboxFault as fault:
        raise TaskInvalid(f"{at} breaks: {fault}") from fault
    except Exception as error:
        raise TaskInvalid(f"{at} breaks: {type(error).__name__}: {error}") from error


def _error_in(result: Any) -> Any:
    """What stands under `error` in an answer; None if nothing does."""
    return result.get("error") if isinstance(result, dict) else None


def _ensure_compared(profile: Profile, outcome: Outcome, at: str) -> None:
    if not outcome.effects:
        advice = "if that is right, say `refusal: true`, or in a public task `no_change: true`"
        raise NothingChanges(f"{at}: its golden calls change nothing; {advice}")
    changes = changes_of(profile, outcome.effects)
    if not changes:
        raise NothingChanges(f"{at}: its golden calls change nothing that is compared, so doing nothing would pass")
    for table, key, name in misfits(profile, outcome.effects):
        policy = profile.table(table).names.get(name, "value")
        raise TaskInvalid(f"{at}: {table} {key}, field {name}: the golden value is none that {policy!r} can compare")


def _ensure_unchanged(profile: Profile, outcome: Outcome, at: str) -> None:
    for change in changes_of(profile, outcome.effects):
        raise TaskInvalid(f"{at}: its golden calls change {change.table} {change.key}; delete `no_change: true`")


def misfits(profile: Profile, effects: Effects) -> Iterator[tuple[str, str, str]]:
    """Table, key and field of each value that is not of the kind that its policy compares."""
    for change in changes_of(profile, effects):
        yield from ((change.table, change.key, name) for name, form in change.fields.items() if is_misfit(form))


def _at(task: Task, accepted: Accepted) -> str:
    return f"task {task.id}, outcome {accepted.name!r}"
