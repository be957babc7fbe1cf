"""Many trials at once: every one is counted once, in whatever order they run: rows 31, 33, 41 and 54."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from msgspec import Struct

from domains.probe import domain
from judges.campaigns import run_judged
from judges.pack import PackTask, tasks_of
from judges.record import Judgement
from judges.verdict import Verdict
from sandbox.agents import Agent, PlannedCall, careless, oracle
from sandbox.archive import CampaignDiffers
from sandbox.campaign import Campaign, Closed
from sandbox.mcp_session import Session
from sandbox.records import End, TrialKey
from sandbox.stream import Store
from sandbox.task import Task
from sandbox.trial import Trial
from tests.hard_cases.stage import ask, follow, journal_of

pytestmark = pytest.mark.anyio

PACK = tasks_of(domain)
TASKS = [pack.task for pack in PACK]
PLANS = {
    pack.task.id: [PlannedCall(call.tool, call.arguments) for call in pack.expectation.outcomes[0].calls]
    for pack in PACK
    if pack.expectation.outcomes
}
ORDERS = [TASKS, TASKS[::-1], TASKS[3:] + TASKS[:3], sorted(TASKS, key=lambda t: t.goal), TASKS[::2] + TASKS[1::2]]


class Left(Struct, frozen=True):
    """What one trial left behind."""

    end: End
    effects: str
    bodies: tuple[object, ...]


async def run(
    tasks: Sequence[Task], agent: Agent, *, repetitions: int = 1, concurrency: int = 8, store: Store | None = None
) -> dict[TrialKey, Left]:
    """What every attempt of a campaign left, by its key."""
    found: dict[TrialKey, Left] = {}

    async def keep(closed: Closed) -> None:
        bodies = tuple(record.body for record in closed.records)
        assert closed.key not in found
        found[closed.key] = Left(closed.end.end, closed.end.effects, bodies)

    campaign = Campaign(store or Store.in_memory(), "c", domain, tasks, repetitions, agent.name)
    with anyio.fail_after(60):
        await campaign.run(agent, concurrency=concurrency, on_closed=keep)
    return found


@pytest.mark.parametrize("place", range(len(ORDERS)))
@pytest.mark.parametrize("concurrency", [1, 8])
async def test_row_41_in_any_order_of_tasks_each_trial_is_the_same(place: int, concurrency: int) -> None:
    assert len(TASKS) >= 6
    assert await run(ORDERS[place], oracle(PLANS), concurrency=concurrency) == await run(TASKS, oracle(PLANS))


async def test_row_41_a_task_alone_leaves_what_it_leaves_among_others() -> None:
    together = await run(TASKS, oracle(PLANS))
    for task in TASKS:
        assert (await run([task], oracle(PLANS))).items() <= together.items()


def judged(path: Path, items: Sequence[PackTask], concurrency: int) -> dict[tuple[str, int], Verdict]:
    """The verdicts on a careless agent, by task and repetition."""
    found: dict[tuple[str, int], Verdict] = {}

    def keep(closed: Closed, judgement: Judgement) -> None:
        found[closed.key.task, closed.key.repetition] = judgement.verdict

    run_judged(path, domain, items, careless(PLANS), 3, name="c", concurrency=concurrency, on_judged=keep)
    return found


def test_row_41_in_five_orders_of_tasks_and_few_or_many_at_once_the_verdicts_are_the_same(tmp_path: Path) -> None:
    known = {item.task.id: item for item in PACK}
    orders = [[known[task.id] for task in order] for order in ORDERS]
    runs = enumerate(zip(orders, (8, 1, 2, 5, 16), strict=True))
    first, *others = [judged(tmp_path / f"{n}.db", order, concurrency) for n, (order, concurrency) in runs]
    assert len(first) == 3 * len(PACK)
    assert {verdict.result for verdict in first.values()} == {"pass", "fail"}
    assert len(others) == 4
    assert all(verdicts == first for verdicts in others)


def test_row_41_a_task_alone_is_judged_as_among_others(tmp_path: Path) -> None:
    together = judged(tmp_path / "all.db", PACK, 8)
    for place, item in enumerate(PACK[::3]):
        assert judged(tmp_path / f"{place}.db", [item], 8).items() <= together.items()


async def test_row_41_repetitions_of_a_task_leave_the_same() -> None:
    found = await run(TASKS, oracle(PLANS), repetitions=4)
    assert len(found) == 4 * len(TASKS)
    states = {(key.task, left.effects) for key, left in found.items()}
    assert len(states) == len(TASKS)


async def test_row_31_a_trial_with_an_invented_tool_is_counted_once_and_recovers() -> None:
    lost = {name: [PlannedCall("delete_everything_v2", {"sure": True}), *plan] for name, plan in PLANS.items()}
    stumbling, straight = await run(TASKS, oracle(lost)), await run(TASKS, oracle(PLANS))
    assert stumbling.keys() == straight.keys()
    assert {key.attempt for key in stumbling} == {1}
    assert {left.end for left in stumbling.values()} == {"done"}
    # A message carries the second in which it was sent, which one more call makes a later one.
    stamped = {"transfer", "send_mail", "add_note"}
    unstamped = [key for key in straight if stamped.isdisjoint(call.tool for call in PLANS.get(key.task, ()))]
    assert len(unstamped) >= 4
    assert {key: stumbling[key].effects for key in unstamped} == {key: straight[key].effects for key in unstamped}


class Breaking:
    """An agent that follows its plan and breaks down in the first attempts of one task."""

    name = "breaking"

    def __init__(self, task: str, times: int) -> None:
        self._task = task
        self._left = times
        self._followed = oracle(PLANS)

    async def attempt(self, session: Session, repetition: int) -> End:
        if session.task.id == self._task and self._left:
            self._left -= 1
            await follow(session, [ask("refund", order_id="ORD-1", amount=1)])
            raise ConnectionResetError("the model hung up")
        return await self._followed.attempt(session, repetition)


@pytest.mark.parametrize("times", [1, 2])
async def test_row_33_a_broken_attempt_is_kept_as_infrastructure_and_made_again_on_a_fresh_view(times: int) -> None:
    found = await run(TASKS, Breaking("one-broken-vase", times))
    attempts = {key.attempt: left for key, left in found.items() if key.task == "one-broken-vase"}
    assert [attempts[number].end for number in sorted(attempts)] == ["infrastructure"] * times + ["done"]
    [whole] = (await run([task for task in TASKS if task.id == "one-broken-vase"], oracle(PLANS))).values()
    assert attempts[times + 1].effects == whole.effects
    assert len(found) == len(TASKS) + times


async def test_row_33_what_never_worked_is_named_not_scored() -> None:
    agent = Breaking("one-broken-vase", 99)
    with anyio.fail_after(60):
        unresolved = await Campaign(Store.in_memory(), "c", domain, TASKS, 1, agent.name).run(agent)
    assert [key.task for key in unresolved] == ["one-broken-vase"]


async def test_row_54_an_interrupted_trial_is_closed_and_made_again_and_nothing_runs_twice() -> None:
    store, agent = Store.in_memory(), oracle(PLANS)
    campaign = Campaign(store, "c", domain, TASKS, 2, agent.name)
    cut = TrialKey("c", TASKS[0].id, 1, 1)
    async with journal_of(store) as journal:
        trial = await Trial.open(cut, TASKS[0], domain, campaign.snapshots[cut.task], journal, agent=agent.name)
    first = await run(TASKS, agent, repetitions=2, store=store)
    assert {key for key, left in first.items() if left.end == "infrastructure"} == {cut}
    counted = [(key.task, key.repetition) for key, left in first.items() if left.end != "infrastructure"]
    assert sorted(counted) == sorted({(task.id, n) for task in TASKS for n in range(2)})
    assert await run(TASKS, agent, repetitions=2, store=store) == first
    assert trial.id == cut.id


@pytest.mark.parametrize(
    ("agent", "repetitions", "tasks", "named"),
    [
        ("another", 2, TASKS, "agent"),
        ("oracle", 1, TASKS, "repetitions"),
        ("oracle", 2, TASKS[1:], f"task {TASKS[0].id} is not given"),
    ],
)
async def test_row_54_a_campaign_goes_on_with_the_inputs_it_began_with_only(
    agent: str, repetitions: int, tasks: Sequence[Task], named: str
) -> None:
    store = Store.in_memory()
    Campaign(store, "c", domain, TASKS, 2, "oracle")
    with pytest.raises(CampaignDiffers, match=named):
        Campaign(store, "c", domain, tasks, repetitions, agent)
