"""A world: one trial's rows, clock and ids. Synchronous and pure; what it decides is applied only on demand."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import msgspec
from msgspec import Struct

from sandbox.call import Call
from sandbox.domain import Domain, Tool
from sandbox.effects import Effects, effects_of
from sandbox.escapes import escaped, is_interrupt
from sandbox.records import Draft, ToolCalled, ToolRefused, ToolReturned, draft
from sandbox.refusals import REFUSALS, Conflict, Invalid, Refused, Unsupported
from sandbox.snapshot import Overlay, Snapshot
from sandbox.values import Instant, OutOfRange, ensure_storable, later

_encode_json = msgspec.json.Encoder(decimal_format="string").encode


class Request(Struct, frozen=True, gc=False):
    """A call as it came from the agent."""

    tool: str
    arguments: str
    """The raw text; a JSON object if the agent is right."""
    call_id: str = ""
    key: str = ""
    """Idempotency key: a repeated call with it gets the recorded answer."""


def request(tool: str, arguments: str, *, call_id: str = "", key: str = "") -> Request:
    """A request whose texts can be recorded: a lone surrogate is written as its escape."""
    return Request(*(recordable(text) for text in (tool, arguments, call_id, key)))


def recordable(text: str) -> str:
    """The text with each lone surrogate as its escape, since no record can hold one."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


class Answer(Struct, frozen=True, gc=False):
    """What the agent gets."""

    text: str
    """JSON of the result, or the words of the refusal."""
    refusal: str = ""
    """The class of the refusal; empty for a success."""


class Decision(Struct, frozen=True, gc=False):
    """What one call would do."""

    request: Request
    drafts: tuple[Draft, ...]
    answer: Answer
    scratch: Overlay | None
    """The rows as they would be; None if nothing changes."""


class _Answered(Struct, frozen=True, gc=False):
    position: int
    request: Request
    answer: Answer


class World:
    """
    The live state of one attempt at a task.

    Args:
        domain: what tools there are and what events do.
        snapshot: the rows to start from.
        start: the task's instant.
        tools: the names that the agent may use; all by default.
    """

    def __init__(self, domain: Domain, snapshot: Snapshot, start: Instant, tools: Iterable[str] | None = None) -> None:
        self.domain = domain
        self.snapshot = snapshot
        self.start = start
        self.visible = tuple(domain.tools) if tools is None else tuple(tools)
        self._tools = domain.tools if tools is None else _chosen(domain, self.visible)
        self.overlay = Overlay(snapshot)
        self.calls = 0
        self._answered: dict[str, _Answered] = {}

    @property
    def now(self) -> Instant:
        """Virtual time: the task's instant and a second for each call so far."""
        return later(self.start, self.calls)

    @property
    def rows(self) -> dict[str, list[Any]]:
        """All rows by table, in order. A copy: cheap enough for a test, not for a loop."""
        return {name: [row for _, row in self.overlay.items(name)] for name in self.domain.tables}

    @property
    def effects(self) -> Effects:
        """The net change since the snapshot."""
        return effects_of(self.snapshot, self.overlay)

    def repeats(self, request: Request) -> bool:
        """Whether the call's idempotency key was used before, so that it cannot do anything."""
        return bool(request.key) and request.key in self._answered

    def decide(self, request: Request) -> Decision:
        """
        What the call would do; nothing is applied.

        Raises:
            Exception: the tool or a handler broke; Escaped stands for SystemExit and its like. Never because of the
                agent's words.
        """
        number = self.calls + 1
        time = later(self.start, number)
        called = draft(
            ToolCalled(number, request.tool, request.arguments, request.call_id, request.key), time, from_call=True
        )
        call: Call | None = None
        try:
            if self.repeats(request):
                return self._repeated(request, called, time)
            tool = self._tool(request.tool)
            arguments = _arguments(tool, request.arguments)
            call = Call(self.domain, self.snapshot, Overlay(self.overlay), tool, self.start, number)
            result = tool.spec.function(call, **arguments)
            ensure_storable(result)
            text = _encode_json(result).decode()
        except OutOfRange as fault:
            return self._refused(request, called, time, Invalid(f"{request.tool}: {fault}"), call)
        except Refused as refused:
            return self._refused(request, called, time, refused, call)
        except BaseException as error:
            if isinstance(error, Exception) or is_interrupt(error):
                raise
            raise escaped(error) from error
        events = [Draft(topic, time, payload, True) for topic, payload in call.emitted]
        returned = draft(ToolReturned(text, call.found), time, from_call=True)
        return Decision(request, (called, *events, returned), Answer(text), call.overlay if events else None)

    def apply(self, decision: Decision, position: int = 0) -> None:
        """Take over what was decided; `position` is where the call stands in the stream."""
        self.calls += 1
        if decision.scratch is not None:
            self.overlay.merge(decision.scratch)
        if decision.request.key:
            self._answered.setdefault(decision.request.key, _Answered(position, decision.request, decision.answer))

    def reapply(self, called: ToolCalled, position: int, overlay: Overlay | None, answer: Answer) -> None:
        """Take over a recorded call: its events are in `overlay`, if it had any."""
        given = Request(called.tool, called.arguments, called.call_id, called.key)
        self.apply(Decision(given, (), answer, overlay), position)

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """Decide and apply in memory, for goldens and tests: the result as plain JSON values; a refusal is raised."""
        return self.ask(Request(tool, _encode_json(arguments).decode()))

    def ask(self, request: Request) -> Any:
        """`call` with a whole request."""
        decision = self.decide(request)
        self.apply(decision)
        if decision.answer.refusal:
            raise REFUSALS[decision.answer.refusal](decision.answer.text)
        return msgspec.json.decode(decision.answer.text)

    def _tool(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            close = get_close_matches(name[:80], self._tools, n=1)
            raise Unsupported(f"no tool {name[:80]!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
        return tool

    def _refused(self, request: Request, called: Draft, time: Instant, refused: Refused, call: Call | None) -> Decision:
        found = None if call is None else call.found
        record = draft(ToolRefused(refused.kind, refused.message, found), time, from_call=True)
        return Decision(request, (called, record), Answer(refused.message, refused.kind), None)

    def _repeated(self, request: Request, called: Draft, time: Instant) -> Decision:
        first = self._answered[request.key]
        if (first.request.tool, first.request.arguments) != (request.tool, request.arguments):
            raise Conflict(f"idempotency key {request.key!r} was used for another call; use a new one")
        answer = first.answer
        if answer.refusal:
            record = draft(ToolRefused(answer.refusal, answer.text), time, from_call=True)
        else:
            record = draft(ToolReturned(answer.text, repeats=first.position), time, from_call=True)
        return Decision(request, (called, record), answer, None)


def _chosen(domain: Domain, names: Iterable[str]) -> dict[str, Tool]:
    unknown = [name for name in names if name not in domain.tools]
    if unknown:
        close = get_close_matches(unknown[0], domain.tools, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"domain {domain.name} has no tool {unknown[0]!r}{hint}")
    return {name: domain.tools[name] for name in names}


def _arguments(tool: Tool, text: str) -> dict[str, Any]:
    mount = tool.mount
    is_open = mount.is_open.get(tool.spec.name, False)
    return tool.spec.arguments.parsed(tool.name, text, strictness=mount.arguments, is_open=is_open)
