"""`trialbox power` says of stored campaigns what the formulas say of their counts."""

import json
from pathlib import Path

import pytest

from judges.campaigns import run_judged
from judges.court import plans_of
from judges.metrics.counted import counts_of
from judges.metrics.power import Design, repetitions_needed, spread_of_difference, tasks_needed
from judges.pack import tasks_of
from sandbox.agents import SCRIPTED
from sandbox.registry import domain_named
from trialbox import main

RETAIL = domain_named("retail")
TASKS = tasks_of(RETAIL)[:6]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two agents on the same tasks."""
    folder = tmp_path_factory.mktemp("power")
    for name in ("careless", "oracle"):
        run_judged(folder / f"{name}.db", RETAIL, TASKS, SCRIPTED[name](plans_of(TASKS), 3), 4, name=name)
    return [str(folder / f"{name}.db") for name in ("careless", "oracle")]


def test_it_gives_the_numbers_of_tasks_and_repetitions_for_each_pair(
    stores: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["power", *stores, "--difference", "0.1", "--json"]) == 0
    [need] = json.loads(capsys.readouterr().out)["needs"]
    first, second = (counts_of(Path(store)) for store in stores)
    found, design = spread_of_difference(first, second), Design(0.1)
    assert need["tasks_needed"] == {str(k): tasks_needed(found, design, k) for k in (1, 5, 10, 20)}
    assert need["repetitions_needed"] == repetitions_needed(found, design, len(TASKS))
    assert need["agents"] == "careless and oracle"
    assert main(["power", *stores]) == 0
    assert "points in pass@1, paired by task, in 80% of studies" in capsys.readouterr().out


def test_one_campaign_gives_a_guess_that_takes_twice_its_variance(
    stores: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["power", stores[0], "--json"]) == 0
    [need] = json.loads(capsys.readouterr().out)["needs"]
    assert need["agents"] == "careless and one as uneven"
    assert need["variance_of_one_repetition"] > 0


@pytest.mark.parametrize("value", ["0", "1", "much", "nan", "-0.1"])
def test_a_difference_that_is_none_is_refused(
    stores: list[str], value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["power", stores[0], "--difference", value])
    assert "is no number between 0 and 1" in capsys.readouterr().err


def test_too_few_tasks_are_said_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.db"
    run_judged(path, RETAIL, TASKS[:1], SCRIPTED["oracle"](plans_of(TASKS), 0), 2, name="c")
    assert main(["power", str(path)]) == 2
    assert "variances take at least two such tasks" in capsys.readouterr().err
