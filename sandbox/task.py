"""A task: its public part, which agents and servers get, and what only the simulated user is told."""

from functools import cached_property
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from sandbox.domain import Domain
from sandbox.refusals import UserFault
from sandbox.snapshot import Snapshot
from sandbox.values import Instant, digest_of


class TaskLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """What a task itself allows; an agent's own limits hold too."""

    max_agent_turns: Annotated[int, Meta(ge=1)] | None = None
    max_user_turns: Annotated[int, Meta(ge=0)] | None = None


class Task(Struct, frozen=True, forbid_unknown_fields=True, dict=True, omit_defaults=True):
    """The public part: all that a server of tools, an agent and the agent's prompt are made from."""

    id: str
    domain: str
    instant: Instant
    goal: str
    """The user's first message."""
    tools: tuple[str, ...] = ()
    """The tools that the agent may use; empty for all."""
    policy: str = ""
    """Text that is added to the domain's instructions."""
    patch: dict[str, list[dict[str, Any]]] = {}
    """Rows by table that replace or follow the domain's seed."""
    protocol: Literal["", "plain", "thinkingbox"] = ""
    """How an agent says that it is done; empty: as the agent is configured."""
    limits: TaskLimits = TaskLimits()

    @cached_property
    def digest(self) -> str:
        """Digest of the whole public part, 64 hexadecimal characters."""
        return digest_of(self)


class UserContext(Struct, frozen=True):
    """What the simulated user knows of a task. Never loaded into what serves tools or runs an agent."""

    task: str
    text: str = ""


def snapshot_of(domain: Domain, task: Task) -> Snapshot:
    """The rows that every trial of the task starts from; RowFault if its patch does not fit the domain."""
    return Snapshot([domain.seed, domain.layer(task.patch)]) if task.patch else domain.snapshot


def visible_tools(domain: Domain, task: Task) -> tuple[str, ...]:
    """
    The names of the tools that the agent may use, in the task's order or the domain's.

    Raises:
        UserFault: the task shows a tool that the domain does not have.
    """
    unknown = [name for name in task.tools if name not in domain.tools]
    if unknown:
        raise UserFault(f"task {task.id} shows tools that domain {domain.name} does not have: {', '.join(unknown)}")
    return task.tools or tuple(domain.tools)
