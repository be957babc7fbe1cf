"""A model agent on trial: an endpoint on loopback that answers from a script, a real store, trial and MCP client."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import anyio
from msgspec import Struct

from sandbox import Domain
from sandbox.campaign import attempted
from sandbox.gate import Gate
from sandbox.lineage import Seen
from sandbox.loop import ModelAgent
from sandbox.model_settings import Backoff, Budgets, ModelSettings, Secret
from sandbox.protocols import Limits, Protocol, ThinkingBox
from sandbox.records import Record, Said, TrialEnded, TrialKey, decoded
from sandbox.simulated_user import SimulatedUser
from sandbox.stream import Store
from sandbox.task import Task, UserContext, snapshot_of
from sandbox.trial import Trial
from sandbox.user import User
from tests.sandbox import shopfloor
from tests.sandbox.journals import stored
from tests.stub import Asked, Outcome, Script, Stub, Turn, call, serving

P = TypeVar("P")
QUICK = Backoff(first_s=0.001, longest_s=0.002, longest_retry_after_s=0.003)
FEW = Budgets(rate_limited=2, server=2, unreachable=2, cut_off=2, timed_out=1, malformed=1)
DONE = Turn("All is done. <DONE>")
REMARK = call("shop_remark", {"id": "SO-1", "text": "hello"}, "c1")


class Tried(Struct, frozen=True):
    """An ended trial, and what the endpoint was asked on the way."""

    end: TrialEnded
    records: Sequence[Record]
    stub: Stub
    store: Store

    def all(self, kind: type[P]) -> list[P]:
        """The records of one kind."""
        return [payload for record in self.records if isinstance(payload := decoded(record), kind)]

    @property
    def dialogue(self) -> list[tuple[str, str]]:
        """Role and text of every line."""
        return [(line.role, line.text) for line in self.all(Said)]

    def sent(self, number: int) -> list[Any]:
        """The messages of a request, from 1."""
        messages: list[Any] = self.stub.asked[number - 1].body["messages"]
        return messages


def settings(stub: Stub, **changes: Any) -> ModelSettings:
    """The stub as a model that is not asked for long."""
    usual: dict[str, Any] = {"model": "stub-1", "backoff": QUICK, "budgets": FEW}
    return ModelSettings(stub.url, **(usual | changes))


async def tried(
    script: Script | Sequence[Outcome],
    *,
    protocol: Protocol = ThinkingBox(),  # noqa: B008
    limits: Limits = Limits(trial_s=20),  # noqa: B008
    user: User | None = None,
    context: str | None = None,
    gate: Gate | None = None,
    domain: Domain = shopfloor.domain,
    task: Task | None = None,
    retries_user_faults: bool = False,
    past: Sequence[Seen] = (),
    key: str = "",
    store: Store | None = None,
) -> Tried:
    """
    One trial whose agent is scripted by the stub.

    Args:
        context: what a simulated user knows, whose turns come from the same script; None for `user`.
        key: of the agent's model.
        store: where the trial goes, for who wants to read it when it did not end.
    """
    task, store = task or shopfloor.task(), store or Store.in_memory()
    with anyio.fail_after(30):
        async with AsyncExitStack() as stack:
            stub = await stack.enter_async_context(serving(script))
            journal = await stack.enter_async_context(stored(store))
            if context is not None:
                user = SimulatedUser(settings(stub, model="user"), {task.id: UserContext(task.id, context)})
            agent = ModelAgent("stub", settings(stub, key=Secret(key)), protocol, limits, user)
            await stack.enter_async_context(agent)
            place = TrialKey("c", task.id, 0, 1)
            trial = await Trial.open(
                place, task, domain, snapshot_of(domain, task), journal, agent=agent.name, gate=gate
            )
            ended = await attempted(trial, agent, 0, past, retries_user_faults=retries_user_faults)
    return Tried(ended.record, store.read(trial.id), stub, store)


def turns(agent: Sequence[Outcome], user: Sequence[Outcome]) -> Script:
    """A script for two: each party's turns in order."""
    left = {"stub-1": iter(agent), "user": iter(user)}
    return lambda asked: next(left[asked.body["model"]])


def sides(asked: Sequence[Asked], model: str) -> list[Asked]:
    """The requests of one party."""
    return [one for one in asked if one.body["model"] == model]
