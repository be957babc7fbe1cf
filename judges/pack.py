"""Task files: a YAML file for each task, read into the public task, the user's context and the expectation."""

from collections.abc import Iterable, Mapping
from importlib.resources.abc import Traversable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from judges.expectation import (
    Accepted,
    AtMostOnce,
    Before,
    Expectation,
    GoldenCall,
    Never,
    TaskInvalid,
    ensure_criteria,
    nearest,
)
from sandbox.domain import Domain
from sandbox.package_data import read_yaml, task_files
from sandbox.task import Task, TaskLimits, UserContext
from sandbox.values import Instant, ValueFault, ensure_storable, moment

RULES: Mapping[str, type[Struct]] = {"never": Never, "at_most_once": AtMostOnce, "before": Before}


class PackTask(Struct, frozen=True):
    """One task file. The three parts go to three different places; only the first may come near an agent."""

    task: Task
    user: UserContext
    expectation: Expectation


class TaskFile(Struct, frozen=True, forbid_unknown_fields=True):
    """What a task file holds, its short forms written out."""

    id: str
    instant: Instant
    goal: str
    expect: Expectation
    user: str = ""
    patch: dict[str, list[dict[str, Any]]] = {}
    tools: tuple[str, ...] = ()
    policy: str = ""
    protocol: Literal["", "plain", "thinkingbox"] = ""
    limits: TaskLimits = TaskLimits()


def tasks_of(domain: Domain) -> tuple[PackTask, ...]:
    """The tasks in the `tasks/` folder of a domain's package, by file name; TaskInvalid if one cannot be read."""
    return _read(domain, task_files(domain.package) if domain.package else ())


def tasks_in(domain: Domain, folder: Traversable) -> tuple[PackTask, ...]:
    """The tasks in a folder's YAML files, by file name; TaskInvalid if one cannot be read."""
    found = sorted((item for item in folder.iterdir() if item.name.endswith(".yaml")), key=lambda item: item.name)
    return _read(domain, found)


def task_from(domain: Domain, content: Any, file: str) -> PackTask:
    """
    A task from the content of its file.

    Raises:
        TaskInvalid: a key is unknown or missing, or a value is not as it must be; the text names file and path.
    """
    made = unchecked_task(domain, content, file)
    ensure_criteria(made.expectation, made.task.id)
    return made


def unchecked_task(domain: Domain, content: Any, file: str) -> PackTask:
    """`task_from` for a task that may have nothing to be judged by."""
    plain = _normalised(content, file)
    try:
        ensure_storable(plain)
        made = msgspec.convert(plain, TaskFile)
        moment(made.instant)
    except (msgspec.ValidationError, ValueFault) as error:
        raise TaskInvalid(f"{file}: {error}") from None
    if not made.id.strip() or not made.id.isprintable():
        raise TaskInvalid(f"{file}: {made.id!r} cannot name a task; write words that can be printed - at `$.id`")
    task = Task(
        made.id,
        domain.name,
        made.instant,
        made.goal,
        made.tools,
        made.policy,
        made.patch,
        made.protocol,
        made.limits,
    )
    return PackTask(task, UserContext(made.id, made.user), made.expect)


def _read(domain: Domain, items: Iterable[Traversable]) -> tuple[PackTask, ...]:
    files: dict[str, str] = {}
    tasks = []
    for item in items:
        try:
            content = read_yaml(item)
        except ValueError as error:
            raise TaskInvalid(str(error)) from None
        made = task_from(domain, content, item.name)
        other = files.setdefault(made.task.id, item.name)
        if other != item.name:
            raise TaskInvalid(f"{item.name}: task id {made.task.id!r} is taken by {other}; give it another one")
        tasks.append(made)
    return tuple(tasks)


def _normalised(content: Any, file: str) -> Any:
    """The file's content with short forms written out; every key has been looked at."""
    if not isinstance(content, dict):
        raise TaskInvalid(f"{file}: a task is a mapping with id, instant, goal, expect; not {type(content).__name__}")
    plain = _known(content, TaskFile, file, "$")
    if isinstance(plain.get("expect"), dict):
        plain["expect"] = _expectation(plain["expect"], file)
    return plain


def _expectation(given: dict[str, Any], file: str) -> dict[str, Any]:
    expect = _known(given, Expectation, file, "$.expect")
    for name, read in (("outcomes", _outcome), ("rules", _rule)):
        if isinstance(expect.get(name), list):
            expect[name] = [read(item, file, f"$.expect.{name}[{i}]") for i, item in enumerate(expect[name])]
    return expect


def _outcome(given: Any, file: str, at: str) -> Any:
    if not isinstance(given, dict):
        return given
    outcome = _known(given, Accepted, file, at)
    if isinstance(outcome.get("calls"), list):
        outcome["calls"] = [_golden_call(call, file, f"{at}.calls[{i}]") for i, call in enumerate(outcome["calls"])]
    return outcome


def _golden_call(given: Any, file: str, at: str) -> Any:
    """`{tool: NAME, arguments: {…}}`, or in short `{NAME: {…}}`."""
    if not isinstance(given, dict):
        return given
    if "tool" not in given and len(given) == 1:
        (name, arguments), *_ = given.items()
        return {"tool": name, "arguments": {} if arguments is None else arguments}
    return _known(given, GoldenCall, file, at)


def _rule(given: Any, file: str, at: str) -> Any:
    """`{never: {event: TAG, where: {…}}}`, or in short `{never: TAG}`; `at_most_once` and `before` likewise."""
    if not isinstance(given, dict) or len(given) != 1:
        raise TaskInvalid(f"{file}: a rule is a mapping with one key, {', '.join(RULES)} - at `{at}`")
    (name, rule), *_ = given.items()
    if name not in RULES:
        raise TaskInvalid(f"{file}: no rule {name!r}; {nearest(str(name), RULES)} - at `{at}`")
    if isinstance(rule, str):
        rule = {"event": rule}
    if not isinstance(rule, dict):
        raise TaskInvalid(f"{file}: rule {name} wants the tag of an event, or a mapping - at `{at}`")
    return {"type": name, **_known(rule, RULES[name], file, f"{at}.{name}")}


def _known(given: dict[str, Any], kind: type[Struct], file: str, at: str) -> dict[str, Any]:
    """A copy of the mapping; TaskInvalid if it has a key that this kind of thing does not have."""
    names = kind.__struct_fields__
    for key in given:
        if key not in names:
            raise TaskInvalid(f"{file}: unknown key {key!r}; {nearest(str(key), names)} - at `{at}`")
    return dict(given)
