"""`trialbox stats` tells what can be counted by hand, from the read models alone."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from judges.campaigns import run_judged
from judges.court import plans_of
from judges.pack import tasks_of
from judges.read_models import views_path
from sandbox.agents import SCRIPTED, PlannedCall, Scripted
from sandbox.registry import domain_named
from sandbox.stream import Store
from trialbox import main

RETAIL = domain_named("retail")
TASKS = tasks_of(RETAIL)[:4]


class Sometimes(Scripted):
    """Does what is right in its first repetitions of each task, and nothing later: one time less from task to task."""

    async def attempt(self, session: Any, repetition: int) -> Any:
        place = [item.task.id for item in TASKS].index(session.task.id)
        if repetition >= len(TASKS) - place:
            self._plans = {**self._plans, session.task.id: ()}
        return await super().attempt(session, repetition)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Passes of 4, 3, 2 and 1 of 4; and all of them."""
    folder = tmp_path_factory.mktemp("stats")
    agents = [Sometimes("sometimes", plans_of(TASKS)), SCRIPTED["oracle"](plans_of(TASKS), 0)]
    for agent in agents:
        run_judged(folder / f"{agent.name}.db", RETAIL, TASKS, agent, 4, name=agent.name, concurrency=1)
    return [folder / f"{agent.name}.db" for agent in agents]


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Each table by name, its rows by their first cell, their cells by column."""
    assert main(["stats", "--json", *arguments]) == 0
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for table in json.loads(capsys.readouterr().out)["tables"]:
        names = [column["name"] for column in table["columns"]]
        found[table["name"]] = {row[0]: dict(zip(names, row, strict=True)) for row in table["rows"]}
    return found


def test_rates_and_counts_are_those_that_can_be_done_by_hand(
    stores: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    tables = told(capsys, *map(str, stores))
    leader, dependable = tables["leaderboard"]["sometimes"], tables["dependability"]["sometimes"]
    assert leader["pass@1"] == (4 + 3 + 2 + 1) / 16
    assert leader["pass^4"] == 1 / 4
    assert (dependable["best of n"], dependable["every one of n"], dependable["never"]) == (
        "4 of 4",
        "1 of 4",
        "0 of 4",
    )
    assert dependable["retention"] == (1 / 4) / (10 / 16)
    assert list(tables["leaderboard"]) == ["oracle", "sometimes"]
    assert sorted(row["sometimes"] for row in tables["tasks"].values()) == [0.25, 0.5, 0.75, 1.0]
    assert tables["comparisons"]["oracle"]["difference in pass@1"] == 6 / 16
    assert tables["failures"]["sometimes"]["No state-changing action"] == 1


def test_no_stream_is_read_while_the_read_models_are_whole(
    stores: list[Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = told(capsys, *map(str, stores))
    asked: list[object] = []
    records = Store.records

    def counting(store: Store, stream: Any, **how: Any) -> Any:
        asked.append(stream)
        return records(store, stream, **how)

    monkeypatch.setattr(Store, "records", counting)
    assert told(capsys, *map(str, stores)) == expected
    assert len(asked) < 10 * len(stores)


def test_what_was_not_run_is_shown_as_missing_and_is_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Quitting(Scripted):
        async def attempt(self, session: Any, repetition: int) -> Any:
            if repetition:
                raise ConnectionError("no model")
            return await super().attempt(session, repetition)

    path = tmp_path / "c.db"
    run_judged(path, RETAIL, TASKS, Quitting("oracle", plans_of(TASKS)), 2, name="c")
    tables = told(capsys, str(path))
    assert (tables["leaderboard"]["oracle"]["pass@1"], tables["leaderboard"]["oracle"]["pass^2"]) == (1, None)
    assert tables["leaderboard"]["oracle"]["judged of planned"] == 0.5
    assert tables["coverage"]["oracle"]["infrastructure"] == 4
    assert tables["dependability"]["oracle"]["every one of n"] == "0 to 4 of 4"
    assert told(capsys, "--policy", "published", str(path))["leaderboard"]["oracle"]["pass@1"] == 0.5


def test_names_that_agents_gave_themselves_cannot_move_the_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = Scripted("\x1b[2J[red]x", {TASKS[0].task.id: (PlannedCall("nothing", {}),)})
    run_judged(tmp_path / "c.db", RETAIL, TASKS[:1], agent, 1, name="c")
    assert main(["stats", str(tmp_path / "c.db")]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "·[2J[red]x" in out


@pytest.mark.parametrize(
    "change",
    [
        "update verdicts set result = 'pass'",
        "update verdicts set kept = (select max(kept) from verdicts)",
        "delete from verdicts where trial = (select min(trial) from verdicts)",
        "delete from trials where trial = (select min(trial) from trials)",
    ],
)
def test_read_models_that_somebody_changed_are_made_again(
    stores: list[Path], change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = stores[0]
    expected = told(capsys, str(path))
    with closing(sqlite3.connect(views_path(path))) as views, views:
        views.execute(change)
    assert told(capsys, str(path)) == expected


def test_a_store_that_lost_judgements_is_not_summed_up_from_what_the_read_models_remember(
    stores: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in (stores[0], views_path(stores[0])):
        shutil.copy(file, tmp_path)
    path = tmp_path / stores[0].name
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("delete from stored_events where topic = 'store.judgement.1'")
    for command in ("stats", "failures", "reliability"):
        assert main([command, str(path)]) == 2
        assert "is listed, but not there; restore a copy of the file" in capsys.readouterr().err
