"""Campaigns of models: run, stopped, extended, checked and written out, as processes that ask a real endpoint."""

import json
import os
import signal
from collections import Counter
from decimal import Decimal
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from judges.campaigns import scores_of
from judges.errors_file import errors_path
from judges.spending import all_calls, costs_of, keep_prices, prices_in
from sandbox.archive import Archive, domain_of
from sandbox.prices import Cost, Price, PriceTable, costs_by_party
from sandbox.records import decoded
from sandbox.stream import Store
from tests.judges.modelled import (
    CONFIGURATION,
    KEY,
    TASKS,
    add_task,
    command,
    done,
    holding,
    home,
    right,
    run_arguments,
    store_in,
    variables,
)
from tests.stub import Answer, Asked, Outcome, Turn, failing, serving

pytestmark = pytest.mark.anyio


def ends(folder: Path) -> Counter[tuple[str, int, str]]:
    """How often each repetition of each task ended in which way."""
    with Store.open(store_in(folder), read_only=True) as store:
        closed = Archive(store, domain_of(store)).closed()
        ways = [(key, records[-1]) for key, records in closed]
    return Counter((key.task, key.repetition, decoded(last).end) for key, last in ways)


async def test_a_campaign_of_models_passes_and_its_cost_is_told_by_party(tmp_path: Path) -> None:
    folder = home(tmp_path)
    async with serving(right) as stub:
        made = await done(stub.url, *run_arguments(folder))
        told = await done(stub.url, "stats", str(store_in(folder)))
    assert made.code == 0, made.err
    assert [(score.trials, score.passed) for score in scores_of(store_in(folder))] == [(3, 3), (3, 3)]
    assert sorted(costs_of(store_in(folder))) == ["agent", "judge", "user"]
    assert costs_of(store_in(folder))["user"] == Cost(unpriced=6)
    assert "\nCost\n" in told.out
    assert "cost of clerk: agent $0.0028; judge $0.0009; user ≥ $0.0000, 6 unpriced" in told.out
    assert not errors_path(store_in(folder)).exists()


async def test_the_same_command_again_asks_nothing_and_more_repetitions_and_tasks_extend_it(tmp_path: Path) -> None:
    folder = home(tmp_path)
    async with serving(right) as stub:
        await done(stub.url, *run_arguments(folder, "-k", "2"))
        before = len(stub.asked)
        assert (await done(stub.url, *run_arguments(folder, "-k", "2"))).code == 0
        assert len(stub.asked) == before == 4 * 5
        add_task(folder, "leaving-plus")
        assert (await done(stub.url, *run_arguments(folder))).code == 0
        assert len(stub.asked) == 9 * 5
        fewer = await done(stub.url, *run_arguments(folder, "-k", "2"))
        lacking = await done(stub.url, *run_arguments(folder, "--task", TASKS[0]))
    assert [score.passed for score in scores_of(store_in(folder))] == [3, 3, 3]
    assert set(ends(folder).values()) == {1}
    assert (fewer.code, "repetitions: sealed 3, given 2" in fewer.err) == (2, True)
    assert (lacking.code, "task leaving-plus is not given" in lacking.err) == (2, True)


async def test_who_stops_it_gets_130_and_the_same_command_goes_on(tmp_path: Path) -> None:
    folder, stuck = home(tmp_path), anyio.Event()

    def script(asked: Asked) -> Outcome:
        if asked.number <= 12 or stuck.is_set():
            return right(asked)
        stuck.set()
        return Answer(breaks="hangs")

    with anyio.fail_after(90):
        async with serving(script) as stub:
            arguments = run_arguments(folder, "--concurrency", "1")
            async with await anyio.open_process(command(*arguments), env=os.environ | variables(stub.url)) as process:
                await stuck.wait()
                process.send_signal(signal.SIGINT)
                assert await process.wait() == 130
            assert costs_of(store_in(folder)) == by_call(folder)
            again = await done(stub.url, *arguments)
    assert again.code == 0, again.err
    found = ends(folder)
    assert sorted(found.values()) == [1] * 7
    assert [end for _, _, end in found].count("infrastructure") == 1
    assert [score.passed for score in scores_of(store_in(folder))] == [3, 3]
    assert costs_of(store_in(folder)) == by_call(folder)


def by_call(folder: Path, table: PriceTable | None = None) -> dict[str, Cost]:
    """What a campaign cost, call by call from its streams."""
    with Store.open(store_in(folder), read_only=True) as store:
        return costs_by_party(all_calls(store), table or prices_in(store))


async def test_costs_from_the_read_models_are_those_of_the_calls_also_of_trials_that_were_killed(
    tmp_path: Path,
) -> None:
    folder, stuck = home(tmp_path), anyio.Event()

    def script(asked: Asked) -> Outcome:
        if asked.number <= 14:
            return right(asked)
        stuck.set()
        return Answer(breaks="hangs")

    with anyio.fail_after(90):
        async with serving(script) as stub:
            arguments = command(*run_arguments(folder, "--concurrency", "2"))
            async with await anyio.open_process(arguments, env=os.environ | variables(stub.url)) as process:
                await stuck.wait()
                process.kill()
                await process.wait()
    found = by_call(folder)
    assert found["agent"].usd > 0
    assert sum(cost.unpriced for party, cost in found.items() if party == "agent") > 0
    assert costs_of(store_in(folder)) == found
    # A limit that lies between the calls: sums do not tell, so the calls are asked.
    price = Price(input=Decimal(1), output=Decimal(1), cache_read=Decimal(0), cache_write=Decimal(0), valid_up_to=1)
    for limit in (1, 100, 140, 10**6):
        table = PriceTable("here", "2026-01-01", {"agent-1": replace(price, valid_up_to=limit)})
        assert costs_of(store_in(folder), table) == by_call(folder, table)


CHANGES = {
    "temperature": ("model: agent-1", "model: agent-1\n    temperature: 0.5", "agent.model.temperature: sealed null"),
    "votes": ("{model: third}", "{model: third, votes: 3}", "judge.votes: sealed 1, given 3"),
    "limits": ("trial_s: 60", "trial_s: 61", "limits.trial_s: sealed 60.0, given 61.0"),
    "protocol": ("limits:", "protocol: plain\nlimits:", 'protocol.name: sealed "thinkingbox", given "plain"'),
    "gate": ("limits:", "gate: {check_end_state: true}\nlimits:", "gate.check_end_state: sealed nothing, given true"),
    "user": ("user: {model: other}", "", "user.model.model: sealed"),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_changed_configuration_is_refused_and_each_change_is_named(name: str, tmp_path: Path) -> None:
    old, new, told = CHANGES[name]
    assert old in CONFIGURATION
    folder = home(tmp_path, tasks=TASKS[:1])
    async with serving(right) as stub:
        await done(stub.url, *run_arguments(folder, "-k", "1"))
        (folder / "agent.yaml").write_text(CONFIGURATION.replace(old, new), encoding="utf-8")
        before = len(stub.asked)
        refused = await done(stub.url, *run_arguments(folder, "-k", "1"))
        assert len(stub.asked) == before
    assert refused.code == 2
    assert told in refused.err


async def test_a_user_who_is_told_something_else_is_refused(tmp_path: Path) -> None:
    folder = home(tmp_path, tasks=TASKS[:1])
    async with serving(right) as stub:
        await done(stub.url, *run_arguments(folder, "-k", "1"))
        file = folder / "pack" / "tasks" / f"{TASKS[0]}.yaml"
        file.write_text(file.read_text().replace("You are Gareth", "You are angry. You are Gareth"))
        refused = await done(stub.url, *run_arguments(folder, "-k", "1"))
    assert (refused.code, f"(task {TASKS[0]} has another user)" in refused.err) == (2, True)


async def test_what_broke_at_every_attempt_is_listed_and_more_attempts_mend_it(tmp_path: Path) -> None:
    folder, is_mended = home(tmp_path, tasks=TASKS[:1]), anyio.Event()

    def script(asked: Asked) -> Outcome:
        return right(asked) if is_mended.is_set() else failing(429, f"slow down, {asked.headers['authorization']}")

    async with serving(script) as stub:
        arguments = run_arguments(folder, "-k", "2")
        made = await done(stub.url, *arguments)
        lines = [json.loads(line) for line in errors_path(store_in(folder)).read_text().splitlines()]
        is_mended.set()
        spent = await done(stub.url, *arguments)
        mended = await done(stub.url, *arguments, "--attempts", "4")
    assert (made.code, spent.code, mended.code) == (1, 1, 0)
    shown = [(one["task"], one["repetition"], one["class"], one["stage"], one["retryable"]) for one in lines]
    assert shown == [(TASKS[0], place, "rate_limited", "agent", True) for place in (0, 1)]
    assert "slow down" in lines[0]["message"]
    assert not errors_path(store_in(folder)).exists()
    assert holding(folder, KEY) == []


async def test_an_address_that_is_wrong_is_nobodys_failure_and_the_same_command_mends_it(tmp_path: Path) -> None:
    folder, is_mended = home(tmp_path, tasks=TASKS[:1]), anyio.Event()

    def script(asked: Asked) -> Outcome:
        return right(asked) if is_mended.is_set() else failing(404, "no model agent-1 here")

    async with serving(script) as stub:
        arguments = run_arguments(folder, "-k", "1")
        codes = [(await done(stub.url, *arguments)).code for _ in range(4)]
        assert len(stub.asked) == 4
        [line] = [json.loads(line) for line in errors_path(store_in(folder)).read_text().splitlines()]
        is_mended.set()
        mended = await done(stub.url, *arguments)
    assert (codes, mended.code) == ([1] * 4, 0)
    assert (line["class"], line["stage"], line["retryable"]) == ("not_served", "agent", False)
    assert "404: no model agent-1 here" in line["message"]


async def test_a_user_who_never_says_a_thing_is_listed_as_the_users_fault(tmp_path: Path) -> None:
    folder = home(tmp_path, CONFIGURATION + "retries_user_faults: true\n", TASKS[:1])

    def script(asked: Asked) -> Outcome:
        return Turn("", model="user-1") if asked.body["model"] == "user-1" else right(asked)

    async with serving(script) as stub:
        made = await done(stub.url, *run_arguments(folder, "-k", "1"))
    [line] = [json.loads(line) for line in errors_path(store_in(folder)).read_text().splitlines()]
    assert (made.code, line["class"], line["stage"], line["retryable"]) == (1, "user_fault", "user", True)
    assert line["attempt"] == 3
    assert costs_of(store_in(folder))["user"] == Cost(unpriced=9)


async def test_neither_the_key_nor_what_a_variable_holds_is_written_anywhere(tmp_path: Path) -> None:
    folder = home(tmp_path)

    def script(asked: Asked) -> Outcome:
        if asked.number % 3 == 0:
            return failing(500, f"cannot serve {asked.headers['authorization']}")
        return failing(401, f"no such key: {KEY}") if asked.body["model"] == "judge-1" else right(asked)

    async with serving(script) as stub:
        made = await done(stub.url, *run_arguments(folder))
        await done(stub.url, "check", str(folder / "agent.yaml"), "--store", str(store_in(folder)))
        await done(stub.url, "explain", str(store_in(folder)), f"{TASKS[0]}/0", "--all")
        await done(stub.url, "rows", str(store_in(folder)), "-o", str(folder / "rows.jsonl"))
        assert made.code == 1
        assert [asked.headers["authorization"] for asked in stub.asked[:1]] == [f"Bearer {KEY}"]
        assert holding(folder, stub.url) == []
    assert len({path.suffix for path in folder.rglob("*") if path.is_file()} & {".db", ".jsonl"}) == 2
    assert holding(folder, "[key]") != []
    assert holding(folder, KEY) == []


async def test_check_tells_what_would_run_and_which_endpoint_fails(tmp_path: Path) -> None:
    folder = home(tmp_path)

    def script(asked: Asked) -> Outcome:
        return failing(401, "who are you?") if asked.body["model"] == "user-1" else right(asked)

    async with serving(script) as stub:
        arguments = ["check", str(folder / "agent.yaml"), "--pack", str(folder / "pack"), "-k", "4"]
        made = await done(stub.url, *arguments)
        assert {asked.body["max_completion_tokens"] for asked in stub.asked} == {1}
    told = made.out
    assert made.code == 1
    assert "agent clerk: model agent-1 at ${MODEL_URL}\n" in told
    assert "desk: 2 tasks × 4 repetitions = 8 trials" in told
    assert "price: unknown; name an earlier campaign with --store" in told
    assert "no price for model user-1: its calls are unpriced" in told
    assert "model agent-1 lacks" not in told
    assert "endpoint of agent: answers as agent-1" in told
    assert "endpoint of user: failed, unauthorized: 401" in told


async def test_an_earlier_campaign_tells_what_the_next_may_cost(tmp_path: Path) -> None:
    folder = home(tmp_path, tasks=TASKS[:1])
    async with serving(right) as stub:
        await done(stub.url, *run_arguments(folder, "-k", "2"))
        arguments = ["check", str(folder / "agent.yaml"), "--pack", str(folder / "pack"), "-k", "100"]
        made = await done(stub.url, *arguments, "--store", str(store_in(folder)))
        add_task(folder, TASKS[1])
        lacking = CONFIGURATION.replace(
            "cache_read: 0.1, cache_write: 2, output: 4}\n    judge", "output: 4}\n    judge"
        )
        (folder / "agent.yaml").write_text(lacking, encoding="utf-8")
        more = await done(stub.url, *arguments, "--store", str(store_in(folder)))
    assert "by 2 earlier ones of 1 tasks, not 2" in more.out
    assert "the price of model agent-1 lacks cache_read, cache_write: calls that use these are unpriced" in more.out
    assert "price: at least $0.0616 for 100 trials, by 2 earlier ones, of which 2 calls" in made.out
    assert made.code == 0


async def test_rows_for_other_tools_hold_the_dialogue_the_result_and_the_usage(tmp_path: Path) -> None:
    folder = home(tmp_path, tasks=TASKS[:1])
    async with serving(right) as stub:
        await done(stub.url, *run_arguments(folder, "-k", "2"))
        made = await done(stub.url, "rows", str(store_in(folder)), "-o", str(folder / "rows.jsonl"))
    assert made.code == 0, made.err
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    assert [(row["uid"], row["metadata"]["repetition"]) for row in rows] == [(TASKS[0], 0), (TASKS[0], 1)]
    assert {(row["test_result"]["result"], row["finish_reason"], row["is_system_error"]) for row in rows} == {
        (True, "done", False)
    }
    kinds = Counter(message["T"] for message in rows[0]["messages"])
    assert kinds == {"Text": 4, "ToolCall": 10, "ToolResponse": 10}
    assert [(used["input_tokens"], used["output_tokens"]) for used in rows[0]["usage"]] == [(100, 20)] * 3


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        (["orcale"], "no agent 'orcale', and no such file; give a configuration file, or did you mean 'oracle'?"),
        (["agent.yaml", "--seed", "1"], "--seed is for scripted agents by name"),
    ],
)
async def test_an_agent_that_is_not_there_is_refused(
    agent: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home(tmp_path))
    made = await done("http://localhost:1/v1", "run", "retail", "--agent", *agent)
    assert (made.code, told in made.err) == (2, True)


async def test_a_scripted_agent_may_be_configured_with_a_gate_and_a_judge_who_is_not_asked_about_failures(
    tmp_path: Path,
) -> None:
    gate = "{rules: [{action: refuse, tools: [create_refund], reason: ask a colleague}]}"
    text = CONFIGURATION.replace("agent: {name: clerk, model: all}", f"agent: {{scripted: oracle}}\ngate: {gate}")
    folder = home(tmp_path, text.replace("user: {model: other}", "user: none"))
    async with serving(right) as stub:
        made = await done(stub.url, *run_arguments(folder))
        assert stub.asked == []
    assert made.code == 0, made.err
    assert [score.failed for score in scores_of(store_in(folder))] == [3, 3]


@pytest.mark.parametrize("asked", [["run", "--agent"], ["check"]])
async def test_a_rule_of_the_gate_that_names_no_tool_is_refused(asked: list[str], tmp_path: Path) -> None:
    gate = "{rules: [{action: refuse}, {action: refuse, tools: [create_refnd]}]}"
    folder = home(tmp_path, f"agent: {{scripted: oracle}}\ngate: {gate}")
    made = await done("http://localhost:1/v1", *asked, str(folder / "agent.yaml"), "--pack", str(folder / "pack"))
    assert made.code == 2
    assert "gate.rules.1 names no tool 'create_refnd' of what is to run; did you mean 'create_refund'?" in made.err


def test_the_prices_that_were_given_last_hold_also_when_they_come_back() -> None:
    tables = [PriceTable(source, "2026-01-01", {"m": Price(Decimal(1))}) for source in ("a", "b", "a", "a", "b")]
    with Store.in_memory() as store:
        for table in tables:
            keep_prices(store, table)
            assert prices_in(store) == table
        assert len(store.names("prices")) == 4
