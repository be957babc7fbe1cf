"""What an agent in this process gets: the public task, and tools behind a real MCP client."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import mcp_types as types
import msgspec
from mcp import Client
from msgspec import Struct

from sandbox.arguments import ensure_flat
from sandbox.lineage import Seen
from sandbox.mcp_server import ARGUMENTS_META, CALL_ID_META, KEY_META, as_result, tool_server, written_arguments
from sandbox.records import Said, ToolRefused, ToolReturned
from sandbox.task import Task
from sandbox.trial import Aside, Trial
from sandbox.values import OutOfRange
from sandbox.world import Answer, request


class ToolView(Struct, frozen=True):
    """A tool as the agent sees it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    is_read: bool


class Session:
    """One trial from the agent's side."""

    def __init__(self, trial: Trial, client: Client, tools: tuple[ToolView, ...], past: Sequence[Seen] = ()) -> None:
        self.trial_id = str(trial.id)
        self.task: Task = trial.task
        self.instructions = "\n\n".join(text for text in (trial.domain.instructions, trial.task.policy) if text)
        self.tools = tools
        self.past = tuple(past)
        """In a fork: what was said, asked and seen before it began, the user's first message first."""
        self._trial = trial
        self._client = client

    async def call(self, tool: str, arguments: str | Mapping[str, Any], *, call_id: str = "", key: str = "") -> Answer:
        """
        Call a tool.

        Args:
            tool: its name; an unknown one is refused, and recorded.
            arguments: the raw text as the model wrote it, or a mapping. Text that is no JSON object never
                reaches the protocol, which carries objects only; it is recorded and refused all the same.
            call_id: the provider's id of the call.
            key: idempotency key; the same key again brings the recorded answer.
        """
        text = arguments if isinstance(arguments, str) else written_arguments(arguments)
        asked = request(tool, text, call_id=call_id, key=key)
        carried = _carried(asked.arguments)
        if carried is None:
            return _seen(as_result(self._trial.domain, asked.tool, await self._trial.call(asked)))
        meta = {ARGUMENTS_META: asked.arguments, CALL_ID_META: asked.call_id, KEY_META: asked.key}
        told = cast(types.RequestParamsMeta, {name: value for name, value in meta.items() if value})
        return _seen(await self._client.call_tool(asked.tool, carried, meta=told))

    def answer_seen(self, tool: str, answer: ToolReturned | ToolRefused) -> str:
        """What the agent saw of a recorded answer in its past."""
        if isinstance(answer, ToolReturned):
            return answer.result
        return _seen(as_result(self._trial.domain, tool, Answer(answer.message, answer.refusal))).text

    async def say(self, text: str) -> None:
        """Tell the user something; it is recorded as the agent's line."""
        await self._trial.say(Said("assistant", text))

    async def hear(self, text: str) -> None:
        """Record what the user said."""
        await self._trial.say(Said("user", text))

    async def record(self, payload: Aside, took_ms: float = 0.0) -> None:
        """Record what is neither dialogue nor call, such as a model's reply."""
        await self._trial.record(payload, took_ms)

    async def end_state(self) -> str | None:
        """What the agent's calls have changed so far; None if this trial's gate does not show it."""
        return await self._trial.end_state()


def _seen(result: types.CallToolResult) -> Answer:
    """A result as the agent sees it: of a refusal only that it is one."""
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return Answer(block.text, "Refused" if result.is_error else "")


def _carried(text: str) -> dict[str, Any] | None:
    """The arguments as the protocol carries them; None if it cannot."""
    try:
        given = msgspec.json.decode(text)
        ensure_flat(given, text)
        msgspec.msgpack.encode(given)
    except (msgspec.DecodeError, UnicodeEncodeError, OverflowError, RecursionError, OutOfRange):
        return None
    return given if isinstance(given, dict) else None


@asynccontextmanager
async def connected(trial: Trial, past: Sequence[Seen] = ()) -> AsyncIterator[Session]:
    """A session over the in-memory transport: a real client, a real server, no network."""
    async with Client(tool_server(trial)) as client:
        listed = await client.list_tools()
        tools = tuple(
            ToolView(
                tool.name,
                tool.description or "",
                tool.input_schema,
                bool(tool.annotations and tool.annotations.read_only_hint),
            )
            for tool in listed.tools
        )
        yield Session(trial, client, tools, past)
