"""
A model endpoint on loopback that answers from a script, badly if told to: real HTTP, any number of requests at once.

    async with serving([Turn("hello"), failing(429)]) as stub:
        ... stub.url ... stub.asked

In a process of its own, where its URL is the first line printed: python -m tests.stub --script module:function
"""

import argparse
import asyncio
import importlib
import itertools
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

from msgspec import Struct

USAGE: Mapping[str, Any] = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 10},
    "completion_tokens_details": {"reasoning_tokens": 5},
}
RESPONSES_USAGE: Mapping[str, Any] = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 10},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 120,
}


class Asked(Struct, frozen=True):
    """A request that arrived."""

    number: int
    """From 1."""
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    text: str

    @property
    def body(self) -> Any:
        """Decoded."""
        return json.loads(self.text)


class Answer(Struct, frozen=True):
    """An HTTP answer, or what goes wrong with it."""

    body: str = ""
    status: int = 200
    headers: Mapping[str, str] = {}
    breaks: Literal["", "before", "midway", "hangs"] = ""
    """`before`: the connection is cut without a byte; `midway`: in the middle of the body; `hangs`: no answer comes."""


class Turn(Struct, frozen=True):
    """A model's reply, in the form of whatever path was asked."""

    text: str | None = ""
    calls: Sequence[Mapping[str, Any]] = ()
    """Each with `name`, `arguments` (text) and `id`; one that is left out is missing on the wire too."""
    reasoning: str = ""
    finish: str = ""
    usage: Any = "usual"
    """Anything but the word `usual` is sent as it is; None leaves it out."""
    model: str = "stub-1"


Outcome = Answer | Turn
Script = Callable[[Asked], Outcome]


def call(name: str, arguments: Mapping[str, Any] | str, call_id: str | None = None) -> dict[str, Any]:
    """A tool call of a turn; argument text is sent as it is."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"name": name, "arguments": text} | ({} if call_id is None else {"id": call_id})


def failing(status: int, message: str = "out of order", *, code: str = "", usage: Any = None, **headers: str) -> Answer:
    """An error in OpenAI's form. Header names with underscores: `retry_after="3"`."""
    body: dict[str, Any] = {"error": {"message": message, "type": "error", "code": code or None}}
    if usage is not None:
        body["usage"] = usage
    return Answer(json.dumps(body), status, {name.replace("_", "-"): value for name, value in headers.items()})


OVERFLOWS: Mapping[str, Answer] = {
    "openai": failing(400, "Your input exceeds the context window of this model.", code="context_length_exceeded"),
    "vllm": failing(400, "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens."),
    "vllm prompt": failing(400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
    "anthropic": failing(400, "prompt is too long: 210000 tokens > 200000 maximum"),
    "gemini": Answer(
        '[{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": '
        '"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}]',
        400,
    ),
    "llama.cpp": Answer(
        '{"error": {"code": 400, "type": "exceed_context_size_error", "message": '
        '"the request exceeds the available context size. try increasing it"}}',
        400,
    ),
    "bedrock": failing(400, "Input is too long for requested model."),
    "mistral": failing(400, "Prompt contains 40000 tokens and 0 draft tokens, too large for model."),
    "xai": failing(400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    "a proxy's 500": failing(500, "litellm.ContextWindowExceededError: maximum context length is 8192 tokens"),
    "openrouter's 200": Answer(
        '{"error": {"code": 400, "message": "This endpoint\'s maximum context length is 32768 tokens."}}'
    ),
}
"""How providers say that the dialogue is too long."""


class Stub:
    """The running endpoint."""

    def __init__(self, script: Script | Sequence[Outcome], latency_s: float = 0.0) -> None:
        self.url = ""
        self.asked: list[Asked] = []
        self._script = script if callable(script) else _in_order(script)
        self._latency_s = latency_s
        self._numbers = itertools.count(1)
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._server: asyncio.Server | None = None

    async def start(self, port: int = 0) -> None:
        """Listen on loopback."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, backlog=4096)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def stop(self) -> None:
        """Cut all connections."""
        assert self._server is not None
        self._server.close()
        tasks = list(self._open)
        for task, writer in self._open.items():
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            del self._open[task]
            writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        text = (await reader.readexactly(int(headers.get("content-length", "0")))).decode()
        asked = Asked(next(self._numbers), first.split(" ")[1], headers, text)
        self.asked.append(asked)
        outcome = self._script(asked)
        if self._latency_s:
            await asyncio.sleep(self._latency_s)
        answer = outcome if isinstance(outcome, Answer) else Answer(json.dumps(_rendered(outcome, asked)))
        if answer.breaks == "hangs":
            await reader.read()
        return answer.breaks not in ("before", "hangs") and await _written(answer, writer)


async def _written(answer: Answer, writer: asyncio.StreamWriter) -> bool:
    body = answer.body.encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **answer.headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    sent = body[: len(body) // 2] if answer.breaks == "midway" else body
    writer.write(f"HTTP/1.1 {answer.status} -\r\n{head}\r\n".encode() + sent)
    await writer.drain()
    if answer.breaks == "midway":
        writer.write_eof()
    return not answer.breaks


def _in_order(outcomes: Sequence[Outcome]) -> Script:
    left = iter(outcomes)

    def script(asked: Asked) -> Outcome:
        return next(left, failing(400, f"the script has no answer to request {asked.number}"))

    return script


def _rendered(turn: Turn, asked: Asked) -> dict[str, Any]:
    return _response(turn) if asked.path.endswith("/responses") else _completion(turn)


def _completion(turn: Turn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text}
    if turn.reasoning:
        message["reasoning_content"] = turn.reasoning
    if turn.calls:
        message["tool_calls"] = [
            {"type": "function", "function": {n: v for n, v in one.items() if n != "id"}}
            | ({"id": one["id"]} if "id" in one else {})
            for one in turn.calls
        ]
    finish = turn.finish or ("tool_calls" if turn.calls else "stop")
    made = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": turn.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    return made | _usage(turn, USAGE)


def _response(turn: Turn) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if turn.reasoning:
        summary = [{"type": "summary_text", "text": turn.reasoning}]
        output.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "c2VhbGVk"})
    if turn.text:
        output.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": turn.text}]})
    for one in turn.calls:
        named = {"call_id" if name == "id" else name: value for name, value in one.items()}
        output.append({"type": "function_call", **named})
    incomplete = {"status": "incomplete", "incomplete_details": {"reason": turn.finish}} if turn.finish else {}
    made = {"id": "resp_1", "object": "response", "status": "completed", "model": turn.model, "output": output}
    return made | incomplete | _usage(turn, RESPONSES_USAGE)


def _usage(turn: Turn, usual: Mapping[str, Any]) -> dict[str, Any]:
    given = usual if turn.usage == "usual" else turn.usage
    return {} if given is None else {"usage": given}


@asynccontextmanager
async def serving(script: Script | Sequence[Outcome], *, latency_s: float = 0.0, port: int = 0) -> AsyncIterator[Stub]:
    """A stub on a free port, while the block runs."""
    stub = Stub(script, latency_s)
    await stub.start(port)
    try:
        yield stub
    finally:
        await stub.stop()


def done(asked: Asked) -> Turn:
    """The script of an agent that is done at once."""
    return Turn("All is done. <DONE>")


async def _forever(script: Script, latency_s: float, port: int) -> None:
    async with serving(script, latency_s=latency_s, port=port) as stub:
        print(stub.url, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description="a model endpoint that answers from a script")
    parser.add_argument("--script", default="tests.stub:done", help="module:function from Asked to an outcome")
    parser.add_argument("--latency-s", type=float, default=0.0)
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    module, _, name = given.script.partition(":")
    script: Script = getattr(importlib.import_module(module), name)
    asyncio.run(_forever(script, given.latency_s, given.port))


if __name__ == "__main__":
    main()
