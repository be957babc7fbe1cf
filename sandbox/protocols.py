"""Protocols: when a model agent is done, what ends its work, and what it is told of that."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from sandbox.dialects import Offered
from sandbox.refusals import UserFault
from sandbox.task import Task

DONE = "<DONE>"

ANYTHING: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


class EndTurnTool(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool that is never executed: to call it ends the agent's work. It may be one of the domain's."""

    name: str
    description: str = "Ends your work on this case."
    schema: Mapping[str, Any] = field(default_factory=lambda: dict(ANYTHING))


class ThinkingBox(Struct, frozen=True, forbid_unknown_fields=True, tag="thinkingbox", tag_field="name"):
    """
    The agent is done when a text of its own ends with `<DONE>`, or when it calls an end-turn tool.

    A text without the marker goes to the user. Where text and calls come together the calls are made, and the
    marker counts if no text follows. Calls beside an end-turn call are not made.
    """

    end_turn_tools: tuple[EndTurnTool, ...] = ()

    @property
    def rule(self) -> str:
        """What the agent is told of it."""
        return (
            f"Everything you write outside of tool calls is read by the customer. When nothing is left to do, end your "
            f"last message with {DONE}; a message without it waits for the customer's reply."
        )

    def is_marked(self, text: str) -> bool:
        """Whether a visible text says that the work is done."""
        return text.strip().endswith(DONE)

    def is_done(self, text: str, has_user: bool) -> bool:
        """Whether a visible text without calls ends the work."""
        return self.is_marked(text)

    def most_replies(self, most: int) -> int:
        """How many replies of the user a limit allows: one more, in which the user may end the dialogue."""
        return most + 1


class Plain(Struct, frozen=True, forbid_unknown_fields=True, tag="plain", tag_field="name"):
    """An answer without a tool call goes to the user; where there is none, the agent is done."""

    @property
    def end_turn_tools(self) -> tuple[EndTurnTool, ...]:
        """None."""
        return ()

    @property
    def rule(self) -> str:
        """What the agent is told of it."""
        return "Use the tools as you need them. A message without a tool call is your answer to the customer."

    def is_marked(self, text: str) -> bool:
        """Never: there is no marker."""
        return False

    def is_done(self, text: str, has_user: bool) -> bool:
        """Whether a visible text without calls ends the work."""
        return not has_user

    def most_replies(self, most: int) -> int:
        """How many replies of the user a limit allows."""
        return most


Protocol = ThinkingBox | Plain


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """
    What bounds one attempt.

    Raises:
        UserFault: a limit is negative, or a time is not above zero.
    """

    max_agent_turns: int | None = 200
    """Each visible text is one, each reply with calls one more; reasoning is none. None: only time is a limit."""
    max_user_turns: int = 10
    """Replies of the user after the task's first message."""
    trial_s: float = 1800.0
    """For the whole attempt, the user's time and the gate's included."""
    model_call_s: float = 600.0
    """For one model call with all its attempts."""
    max_nudges: int = 2
    """How often in a row an agent whose reply holds neither text nor call is asked again."""

    def __post_init__(self) -> None:
        counts = (self.max_agent_turns or 0, self.max_user_turns, self.max_nudges)
        if min(counts) < 0 or min(self.trial_s, self.model_call_s) <= 0:
            raise UserFault("limits are counts from 0 on and times above 0 seconds")


def protocol_for(task: Task, own: Protocol) -> Protocol:
    """The protocol that the task asks for; the agent's own, with its settings, where that is it or none is named."""
    protocols: Mapping[str, Protocol] = {"plain": Plain(), "thinkingbox": ThinkingBox()}
    named = protocols.get(task.protocol, own)
    return own if type(named) is type(own) else named


def limits_for(task: Task, own: Limits) -> Limits:
    """The agent's limits, tightened by the task's."""
    given = task.limits
    agent = [most for most in (own.max_agent_turns, given.max_agent_turns) if most is not None]
    user = own.max_user_turns if given.max_user_turns is None else min(own.max_user_turns, given.max_user_turns)
    return replace(own, max_agent_turns=min(agent, default=None), max_user_turns=user)


def offered(tools: Sequence[Offered], protocol: Protocol) -> list[Offered]:
    """The tools that an agent is offered: the domain's, and the protocol's where they are not among them."""
    names = {tool.name for tool in tools}
    return [*tools, *(tool for tool in protocol.end_turn_tools if tool.name not in names)]
