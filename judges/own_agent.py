"""Agents of somebody's own: objects as `sandbox.agents.Agent` says, or async functions that get the session."""

import inspect
import math
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from traceback import format_exception
from types import TracebackType
from typing import Any, Self

import anyio

from sandbox.agents import Agent, Finished, ready
from sandbox.escapes import is_stop
from sandbox.mcp_session import Session
from sandbox.protocols import Limits
from sandbox.records import End
from sandbox.refusals import UserFault

LONGEST_S = Limits().trial_s
"""Seconds of an attempt, where nothing else is said; a model's configuration has as many."""

AgentFunction = Callable[[Session], Awaitable[End | Finished | None]]
"""Works on the session's task; None is `done`."""


class OwnAgent:
    """
    An agent whose exceptions are kept with their tracebacks: a trial's record has only their last lines.

    Args:
        trial_s: seconds for an attempt, after which it is ended as `deadline`. An agent that blocks the event loop,
            as in `time.sleep`, cannot be ended.

    Raises:
        UserFault: it is neither an object with `name` and `async attempt(session, repetition)` nor an async function,
            or the time is none.
    """

    def __init__(self, agent: Agent | AgentFunction, trial_s: float = LONGEST_S) -> None:
        if not 0 < trial_s < math.inf:
            raise UserFault(f"trial_s={trial_s}; give the seconds that an attempt may take, above 0")
        self._agent = agent
        self._trial_s = trial_s
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
        """As the agent itself does, within its time; what it makes of being cancelled then is all the same."""
        given: End | Finished = "done"
        limit = anyio.CancelScope(deadline=anyio.current_time() + self._trial_s)
        try:
            with limit:
                given = await self._attempt(session, repetition) or "done"
        except BaseException as error:
            if is_stop(error) or not limit.cancel_called:
                inner = error.__traceback__.tb_next if error.__traceback__ else None
                self.tracebacks[session.trial_id] = "".join(format_exception(type(error), error, inner))
                raise
        if limit.cancel_called:
            return Finished("deadline", detail=f"the agent had not ended after {self._trial_s:g} s")
        return given


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
