"""The records are on disk, the answer is lost, the agent asks again: row 47."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import anyio
import anyio.lowlevel
import pytest
from msgspec.structs import replace

from domains.probe import domain
from judges.court import Court
from sandbox import Answer
from sandbox.campaign import Closed
from sandbox.mcp_session import Session, connected
from sandbox.records import Record, ToolReturned, decoded
from sandbox.stream import Store
from sandbox.trial import Journal, Trial
from tests.hard_cases.court import task, tried
from tests.hard_cases.stage import (
    KEY,
    TASK,
    Asked,
    Played,
    ask,
    events_in,
    follow,
    inserted,
    journal_of,
    opened,
    played,
)

SLOW = ask("slow_write", order_id="ORD-9", text="One vase came in pieces.")
REFUND = ask("refund", order_id="ORD-9", amount=5, reason="late")


@dataclass
class LostAnswers:
    """A journal that keeps the records, then holds back whoever waits for the next answer until told to let go."""

    journal: Journal
    holding: bool = False
    stored: anyio.Event = field(default_factory=anyio.Event)
    released: anyio.Event = field(default_factory=anyio.Event)

    async def append(self, stream: UUID, records: Sequence[Record]) -> None:
        await self.journal.append(stream, records)
        if self.holding:
            self.stored.set()
            await self.released.wait()

    async def read(self, stream: UUID) -> list[Record]:
        return await self.journal.read(stream)


async def lose(session: Session, journal: LostAnswers, asked: Asked) -> None:
    """Make a call and hang up once it is on disk, before its answer is out."""
    journal.holding = True
    answers: list[Answer] = []

    async def call() -> None:
        given = await follow(session, [asked])
        # The transport inside a process never waits, so this is the first place where a hung-up caller finds out.
        await anyio.lowlevel.checkpoint()
        answers.extend(given)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await journal.stored.wait()
        tasks.cancel_scope.cancel()
        journal.holding = False
        journal.released.set()
    assert not answers


async def lost_and_retried(asked: Asked, *retries: Asked) -> Played:
    """A trial in which the answer of one call is lost, and the retries follow."""
    store = Store.in_memory()
    with anyio.fail_after(20):
        async with journal_of(store) as kept:
            journal = LostAnswers(kept)
            trial = await opened(journal)
            async with connected(trial) as session:
                await lose(session, journal, asked)
                answers = await follow(session, retries)
            ended = await trial.end("done")
    return Played(answers, store.read(trial.id), ended.effects, ended.record)


@pytest.mark.anyio
@pytest.mark.parametrize("asked", [REFUND, SLOW])
async def test_row_47_a_lost_answer_does_not_undo_the_call(asked: Asked) -> None:
    lost = await lost_and_retried(asked)
    assert lost.bodies == (await played(asked)).bodies


@pytest.mark.anyio
@pytest.mark.parametrize("asked", [REFUND, SLOW])
async def test_row_47_a_retry_without_a_key_is_a_second_event_and_flagged(asked: Asked) -> None:
    trial = await lost_and_retried(asked, asked)
    assert len(events_in(trial.records)) == 2
    assert list(inserted(trial.effects, "written").values()) == [2]
    assert trial.end.flags == ("suspected_duplicate",)


@pytest.mark.anyio
@pytest.mark.parametrize("asked", [REFUND, SLOW])
async def test_row_47_a_retry_with_the_key_brings_the_recorded_answer_and_no_second_event(asked: Asked) -> None:
    keyed = replace(asked, key="once")
    trial = await lost_and_retried(keyed, keyed, keyed)
    assert trial.effects == (await played(asked)).effects
    assert len(events_in(trial.records)) == 1
    returned = [payload for record in trial.records if isinstance(payload := decoded(record), ToolReturned)]
    assert [payload.repeats for payload in returned] == [0, 3, 3]
    assert {payload.result for payload in returned} == {answer.text for answer in trial.answers}
    assert trial.end.flags == ()


@pytest.mark.anyio
async def test_row_47_a_retry_under_a_key_of_its_own_is_a_second_event() -> None:
    trial = await lost_and_retried(replace(REFUND, key="one"), replace(REFUND, key="two"))
    assert len(events_in(trial.records)) == 2
    assert trial.end.flags == ("suspected_duplicate",)


@pytest.mark.anyio
async def test_row_47_a_key_is_no_licence_for_another_call() -> None:
    more = ask("refund", order_id="ORD-9", amount=6)
    trial = await lost_and_retried(replace(REFUND, key="once"), replace(more, key="once"))
    assert trial.answers[0].refusal
    assert trial.effects == (await played(REFUND)).effects


@pytest.mark.anyio
@pytest.mark.parametrize(("key", "events"), [("once", 1), ("", 2)])
async def test_row_47_keys_outlive_the_process_that_was_asked(key: str, events: int) -> None:
    store, asked = Store.in_memory(), replace(REFUND, key=key)
    async with journal_of(store) as journal:
        trial = await opened(journal)
        async with connected(trial) as session:
            first = await follow(session, [asked])
        again = Trial(KEY, TASK, domain, domain.snapshot, journal)
        await again.resume()
        async with connected(again) as session:
            second = await follow(session, [asked])
        await again.end("done")
    assert (second == first) is (events == 1)
    assert len(events_in(store.read(KEY.id))) == events


@pytest.mark.anyio
@pytest.mark.parametrize("asked", [REFUND, SLOW])
async def test_row_47_the_judges_name_the_surplus_of_a_retry_and_pass_one_under_a_key(asked: Asked) -> None:
    item = task([asked])
    court = Court(Store.in_memory(), domain, [item])
    keyed = replace(asked, key="once")
    twice, once = await lost_and_retried(asked, asked), await lost_and_retried(keyed, keyed)
    verdicts = [
        court.judge(Closed(replace(KEY, task=item.task.id), item.task, t.end, t.effects, t.records), domain.snapshot)
        for t in (twice, once)
    ]
    assert [judgement.verdict.result for judgement in verdicts] == ["fail", "pass"]
    [surplus] = [finding for finding in verdicts[0].verdict.findings if finding.kind == "extra"]
    assert (surplus.op, surplus.tool) == ("inserted", asked.tool)
    assert surplus.cause == [record.position for record in twice.records if record.topic == "trial.called.1"][-1]


@pytest.mark.parametrize(("keys", "result"), [(("once", "once"), "pass"), (("", ""), "fail"), (("a", "b"), "fail")])
def test_row_47_a_campaign_counts_a_retry_as_the_key_says(keys: tuple[str, str], result: str, tmp_path: Path) -> None:
    [trial] = tried(tmp_path / "a.db", task([REFUND]), [replace(REFUND, key=key) for key in keys])
    assert trial.result == result
    assert trial.closed.end.flags == (() if result == "pass" else ("suspected_duplicate",))
