"""The door to models: any OpenAI-compatible endpoint, asked patiently and recorded whole."""

import json
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ssl import SSLContext
from types import TracebackType
from typing import Any, Self

import anyio
import httpx2
import msgspec
from anyio.lowlevel import checkpoint
from openai import APIConnectionError, APIStatusError, APITimeoutError, AsyncOpenAI, DefaultAsyncHttpxClient, Omit

from sandbox.censor import Censor
from sandbox.dialects import Offered, Toolbox
from sandbox.messages import Message, Reply
from sandbox.model_faults import (
    Answered,
    CutOff,
    DeadlinePassed,
    Malformed,
    ModelFault,
    NotServed,
    Stopped,
    TimedOut,
    Unreachable,
    fault_in,
    fault_of,
    shortened,
)
from sandbox.model_settings import ModelSettings
from sandbox.model_wire import PATHS, NoMessage, parsed, request_body
from sandbox.records import FailedAttempt
from sandbox.usage import ABSENT, usage_of
from sandbox.values import digest_of
from sandbox.world import recordable

_MOST_TOOLBOXES = 64
_LANE_WIDTH = 4
"""Requests at once through one connection pool: what a pool does for a request grows with its connections."""
_IDLE_S = 30.0
WhenStopped = Callable[[ModelFault], Awaitable[None]]
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)


class Model:
    """
    A model at an endpoint, for any number of calls at once.

    Use it as an async context manager, or close it: it keeps connections open.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings
        self._ssl = httpx2.create_ssl_context()
        self._lanes: list[_Lane] = []
        self._turn = anyio.Lock()
        self._headers = _headers(settings)
        self.censor = Censor(settings.key.reveal())
        self._toolboxes: dict[str, Toolbox] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        for lane in self._lanes:
            await lane.client.close()

    async def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[Offered] = (),
        *,
        deadline: float,
        occasion: str,
        when_stopped: WhenStopped | None = None,
    ) -> Reply:
        """
        The model's reply, after as many attempts as its budgets allow.

        Args:
            tools: what the model may call.
            deadline: by `anyio.current_time()`.
            occasion: names this call, such as `<trial id>/<number>`; the waits between attempts depend on it alone.
            when_stopped: told of a call that is cancelled, before the cancellation goes on.

        Raises:
            ContextOverflow, InvalidRequest, NotServed, Unauthorized: the provider will not take this request; it was
                asked once.
            DeadlinePassed: the time was over, and nothing else had failed.
            ModelFault: the last failure, when a budget or the time was used up by failures.
        """
        toolbox = self._toolbox(tools)
        body = request_body(self.settings, messages, toolbox)
        call = _Call(self, body, toolbox, deadline, random.Random(occasion))
        try:
            return await call.made()
        except anyio.get_cancelled_exc_class():
            if when_stopped is not None:
                with anyio.CancelScope(shield=True):
                    await when_stopped(call.stopped())
            raise

    def _toolbox(self, tools: Sequence[Offered]) -> Toolbox:
        key = digest_of([(tool.name, tool.description, dict(tool.schema)) for tool in tools])
        if key not in self._toolboxes:
            if len(self._toolboxes) >= _MOST_TOOLBOXES:
                self._toolboxes.clear()
            self._toolboxes[key] = Toolbox(tools, self.settings.dialect)
        return self._toolboxes[key]

    async def attempt(self, content: bytes) -> tuple[str, Mapping[str, str]] | ModelFault:
        """One request: the text and headers of a successful answer, or what went wrong."""
        async with self._turn:
            # One request is made at a time: a thousand at once would hold up everybody else's.
            await checkpoint()
        try:
            with self._lane() as client:
                answer = await client.post(
                    PATHS[self.settings.api],
                    cast_to=httpx2.Response,
                    content=content,
                    options={"headers": self._headers},
                )
            return self.censor.text(answer.text), answer.headers
        except APIStatusError as error:
            found = Answered(error.status_code, self.censor.text(error.response.text), error.response.headers)
            return fault_of(found)
        except APITimeoutError as error:
            never_sent = isinstance(error.__cause__, _NEVER_SENT)
            return Unreachable("no connection in time") if never_sent else _timed_out(self.settings.timeout_s)
        except APIConnectionError as error:
            cause = error.__cause__
            told = shortened(self.censor.text(f"{type(cause).__name__}: {cause}"))
            if isinstance(cause, httpx2.TooManyRedirects):
                return NotServed(told)
            return Unreachable(told) if isinstance(cause, _NEVER_SENT) else CutOff(told, lost=True)

    @contextmanager
    def _lane(self) -> Iterator[AsyncOpenAI]:
        """A client with room for one more request; the first such one, so that few requests share few connections."""
        lane = next((lane for lane in self._lanes if lane.busy < _LANE_WIDTH), None)
        if lane is None:
            lane = _Lane(_client(self.settings, self._ssl))
            self._lanes.append(lane)
        lane.busy += 1
        try:
            yield lane.client
        finally:
            lane.busy -= 1


class _Lane:
    """A client, and how many requests it carries."""

    def __init__(self, client: AsyncOpenAI) -> None:
        self.client = client
        self.busy = 0


def _client(settings: ModelSettings, ssl: SSLContext) -> AsyncOpenAI:
    http = DefaultAsyncHttpxClient(
        verify=ssl,
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=_IDLE_S),
        timeout=httpx2.Timeout(settings.timeout_s, connect=settings.connect_timeout_s, pool=None),
    )
    # Each request brings its own Authorization; the SDK would take one from the environment.
    return AsyncOpenAI(api_key="unused", base_url=settings.base_url, max_retries=0, http_client=http)


class _Call:
    """One call to a model: its attempts, until one is answered or none is left."""

    def __init__(
        self, model: Model, body: dict[str, Any], tools: Toolbox, deadline: float, dice: random.Random
    ) -> None:
        self._model = model
        self._settings = model.settings
        self._content = msgspec.json.encode(body)
        self._request = digest_of(body)
        self._tools = tools
        self._deadline = deadline
        self._dice = dice
        self._failed: list[FailedAttempt] = []
        self._counts: Counter[str] = Counter()
        self._is_asking = False

    async def made(self) -> Reply:
        """The reply, or the fault that ends the call."""
        while True:
            left_s = self._deadline - anyio.current_time()
            if left_s <= 0:
                raise self._given_up(DeadlinePassed("no time was left to ask the model"))
            outcome = await self._attempt(left_s)
            if isinstance(outcome, Reply):
                return self._model.censor.reply(outcome)
            outcome = self._model.censor.fault(outcome)
            self._failed.append(outcome.attempt)
            self._counts[outcome.kind] += 1
            wait_s = self._wait_s(outcome)
            if wait_s is None or anyio.current_time() + wait_s >= self._deadline:
                raise self._given_up(outcome)
            await anyio.sleep(wait_s)

    async def _attempt(self, left_s: float) -> Reply | ModelFault:
        started = time.perf_counter()
        answer: tuple[str, Mapping[str, str]] | ModelFault | None = None
        self._is_asking = True
        with anyio.move_on_after(min(left_s, self._settings.timeout_s)):
            answer = await self._model.attempt(self._content)
        self._is_asking = False
        if answer is None:
            if left_s > self._settings.timeout_s:
                return _timed_out(self._settings.timeout_s)
            return DeadlinePassed(f"the model had not answered when {left_s:.3g} s were over", lost=True)
        if isinstance(answer, ModelFault):
            return answer
        return self._read(*answer, took_ms=(time.perf_counter() - started) * 1000)

    def _read(self, text: str, headers: Mapping[str, str], took_ms: float) -> Reply | ModelFault:
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            return Malformed(f"the reply is no JSON: {shortened(text[:200])}", status=200, lost=True)
        if not isinstance(body, Mapping):
            return Malformed(f"the reply is no object: {shortened(text[:200])}", status=200, lost=True)
        fault = fault_in(body, text, headers)
        if fault is not None:
            return fault
        usage = usage_of(body.get("usage"))
        try:
            said = parsed(self._settings.api, body, self._tools)
        except NoMessage as none:
            known = None if usage.fault == ABSENT else usage
            return Malformed(f"the reply has {none}", status=200, lost=known is None, usage=known)
        raw_usage = json.dumps(body["usage"]) if body.get("usage") is not None else ""
        return Reply(
            said.text,
            said.reasoning,
            said.calls,
            said.finish,
            self._settings.model,
            said.served,
            self._request,
            recordable(text),
            usage,
            raw_usage,
            said.native,
            tuple(self._failed),
            round(took_ms, 3),
        )

    def _wait_s(self, fault: ModelFault) -> float | None:
        """Seconds until the next attempt; None if there is to be none."""
        if not fault.retryable or self._counts[fault.kind] > getattr(self._settings.budgets, fault.kind):
            return None
        backoff = self._settings.backoff
        longest = min(backoff.longest_s, backoff.first_s * 2 ** min(len(self._failed) - 1, 60))
        drawn = self._dice.uniform(0, longest)
        return max(drawn, min(fault.wait_s or 0, backoff.longest_retry_after_s))

    def stopped(self) -> Stopped:
        """The call, cancelled now: what is on the way may have been paid for."""
        fault = Stopped("stopped from outside before the model had answered", lost=True)
        if self._is_asking:
            self._failed.append(fault.attempt)
        fault.model, fault.request, fault.failed = self._settings.model, self._request, tuple(self._failed)
        return fault

    def _given_up(self, last: ModelFault) -> ModelFault:
        """The fault to raise: where failures have eaten the time, the last of them, not the deadline."""
        earlier = [attempt for attempt in self._failed if attempt.fault != DeadlinePassed.kind]
        if isinstance(last, DeadlinePassed) and earlier:
            kind = _FAULTS[earlier[-1].fault]
            last = kind(f"{earlier[-1].message}; then the time was over", status=earlier[-1].status)
        last.model, last.request, last.failed = self._settings.model, self._request, tuple(self._failed)
        return last


def _subclasses(kind: type[ModelFault]) -> list[type[ModelFault]]:
    return [kind, *(below for child in kind.__subclasses__() for below in _subclasses(child))]


_FAULTS = {kind.kind: kind for kind in _subclasses(ModelFault)}


def _timed_out(timeout_s: float) -> TimedOut:
    return TimedOut(f"no reply within {timeout_s:g} s", lost=True)


def _headers(settings: ModelSettings) -> dict[str, str | Omit]:
    """The key of these settings, and nothing that the environment holds for another endpoint."""
    key = settings.key.reveal()
    bearer: str | Omit = f"Bearer {key}" if key else Omit()
    return {
        "Content-Type": "application/json",
        "Authorization": bearer,
        "OpenAI-Organization": Omit(),
        "OpenAI-Project": Omit(),
    }
