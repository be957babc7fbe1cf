"""A model and a stub that it asks, for a test."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio
import pytest

from sandbox.mcp_session import ToolView
from sandbox.messages import Message, Reply, System, User
from sandbox.model import Model
from sandbox.model_faults import ModelFault
from sandbox.model_settings import Backoff, ModelSettings, Secret
from tests.stub import Outcome, Script, Stub, serving

Api = Literal["chat", "responses"]
BOTH = pytest.mark.parametrize("api", ["chat", "responses"])
KEY = "sk-planted-0123456789"
QUICK = Backoff(first_s=0.001, longest_s=0.002, longest_retry_after_s=0.003)
HELLO: Sequence[Message] = (System("Be kind."), User("hello"))


WRENCH = ToolView(
    "turn_bolt",
    "Turns a bolt.",
    {
        "type": "object",
        "properties": {"$size": {"type": "integer"}, "bolt": {"enum": ["left", "right"]}},
        "required": ["bolt"],
        "additionalProperties": False,
    },
    False,
)


class Asking:
    """A model, and the stub that it asks."""

    def __init__(self, model: Model, stub: Stub) -> None:
        self.model = model
        self.stub = stub

    async def __call__(
        self,
        messages: Sequence[Message] = HELLO,
        tools: Sequence[ToolView] = (),
        *,
        within_s: float = 20.0,
        occasion: str = "t/1",
    ) -> Reply:
        deadline = anyio.current_time() + within_s
        return await self.model.complete(messages, tools, deadline=deadline, occasion=occasion)

    async def fault(self, within_s: float = 20.0) -> ModelFault:
        with pytest.raises(ModelFault) as caught:
            await self(within_s=within_s)
        return caught.value

    @property
    def sent(self) -> Any:
        return self.stub.asked[-1].body


@asynccontextmanager
async def asking(script: Script | Sequence[Outcome], **settings: Any) -> AsyncIterator[Asking]:
    async with serving(script) as stub:
        usual: dict[str, Any] = {"key": Secret(KEY), "backoff": QUICK} | settings
        async with Model(ModelSettings(stub.url, "stub-1", **usual)) as model:
            yield Asking(model, stub)
