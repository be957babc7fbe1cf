"""A trial is what its stream says: every call is on disk before it is answered, and nothing else counts."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import msgspec
import pytest
from anyio import create_task_group, fail_after

from sandbox import Answer, SandboxFault, UserFault
from sandbox.breakage import Broke
from sandbox.effects import effects_digest
from sandbox.projection import folded_effects
from sandbox.records import Said, Telemetry, ToolRefused, ToolReturned, TrialEnded, TrialOpened, decoded
from sandbox.stream import Store, StoreUnusable, StreamConflict
from sandbox.task import visible_tools
from sandbox.trial import Trial, TrialOver, tools_digest
from sandbox.world import request
from tests.sandbox.journals import Failing, Gated, calls_of, ensure_whole, limit_pages, made, opened, stored, topics
from tests.sandbox.shopfloor import domain, objects, task

pytestmark = pytest.mark.anyio

REMARK = ("shop_remark", '{"id":"SO-1","text":"hello"}')


@pytest.fixture(autouse=True)
async def bounded(anyio_backend: str) -> AsyncIterator[None]:
    with fail_after(20):
        yield


async def called(trial: Trial, tool: str, arguments: str = "{}", key: str = "") -> Answer:
    return await trial.call(request(tool, arguments, key=key))


async def test_a_stream_holds_opening_dialogue_calls_events_and_end_in_order() -> None:
    async with stored() as journal:
        trial = await opened(journal)
        await called(trial, *REMARK)
        await called(trial, "shop_list_orders")
        await trial.say(Said("assistant", "done"))
        await trial.end("done")
        records = await journal.read(trial.id)
    call = ["called", "shop.remarked", "returned", "called", "returned"]
    assert topics(records) == ["opened", "said", *call, "said", "ended"]
    assert [record.time[-6:] for record in records] == ["00:00Z"] * 2 + ["00:01Z"] * 3 + ["00:02Z"] * 4
    assert [record.cause for record in records] == [0, 0, 3, 3, 3, 6, 6, 0, 0]
    assert all(msgspec.msgpack.decode(record.telemetry, type=Telemetry).wall for record in records)


async def test_the_first_records_say_what_is_tried_by_whom_and_the_users_words() -> None:
    async with stored() as journal:
        trial = await opened(journal)
        first, second = [decoded(record) for record in await journal.read(trial.id)]
    assert isinstance(first, TrialOpened)
    assert (first.key, first.agent, first.task_digest) == (trial.key, "tester", task().digest)
    assert first.layers == tuple(layer.digest for layer in trial.snapshot.layers)
    assert second == Said("user", task().goal)


async def test_a_refused_call_is_recorded_with_its_class_and_what_it_found() -> None:
    async with stored() as journal:
        trial = await opened(journal)
        answers = [
            await called(trial, "shop_remark", '{"id":"SO-2","text":"x"}'),
            await called(trial, "shop_remark", '{"id":"SO-9","text":"x"}'),
            await called(trial, "shop_remark", '{"id":1}'),
            await called(trial, "shop_remrak"),
        ]
        payloads = [decoded(record) for record in await journal.read(trial.id)]
    refused = [payload for payload in payloads if isinstance(payload, ToolRefused)]
    assert [(payload.refusal, payload.found) for payload in refused] == [
        ("Precondition", 1),
        ("NotFound", 0),
        ("Invalid", None),
        ("Unsupported", None),
    ]
    assert [Answer(payload.message, payload.refusal) for payload in refused] == answers


async def test_the_end_carries_the_digest_of_what_the_fold_of_the_stream_gives() -> None:
    async with stored() as journal:
        trial = await opened(journal)
        await called(trial, *REMARK)
        ended = await trial.end("done", flags=["user_fault"])
        effects = folded_effects(domain, trial.snapshot, await journal.read(trial.id))
    assert ended.effects == effects
    assert ended.record == TrialEnded("done", effects_digest(effects), ("user_fault",))


async def test_a_full_disk_breaks_the_trial_and_what_was_answered_is_what_is_left(tmp_path: Path) -> None:
    with Store.open(tmp_path / "c.db", create=True) as store:
        async with stored(store) as journal:
            trial = await opened(journal)
            await called(trial, *REMARK)
            limit_pages(store, by=2)
            text = "x" * 200_000
            with pytest.raises(TrialOver) as broken:
                await called(trial, "shop_remark", f'{{"id":"SO-1","text":"{text}"}}')
            assert "the disk is full" in str(broken.value.__cause__)
            limit_pages(store, by=1000)
            effects = (await trial.end("infrastructure", detail=str(trial.fault))).effects
            records = await journal.read(trial.id)
    assert [(effect.row or {})["remark"] for effect in effects] == ["hello"]
    assert topics(records) == ["opened", "said", "called", "shop.remarked", "returned", "ended"]


@pytest.mark.parametrize("keeps", [False, True], ids=["nothing stored", "stored all the same"])
async def test_after_a_failed_append_the_rows_are_those_of_the_stream(keeps: bool) -> None:
    async with stored() as inner:
        trial = await opened(Failing(inner, 2, keeps=keeps))
        with pytest.raises(TrialOver):
            await called(trial, *REMARK)
        ended = await trial.end("infrastructure")
        records = await inner.read(trial.id)
    assert ended.effects == folded_effects(domain, trial.snapshot, records)
    assert len(ended.effects) == (1 if keeps else 0)
    ensure_whole(records)


async def test_an_end_that_failed_and_was_stored_all_the_same_is_not_stored_twice() -> None:
    async with stored() as inner:
        trial = await opened(Failing(inner, 2, keeps=True))
        with pytest.raises(StoreUnusable):
            await trial.end("done")
        assert (await trial.end("infrastructure")).record.end == "done"
        assert topics(await inner.read(trial.id)) == ["opened", "said", "ended"]


async def test_a_failed_append_is_not_told_to_the_agent() -> None:
    async with stored() as inner:
        trial = await opened(Failing(inner, 2))
        with pytest.raises(TrialOver, match=r"^trial [0-9a-f-]+ broke on our side; nothing more is taken$"):
            await called(trial, *REMARK)
        assert "disk" in str(trial.fault)


async def test_a_tool_that_breaks_breaks_the_trial_and_leaves_no_record() -> None:
    async with stored() as journal:
        trial = await opened(journal)
        with pytest.raises(TrialOver) as broken:
            await called(trial, "shop_break_down")
        assert "cupboard" not in str(broken.value)
        assert isinstance(trial.fault, Broke)
        assert isinstance(trial.fault.__cause__, KeyError)
        assert topics(await journal.read(trial.id)) == ["opened", "said"]


async def test_a_broken_trial_takes_nothing_but_its_end() -> None:
    async with stored() as journal:
        trial = await opened(journal)
        with pytest.raises(TrialOver):
            await called(trial, "shop_break_down")
        with pytest.raises(TrialOver, match="broke"):
            await called(trial, *REMARK)
        with pytest.raises(TrialOver, match="broke"):
            await trial.say(Said("assistant", "all is well"))
        await trial.end("infrastructure")
        assert topics(await journal.read(trial.id)) == ["opened", "said", "ended"]


async def test_calls_of_one_trial_run_one_at_a_time_in_the_order_of_arrival() -> None:
    async with stored() as inner:
        journal = Gated(inner)
        trial = await opened(journal)
        journal.held.add(trial.id)
        async with create_task_group() as tasks:
            tasks.start_soon(called, trial, "shop_place_order", '{"customer":"0"}')
            await journal.waiting.wait()
            for number in range(1, 5):
                tasks.start_soon(called, trial, "shop_place_order", f'{{"customer":"{number}"}}')
            await anyio.wait_all_tasks_blocked()
            assert trial._world is not None
            assert trial._world.calls == 0
            journal.gate.set()
        records = await inner.read(trial.id)
    calls = [decoded(record) for record in records if record.topic == "trial.called.1"]
    assert [(call.number, call.arguments) for call in calls] == [(n + 1, f'{{"customer":"{n}"}}') for n in range(5)]


async def test_a_trial_never_waits_for_another() -> None:
    async with stored() as inner:
        journal = Gated(inner)
        slow, quick = await opened(journal, 0), await opened(journal, 1)
        journal.held.add(slow.id)
        async with create_task_group() as tasks:
            tasks.start_soon(called, slow, *REMARK)
            await journal.waiting.wait()
            for _ in range(3):
                await called(quick, *REMARK)
            await quick.end("done")
            assert topics(await inner.read(slow.id)) == ["opened", "said"]
            journal.gate.set()
        assert "returned" in topics(await inner.read(slow.id))


async def test_a_repeated_key_brings_the_recorded_answer_and_changes_nothing() -> None:
    async with stored() as journal:
        trial = await opened(journal)
        first = await called(trial, *PLACE, key="k1")
        again = await called(trial, *PLACE, key="k1")
        other = await called(trial, *PLACE, key="k2")
        records = await journal.read(trial.id)
    assert first == again != other
    assert [topics(call) for call in calls_of(records)] == [
        ["called", "shop.order-placed", "returned"],
        ["called", "returned"],
        ["called", "shop.order-placed", "returned"],
    ]
    assert decoded(calls_of(records)[1][-1]) == ToolReturned(first.text, repeats=3)


PLACE = ("shop_place_order", '{"customer":"C-17"}')


async def test_a_key_that_was_used_for_another_call_is_refused() -> None:
    async with stored() as journal:
        trial = await opened(journal)
        await called(trial, *PLACE, key="k1")
        assert (await called(trial, *REMARK, key="k1")).refusal == "Conflict"


async def test_the_key_of_a_refused_call_brings_the_refusal_again() -> None:
    async with stored() as journal:
        trial = await opened(journal)
        asked = ("shop_remark", '{"id":"SO-2","text":"x"}')
        assert await called(trial, *asked, key="k") == await called(trial, *asked, key="k")


SET = ("shop_set_status", '{"id":"SO-1","status":"packed"}')


@pytest.mark.parametrize(
    ("calls", "flags"),
    [
        pytest.param([], ("no_action",), id="nothing"),
        pytest.param([("shop_list_orders", "{}")] * 2, ("no_action",), id="only reads"),
        pytest.param([("shop_remark", '{"id":"SO-2","text":"x"}')] * 2, ("no_action",), id="only refused"),
        pytest.param([REMARK], (), id="one write"),
        pytest.param([REMARK, REMARK], ("suspected_duplicate",), id="the same twice"),
        pytest.param([REMARK, PLACE, REMARK], ("suspected_duplicate",), id="with another between"),
        pytest.param(
            [REMARK, ("shop_remark", '{ "text": "hello", "id": "SO-1" }')],
            ("suspected_duplicate",),
            id="written otherwise",
        ),
        pytest.param([REMARK, ("shop_remark", '{"id":"SO-1","text":"other"}')], (), id="other arguments"),
        pytest.param([SET, SET], (), id="an idempotent tool"),
        pytest.param([(*PLACE, "k"), (*PLACE, "k")], (), id="one key"),
        pytest.param([(*PLACE, "k"), (*PLACE, "l")], ("suspected_duplicate",), id="two keys"),
    ],
)
@pytest.mark.parametrize("resumed", [False, True], ids=["live", "resumed"])
async def test_flags_say_what_is_odd(calls: list[tuple[str, ...]], flags: tuple[str, ...], resumed: bool) -> None:
    async with stored() as journal:
        trial = await opened(journal)
        for call in calls:
            await called(trial, *call)
        if resumed:
            trial = made(journal)
            await trial.resume()
        assert (await trial.end("done")).record.flags == flags


async def test_after_the_end_nothing_is_taken_and_a_second_end_is_the_first() -> None:
    async with stored() as journal:
        trial = await opened(journal)
        ended = await trial.end("done")
        with pytest.raises(TrialOver, match=r"has ended \(done\)"):
            await called(trial, *REMARK)
        with pytest.raises(TrialOver):
            await trial.say(Said("assistant", "one more thing"))
        assert await trial.end("agent_error") is ended
        assert topics(await journal.read(trial.id)) == ["opened", "said", "ended"]


async def test_a_trial_that_is_resumed_after_its_end_takes_nothing() -> None:
    async with stored() as journal:
        trial = await opened(journal)
        await called(trial, *REMARK)
        ended = await trial.end("done")
        again = made(journal)
        await again.resume()
        with pytest.raises(TrialOver, match=r"has ended \(done\)"):
            await called(again, *REMARK)
        assert await again.end("agent_error") == ended


async def test_a_resumed_trial_has_the_same_rows_clock_and_keys() -> None:
    async with stored() as journal:
        trial = await opened(journal)
        answer = await called(trial, *PLACE, key="k")
        await called(trial, *REMARK)
        await called(trial, "shop_remark", "no json")
        again = made(journal)
        await again.resume()
        assert again._world is not None
        assert trial._world is not None
        assert again._world.rows == trial._world.rows
        assert again._world.now == trial._world.now
        assert await called(again, *PLACE, key="k") == answer
        await again.end("done")
        ensure_whole(await journal.read(trial.id))


async def test_a_trial_resumed_in_the_middle_goes_on_as_if_it_had_not_been() -> None:
    bodies = []
    for interrupted in (False, True):
        async with stored() as journal:
            trial = await opened(journal)
            for number in range(4):
                if interrupted:
                    trial = made(journal)
                    await trial.resume()
                await called(trial, "shop_place_order", f'{{"customer":"{number // 2}"}}', f"k{number % 3}")
            await trial.end("done")
            bodies.append([record.body for record in await journal.read(trial.id)])
    assert bodies[0] == bodies[1]


async def test_a_stream_that_is_not_there_cannot_be_resumed() -> None:
    async with stored() as journal:
        with pytest.raises(SandboxFault, match="has no records; open it first"):
            await made(journal).resume()


@pytest.mark.parametrize("resumed", [False, True], ids=["same trial", "resumed"])
async def test_a_call_cancelled_in_its_append_is_whole_and_the_trial_goes_on(resumed: bool) -> None:
    async with stored() as inner:
        journal = Gated(inner)
        trial = await opened(journal)
        journal.held.add(trial.id)
        async with create_task_group() as tasks:
            tasks.start_soon(called, trial, *REMARK)
            await journal.waiting.wait()
            tasks.cancel_scope.cancel()
            journal.gate.set()
        assert trial.fault is None
        if resumed:
            trial = made(journal)
            await trial.resume()
        await called(trial, *REMARK)
        ended = await trial.end("done")
        records = await inner.read(trial.id)
    ensure_whole(records)
    assert len(calls_of(records)) == 2
    assert ended.record.flags == ("suspected_duplicate",)
    assert ended.effects == folded_effects(domain, trial.snapshot, records)


async def test_a_call_cancelled_while_it_waits_its_turn_leaves_no_trace() -> None:
    async with stored() as inner:
        journal = Gated(inner)
        trial = await opened(journal)
        journal.held.add(trial.id)
        async with create_task_group() as outer:
            outer.start_soon(called, trial, *REMARK)
            await journal.waiting.wait()
            async with create_task_group() as tasks:
                tasks.start_soon(called, trial, *PLACE)
                await anyio.wait_all_tasks_blocked()
                tasks.cancel_scope.cancel()
            journal.gate.set()
        await trial.end("done")
        assert [decoded(call[0]).tool for call in calls_of(await inner.read(trial.id))] == ["shop_remark"]


async def test_texts_that_no_record_holds_are_recorded_escaped() -> None:
    async with stored() as journal:
        trial = await opened(journal)
        await trial.say(Said("assistant", "half a sign: \ud83d"))
        await trial.end("infrastructure", detail="broke at \udc80")
        payloads = [decoded(record) for record in await journal.read(trial.id)]
    assert payloads[-2] == Said("assistant", "half a sign: \\ud83d")
    assert payloads[-1].detail == "broke at \\udc80"


async def test_one_trial_cannot_be_opened_twice() -> None:
    async with stored() as journal:
        first = await opened(journal)
        with pytest.raises(StreamConflict, match="1"):
            await opened(journal)
        assert topics(await journal.read(first.id)) == ["opened", "said"]


def test_the_tools_digest_tells_apart_what_the_agent_is_told() -> None:
    few = msgspec.structs.replace(task(), tools=("shop_remark",))
    digests = {tools_digest(domain, task()), tools_digest(domain, few), tools_digest(objects, task())}
    assert len(digests) == 3
    with pytest.raises(UserFault, match="does not have: shop_fly"):
        visible_tools(domain, msgspec.structs.replace(task(), tools=("shop_fly",)))
