"""Chat completions in OpenAI's form over a model that knows no tools: what it is asked, and what its answer means."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from sandbox.local_model import Generated, LocalModel
from sandbox.local_schema import Function, answer_schema, tool_list
from sandbox.world import recordable

MOST_TOKENS = 512
"""Of an answer to a request that names no limit."""
_OPENINGS = {"reply": '{"reply": "', "call": '{"name": "'}
"""How an answer begins that is held to its schema."""


class BadRequest(Exception):
    """A request that is none; the text says where and why."""


class Unheld(Exception):
    """An answer that was not held to its schema, because the grammar could not take it."""


class Part(Struct, frozen=True):
    """Of a content that comes in parts."""

    text: str
    type: Literal["text"] = "text"


class CalledFunction(Struct, frozen=True):
    """Which tool was called, and with what."""

    name: str
    arguments: str = "{}"


class Called(Struct, frozen=True):
    """A call that the model made before."""

    function: CalledFunction
    id: str = ""


class Line(Struct, frozen=True):
    """One message of the dialogue."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[Part] | None = None
    tool_calls: list[Called] | None = None
    tool_call_id: str = ""

    @property
    def text(self) -> str:
        """All of its text."""
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""


class Tool(Struct, frozen=True):
    """A tool that is offered."""

    function: Function
    type: Literal["function"] = "function"


class NamedFunction(Struct, frozen=True):
    """The name of a tool."""

    name: str


class NamedTool(Struct, frozen=True):
    """The choice of one tool."""

    function: NamedFunction
    type: Literal["function"] = "function"


class Request(Struct, frozen=True):
    """A request for a chat completion, as far as it is served; other members are not looked at."""

    messages: Annotated[list[Line], Meta(min_length=1)]
    model: str = ""
    tools: list[Tool] | None = None
    tool_choice: Literal["auto", "none", "required"] | NamedTool | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)] | None = None
    stop: str | list[str] | None = None
    n: Literal[1] | None = None
    stream: Literal[False] | None = None
    response_format: None = None

    @property
    def functions(self) -> list[Function]:
        """The tools that may be called now."""
        if self.tool_choice == "none":
            return []
        offered = [tool.function for tool in self.tools or ()]
        chosen = self.tool_choice
        return (
            [one for one in offered if one.name == chosen.function.name] if isinstance(chosen, NamedTool) else offered
        )

    @property
    def may_reply(self) -> bool:
        """Whether the answer may be a text."""
        return self.tool_choice in (None, "auto", "none")


def request_in(body: bytes) -> Request:
    """
    The request in a body.

    Raises:
        BadRequest: it is none, or asks for what is not served.
    """
    try:
        request = msgspec.json.decode(body, type=Request)
        body.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(str(error)) from None
    names = [tool.function.name for tool in request.tools or ()]
    if len(set(names)) < len(names):
        raise BadRequest("two tools have one name - at `$.tools`")
    if request.stop and request.functions:
        raise BadRequest("a call cannot stop at a word; leave out stop, or the tools - at `$.stop`")
    if not request.may_reply and not request.functions:
        raise BadRequest("no tool is offered that could be the chosen one - at `$.tool_choice`")
    return request


def completed(model: LocalModel, request: Request) -> dict[str, Any]:
    """
    The completion of a request, as a plain value.

    Raises:
        BadRequest: the parameters of a tool are no JSON Schema.
        RequestRefused: the model cannot answer it, such as one that is longer than it can read.
        Unheld: no grammar held the model to the form of an answer.
    """
    tools = request.functions
    try:
        asked = _asked(request, tools)
        schemas = [answer_schema(tools, may_reply=request.may_reply, is_simple=simple) for simple in (False, True)]
    except (AttributeError, TypeError, ValueError) as error:
        raise BadRequest(f"the parameters of a tool are no JSON Schema: {error} - at `$.tools`") from None
    if not tools:
        answer = model.generated(asked)
        return _completion(model.name, answer, {"content": answer.text}, answer.finish)
    for schema in schemas:
        answer = model.generated(asked, schema)
        try:
            said = message_in(answer, [tool.name for tool in tools])
        except Unheld:
            continue
        return _completion(model.name, answer, said, "tool_calls" if "tool_calls" in said else answer.finish)
    raise Unheld("the model was not held to the form of an answer; offer tools with simpler names")


def _asked(request: Request, tools: Sequence[Function]) -> dict[str, Any]:
    """The request as llama.cpp takes it, tools in words."""
    asked = {
        "messages": dialogue(request.messages, tools, may_reply=request.may_reply),
        "max_tokens": request.max_completion_tokens or request.max_tokens or MOST_TOKENS,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "seed": request.seed,
        "stop": request.stop,
    }
    return {name: value for name, value in asked.items() if value is not None}


def dialogue(lines: Sequence[Line], tools: Sequence[Function], *, may_reply: bool = True) -> list[dict[str, str]]:
    """The messages in the three roles that every chat model knows; calls and replies in the form that is asked for."""
    system = [line.text for line in lines if line.role in ("system", "developer")]
    if tools:
        system.append(tool_list(tools, may_reply=may_reply))
    made = [{"role": "system", "content": "\n\n".join(system)}] if system else []
    names = {call.id: call.function.name for line in lines for call in line.tool_calls or ()}
    for line in lines:
        if line.role in ("system", "developer"):
            continue
        role = "assistant" if line.role == "assistant" else "user"
        text = _worded(line, names, bool(tools))
        if made and made[-1]["role"] == role:
            made[-1]["content"] += f"\n\n{text}"
        else:
            made.append({"role": role, "content": text})
    return made


def _worded(line: Line, names: Mapping[str, str], has_tools: bool) -> str:
    if line.role == "tool":
        return f"Result of {names.get(line.tool_call_id, 'the call')}: {line.text}"
    if line.role == "user":
        return line.text
    said = [json.dumps({"reply": line.text}, ensure_ascii=False) if has_tools else line.text] if line.text else []
    calls = (call.function for call in line.tool_calls or ())
    return "\n".join([*said, *(f'{{"name": {json.dumps(one.name)}, "arguments": {one.arguments}}}' for one in calls)])


def message_in(answer: Generated, names: Sequence[str]) -> dict[str, Any]:
    """
    What an answer in the form that was asked for says: a content, or a call.

    Of one that was cut off, the reply as far as it goes; a call that was cut off is none.

    Raises:
        Unheld: it has another form.
    """
    try:
        said = json.loads(answer.text)
    except ValueError:
        if answer.finish != "length" or not _is_opened(answer.text):
            raise Unheld from None
        return {"content": _cut_reply(answer.text)}
    match said:
        case {"reply": str(text)}:
            return {"content": recordable(text)}
        case {"name": str(name), "arguments": dict(arguments)} if name in names:
            function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
            return {
                "content": None,
                "tool_calls": [{"id": _call_id(answer.id), "type": "function", "function": function}],
            }
    raise Unheld


def _is_opened(text: str) -> bool:
    return any(text.startswith(opening) or opening.startswith(text) for opening in _OPENINGS.values())


def _cut_reply(text: str) -> str:
    """The text of a reply whose end is missing; an escape that was cut off is not part of it."""
    if not text.startswith(_OPENINGS["reply"]):
        return ""
    written = text.removeprefix(_OPENINGS["reply"])
    for end in range(len(written), max(-1, len(written) - len("\\ud83d\\ude00")), -1):
        try:
            return msgspec.json.decode(f'"{written[:end]}"', type=str)
        except msgspec.DecodeError:
            continue
    return ""


def _call_id(answer_id: str) -> str:
    return f"call_{answer_id.rpartition('-')[2][:24]}"


def _completion(model: str, answer: Generated, said: Mapping[str, Any], finish: str) -> dict[str, Any]:
    message = {"role": "assistant", **said}
    return {
        "id": answer.id,
        "object": "chat.completion",
        "created": answer.created,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": answer.usage,
    }
