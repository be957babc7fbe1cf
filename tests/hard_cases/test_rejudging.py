"""Stored trials under other expectations: rows 9 and 56."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from judges.campaigns import scores_of
from tests.hard_cases.court import Script, content, pack_folder, results, task, tried_all
from tests.hard_cases.stage import ask
from trialbox import main

VASE = ask("refund", order_id="ORD-9", amount=25, reason="damaged")
DESK = ask("refund", order_id="ORD-7", amount=80)
RUG = ask("refund", order_id="ORD-12", amount=129.5)


def campaign(path: Path) -> dict[str, list[str]]:
    """Two tasks, four trials of each; the golden calls of `both` leave the desk out, though it was asked for."""
    scripts: dict[str, Sequence[Script]] = {
        "both": [[VASE, DESK], [VASE], [DESK, VASE], []],
        "rug": [[RUG], [VASE, DESK], [], [RUG]],
    }
    found = tried_all(path, scripts, [task([VASE], id="both"), task([RUG], id="rug")])
    return {name: results(trials) for name, trials in found.items()}


def corrected(home: Path) -> str:
    """Task files in which the golden calls are as they should have been."""
    return pack_folder(home, content([VASE, DESK], id="both"), content([RUG], id="rug")) + "/tasks"


def again(capsys: pytest.CaptureFixture[str], path: Path, folder: str, *options: str) -> dict[str, Any]:
    """What `rejudge` says for programs."""
    capsys.readouterr()
    assert main(["rejudge", str(path), "--task-folder", folder, "--json", *options]) == 0
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    return said


def test_row_9_a_corrected_golden_way_flips_exactly_the_verdicts_that_depend_on_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.db"
    assert campaign(path) == {"both": ["fail", "pass", "fail", "fail"], "rug": ["pass", "fail", "fail", "pass"]}
    ledger = again(capsys, path, corrected(tmp_path / "pack"))
    flips = {(flip["task"], flip["repetition"]): (flip["before"], flip["after"]) for flip in ledger["flips"]}
    assert flips == {
        ("both", 0): ("fail", "pass"),
        ("both", 1): ("pass", "fail"),
        ("both", 2): ("fail", "pass"),
    }
    assert {cause for flip in ledger["flips"] for cause in flip["causes"]} == {"golden: outcome 'way 1' changed"}
    assert [(score.task, score.passed) for score in scores_of(path)] == [("both", 2), ("rug", 2)]
    assert again(capsys, path, corrected(tmp_path / "same"))["flips"] == []


def test_row_9_a_dry_run_tells_the_flips_and_keeps_the_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = tmp_path / "a.db", corrected(tmp_path / "pack")
    campaign(path)
    before = scores_of(path)
    assert len(again(capsys, path, folder, "--dry-run")["flips"]) == 3
    assert scores_of(path) == before


def test_row_9_an_expectation_that_cannot_be_met_judges_nothing_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.db"
    campaign(path)
    before = scores_of(path)
    too_much = ask("refund", order_id="ORD-7", amount=641)
    folder = pack_folder(tmp_path / "pack", content([RUG], id="rug"), content([VASE, too_much], id="both"))
    assert main(["rejudge", str(path), "--task-folder", f"{folder}/tasks"]) == 2
    assert "task both, outcome 'way 1', call 2 refund is refused" in capsys.readouterr().err
    assert scores_of(path) == before


def test_row_56_verdicts_of_two_bundles_on_one_task_are_not_summed_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = tmp_path / "a.db", corrected(tmp_path / "pack")
    campaign(path)
    ledger = again(capsys, path, folder, "--trial", "both/0", "--trial", "both/2")
    assert [(flip["task"], flip["repetition"]) for flip in ledger["flips"]] == [("both", 0), ("both", 2)]
    assert (ledger["mixed"], ledger["after"]) == (["both"], None)
    assert main(["stats", str(path)]) == 2
    said = capsys.readouterr()
    assert (said.out, "mixed bundles: verdicts of different judges on both" in said.err) == ("", True)
    assert main(["stats", str(path), "--mixed"]) == 0
    assert "mixed bundles" in capsys.readouterr().err


def test_row_56_once_all_are_judged_by_one_bundle_they_are_summed_up_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = tmp_path / "a.db", corrected(tmp_path / "pack")
    campaign(path)
    assert len({bundle for score in scores_of(path) for bundle in score.bundles}) == 2
    again(capsys, path, folder, "--trial", "both/0")
    assert [len(score.bundles) for score in scores_of(path)] == [2, 1]
    again(capsys, path, folder)
    assert [len(score.bundles) for score in scores_of(path)] == [1, 1]
    assert main(["stats", str(path)]) == 0
    assert "50.0%" in capsys.readouterr().out


@pytest.mark.parametrize(
    "more",
    [{"rules": [{"never": "mail-sent"}]}, {"compare": {"probe_refunds": {"reason": "ignore"}}}, {"rubrics": ["?"]}],
)
def test_row_56_whatever_is_judged_by_is_part_of_the_bundle(
    more: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.db"
    campaign(path)
    folder = pack_folder(tmp_path / "pack", content([VASE], id="both", **more), content([RUG], id="rug"))
    main(["rejudge", str(path), "--task-folder", f"{folder}/tasks", "--trial", "both/0"])
    assert main(["stats", str(path)]) == 2
    assert "mixed bundles: verdicts of different judges on both" in capsys.readouterr().err
