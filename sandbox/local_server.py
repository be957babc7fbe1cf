"""A local model as an OpenAI-compatible endpoint on loopback."""

import errno
import json
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import uvicorn
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response
from starlette.routing import Route

from sandbox.local_chat import BadRequest, Unheld, completed, request_in
from sandbox.local_model import LocalModel, RequestRefused
from sandbox.refusals import UserFault

HOST = "127.0.0.1"
_OVERFLOW = "exceed_context_size_error"
"""What llama.cpp calls a request that is longer than its context."""
_GAVE_UP = 499
_PATIENCE_S = 5
"""For answers that are being made when the server is stopped."""


class PortTaken(UserFault):
    """The port belongs to somebody else."""


def bound(port: int) -> socket.socket:
    """
    A listening socket on loopback; any free port for 0.

    Raises:
        PortTaken: it is in use, or reserved.
    """
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
        raise PortTaken(f"port {port} of {HOST} {why}; give another one with --port, or 0 for any free one") from None
    return listening


def serve(model: LocalModel, listening: socket.socket, on_ready: Callable[[], None]) -> None:
    """Answer requests until the process is told to stop."""
    config = uvicorn.Config(
        app(model, on_ready),
        log_level="warning",
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=_PATIENCE_S,
    )
    with _ended_by_signals():
        uvicorn.Server(config).run(sockets=[listening])


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """To be stopped is how this ends: uvicorn closes its connections first, then raises the signal again."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: sys.exit(0)) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def app(model: LocalModel, on_ready: Callable[[], None]) -> Starlette:
    """The endpoint: `/v1/chat/completions` and `/v1/models`."""
    turn = anyio.Lock()

    @asynccontextmanager
    async def lifespan(started: Starlette) -> AsyncIterator[None]:
        on_ready()
        yield

    async def chat(http: HTTPRequest) -> Response:
        try:
            request = request_in(await http.body())
            if request.model not in ("", model.name):
                return _error(
                    404, f"no model {request.model!r}; this endpoint serves {model.name!r}", "model_not_found"
                )
            async with turn:
                if await http.is_disconnected():
                    return Response(status_code=_GAVE_UP)
                return _json(await run_sync(completed, model, request))
        except BadRequest as fault:
            return _error(400, str(fault))
        except RequestRefused as fault:
            code = "context_length_exceeded" if fault.kind == _OVERFLOW else None
            return _error(fault.status, fault.message, code)
        except Unheld as fault:
            return _error(500, str(fault))

    async def models(http: HTTPRequest) -> Response:
        served = {"id": model.name, "object": "model", "created": 0, "owned_by": "local"}
        return _json({"object": "list", "data": [served]})

    routes = [Route("/v1/chat/completions", chat, methods=["POST"]), Route("/v1/models", models, methods=["GET"])]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _unserved})


async def _unserved(http: HTTPRequest, error: Exception) -> Response:
    """The answer to another path or method."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _error(
        status, f"{http.method} {http.url.path} is not served; ask POST /v1/chat/completions or GET /v1/models"
    )


def _error(status: int, message: str, code: str | None = None) -> Response:
    """An error in OpenAI's form."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return _json({"error": {"message": message, "type": kind, "param": None, "code": code}}, status)


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value, ensure_ascii=True), status, media_type="application/json")
