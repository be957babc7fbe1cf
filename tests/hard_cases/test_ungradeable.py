"""What cannot be checked, and what broke on the way, is no verdict on the agent: rows 7 and 35."""

import sqlite3
from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import replace

from domains.probe import domain
from judges.campaigns import run_judged, scores_of
from judges.court import Court, evidence_in, evidence_of
from judges.read_models import views_path
from judges.verdict import Judge, JudgeBundle, Opinion, bundle_of, judged
from sandbox.contents import content_stream
from sandbox.effects import Effects
from sandbox.mcp_session import Session
from sandbox.records import End
from sandbox.stream import Store
from sandbox.task import snapshot_of
from tests.hard_cases.court import Script, results, task, tried
from tests.hard_cases.stage import ask
from trialbox import main

VASE = ask("refund", order_id="ORD-9", amount=25, reason="damaged")
ONCE = {"at_most_once": "refund-issued"}
ITEM = task([VASE], rules=[ONCE])
WRONG = ask("refund", order_id="ORD-9", amount=2.5, reason="damaged")
ENDS = [end for end in get_args(End) if end != "infrastructure"]


def bundle() -> JudgeBundle:
    return bundle_of(domain, ITEM.task, ITEM.expectation)


def test_row_7_a_rubric_that_nobody_answered_leaves_a_right_trial_ungradeable_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.db"
    trials = tried(path, task([VASE], rubrics=["Was the agent polite?"]), [VASE], [WRONG])
    assert results(trials) == ["ungradeable", "fail"]
    [score] = scores_of(path)
    assert (score.trials, score.passed, score.failed, score.ungradeable) == (2, 0, 1, 1)
    assert main(["stats", str(path)]) == 0
    told = capsys.readouterr().out
    assert "ungradeable retried" in told
    assert "0 to 0" not in told
    planned, passed, failed, ungradeable = told[told.index("\nCoverage") :].splitlines()[3].split()[3:7]
    assert (planned, passed, failed, ungradeable) == ("2", "0", "1", "1")


@pytest.mark.parametrize("absent", ["effects", "events"])
@pytest.mark.parametrize("fault", ["", "event 4 is of a topic that nothing here knows"])
def test_row_7_without_what_a_judge_reads_there_is_no_pass(absent: str, fault: str, tmp_path: Path) -> None:
    [trial] = tried(tmp_path / "a.db", ITEM, [VASE])
    whole = evidence_of(domain, trial.closed)
    assert judged(bundle(), whole).result == "pass"
    verdict = judged(bundle(), replace(whole, **{absent: None}, fault=fault))
    assert verdict.result == "ungradeable"
    [check] = [check for check in verdict.checks if check.result == "could not check"]
    assert check.reason.startswith(f"the trial's {absent} are not at hand")
    assert fault in check.reason


def test_row_7_effects_that_cannot_be_told_leave_every_check_undone(tmp_path: Path) -> None:
    [trial] = tried(tmp_path / "a.db", ITEM, [WRONG, WRONG])
    evidence = evidence_in(domain, trial.closed.records, "a handler broke on event 4", bundle().reads)
    verdict = judged(bundle(), evidence)
    assert verdict.result == "ungradeable"
    assert {check.result for check in verdict.checks} == {"could not check"}


def without_seed(path: Path) -> None:
    """Take the stored rows of the domain out of a store."""
    with sqlite3.connect(path) as connection:
        stream = content_stream("layer", domain.seed.digest)
        for name in (str(stream), stream.hex):
            connection.execute("DELETE FROM stored_events WHERE originator_id = ?", (name,))
        assert connection.total_changes == 1
    connection.close()


@pytest.mark.parametrize("command", [["rejudge"], ["rebuild"], ["stats"]])
def test_row_7_without_the_rows_that_it_started_from_nothing_is_judged(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.db"
    tried(path, ITEM, [VASE])
    without_seed(path)
    views_path(path).unlink()
    assert main([*command, str(path)]) == 2
    said = capsys.readouterr()
    assert f"holds no layer {domain.seed.digest[:12]}, which its seal names" in said.err
    assert said.out == ""


@pytest.mark.parametrize("end", ENDS)
def test_row_35_however_a_trial_ends_it_is_judged_on_what_it_left(end: End, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    trials = tried(path, ITEM, [VASE], [WRONG], [], [VASE, WRONG], end=end)
    assert {trial.closed.end.end for trial in trials} == {end}
    assert results(trials) == ["pass", "fail", "fail", "fail"]
    [score] = scores_of(path)
    assert (score.trials, score.passed) == (4, 1)


class Dying:
    """Does all that is right, and then breaks down on our side, in the first attempts."""

    name = "dying"

    def __init__(self, times: int) -> None:
        self._left = times

    async def attempt(self, session: Session, repetition: int) -> End:
        await session.call(VASE.tool, VASE.arguments)
        if self._left:
            self._left -= 1
            raise TimeoutError("the model did not answer")
        return "done"


@pytest.mark.parametrize(("times", "counted", "left"), [(0, 1, 0), (2, 1, 0), (3, 0, 1)])
def test_row_35_what_broke_on_our_side_is_neither_a_pass_nor_a_failure(
    times: int, counted: int, left: int, tmp_path: Path
) -> None:
    path = tmp_path / "a.db"
    unresolved = run_judged(path, domain, [ITEM], Dying(times), 1, name="c")
    assert len(unresolved) == left
    assert [(score.trials, score.passed) for score in scores_of(path)] == [(counted, counted)]


FAULTS = [TimeoutError("the judge did not answer"), PermissionError("no key"), ZeroDivisionError(), RecursionError()]


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
@pytest.mark.parametrize("script", [[VASE], [WRONG], [], [VASE, VASE]])
def test_row_35_a_judge_that_breaks_leaves_any_trial_ungradeable(
    fault: Exception, script: Script, tmp_path: Path
) -> None:
    def breaks(effects: Effects) -> Opinion:
        raise fault

    [trial] = tried(tmp_path / "a.db", ITEM, script)
    store = Store.in_memory()
    court = Court(store, domain, [ITEM])
    whole = court.bundles[ITEM.task.id]
    broken = Judge("outcome", "breaks", ("effects",), breaks)
    court.bundles[ITEM.task.id] = replace(whole, judges=(broken, *whole.judges[1:]))
    verdict = court.judge(trial.closed, snapshot_of(domain, ITEM.task)).verdict
    assert verdict.result == "ungradeable"
    assert verdict.checks[0].reason.startswith(f"the judge broke: {type(fault).__name__}")
    assert verdict.findings == ()
    assert judged(whole, evidence_of(domain, trial.closed)).result == ("pass" if script == [VASE] else "fail")
