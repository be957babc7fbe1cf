"""A campaign counts every repetition once, whatever happens to the trials, the disk or the process."""

import json
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from threading import Timer
from typing import Any

import anyio
import msgspec
import pytest
from anyio import CancelScope, create_task_group, fail_after

from sandbox import Domain, UserFault
from sandbox.agents import careless, oracle
from sandbox.archive import Archive, CampaignDiffers, keys_of, sealed_in
from sandbox.campaign import MOST_FAULTS, Campaign, Closed
from sandbox.mcp_session import Session
from sandbox.projection import folded_effects
from sandbox.records import End, Record, TrialEnded, TrialKey, decoded
from sandbox.store_file import StoreUnusable
from sandbox.stream import Store
from sandbox.task import Task
from tests.sandbox import campaigning, shopfloor
from tests.sandbox.campaigning import Marking
from tests.sandbox.journals import calls_of, ensure_whole, limit_pages, topics
from tests.sandbox.shopfloor import domain, remarks, shop, task

pytestmark = pytest.mark.anyio

TASKS = [task("one"), task("two"), task("three")]
PLANS = {one.id: remarks() for one in TASKS}
ORACLE = oracle(PLANS)


@pytest.fixture(autouse=True)
async def bounded(anyio_backend: str) -> AsyncIterator[None]:
    with fail_after(60):
        yield


@pytest.fixture
def store() -> Store:
    return Store.in_memory()


def made(
    store: Store,
    tasks: Sequence[Task] = TASKS,
    repetitions: int = 2,
    *,
    name: str = "c",
    domain: Domain = domain,
    agent: str = "oracle",
) -> Campaign:
    return Campaign(store, name, domain, tasks, repetitions, agent)


class Acting:
    """An agent that does what it is told to, and remembers which repetitions it was given."""

    name = "oracle"

    def __init__(self, act: Callable[[Session, int], Any]) -> None:
        self.act = act
        self.given: list[tuple[str, int]] = []

    async def attempt(self, session: Session, repetition: int) -> End:
        self.given.append((session.task.id, repetition))
        end: End = await self.act(session, repetition)
        return end


async def one_remark(session: Session, repetition: int) -> End:
    await session.call("shop_remark", {"id": "SO-1", "text": "hello"})
    return "done"


def closed_in(campaign: Campaign) -> dict[TrialKey, list[Record]]:
    return dict(Archive(campaign.store, campaign.domain).closed())


def ends(campaign: Campaign) -> dict[TrialKey, TrialEnded]:
    return {key: decoded(records[-1]) for key, records in closed_in(campaign).items()}


async def test_every_repetition_of_every_task_is_attempted_once(store: Store) -> None:
    campaign = made(store)
    assert await campaign.run(ORACLE) == []
    assert list(ends(campaign)) == [TrialKey("c", one.id, number, 1) for one in TASKS for number in range(2)]
    assert {end.end for end in ends(campaign).values()} == {"done"}


async def test_each_closed_trial_is_handed_over_with_what_a_judge_may_ask_for(store: Store) -> None:
    campaign = made(store)
    handed: list[Closed] = []

    async def keep(closed: Closed) -> None:
        handed.append(closed)

    await campaign.run(ORACLE, on_closed=keep)
    assert sorted(closed.key for closed in handed) == sorted(keys_of(campaign.seal))
    for closed in handed:
        assert closed.task == campaign.tasks[closed.key.task]
        assert closed.records == store.read(closed.key.id)
        assert closed.effects == folded_effects(domain, campaign.snapshots[closed.key.task], closed.records)
        assert closed.end == decoded(closed.records[-1])


@pytest.mark.parametrize(("tasks", "repetitions"), [([], 3), (TASKS, 0)], ids=["no tasks", "no repetitions"])
def test_a_campaign_in_which_nothing_would_run_is_refused(store: Store, tasks: list[Task], repetitions: int) -> None:
    with pytest.raises(UserFault, match="nothing would run"):
        made(store, tasks, repetitions)


def test_two_tasks_of_one_id_are_refused(store: Store) -> None:
    with pytest.raises(UserFault, match="two tasks of one id"):
        made(store, [*TASKS, task("one")])


def test_a_task_that_shows_a_tool_which_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(UserFault, match="shows tools that domain shop does not have: shop_fly"):
        made(store, [task("one", tools=("shop_fly",))])


def test_the_inputs_are_sealed_and_can_be_read_back(store: Store) -> None:
    patched = msgspec.structs.replace(task("one"), patch={"shop_orders": [{"id": "SO-3", "customer": "C-19"}]})
    campaign = made(store, [patched, task("two")])
    archive = Archive(store, domain)
    assert archive.seal == campaign.seal == sealed_in(store)
    assert archive.tasks == campaign.tasks
    for name, snapshot in campaign.snapshots.items():
        stored = archive.snapshots[name]
        assert list(stored.items("shop_orders")) == list(snapshot.items("shop_orders"))
        assert [layer.digest for layer in stored.layers] == [layer.digest for layer in snapshot.layers]
    assert archive.snapshots["one"].get("shop_orders", "SO-3")


def test_the_same_inputs_again_are_the_same_campaign(store: Store) -> None:
    assert made(store).seal == made(store).seal


def with_first(**changes: Any) -> dict[str, Any]:
    return {"tasks": [msgspec.structs.replace(TASKS[0], **changes), *TASKS[1:]]}


PATCH = {"shop_orders": [{"id": "SO-1", "customer": "C-99"}]}
TOLD = Domain("shop", shop, seed=shopfloor.SEED)
TOLD.__dict__["instructions"] = "Be brief."


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param({"name": "d"}, ["name: sealed c, given d"], id="name"),
        pytest.param({"repetitions": 1}, ["repetitions: sealed 2, given 1"], id="repetitions"),
        pytest.param({"agent": "null"}, ["agent: sealed oracle, given null"], id="agent"),
        pytest.param({"tasks": TASKS[1:]}, ["task one is not given"], id="fewer tasks"),
        pytest.param({"tasks": TASKS[::-1]}, ["the tasks are in another order"], id="order"),
        pytest.param(with_first(goal="Other."), ["task one has another digest"], id="goal"),
        pytest.param(with_first(policy="Be kind."), ["task one has another digest"], id="policy"),
        pytest.param(
            with_first(patch=PATCH), ["task one has another digest", "task one has another layers"], id="patch"
        ),
        pytest.param(
            with_first(tools=("shop_remark",)),
            ["task one has another digest", "task one has another tools_digest"],
            id="tools",
        ),
        pytest.param(
            {"domain": shopfloor.objects}, [f"task {one.id} has another tools_digest" for one in TASKS], id="refusals"
        ),
        pytest.param({"domain": TOLD}, [r"instructions_digest: sealed \w+…, given \w+…"], id="instructions"),
        pytest.param(
            {"repetitions": 1, "agent": "null"},
            ["agent: sealed oracle, given null", "repetitions: sealed 2, given 1"],
            id="two at once",
        ),
    ],
)
def test_other_inputs_are_refused_and_each_difference_is_named(
    store: Store, given: dict[str, Any], told: list[str]
) -> None:
    made(store)
    with pytest.raises(CampaignDiffers) as refused:
        made(store, **given)
    listed = re.fullmatch(r"the store holds campaign 'c' with other inputs \((.*)\); use .*", str(refused.value))
    assert listed
    differences = listed[1].split("; ")
    assert len(differences) == len(told)
    assert all(re.fullmatch(pattern, text) for pattern, text in zip(told, differences, strict=True))


@pytest.mark.parametrize(
    "more", [{"repetitions": 3}, {"tasks": [task("zero"), *TASKS]}, {"repetitions": 3, "tasks": [*TASKS, task("four")]}]
)
def test_more_repetitions_and_more_tasks_extend_a_campaign_which_then_cannot_shrink(
    store: Store, more: dict[str, Any]
) -> None:
    first = made(store)
    extended = made(store, **more)
    assert sealed_in(store) == Archive(store, shopfloor.domain).seal == extended.seal != first.seal
    assert store.names("campaign") == ["seal", "seal-2"]
    assert made(store, **more).seal == extended.seal
    with pytest.raises(CampaignDiffers, match=r"sealed 3, given 2|is not given"):
        made(store)
    assert store.names("campaign") == ["seal", "seal-2"]


def test_a_campaign_that_somebody_else_runs_is_not_extended(tmp_path: Path) -> None:
    with Store.open(tmp_path / "c.db", create=True) as store:
        first = made(store)
        with store.lease("another run"), pytest.raises(StoreUnusable, match=r"another run .* is working on it"):
            made(store, repetitions=3)
        assert sealed_in(store) == first.seal


def test_of_settings_in_json_each_one_that_differs_is_named(store: Store) -> None:
    def sealed(**settings: Any) -> Campaign:
        return Campaign(store, "c", shopfloor.domain, TASKS, 1, "oracle", json.dumps(settings))

    sealed(agent={"model": {"temperature": 0, "model": "m-1"}}, user=None)
    with pytest.raises(CampaignDiffers) as refused:
        sealed(agent={"model": {"temperature": 0.7, "model": "m-1"}}, user=None, judge={"votes": 3})
    told = "agent.model.temperature: sealed 0, given 0.7; judge.votes: sealed nothing, given 3"
    assert f"({told})" in str(refused.value)


def test_a_store_without_a_campaign_says_so(store: Store) -> None:
    with pytest.raises(CampaignDiffers, match="memory holds no campaign; make one with: trialbox run"):
        sealed_in(store)


def test_a_store_of_another_domain_is_not_read(store: Store) -> None:
    made(store)
    with pytest.raises(CampaignDiffers, match=r"campaign of domain 'shop' \(own\), not 'desk'"):
        Archive(store, Domain("desk", shop, seed={}))


async def test_another_agent_than_the_sealed_one_is_refused(store: Store) -> None:
    with pytest.raises(CampaignDiffers, match="sealed for agent 'oracle', not 'careless'"):
        await made(store).run(careless(PLANS))


async def test_a_finished_campaign_attempts_nothing_more(store: Store) -> None:
    await made(store).run(ORACLE)
    before = closed_in(made(store))
    agent = Acting(one_remark)
    assert await made(store).run(agent) == []
    assert agent.given == []
    assert closed_in(made(store)) == before


async def test_an_interrupted_run_goes_on_and_repeats_no_finished_trial(store: Store) -> None:
    async def run_until_third() -> None:
        with CancelScope() as scope:

            async def act(session: Session, repetition: int) -> End:
                if len(agent.given) == 3:
                    await one_remark(session, repetition)
                    scope.cancel()
                return await one_remark(session, repetition)

            agent = Acting(act)
            await made(store).run(agent, concurrency=1)
        assert len(agent.given) == 3

    await run_until_third()
    again = Acting(one_remark)
    assert await made(store).run(again, concurrency=1) == []
    keys = list(keys_of(made(store).seal))
    assert again.given == [(key.task, key.repetition) for key in keys[2:]]
    interrupted, retried = keys[2], msgspec.structs.replace(keys[2], attempt=2)
    closed = ends(made(store))
    assert (closed[interrupted].end, closed[interrupted].detail) == ("infrastructure", "interrupted")
    assert closed[retried].end == "done"
    assert len(closed) == len(keys) + 1


async def test_an_interrupted_trial_is_handed_over_when_it_is_closed(store: Store) -> None:
    await interrupted_at_once(store)
    handed: list[Closed] = []

    async def keep(closed: Closed) -> None:
        handed.append(closed)

    await made(store, TASKS[:1], 1).run(ORACLE, on_closed=keep)
    assert [(closed.key.attempt, closed.end.end) for closed in handed] == [(1, "infrastructure"), (2, "done")]
    assert len(handed[0].effects) == 1


async def interrupted_at_once(store: Store) -> None:
    with CancelScope() as scope:

        async def act(session: Session, repetition: int) -> End:
            await one_remark(session, repetition)
            scope.cancel()
            await anyio.sleep_forever()
            return "done"

        await made(store, TASKS[:1], 1).run(Acting(act))


async def test_runs_that_were_stopped_do_not_use_up_the_attempts(store: Store) -> None:
    for _ in range(MOST_FAULTS + 2):
        await interrupted_at_once(store)
    assert await made(store, TASKS[:1], 1).run(ORACLE) == []


async def test_attempts_are_bounded_and_what_is_left_is_reported(store: Store) -> None:
    async def act(session: Session, repetition: int) -> End:
        if session.task.id == "two":
            raise ConnectionError("no model")
        return await one_remark(session, repetition)

    agent = Acting(act)
    left = [TrialKey("c", "two", number, 1) for number in range(2)]
    assert await made(store).run(agent) == left
    assert Counter(agent.given)["two", 0] == MOST_FAULTS
    closed = ends(made(store))
    assert {end.detail for key, end in closed.items() if key.task == "two"} == {"ConnectionError: no model"}
    assert await made(store).run(agent) == left
    assert ends(made(store)) == closed


async def test_a_second_attempt_that_ends_counts(store: Store) -> None:
    async def act(session: Session, repetition: int) -> End:
        if agent.given.count((session.task.id, repetition)) == 1:
            raise TimeoutError("first time")
        return "done"

    agent = Acting(act)
    assert await made(store).run(agent) == []
    assert [(key.attempt, end.end) for key, end in ends(made(store)).items()] == [
        (1, "infrastructure"),
        (2, "done"),
    ] * 6


@pytest.mark.parametrize("swallows", [False, True], ids=["goes down with it", "goes on as if nothing had been"])
async def test_a_tool_that_breaks_ends_the_trial_as_infrastructure(store: Store, swallows: bool) -> None:
    heard: list[str] = []

    async def act(session: Session, repetition: int) -> End:
        for tool in ("shop_list_orders", "shop_break_down", "shop_list_orders"):
            try:
                await session.call(tool, "{}")
            except Exception as error:
                heard.append(str(error))
                if not swallows:
                    raise
        return "done"

    assert len(await made(store, TASKS[:1], 1).run(Acting(act))) == 1
    for key, records in closed_in(made(store, TASKS[:1], 1)).items():
        assert topics(records) == ["opened", "said", "called", "returned", "ended"], key
        assert decoded(records[-1]).end == "infrastructure"
        where = "shopfloor.py:99, in tool shop_break_down, call 2 {}"
        assert decoded(records[-1]).detail == f"KeyError: 'cupboard key 4711' at {where}"
    assert len(heard) == MOST_FAULTS * (2 if swallows else 1)
    assert not [text for text in heard if "4711" in text]


@pytest.mark.parametrize("end", [None, "finished", 7], ids=repr)
async def test_an_end_that_is_none_of_ours_is_infrastructure_and_can_be_read(store: Store, end: Any) -> None:
    async def act(session: Session, repetition: int) -> Any:
        return end

    assert len(await made(store, TASKS[:1], 1).run(Acting(act))) == 1
    assert {told.end for told in ends(made(store, TASKS[:1], 1)).values()} == {"infrastructure"}


async def test_an_agents_error_with_text_that_no_record_holds_is_recorded(store: Store) -> None:
    async def act(session: Session, repetition: int) -> End:
        raise ValueError("bad sign \ud83d")

    await made(store, TASKS[:1], 1).run(Acting(act))
    assert {end.detail for end in ends(made(store, TASKS[:1], 1)).values()} == {"ValueError: bad sign \\ud83d"}


async def test_a_lease_keeps_two_runs_apart(tmp_path: Path) -> None:
    started, go = anyio.Event(), anyio.Event()

    async def act(session: Session, repetition: int) -> End:
        started.set()
        await go.wait()
        return "done"

    path = tmp_path / "c.db"
    with Store.open(path, create=True) as first, Store.open(path) as second:
        async with create_task_group() as tasks:
            tasks.start_soon(made(first).run, Acting(act))
            await started.wait()
            with pytest.raises(StoreUnusable, match=r"campaign c \(process \d+\) is working on it"):
                await made(second).run(ORACLE)
            go.set()
        assert await made(second).run(ORACLE) == []


async def test_a_full_disk_stops_the_campaign_and_it_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with Store.open(tmp_path / "c.db", create=True) as store:
        campaign = made(store, TASKS, 10)
        limit_pages(store, by=6)
        with pytest.raises(ExceptionGroup) as stopped:
            await campaign.run(ORACLE)
        assert stopped.value.subgroup(StoreUnusable)
        limit_pages(store, by=10_000)
        assert await made(store, TASKS, 10).run(ORACLE) == []
        for records in streams_of(campaign).values():
            ensure_whole(records)


def bodies(store: Store) -> dict[TrialKey, list[Any]]:
    closed = closed_in(made(store, TASKS, 8, agent="careless"))
    return {key: [record.body for record in records] for key, records in closed.items()}


async def test_many_at_once_give_the_streams_of_one_at_a_time() -> None:
    plans = {
        one.id: [*remarks(2), *remarks(4)[2:], msgspec.structs.replace(remarks(1)[0], arguments={"id": "SO-9"})]
        for one in TASKS
    }
    stores = []
    for concurrency in (1, 16):
        stores.append(Store.in_memory())
        campaign = made(stores[-1], TASKS, 8, agent="careless")
        assert await campaign.run(careless(plans), concurrency=concurrency) == []
    one_by_one, at_once = [bodies(store) for store in stores]
    assert one_by_one == at_once
    assert len(one_by_one) == 24


async def test_64_trials_at_once_leave_no_marker_of_each_other(tmp_path: Path) -> None:
    told: list[str] = []
    with Store.open(tmp_path / "c.db", create=True) as store:
        campaign = made(store, [task("one")], 64, agent="marking")
        assert await campaign.run(Marking(told.append), concurrency=64) == []
        streams = {key.repetition: records for key, records in closed_in(campaign).items()}
    assert len(told) == 64 * campaigning.CALLS
    for repetition, records in streams.items():
        own = [marker for marker in told if marker.startswith(f"one/{repetition}/")]
        text = b"".join(field for record in records for field in (record.payload, record.telemetry)).decode("latin-1")
        assert set(re.findall(r"one/\d+/\d+-\d+;", text)) == set(own)
        assert len(own) == campaigning.CALLS
        [effect] = folded_effects(domain, campaign.snapshots["one"], records)
        assert (effect.row or {})["remark"] == own[-1]


def killed_after(path: Path, answers: int) -> list[str]:
    """What a campaign's process told before it was killed; it lived at least for so many answers."""
    child = [sys.executable, "-m", "tests.sandbox.campaigning", str(path)]
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(child, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        watch = Timer(20, process.kill)
        watch.start()
        told = [process.stdout.readline() for _ in range(answers)]
        process.kill()
        told += process.stdout.readlines()
        watch.cancel()
    return [line.strip() for line in told if line.endswith(";\n")]


def streams_of(campaign: Campaign) -> dict[TrialKey, list[Record]]:
    """Every attempt that has a stream, ended or not."""
    numbers = range(1, MOST_FAULTS + 1)
    keys = [msgspec.structs.replace(key, attempt=number) for key in keys_of(campaign.seal) for number in numbers]
    return {key: records for key in keys if (records := campaign.store.read(key.id))}


async def test_a_campaign_that_is_killed_again_and_again_loses_no_answer_and_ends(tmp_path: Path) -> None:
    path, chance = tmp_path / "c.db", random.Random(20)
    told: list[str] = []
    for _ in range(6):
        told += killed_after(path, chance.randint(40, 90))
        with Store.open(path) as store:
            ensure_answered(streams_of(campaigning.campaign(store)), told)
    with Store.open(path) as store:
        campaign = campaigning.campaign(store)
        assert await campaign.run(Marking(told.append)) == []
        streams = streams_of(campaign)
        ensure_answered(streams, told)
        counted = [key for key, records in streams.items() if decoded(records[-1]).end == "done"]
        assert [msgspec.structs.replace(key, attempt=1) for key in counted] == list(keys_of(campaign.seal))
        assert len(counted) == 200


def ensure_answered(streams: dict[TrialKey, list[Record]], told: Sequence[str]) -> None:
    """Fail if a stream holds half a call, or another trial's, or an answered call is in none."""
    recorded = set()
    for key, records in streams.items():
        ensure_whole(records)
        for call in calls_of(records):
            assert topics(call) == ["called", "shop.remarked", "returned"]
            marker = msgspec.json.decode(decoded(call[0]).arguments)["text"]
            assert marker.startswith(f"{key.task}/{key.repetition}/")
            recorded.add(marker)
    assert not [marker for marker in told if marker not in recorded]
