"""Campaigns with a court: run, judged, counted, opened again, told."""

import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from uuid import UUID

import pytest
from msgspec.structs import replace

from judges.campaigns import rebuilt_views, run_judged, scores_of, told_trial
from judges.court import Court, judgements, plans_of
from judges.demo import demo
from judges.explain import summary, timeline
from judges.metrics.counted import counts_of
from judges.metrics.observed import Tally
from judges.metrics.standing import standings
from judges.pack import tasks_of
from judges.read_models import views_path
from judges.record import Judgement
from judges.tables import counted
from sandbox.agents import SCRIPTED, PlannedCall, Scripted
from sandbox.archive import Archive
from sandbox.mcp_session import Session
from sandbox.records import End
from sandbox.refusals import UserFault
from sandbox.registry import domain_named
from sandbox.stream import Store, StoreUnusable, StreamFault
from sandbox.views import Views
from tests.judges.metrics.stores import given_again
from trialbox import main

RETAIL = domain_named("retail")
TASKS = [item for item in tasks_of(RETAIL) if item.task.id in ("stuck-warranty", "late-espresso")]


def ran(path: Path, agent: str = "oracle", repetitions: int = 2) -> Path:
    made = SCRIPTED[agent](plans_of(TASKS), 51)
    assert run_judged(path, RETAIL, TASKS, made, repetitions, name=f"test-{agent}") == []
    return path


def resolver() -> Scripted:
    """Makes the golden calls of the stuck warranty, but resolves the ticket."""
    plan = plans_of(TASKS)["stuck-warranty"]
    solved = PlannedCall("zendesk_update_item", {"table": "tickets", "id": "7", "item": {"status": "solved"}})
    changed = [solved if call.tool == "zendesk_update_item" else call for call in plan]
    return Scripted("resolver", {"stuck-warranty": changed})


def test_the_oracle_passes_every_time_and_the_null_agent_never(tmp_path: Path) -> None:
    counts = [*counts_of(ran(tmp_path / "a.db")), *counts_of(ran(tmp_path / "b.db", "null"))]
    null, oracle = standings(counts)
    assert (oracle.pass_at_1, oracle.every_time, oracle.trials) == (Fraction(1), Tally(2, 2), 4)
    assert (null.pass_at_1, null.every_time, null.trials) == (Fraction(0), Tally(0, 0), 4)


def test_read_models_that_are_dropped_and_rebuilt_are_equal(tmp_path: Path) -> None:
    path = ran(tmp_path / "c.db", "careless", 5)
    before = Views(views_path(path))
    kept = (sorted(before.trials(), key=lambda row: row.trial), before.scores())
    before.close()
    views_path(path).unlink()
    assert rebuilt_views(path) == 10
    after = Views(views_path(path))
    assert (sorted(after.trials(), key=lambda row: row.trial), after.scores()) == kept
    assert {row.bundle for row in after.verdicts()} == {one.bundle for one in kept_judgements(path)}
    after.close()


def kept_judgements(path: Path) -> list[Judgement]:
    with Store.open(path, read_only=True) as store:
        return list(judgements(store))


def test_read_models_that_are_gone_are_made_again_when_asked(tmp_path: Path) -> None:
    path = ran(tmp_path / "i.db")
    before = scores_of(path)
    views_path(path).unlink()
    assert scores_of(path) == before


def test_what_is_no_store_has_no_scores_and_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear all")
    with pytest.raises(StoreUnusable, match=r"letter\.txt"):
        scores_of(path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_resumed_campaign_judges_nothing_twice(tmp_path: Path) -> None:
    path = ran(tmp_path / "d.db")
    before = kept_judgements(path)
    ran(path)
    assert kept_judgements(path) == before
    assert [score.trials for score in scores_of(path)] == [2, 2]


def test_a_verdict_that_was_lost_with_the_process_is_given_on_resume(tmp_path: Path) -> None:
    path = tmp_path / "e.db"
    with Store.open(path, create=True) as store:
        Court(store, RETAIL, TASKS)
    ran(path)
    views_path(path).unlink()
    ran(path)
    assert [score.passed for score in scores_of(path)] == [2, 2]


def test_a_polite_failure_is_told_with_the_event_that_wrote_it(tmp_path: Path) -> None:
    path = tmp_path / "f.db"
    tasks = [item for item in TASKS if item.task.id == "stuck-warranty"]
    run_judged(path, RETAIL, tasks, resolver(), 1, name="resolver")
    with Store.open(path, read_only=True) as store:
        told = told_trial(store, RETAIL, "stuck-warranty/0")
    (finding,) = told.judgement.verdict.findings
    assert (finding.key, finding.field, finding.required, finding.found) == ("7", "status", "hold", "solved")
    lines = list(summary(told, RETAIL))
    assert any("All done!" in line for line in lines)
    assert any(line.startswith(f"event {finding.position}: zendesk.ticket-changed.1") for line in lines)
    assert [line for line in timeline(told, RETAIL) if line.startswith("►")] == [
        line for line in timeline(told, RETAIL) if f"►{finding.position:4} " in line
    ]


def test_a_trial_is_named_by_its_id_or_its_task_and_repetition_alone(tmp_path: Path) -> None:
    path = ran(tmp_path / "g.db")
    with Store.open(path, read_only=True) as store:
        (first, *_) = [key for key, _ in Archive(store, RETAIL).closed()]
        assert told_trial(store, RETAIL, str(first.id)[:13]).key == first
        for name in ("no-such-task/0", ""):
            with pytest.raises(UserFault, match="trial"):
                told_trial(store, RETAIL, name)


def test_what_an_agent_says_cannot_move_the_cursor(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    tasks = [item for item in TASKS if item.task.id == "stuck-warranty"]
    rude = Scripted("rude", {}, goodbye="\x1b[2J\x1b]0;owned\x07 done\r\nverdict: pass")
    run_judged(path, RETAIL, tasks, rude, 1, name="rude")
    with Store.open(path, read_only=True) as store:
        told = told_trial(store, RETAIL, "stuck-warranty/0")
    for line in [*summary(told, RETAIL), *timeline(told, RETAIL)]:
        assert line.isprintable()
    assert "verdict: pass" not in list(summary(told, RETAIL))


def test_a_resumed_run_does_not_make_old_verdicts_the_newest(tmp_path: Path) -> None:
    path = ran(tmp_path / "j.db")
    given_again(path, "ungradeable", lambda key: (key.task, key.repetition) == (TASKS[0].task.id, 0))
    assert sum(score.ungradeable for score in scores_of(path)) == 1
    ran(path)
    assert sum(score.ungradeable for score in scores_of(path)) == 1


def without_its_end(path: Path, trial: str) -> None:
    """Take the last record of a trial out of the file, as only somebody with the file can."""
    with closing(sqlite3.connect(path)) as connection, connection:
        newest = "SELECT max(originator_version) FROM stored_events WHERE originator_id = ?"
        connection.execute(
            f"DELETE FROM stored_events WHERE originator_id = ? AND originator_version = ({newest})", (trial, trial)
        )


def test_a_failed_trial_whose_end_was_taken_away_is_named_and_nothing_is_summed_up(tmp_path: Path) -> None:
    path = ran(tmp_path / "k.db", "null", 1)
    with closing(Views(views_path(path))) as views:
        trial = views.trials()[0].trial
    without_its_end(path, trial)
    for attempt in (scores_of, rebuilt_views, lambda file: ran(file, "null", 1)):
        with pytest.raises(StreamFault, match=f"trial {UUID(trial)} had ended, but its last records are gone"):
            attempt(path)


def test_two_tasks_that_expect_the_same_are_judged_each_on_its_own(tmp_path: Path) -> None:
    first = TASKS[0]
    worded = replace(first.task, id="worded-otherwise", goal=f"{first.task.goal} Please hurry.")
    both = [first, replace(first, task=worded, user=replace(first.user, task=worded.id))]
    run_judged(tmp_path / "c.db", RETAIL, both, SCRIPTED["oracle"](plans_of(both), 0), 2, name="c")
    scores = scores_of(tmp_path / "c.db")
    assert [score.passed for score in scores] == [2, 2]
    assert len({bundle for score in scores for bundle in score.bundles}) == 2


def test_a_campaign_that_was_not_finished_says_how_much_of_it_counts(tmp_path: Path) -> None:
    path = tmp_path / "l.db"

    class Quitting(Scripted):
        async def attempt(self, session: Session, repetition: int) -> End:
            if repetition == 1:
                raise ConnectionError("no model")
            return await super().attempt(session, repetition)

    run_judged(path, RETAIL, TASKS, Quitting("oracle", plans_of(TASKS)), 2, name="quitting")
    (one,) = standings(counts_of(path))
    assert (one.planned, one.trials, one.pass_at_1, one.every_time) == (4, 2, Fraction(1), Tally(0, 2))
    assert counted(one.trials, one.planned) == "2 of 4"


def test_two_stores_never_share_their_read_models(tmp_path: Path) -> None:
    assert len({views_path(tmp_path / name) for name in ("run.a", "run.b", "run", "we?ird.db")}) == 4
    good, bad = ran(tmp_path / "good.db"), ran(tmp_path / "bad.db", "null")
    views_path(good).write_bytes(views_path(bad).read_bytes())
    assert [score.passed for score in scores_of(good)] == [2, 2]


def test_a_tool_name_cannot_forge_a_line(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    tasks = [item for item in TASKS if item.task.id == "stuck-warranty"]
    forged = Scripted("forger", {"stuck-warranty": [PlannedCall("get_order\x1b[2K\rdone\nverdict: pass", {})]})
    run_judged(path, RETAIL, tasks, forged, 1, name="forger")
    with Store.open(path, read_only=True) as store:
        told = told_trial(store, RETAIL, "stuck-warranty/0")
    assert all(line.isprintable() for line in [*summary(told, RETAIL), *timeline(told, RETAIL)])


def test_the_demo_touches_only_its_own_files(tmp_path: Path) -> None:
    for name in ("thesis.txt", "oracle.txt", "mine.db"):
        (tmp_path / name).write_text("precious")
    (tmp_path / "oracle.db").write_text("an earlier demo's")
    demo(tmp_path)
    assert all((tmp_path / name).read_text() == "precious" for name in ("thesis.txt", "oracle.txt", "mine.db"))
    assert [score.passed for score in scores_of(tmp_path / "oracle.db")] == [5] * 13


def test_a_verdict_that_was_kept_just_before_the_process_died_counts(tmp_path: Path) -> None:
    path = ran(tmp_path / "n.db")
    with closing(sqlite3.connect(views_path(path))) as connection, connection:
        connection.execute("DELETE FROM verdicts WHERE place = (SELECT max(place) FROM verdicts)")
    assert [score.passed for score in scores_of(path)] == [2, 2]
    with closing(sqlite3.connect(views_path(path))) as connection, connection:
        connection.execute("DELETE FROM verdicts WHERE place = (SELECT max(place) FROM verdicts)")
    ran(path)
    assert [score.passed for score in scores_of(path)] == [2, 2]


def test_rows_are_never_written_over_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ran(tmp_path / "o.db", "oracle", 1)
    before = path.read_bytes()
    assert main(["rows", str(path), "-o", str(path)]) == 2
    assert "o.db is a store; write the rows into another file" in capsys.readouterr().err
    assert path.read_bytes() == before
