"""Campaigns whose books are honest: what has no verdict, what was resumed, what it cost: rows 34, 54 and 60."""

import json
import os
from pathlib import Path

import anyio
import pytest

from judges.campaigns import scores_of
from judges.errors_file import errors_path
from judges.spending import all_calls, costs_of
from sandbox.archive import Archive, domain_of
from sandbox.prices import Cost
from sandbox.records import TrialKey, decoded
from sandbox.stream import Store
from tests.judges.modelled import (
    CONFIGURATION,
    TASKS,
    command,
    done,
    home,
    right,
    run_arguments,
    store_in,
    variables,
)
from tests.stub import Answer, Asked, Outcome, failing, serving

pytestmark = pytest.mark.anyio


def lines_of(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in errors_path(store_in(folder)).read_text(encoding="utf-8").splitlines()]


async def test_row_34_with_a_broken_judge_key_every_trial_is_listed_and_counted_and_the_exit_code_is_1(
    tmp_path: Path,
) -> None:
    folder, broken = home(tmp_path), True

    def script(asked: Asked) -> Outcome:
        return failing(401, "wrong key") if broken and asked.body["model"] == "judge-1" else right(asked)

    async with serving(script) as stub:
        made = await done(stub.url, *run_arguments(folder))
        listed = lines_of(folder)
        found = scores_of(store_in(folder))
        broken = False
        mended = await done(stub.url, *run_arguments(folder))
    assert made.code == 1
    assert [(score.trials, score.passed, score.failed, score.ungradeable) for score in found] == [(3, 0, 0, 3)] * 2
    assert {(one["stage"], one["class"], one["retryable"]) for one in listed} == {("judge", "unauthorized", False)}
    places = [(one["task"], one["repetition"]) for one in listed]
    assert places == [(task, repetition) for task in sorted(TASKS) for repetition in range(3)]
    assert made.err.count("no verdict on 3 of 3 trials") == 2
    assert (mended.code, errors_path(store_in(folder)).exists()) == (0, False)
    assert [score.passed for score in scores_of(store_in(folder))] == [3, 3]


def closed(folder: Path) -> dict[TrialKey, str]:
    """Every closed attempt and its end."""
    with Store.open(store_in(folder), read_only=True) as store:
        found = Archive(store, domain_of(store)).closed()
        return {key: decoded(records[-1]).end for key, records in found}


async def test_row_54_killed_halfway_another_model_is_refused_and_the_same_one_completes_it_without_duplicates(
    tmp_path: Path,
) -> None:
    folder, stuck = home(tmp_path), anyio.Event()

    def script(asked: Asked) -> Outcome:
        if asked.number <= 3 * 5 + 2 or stuck.is_set():
            return right(asked)
        stuck.set()
        return Answer(breaks="hangs")

    with anyio.fail_after(90):
        async with serving(script) as stub:
            arguments = run_arguments(folder, "--concurrency", "1")
            process = await anyio.open_process(command(*arguments), env=os.environ | variables(stub.url))
            async with process:
                await stuck.wait()
                process.kill()
            finished, before = closed(folder), len(stub.asked)
            (folder / "agent.yaml").write_text(CONFIGURATION.replace("model: agent-1\n", "model: agent-2\n", 1))
            refused = await done(stub.url, *arguments)
            assert len(stub.asked) == before
            (folder / "agent.yaml").write_text(CONFIGURATION)
            resumed = await done(stub.url, *arguments)
    assert (refused.code, resumed.code) == (2, 0)
    assert 'agent.model.model: sealed "agent-1", given "agent-2"' in refused.err
    assert len(finished) == 3
    found = closed(folder)
    assert finished.items() <= found.items()
    counted = [(key.task, key.repetition) for key, end in found.items() if end != "infrastructure"]
    assert sorted(counted) == [(task, repetition) for task in sorted(TASKS) for repetition in range(3)]
    assert list(found.values()).count("infrastructure") == 1
    with Store.open(store_in(folder), read_only=True) as store:
        assert sum(call.party == "agent" for call in all_calls(store)) == 6 * 3 + 2


async def test_row_60_costs_are_kept_by_party_and_one_call_without_a_price_makes_the_total_a_lower_bound(
    tmp_path: Path,
) -> None:
    folder = home(tmp_path, tasks=TASKS[:1])
    async with serving(right) as stub:
        made = await done(stub.url, *run_arguments(folder, "-k", "1"))
        told = await done(stub.url, "stats", str(store_in(folder)))
    costs = costs_of(store_in(folder))
    # 50 tokens at 1, 40 from the cache at 0.1, 10 into it at 2, and 20 at 4 for each call, USD for a million.
    one_call = Cost() + costs["judge"]
    assert str(one_call.usd.normalize()) == "0.000154"
    assert costs == {"agent": one_call + one_call + one_call, "judge": one_call, "user": Cost(unpriced=1)}
    for output in (made.out, told.out):
        assert "agent $0.0005; judge $0.0002; user ≥ $0.0000, 1 unpriced; together ≥ $0.0006, 1 unpriced" in output
