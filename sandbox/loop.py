"""The loop: a model works on a task, with tools and perhaps a user, until it is done or something bounds it."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

import anyio
import msgspec
from msgspec.structs import replace

from sandbox.agents import USER_FAULT, Finished, ready
from sandbox.lineage import Seen
from sandbox.mcp_session import Session
from sandbox.messages import Assistant, Message, ModelCall, Reply, System, ToolResult, User
from sandbox.model import Model
from sandbox.model_faults import ContextOverflow, DeadlinePassed, InvalidRequest, ModelFault
from sandbox.model_settings import ModelSettings
from sandbox.protocols import DONE, Limits, Protocol, limits_for, offered, protocol_for
from sandbox.records import End, Said, Told, ToolCalled, TurnEnded
from sandbox.user import User as Users
from sandbox.values import digest_of

NUDGE = "Your reply held neither a text nor a tool call. Go on with the case, or tell the customer where it stands."
BEFORE_THE_END = """\
Your last message has not been sent yet. Before you finish, look at what your calls have changed so far:

{effects}

If something is missing or wrong, see to it now. When all is right, finish again."""
ODD_FINISHES = {"length": "cut_off_reply", "content_filter": "filtered_reply"}
"""Flags for replies that the provider did not let the model finish."""
FAULT_ENDS: dict[type[ModelFault], End] = {
    ContextOverflow: "context_overflow",
    InvalidRequest: "agent_error",
    DeadlinePassed: "deadline",
}
"""
The faults of a model call that end the trial and count; every other one is ours.

A request that is refused before it holds anything of the agent's is ours too.
"""


class ModelAgent:
    """
    A model behind an endpoint as an agent, for any number of trials at once. Enter it as an async context manager.

    Args:
        name: stands in every trial.
        settings: the model.
        protocol: when it is done.
        limits: of each attempt.
        user: who it talks to; None for tasks that need no answer. Entered and left with the agent.
    """

    def __init__(
        self, name: str, settings: ModelSettings, protocol: Protocol, limits: Limits, user: Users | None = None
    ) -> None:
        self.name = name
        self.settings = settings
        self.protocol = protocol
        self.limits = limits
        self.user = user
        self._model: Model | None = None
        self._open = AsyncExitStack()

    @property
    def told(self) -> dict[str, Any]:
        """Its whole configuration but keys and contexts, as plain values, for a campaign's seal."""
        protocol: dict[str, Any] = msgspec.to_builtins(self.protocol)
        return {
            "model": self.settings.told,
            "protocol": protocol,
            "limits": msgspec.to_builtins(self.limits),
            "user": self.user.told if self.user else None,
            "words": digest_of([self.protocol.rule, NUDGE, BEFORE_THE_END]),
        }

    async def __aenter__(self) -> Self:
        self._model = await self._open.enter_async_context(Model(self.settings))
        await self._open.enter_async_context(ready(self.user))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._model = None
        await self._open.aclose()

    async def attempt(self, session: Session, repetition: int) -> Finished:
        """
        Work on the session's task until an end.

        Raises:
            ModelFault: a model could not be asked, and that is not the agent's fault.
        """
        if self._model is None:
            raise RuntimeError("the agent's model is not connected; enter the agent first, as in `async with agent:`")
        return await _Attempt(self, self._model, session).made()


class _Attempt:
    """One trial from the model's side."""

    def __init__(self, agent: ModelAgent, model: Model, session: Session) -> None:
        self._model = model
        self._session = session
        self._protocol = protocol_for(session.task, agent.protocol)
        self._limits = limits_for(session.task, agent.limits)
        self._trial_s = agent.limits.trial_s
        self._deadline = anyio.current_time() + self._trial_s
        self._tools = offered(session.tools, self._protocol)
        self._end_turns = {tool.name for tool in self._protocol.end_turn_tools}
        note = session.record
        self._talk = agent.user.joins(session.task, session.trial_id, note) if agent.user else None
        past: Sequence[Seen] = session.past or (Said("user", session.task.goal),)
        self._dialogue = [seen for seen in past if isinstance(seen, Said)]
        self._messages = [System(prompt(session, self._protocol)), *messages_of(past, session)]
        self._replies = sum(line.role == "user" for line in self._dialogue) - 1
        self._turns = sum(isinstance(seen, ToolCalled) for seen in past) + len(self._dialogue) - self._replies - 1
        self._users_turn = self._dialogue[-1:] == [past[-1]] and self._dialogue[-1].role == "assistant"
        self._asked = 0
        self._is_marked = False
        self._was_shown = any(isinstance(seen, Told) and seen.about == "end_state" for seen in past)
        self._withheld = ""
        self._has_acted = False
        self._has_heard = False
        self._detail = ""
        self._flags: set[str] = set()

    async def made(self) -> Finished:
        """How it ended."""
        end = await self._worked()
        if self._withheld:
            await self._say(self._withheld)
        return Finished(end, tuple(sorted(self._flags)), self._detail)

    async def _worked(self) -> End:
        while True:
            end = await self._heard() if self._users_turn else None
            end = end or await self._turn()
            if end is not None:
                return end
            self._users_turn = True

    async def _heard(self) -> End | None:
        """The user's turn; an end if the dialogue is over."""
        if self._is_spent():
            return "agent_limit"
        if self._talk is None:
            self._flags.add("no_user")
            return "user_limit"
        if self._replies >= self._protocol.most_replies(self._limits.max_user_turns):
            return "user_limit"
        turn = await self._talk.reply(self._dialogue, self._deadline)
        self._replies += 1
        for fault in turn.faults:
            self._flags.add(USER_FAULT)
            await self._session.record(fault)
        if late := next((fault for fault in turn.faults if fault.kind == "late"), None):
            self._detail = late.detail
            return "deadline" if self._has_heard else "infrastructure"
        self._has_heard = True
        if turn.text.strip():
            await self._session.hear(turn.text)
            self._dialogue.append(Said("user", turn.text))
            put(self._messages, turn.text)
        if not (turn.ended or turn.text.strip()):
            self._detail = "the user had no words"
            return "user_limit"
        return "user_done" if turn.ended else None

    async def _turn(self) -> End | None:
        """The agent's turn, until it has said something to the user; an end if it is the last."""
        nudges = 0
        while not self._is_spent():
            reply = await self._reply()
            if not isinstance(reply, Reply):
                return reply
            text = reply.text if reply.text.strip() else ""
            if text or reply.calls:
                nudges = 0
                if end := await self._took(reply, text):
                    return end
                if text and not reply.calls and not self._withheld:
                    return None
            elif self._is_marked or self._withheld:
                if end := await self._finish("done", ""):
                    return end
            elif nudges == self._limits.max_nudges:
                self._detail = f"{nudges + 1} replies in a row held neither a text nor a call"
                return "agent_error"
            else:
                nudges += 1
                await self._session.record(Told("empty_reply", NUDGE))
                put(self._messages, NUDGE)
        return "agent_limit"

    async def _took(self, reply: Reply, text: str) -> End | None:
        """A reply with something in it."""
        self._has_acted = True
        self._messages.append(reply.message)
        if text:
            self._turns += 1
            self._is_marked = self._protocol.is_marked(text)
            if not reply.calls and self._protocol.is_done(text, self._talk is not None):
                return await self._finish("done", text)
            self._withheld = ""
            await self._say(text)
        if not reply.calls:
            return None
        if self._is_spent():
            return "agent_limit"
        self._turns += 1
        ending = next((call for call in reply.calls if call.name in self._end_turns), None)
        return await self._call(reply.calls) if ending is None else await self._end_turn(ending, reply.calls)

    async def _call(self, calls: Sequence[ModelCall]) -> End | None:
        """Make the calls of one reply, in the model's order."""
        for call in calls:
            answer = None
            with anyio.CancelScope(deadline=self._deadline):
                answer = await self._session.call(call.name, call.arguments, call_id=call.call_id)
            if answer is None:
                self._detail = f"trial_s ({self._trial_s:g} s) was over in a call of {call.name}"
                return "deadline"
            self._messages.append(ToolResult(call.call_id, answer.text))
        return None

    async def _end_turn(self, ending: ModelCall, calls: Sequence[ModelCall]) -> End | None:
        shown = await self._shown()
        if shown:
            self._messages += [ToolResult(call.call_id, shown) for call in calls]
            return None
        dropped = len(calls) - 1
        await self._session.record(TurnEnded(ending.name, ending.arguments, ending.call_id, dropped))
        if dropped:
            self._flags.add("dropped_calls")
        return "end_turn_tool"

    async def _finish(self, end: End, text: str) -> End | None:
        """
        The end, after the last words; None if the agent is to look at what it has done first.

        Words that the agent was about to say before it looked are said if it has no others.
        """
        shown = await self._shown()
        if shown:
            self._withheld = text
            put(self._messages, shown)
            return None
        bare = text.strip().removesuffix(DONE).strip() == ""
        last = self._withheld if bare and self._withheld else text
        self._withheld = ""
        if last:
            await self._say(last)
        return end

    async def _shown(self) -> str:
        """What the agent is shown before it finishes, recorded; empty if it has seen it, or the gate shows nothing."""
        state = None if self._was_shown else await self._session.end_state()
        if state is None:
            return ""
        self._was_shown = True
        text = BEFORE_THE_END.format(effects=state)
        await self._session.record(Told("end_state", text))
        return text

    async def _reply(self) -> Reply | End:
        """The model's next reply, recorded; an end if there is none for a reason that counts."""
        self._asked += 1
        asked_at = anyio.current_time()
        deadline = min(self._deadline, asked_at + self._limits.model_call_s)
        occasion = f"{self._session.trial_id}/agent/{self._asked}"
        try:
            reply = await self._model.complete(
                self._messages, self._tools, deadline=deadline, occasion=occasion, when_stopped=self._unanswered
            )
        except ModelFault as given:
            fault = self._blamed(given, asked_at)
            await self._unanswered(fault)
            if type(fault) not in FAULT_ENDS or (isinstance(fault, InvalidRequest) and not self._has_acted):
                raise fault from None
            is_late = isinstance(fault, DeadlinePassed)
            self._detail = f"trial_s ({self._trial_s:g} s) was over" if is_late else f"{fault.kind}: {fault.message}"
            return FAULT_ENDS[type(fault)]
        await self._session.record(reply.replied("agent", self._asked), reply.took_ms)
        if reply.finish in ODD_FINISHES:
            self._flags.add(ODD_FINISHES[reply.finish])
        return reply

    async def _unanswered(self, fault: ModelFault) -> None:
        await self._session.record(fault.unanswered("agent", self._asked))

    def _blamed(self, fault: ModelFault, asked_at: float) -> ModelFault:
        """The fault; a passed deadline as the endpoint's, if the call's time is over or nothing was ever answered."""
        if not isinstance(fault, DeadlinePassed):
            return fault
        if asked_at + self._limits.model_call_s < self._deadline:
            return fault.hung(f"no answer within model_call_s ({self._limits.model_call_s:g} s)")
        if fault.failed and self._asked == 1:
            return fault.hung(f"not one answer within trial_s ({self._trial_s:g} s)")
        return fault

    async def _say(self, text: str) -> None:
        await self._session.say(text)
        self._dialogue.append(Said("assistant", text))

    def _is_spent(self) -> bool:
        most = self._limits.max_agent_turns
        return most is not None and self._turns >= most


def prompt(session: Session, protocol: Protocol) -> str:
    """What the agent is told first: the company's instructions, the time there, and how to be done."""
    parts = (session.instructions, f"It is {session.task.instant}.", protocol.rule)
    return "\n\n".join(part for part in parts if part)


def put(messages: list[Message], text: str) -> None:
    """Add something that the model hears; two messages of that side in a row become one, which some providers need."""
    last = messages[-1] if messages else None
    if isinstance(last, User):
        messages[-1] = User(f"{last.text}\n\n{text}")
    else:
        messages.append(User(text))


def messages_of(past: Sequence[Seen], session: Session) -> list[Message]:
    """What was said, asked and seen, as a model is told it. A result follows its call, a call the text before it."""
    made: list[Message] = []
    call = ModelCall("", "", "", "", "")
    for seen in past:
        if isinstance(seen, Said):
            if seen.role == "user":
                put(made, seen.text)
            else:
                made.append(Assistant(seen.text))
        elif isinstance(seen, Told):
            put(made, seen.text)
        elif isinstance(seen, ToolCalled):
            call = ModelCall(seen.tool, seen.arguments, f"call_{seen.number}", seen.tool, seen.arguments)
            # A text that nobody answered came in one reply with the call after it.
            if made and isinstance(last := made[-1], Assistant) and not last.calls:
                made[-1] = replace(last, calls=(call,))
            else:
                made.append(Assistant("", (call,)))
        else:
            made.append(ToolResult(call.call_id, session.answer_seen(call.name, seen)))
    return made
