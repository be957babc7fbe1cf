"""A task as lint looks at it: its file, its golden ways rehearsed and its judges, each made once."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal

import msgspec
from msgspec import Struct

from judges.expectation import PROFILES, Expectation, TaskInvalid
from judges.lint.rehearsal import Rehearsal, Step, rehearsed
from judges.lint.report import Remark, stepped
from judges.pack import PackTask, unchecked_task
from judges.profile import Profile, profile_of
from judges.strict import strict_policies
from judges.verdict import JudgeBundle, bundle_of
from sandbox.domain import Domain, RowFault
from sandbox.snapshot import Snapshot
from sandbox.task import Task, snapshot_of

Leaf = tuple[str, tuple[str | int, ...], Any]
"""Path in the file, steps inside the arguments, and value."""


class Unreadable(Exception):
    """A task file that nothing can be said about, except why."""

    def __init__(self, path: str, reason: str, check: Literal["unreadable", "patch"]) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason
        self.check = check


class Case(Struct, frozen=True, eq=False, dict=True):
    """One task file of a pack."""

    file: str
    domain: Domain
    content: Mapping[str, Any]
    """As the file has it, short forms and all."""
    pack: PackTask
    snapshot: Snapshot
    rehearsals: tuple[Rehearsal, ...]
    """One for each outcome."""
    bundle: JudgeBundle | None
    invalid: str
    """Why there is no bundle; empty if there is one."""

    @property
    def task(self) -> Task:
        return self.pack.task

    @property
    def expectation(self) -> Expectation:
        return self.pack.expectation

    @property
    def visible(self) -> tuple[str, ...]:
        """The known ones of the tools that the agent may use."""
        return tuple(name for name in self.task.tools or self.domain.tools if name in self.domain.tools)

    @property
    def may_idle(self) -> bool:
        """Whether the task says that golden calls may change nothing."""
        return self.expectation.refusal or self.expectation.no_change

    @property
    def runs(self) -> bool:
        """Whether every golden call succeeds."""
        return not any(step.fault for rehearsal in self.rehearsals for step in rehearsal.steps)

    @cached_property
    def profile(self) -> Profile | None:
        """How rows are compared where something may change; None if the task names it wrongly."""
        if self.expectation.profile not in PROFILES:
            return None
        if self.expectation.profile != "own":
            return strict_policies(self.domain, aligned=False)
        try:
            return profile_of(self.domain, self.expectation.compare, self.task.id)
        except TaskInvalid:
            return None

    @cached_property
    def told(self) -> tuple[str, ...]:
        """All that agent and user are told in words before the first call."""
        return (self.task.goal, self.pack.user.text, self.task.policy, self.domain.instructions)

    def steps(self) -> Iterator[tuple[str, Step]]:
        """Every golden call of every outcome, with its path in the file."""
        for outcome, rehearsal in enumerate(self.rehearsals):
            for place, step in enumerate(rehearsal.steps):
                yield self.path_of(outcome, place), step

    def path_of(self, outcome: int, call: int) -> str:
        """Where a golden call stands in the file."""
        return f"$.expect.outcomes[{outcome}].calls[{call}]"

    def leaves_of(self, outcome: int, call: int) -> Iterator[Leaf]:
        """Every scalar among the arguments of a golden call."""
        written = self.content["expect"]["outcomes"][outcome]["calls"][call]
        golden = self.expectation.outcomes[outcome].calls[call]
        at = stepped(self.path_of(outcome, call), "arguments" if "tool" in written else golden.tool)
        yield from leaves(golden.arguments, at)

    def remark(
        self, level: Literal["error", "warning"], check: str, path: str, value: Any, reason: str, advice: str
    ) -> Remark:
        """A remark on this file."""
        return Remark(level, check, self.file, path, value, reason, advice, self.task.id)

    def error(self, check: str, path: str, value: Any, reason: str, advice: str) -> Remark:
        return self.remark("error", check, path, value, reason, advice)

    def warning(self, check: str, path: str, value: Any, reason: str, advice: str) -> Remark:
        return self.remark("warning", check, path, value, reason, advice)


def case_of(domain: Domain, file: str, content: Any, known: PackTask | None = None) -> Case:
    """
    A task, tried out.

    Args:
        content: of its file.
        known: the task, if it has been read already.

    Raises:
        Unreadable: the content is no task, or its patch does not fit the domain.
    """
    try:
        pack = known or unchecked_task(domain, content, file.rpartition("/")[2])
    except TaskInvalid as fault:
        raise Unreadable("$", str(fault), "unreadable") from None
    try:
        snapshot = snapshot_of(domain, pack.task)
    except RowFault as fault:
        raise Unreadable("$.patch", str(fault), "patch") from None
    start, outcomes = pack.task.instant, pack.expectation.outcomes
    rehearsals = tuple(rehearsed(domain, snapshot, start, accepted.calls) for accepted in outcomes)
    bundle, invalid = None, ""
    try:
        bundle = bundle_of(domain, pack.task, pack.expectation)
    except TaskInvalid as fault:
        invalid = str(fault)
    return Case(file, domain, content, pack, snapshot, rehearsals, bundle, invalid)


def leaves(value: Any, path: str, steps: tuple[str | int, ...] = ()) -> Iterator[Leaf]:
    """Every scalar inside a JSON value."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from leaves(item, stepped(path, name), (*steps, name))
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from leaves(item, stepped(path, place), (*steps, place))
    else:
        yield path, steps, value


def scalars(value: Any) -> Iterator[Any]:
    """Every scalar inside a JSON value, without its place."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from scalars(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from scalars(item)
    else:
        yield value


def same_content(row: Mapping[str, Any], key: tuple[str, ...]) -> bytes:
    """What a row holds besides its key; equal rows give equal bytes."""
    return msgspec.json.encode({name: value for name, value in row.items() if name not in key}, order="sorted")
