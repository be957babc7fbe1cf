"""Agents of somebody's own: objects as `sandbox.agents.Agent` says, or async functions that get the session."""

import inspect
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from traceback import format_exception
from types import TracebackType
from typing import Any, Self

from sandbox.agents import Agent, Finished, ready
from sandbox.mcp_session import Session
from sandbox.records import End
from sandbox.refusals import UserFault

AgentFunction = Callable[[Session], Awaitable[End | Finished | None]]
"""Works on the session's task; None is `done`."""


class OwnAgent:
    """
    An agent whose exceptions are kept with their tracebacks: a trial's record has only their last lines.

    Raises:
        UserFault: it is neither an object with `name` and `async attempt(session, repetition)` nor an async function.
    """

    def __init__(self, agent: Agent | AgentFunction) -> None:
        self._agent = agent
        self._stack = AsyncExitStack()
        self._attempt = _attempt_of(agent)
        self.name = _name_of(agent)
        self.tracebacks: dict[str, str] = {}
        """By trial id."""

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(ready(self._agent))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, at)

    async def attempt(self, session: Session, repetition: int) -> End | Finished:
        """As the agent itself does."""
        try:
            return await self._attempt(session, repetition) or "done"
        except Exception as error:
            inner = error.__traceback__.tb_next if error.__traceback__ else None
            self.tracebacks[session.trial_id] = "".join(format_exception(type(error), error, inner))
            raise


def _attempt_of(agent: Any) -> Callable[[Session, int], Awaitable[End | Finished | None]]:
    if not isinstance(agent, type):
        if callable(getattr(agent, "attempt", None)):
            attempt: Callable[[Session, int], Awaitable[End | Finished | None]] = agent.attempt
            return attempt
        if callable(agent) and any(map(inspect.iscoroutinefunction, (agent, type(agent).__call__))):
            return lambda session, repetition: agent(session)
    raise UserFault(
        f"{_name_of(agent)} is no agent; give an object with a `name` and `async attempt(session, repetition)`, "
        f"an async function that takes the session, a configuration file, or the name of a scripted agent"
    )


def _name_of(agent: object) -> str:
    return str(getattr(agent, "name", "") or getattr(agent, "__name__", "") or type(agent).__name__)
