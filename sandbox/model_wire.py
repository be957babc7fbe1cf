"""The two forms of an OpenAI-compatible endpoint, chat completions and Responses: requests and replies."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from sandbox.dialects import Toolbox
from sandbox.messages import Assistant, Message, ModelCall, System, ToolResult, User
from sandbox.model_settings import ModelSettings
from sandbox.world import recordable

NOT_JSON = "not_json"
"""Argument text that is no JSON object goes back to the provider inside one, under this name: many refuse it bare."""

PATHS = {"chat": "/chat/completions", "responses": "/responses"}


class NoMessage(ValueError):
    """A reply that holds no message; the text says what is wrong with it."""


class Parsed(Struct, frozen=True):
    """What a reply says."""

    text: str
    reasoning: str
    calls: tuple[ModelCall, ...]
    finish: str
    served: str
    native: str


def request_body(settings: ModelSettings, messages: Sequence[Message], tools: Toolbox) -> dict[str, Any]:
    """All of a request but its headers."""
    chat = settings.api == "chat"
    strict = settings.dialect == "openai_strict"
    body: dict[str, Any] = {
        "model": settings.model,
        "messages" if chat else "input": _dialogue(settings, messages, tools),
    }
    if tools.functions:
        body["tools"] = [_chat_tool(one, strict) if chat else {"type": "function", **one} for one in tools.functions]
        body["parallel_tool_calls"] = settings.parallel_tool_calls
    body["temperature"] = settings.temperature
    body["max_completion_tokens" if chat else "max_output_tokens"] = settings.max_output_tokens
    if chat:
        body |= {"seed": settings.seed, "reasoning_effort": settings.effort}
    else:
        body |= {"store": False, "include": ["reasoning.encrypted_content"] if settings.effort else None}
        body["reasoning"] = {"effort": settings.effort} if settings.effort else None
    return {name: value for name, value in body.items() if value is not None} | dict(settings.extra_body)


def _chat_tool(function: Mapping[str, Any], strict: bool) -> dict[str, Any]:
    """The word `strict` only where the dialect knows it."""
    return {"type": "function", "function": {n: v for n, v in function.items() if strict or n != "strict"}}


def _dialogue(settings: ModelSettings, messages: Sequence[Message], tools: Toolbox) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    waiting: list[tuple[str, str]] = []
    for message in messages:
        match message:
            case System(text=text):
                made.append({"role": "system", "content": text})
            case User(text=text):
                made.append({"role": "user", "content": text})
            case ToolResult(call_id=call_id, text=text):
                made.append(_result(settings.api, _taken(waiting, call_id), text))
            case Assistant():
                ids = _sent_ids(message.calls, len(made))
                waiting = list(zip((call.call_id for call in message.calls), ids, strict=True))
                said = _chat_said if settings.api == "chat" else _responses_said
                made += said(message, ids, settings.returns_reasoning)
    return made


def _sent_ids(calls: Sequence[ModelCall], place: int) -> list[str]:
    """An id for each call that no other call of the message has."""
    ids: list[str] = []
    for number, call in enumerate(calls, 1):
        ids.append(call.call_id if call.call_id and call.call_id not in ids else f"call_{place}_{number}")
    return ids


def _taken(waiting: list[tuple[str, str]], call_id: str) -> str:
    """The id that the first unanswered call of this id was sent under."""
    for place, (given, sent) in enumerate(waiting):
        if given == call_id:
            del waiting[place]
            return sent
    raise ValueError(f"no call {call_id!r} waits for a result; results follow the message that asked for them")


def _result(api: str, call_id: str, text: str) -> dict[str, Any]:
    if api == "chat":
        return {"role": "tool", "tool_call_id": call_id, "content": text}
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def _chat_said(message: Assistant, ids: Sequence[str], returns_reasoning: bool) -> list[dict[str, Any]]:
    """Content is left out where there is none: null and empty text are each refused by somebody."""
    native = json.loads(message.native) if message.native else {}
    extras = native.get("calls") or [{}] * len(ids)
    made: dict[str, Any] = {"role": "assistant"}
    if message.text or not message.calls:
        made["content"] = message.text
    if returns_reasoning and native.get("reasoning_content"):
        made["reasoning_content"] = native["reasoning_content"]
    if native.get("reasoning_details"):
        made["reasoning_details"] = native["reasoning_details"]
    if message.calls:
        made["tool_calls"] = [
            {"id": sent, "type": "function", "function": {"name": c.written_name, "arguments": _sendable(c.written)}}
            | extra
            for c, sent, extra in zip(message.calls, ids, extras, strict=True)
        ]
    return [made]


def _responses_said(message: Assistant, ids: Sequence[str], returns_reasoning: bool) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = list(json.loads(message.native)) if message.native else []
    if message.text or not message.calls:
        made.append({"role": "assistant", "content": message.text})
    for call, sent in zip(message.calls, ids, strict=True):
        asked = {"name": call.written_name, "arguments": _sendable(call.written)}
        made.append({"type": "function_call", "call_id": sent, **asked})
    return made


def _sendable(written: str) -> str:
    return written if isinstance(_json(written), dict) else json.dumps({NOT_JSON: written}, ensure_ascii=False)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def parsed(api: str, body: Mapping[str, Any], tools: Toolbox) -> Parsed:
    """
    What a reply says, reasoning kept apart from the visible text.

    Raises:
        NoMessage: there is none in it.
    """
    return _parsed_chat(body, tools) if api == "chat" else _parsed_responses(body, tools)


def _parsed_chat(body: Mapping[str, Any], tools: Toolbox) -> Parsed:
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise NoMessage("no choices")
    message = choices[0].get("message")
    if not isinstance(message, Mapping):
        raise NoMessage("a choice without a message")
    content, hidden = _parts(message.get("content"))
    thought, text = split_thought(content or _text(message.get("refusal")))
    told = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    asked = _list(message.get("tool_calls"), "tool_calls")
    if not asked and isinstance(message.get("function_call"), Mapping):
        asked = [{"function": message["function_call"]}]
    calls = tuple(_chat_call(call, tools) for call in asked)
    reasoning = "\n".join(part for part in (told, hidden, thought) if part)
    served, finish = _text(body.get("model")), _text(choices[0].get("finish_reason"))
    return Parsed(text, reasoning, calls, finish, served, _chat_native(message, asked, reasoning))


def _chat_call(call: Any, tools: Toolbox) -> ModelCall:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        raise NoMessage("a tool call without a function")
    return _call(function.get("name"), function.get("arguments"), call.get("id"), tools)


def _call(name: Any, arguments: Any, call_id: Any, tools: Toolbox) -> ModelCall:
    written_name, written = _text(name), arguments if isinstance(arguments, str) else _encoded(arguments)
    own, mapped = tools.own(written_name, recordable(written))
    return ModelCall(own, mapped, _text(call_id), written_name, recordable(written))


def _chat_native(message: Mapping[str, Any], asked: Sequence[Any], reasoning: str) -> str:
    """What some providers want back: signatures beside the calls, and reasoning."""
    extras = [{n: v for n, v in call.items() if n == "extra_content"} for call in asked]
    kept = {
        "calls": extras if any(extras) else None,
        "reasoning_details": message.get("reasoning_details"),
        "reasoning_content": reasoning,
    }
    kept = {name: value for name, value in kept.items() if value}
    return _encoded(kept) if kept else ""


def _parsed_responses(body: Mapping[str, Any], tools: Toolbox) -> Parsed:
    if body.get("output") is None:
        raise NoMessage("no output")
    items = [item for item in _list(body["output"], "output") if isinstance(item, Mapping)]
    texts, thoughts, calls = [], [], []
    for item in items:
        kind = item.get("type")
        if kind == "message":
            content, hidden = _parts(item.get("content"))
            texts.append(content)
            thoughts.append(hidden)
        elif kind == "reasoning":
            thoughts += [_parts(item.get(name))[0] for name in ("summary", "content")]
        elif kind == "function_call":
            calls.append(_call(item.get("name"), item.get("arguments"), item.get("call_id"), tools))
    thought, text = split_thought("\n".join(part for part in texts if part))
    native = [item for item in items if item.get("type") == "reasoning" and item.get("encrypted_content")]
    reasoning = "\n".join(part for part in (*thoughts, thought) if part)
    served, kept = _text(body.get("model")), _encoded(native) if native else ""
    return Parsed(text, reasoning, tuple(calls), _finish(body, bool(calls)), served, kept)


def _finish(body: Mapping[str, Any], called: bool) -> str:
    """How a response ended, in chat's words."""
    details = body.get("incomplete_details")
    if isinstance(details, Mapping) and details.get("reason"):
        reason = _text(details["reason"])
        return "length" if reason == "max_output_tokens" else reason
    status = _text(body.get("status"))
    return ("tool_calls" if called else "stop") if status == "completed" else status


_OPENED = re.compile(r"\s*<(think|thinking)>(?P<thought>.*?)(</\1>|\Z)", re.DOTALL)
_CLOSED = re.compile(r"\A(?P<thought>.*?)</(think|thinking)>", re.DOTALL)


def split_thought(content: str) -> tuple[str, str]:
    """
    Reasoning that a model wrote in front of its text, and the text.

    A tag that was never closed hides all that follows it. One that was never opened, as when the prompt's template
    opened it, hides what is before it.
    """
    thoughts = []
    while opened := _OPENED.match(content):
        thoughts.append(opened["thought"].strip())
        content = content[opened.end() :]
    if not thoughts and (closed := _CLOSED.match(content)):
        thoughts.append(closed["thought"].strip())
        content = content[closed.end() :]
    return "\n".join(thoughts), content.lstrip() if thoughts else content


def _parts(content: Any) -> tuple[str, str]:
    """Visible text and reasoning of a content that is text or a list of parts."""
    if not isinstance(content, list):
        return _text(content), ""
    visible: list[str] = []
    hidden: list[str] = []
    for part in content:
        if isinstance(part, Mapping):
            inner = part.get("text") or part.get("refusal") or part.get("thinking") or part.get("reasoning")
            text = _parts(inner)[0] if isinstance(inner, list) else _text(inner)
            (hidden if part.get("type") in ("thinking", "reasoning") else visible).append(text)
    return "".join(visible), "\n".join(hidden)


def _text(value: Any) -> str:
    return recordable(value) if isinstance(value, str) else ""


def _list(value: Any, name: str) -> list[Any]:
    if value is not None and not isinstance(value, list):
        raise NoMessage(f"{name} is no list")
    return value or []


def _encoded(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=True, separators=(",", ":"))
