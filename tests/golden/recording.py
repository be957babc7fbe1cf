"""Which trials are recorded, and how: what a script asks and says goes through today's real trial."""

from collections.abc import Iterable, Sequence

import anyio
from msgspec import Struct

from judges.court import effects_or_fault, evidence_in
from judges.expectation import Accepted, Expectation, GoldenCall
from judges.pack import PackTask, tasks_of
from judges.verdict import bundle_of, judged
from sandbox.agents import GOODBYE
from sandbox.campaign import StoreJournal
from sandbox.domain import Domain
from sandbox.records import End, Record, Said, ToolCalled, TrialEnded, TrialKey, decoded
from sandbox.registry import domain_named, domain_names
from sandbox.stream import Store
from sandbox.task import Task, snapshot_of
from sandbox.trial import Trial
from sandbox.values import canonical
from sandbox.world import Request
from sandbox.writer import Writer
from tests.golden import parcels
from tests.golden.form import Golden, Head, bare, told

EACH = 2
"""Tasks of every installed domain whose golden way is recorded."""

Step = Request | Said


class Script(Struct, frozen=True):
    """What happens in one trial, but for the answers."""

    key: TrialKey
    agent: str
    steps: tuple[Step, ...]
    end: End = "done"


def scripts() -> dict[str, tuple[Head, Script]]:
    """What is recorded, by the name of its file."""
    made: dict[str, tuple[Head, Script]] = {}
    for name in domain_names():
        for item in _with_calls(tasks_of(domain_named(name)))[:EACH]:
            calls = item.expectation.outcomes[0].calls
            made[f"{name}-{item.task.id}"] = _scripted(item.task, item.expectation, "oracle", _asked(calls))
    expectation = Expectation((Accepted("paid once", (GoldenCall("refund", {"order_id": "ORD-9", "amount": 25}),)),))
    for title, steps in (("odd-calls", ODD), ("nothing-done", ())):
        task = Task(title, "probe", "2023-05-18T09:00:00Z", "One vase of ORD-9 is broken.")
        made[f"probe-{title}"] = _scripted(task, expectation, title, steps)
    return made


POP = Request("pop_next_ticket", "{}", call_id="c1")
ODD: Sequence[Step] = (
    *(POP, POP, POP),
    Request("refund", '{"order_id": "ORD-9", "amount": 25}', key="once"),
    Request("refund", '{"order_id": "ORD-9", "amount": 25}', key="once"),
    Request("refund", '{"order_id": "ORD-9", "amount": 30}', key="once"),
    Request("refund", '{"order_id": "ORD-404", "amount": 25}'),
    Request("refund", '{"order_id": "ORD-9", "amout": 25}'),
    Request("refund", "no JSON at all {"),
    Request("refund", '{"order_id": "ORD-9", "amount": NaN}'),
    Request("refund", '{"order_id": "ORD-9", "amount": 99999999999999999999}'),
    Request("delete_everything_v2", "{}"),
    Said("assistant", "That did not work; I try another way. \u202e"),
    Request("bulk_update", '{"order_ids": ["ORD-1", "ORD-2"], "status": "paid", "fail_after": 1}'),
    Request("add_note", '{"order_id": "ORD-9", "text": "Größe 40,\\nviel Spaß 🎉"}'),
    Request("get_order", '{"order_id": "ORD-9"}'),
)


def _with_calls(tasks: Iterable[PackTask]) -> list[PackTask]:
    return [item for item in tasks if item.expectation.outcomes and item.expectation.outcomes[0].calls]


def _asked(calls: Iterable[GoldenCall]) -> tuple[Step, ...]:
    asked = [Request(call.tool, canonical(call.arguments).decode()) for call in calls]
    return (*asked, Said("assistant", GOODBYE))


def _scripted(task: Task, expectation: Expectation, agent: str, steps: Iterable[Step]) -> tuple[Head, Script]:
    return Head(task.domain, task, expectation), Script(TrialKey("golden", task.id, 0, 1), agent, tuple(steps))


def recorded(name: str, head: Head, script: Script) -> Golden:
    """The trial of a script, played and judged with today's code."""
    domain = domain_of(head)
    records = bare(anyio.run(_played, head.task, domain, script))
    return Golden(name, head, records, verdict_today(head, domain, records))


async def _played(task: Task, domain: Domain, script: Script) -> list[Record]:
    store = Store.in_memory()
    async with Writer(store) as writer:
        journal = StoreJournal(store, writer)
        trial = await Trial.open(script.key, task, domain, snapshot_of(domain, task), journal, agent=script.agent)
        for step in script.steps:
            await (trial.say(step) if isinstance(step, Said) else trial.call(step))
        await trial.end(script.end)
    return store.read(script.key.id)


def script_in(golden: Golden) -> Script:
    """What a recorded trial asked and said."""
    steps: list[Step] = []
    for record in golden.records[2:]:
        payload = decoded(record)
        if isinstance(payload, ToolCalled):
            steps.append(Request(payload.tool, payload.arguments, payload.call_id, payload.key))
        elif isinstance(payload, Said):
            steps.append(payload)
    ended = decoded(golden.records[-1])
    assert isinstance(ended, TrialEnded)
    return Script(golden.opened.key, golden.opened.agent, tuple(steps), ended.end)


def domain_of(head: Head) -> Domain:
    """The domain of a recorded trial: an installed one, or the one that lives here."""
    return parcels.domain if head.domain == parcels.domain.name else domain_named(head.domain)


def verdict_today(head: Head, domain: Domain, records: Sequence[Record]) -> dict[str, object]:
    """What today's judges say of a trial, from its records alone."""
    bundle = bundle_of(domain, head.task, head.expectation)
    effects = effects_or_fault(domain, snapshot_of(domain, head.task), records)
    return told(judged(bundle, evidence_in(domain, records, effects, bundle.reads)))
