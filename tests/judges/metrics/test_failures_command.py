"""`trialbox failures` tells of stored trials what their notes say, the same under every hash seed."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from judges.campaigns import run_judged, scores_of
from judges.court import plans_of
from judges.metrics.counted import counted
from judges.metrics.failures import by_agent
from judges.metrics.stored import cases_of
from judges.pack import tasks_of
from sandbox.agents import SCRIPTED, Scripted
from sandbox.mcp_session import Session
from sandbox.records import End
from sandbox.registry import domain_named

AGENTS = ("careless", "null")


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two campaigns over some retail tasks."""
    folder = tmp_path_factory.mktemp("failures")
    domain = domain_named("retail")
    tasks = tasks_of(domain)[:4]
    for agent in AGENTS:
        run_judged(folder / f"{agent}.db", domain, tasks, SCRIPTED[agent](plans_of(tasks), 51), 4, name=agent)
    return [folder / f"{agent}.db" for agent in AGENTS]


def printed(stores: list[Path], *options: str, hash_seed: str = "0") -> str:
    """What the command prints."""
    command = [sys.executable, "-m", "trialbox", "failures", *map(str, stores), *options]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", check=True, timeout=60, env=environment
    ).stdout


def test_json_has_one_signature_for_each_failed_trial_under_any_hash_seed(stores: list[Path]) -> None:
    text = printed(stores, "--json", hash_seed="1")
    assert text == printed(stores, "--json", hash_seed="4711")
    told: dict[str, Any] = json.loads(text)
    failed = {score.agent: 0 for path in stores for score in scores_of(path)}
    for path in stores:
        for score in scores_of(path):
            failed[score.agent] += score.failed
    assert {one["agent"]: one["failed"] for one in told["agents"]} == failed
    assert Counter(trial["agent"] for trial in told["trials"]) == failed
    assert len({trial["trial"] for trial in told["trials"]}) == sum(failed.values())
    for one in told["agents"]:
        assert sum(one["signatures"].values()) == sum(one["groups"].values()) == one["failed"]


def test_the_tables_show_counts_shares_and_an_example_of_each_signature(stores: list[Path]) -> None:
    text = printed(stores)
    careless, null = by_agent([note for path in stores for note in counted(path).notes])
    assert f"careless ({careless.failed} of 16 failed)" in text
    assert null.groups["No state-changing action"] == 16
    for name, number in careless.signatures.items():
        examples = [line for line in text.splitlines() if line.startswith(name) and "@" in line]
        assert len(examples) == bool(number or null.signatures[name])


def test_an_agent_that_only_talks_never_looks_clean(stores: list[Path]) -> None:
    [null] = by_agent(counted(stores[1]).notes)
    assert (null.ended_normally, null.wrote, null.looks_clean) == (16, 0, 0)


class Breaking(Scripted):
    """Only talks, and breaks at its first attempt."""

    async def attempt(self, session: Session, repetition: int) -> End:
        if not self._plans:
            self._plans = {session.task.id: ()}
            raise RuntimeError("out of order")
        return await super().attempt(session, repetition)


def test_an_attempt_that_broke_on_our_side_is_no_failure(tmp_path: Path) -> None:
    domain = domain_named("retail")
    run_judged(tmp_path / "b.db", domain, tasks_of(domain)[:1], Breaking("breaking", {}), 2, name="b", concurrency=1)
    assert [(case.repetition, case.attempt) for case in cases_of(tmp_path / "b.db")] == [(0, 2), (1, 1)]
