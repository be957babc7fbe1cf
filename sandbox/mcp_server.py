"""The door to a trial: its tools over the Model Context Protocol."""

import json
from collections.abc import Mapping
from typing import Any

import mcp_types as types
import msgspec
from mcp import MCPError
from mcp.server import Server, ServerRequestContext

from sandbox.domain import Domain, Tool
from sandbox.task import visible_tools
from sandbox.trial import Trial, TrialOver
from sandbox.world import Answer, request

ARGUMENTS_META = "trialbox/arguments"
"""The raw text of the arguments, as the model wrote it."""
CALL_ID_META = "trialbox/call-id"
KEY_META = "trialbox/idempotency-key"


def tool_server(trial: Trial) -> Server[Any]:
    """
    An MCP server for one trial. It knows the public task only.

    A refusal is a tool result with `isError`, or an `error` object where the domain says so; an unknown tool
    is recorded as a refused call like any other. Only what breaks on our side is a protocol error.
    """

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        shown = [described(tool) for tool in visible(trial)]
        return types.ListToolsResult(tools=shown, ttl_ms=0, cache_scope="private")

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        meta: dict[str, Any] = dict(params.meta or {})
        raw = meta.get(ARGUMENTS_META)
        asked = request(
            params.name,
            raw if isinstance(raw, str) else written_arguments(params.arguments or {}),
            call_id=_meta_text(meta, CALL_ID_META),
            key=_meta_text(meta, KEY_META),
        )
        try:
            answer = await trial.call(asked)
        except TrialOver as over:
            # An error of the protocol by its own name; any other exception the server would log with its traceback.
            raise MCPError(types.INTERNAL_ERROR, str(over)) from None
        return as_result(trial.domain, params.name, answer)

    return Server(f"trialbox-{trial.domain.name}", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


def visible(trial: Trial) -> list[Tool]:
    """The tools that the task shows."""
    return [trial.domain.tools[name] for name in visible_tools(trial.domain, trial.task)]


def described(tool: Tool) -> types.Tool:
    """A tool as a client gets it."""
    return types.Tool(
        name=tool.name,
        description=tool.spec.description,
        input_schema=dict(tool.schema),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.is_read,
            destructive_hint=not tool.is_read,
            idempotent_hint=tool.is_read or tool.spec.idempotent,
            open_world_hint=False,
        ),
    )


def as_result(domain: Domain, tool: str, answer: Answer) -> types.CallToolResult:
    """An answer in the protocol's form: one block of text."""
    if answer.refusal and domain.refusals == "object":
        text = msgspec.json.encode({"error": answer.text, "tool": tool}).decode()
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])
    block = types.TextContent(type="text", text=answer.text)
    return types.CallToolResult(content=[block], is_error=bool(answer.refusal))


def written_arguments(arguments: Mapping[str, Any]) -> str:
    """The arguments as text. What no JSON holds, such as NaN, is written all the same, to be recorded and refused."""
    return _json(dict(arguments))


def _meta_text(meta: Mapping[str, Any], name: str) -> str:
    """Text that a client sent beside a call; a number or an object is taken as its JSON."""
    value = meta.get(name)
    return value if isinstance(value, str) else "" if value is None else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=msgspec.to_builtins)
