"""Imported results are counted like campaigns of our own, and say what is not known of them."""

import json
from pathlib import Path

import pytest

from judges.campaigns import run_judged
from judges.court import plans_of
from judges.metrics.counted import counted, counts_of
from judges.pack import tasks_of
from judges.read_models import views_path
from sandbox.agents import SCRIPTED
from sandbox.registry import domain_named
from trialbox import main

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
RETAIL = domain_named("retail")
TASKS = tasks_of(RETAIL)[:4]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A campaign of our own, and the same results after a way through result rows."""
    folder = tmp_path_factory.mktemp("results")
    own, rows = folder / "careless.db", folder / "rows.jsonl"
    run_judged(own, RETAIL, TASKS, SCRIPTED["careless"](plans_of(TASKS), 3), 4, name="careless")
    assert main(["rows", str(own), "-o", str(rows)]) == 0
    assert main(["import-results", "thinkingbox", str(rows), "-o", str(folder / "imported")]) == 0
    [imported] = (folder / "imported").glob("*.db")
    return own, imported


def test_rows_that_come_back_have_the_counts_that_they_had(stores: tuple[Path, Path]) -> None:
    own, imported = (
        {item.task: (item.agent, item.domain, item.trials, item.passed, item.ungradeable) for item in counts_of(path)}
        for path in stores
    )
    assert own == imported
    assert any(0 < passed < trials for _, _, trials, passed, _ in own.values())


def test_they_are_judged_against_our_own_and_refused_where_records_would_be_shown(
    stores: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    own, imported = map(str, stores)
    gate = ["gate", own, "--baseline", imported, "--rule", "regression p < 0.05"]
    assert main(gate) == 2
    assert "holds verdicts of another tool's judge" in capsys.readouterr().err
    assert main([*gate, "--mixed"]) == 0
    assert main(["reliability", imported]) == 0
    capsys.readouterr()
    for command in (["failures", imported], ["show", imported, "x"], ["replay", imported], ["rejudge", imported]):
        assert main(command) == 2
        assert "holds results imported from thinkingbox" in capsys.readouterr().err


def test_they_stand_beside_our_own_with_the_command_of_the_page_and_not_without_mixed(
    stores: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    assert main(["rows", str(stores[0]), "-o", str(rows)]) == 0
    monkeypatch.chdir(tmp_path)
    assert main(["import-results", "thinkingbox", "rows.jsonl", "-o", "imported/rows", "--agent", "qwen3-8b"]) == 0
    run_judged(Path("runs/retail-oracle.db"), RETAIL, TASKS, SCRIPTED["oracle"](plans_of(TASKS), 0), 1, name="o")
    capsys.readouterr()
    [command] = [line.split()[2:] for line in PAGE.splitlines() if line.startswith("$ trialbox stats")]
    assert main(command) == 0
    assert {"oracle", "qwen3-8b"} <= set(capsys.readouterr().out.split())
    assert main([word for word in command if word != "--mixed"]) == 2
    assert "say --mixed to set them beside yours" in capsys.readouterr().err


def test_nothing_is_said_of_what_their_trials_did(
    stores: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["stats", "--json", str(stores[1])]) == 0
    names = [table["name"] for table in json.loads(capsys.readouterr().out)["tables"]]
    assert "leaderboard" in names
    assert not {"failures", "signatures", "recovery", "cost"} & set(names)


def test_their_read_models_are_made_again_from_what_is_kept(stores: tuple[Path, Path]) -> None:
    before = counted(stores[1])
    views_path(stores[1]).unlink()
    assert counted(stores[1]) == before
    assert main(["rebuild", str(stores[1])]) == 0
    assert counted(stores[1]) == before
