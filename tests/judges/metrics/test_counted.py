"""The counts of a store are those of its streams: every planned repetition once, as it ended."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from judges.campaigns import MixedBundles
from judges.metrics.counted import CountedTwice, added_up, counted, counts_of, ensure_same_tasks
from judges.metrics.counts import Counts
from judges.read_models import views_path
from tests.judges.metrics.stores import TASKS, extended, judged_again, ran


def of_task(path: Path, task: str = "stuck-warranty", mixed: bool = False) -> Counts:
    return next(item for item in counts_of(path, mixed=mixed) if item.task == task)


def test_every_planned_repetition_is_a_trial_or_infrastructure_or_missing(tmp_path: Path) -> None:
    path = ran(tmp_path / "a.db", breaks=(1,))
    extended(path, 5)
    found = of_task(path)
    assert (found.planned, found.trials, found.passed) == (5, 2, 2)
    assert (found.infrastructure, found.missing, found.ungradeable) == (1, 2, 0)


def test_a_trial_with_a_faulty_user_is_flagged_with_its_verdict(tmp_path: Path) -> None:
    good, bad = of_task(ran(tmp_path / "a.db")), of_task(ran(tmp_path / "b.db", plan=False))
    assert (good.passed, good.user_faults, good.user_faults_passed) == (3, 1, 1)
    assert (bad.passed, bad.user_faults, bad.user_faults_passed) == (0, 1, 0)


def test_a_faulty_user_is_not_flagged_where_there_is_no_yes_or_no(tmp_path: Path) -> None:
    path = ran(tmp_path / "a.db")
    judged_again(path, "ungradeable", repetition=0)
    found = of_task(path, mixed=True)
    assert (found.ungradeable, found.user_faults, found.user_faults_passed) == (1, 0, 0)


def test_a_refusal_task_is_known_with_and_without_a_trial(tmp_path: Path) -> None:
    for path in (ran(tmp_path / "a.db"), ran(tmp_path / "b.db", breaks=(0, 1, 2))):
        assert {item.task: item.refusal for item in counts_of(path)} == {
            "promised-by-a-colleague": True,
            "stuck-warranty": False,
        }


def test_the_newest_verdict_counts_and_mixed_bundles_are_refused_unless_asked_for(tmp_path: Path) -> None:
    path = ran(tmp_path / "a.db")
    judged_again(path, "ungradeable")
    with pytest.raises(MixedBundles, match="stuck-warranty"):
        counts_of(path)
    found = of_task(path, mixed=True)
    assert (found.trials, found.passed, found.ungradeable) == (3, 2, 1)


def test_counts_are_equal_when_the_read_models_are_made_again(tmp_path: Path) -> None:
    path = ran(tmp_path / "a.db", breaks=(1,))
    before = counts_of(path)
    views_path(path).unlink()
    assert counts_of(path) == before


def test_two_campaigns_of_one_agent_are_added_up(tmp_path: Path) -> None:
    stores = [ran(tmp_path / "a.db"), ran(tmp_path / "b.db", plan=False, breaks=(1,), name="d")]
    found = {item.task: item for item in added_up([counted(path) for path in stores])}
    one = found["stuck-warranty"]
    assert (one.planned, one.trials, one.passed, one.infrastructure, one.user_faults) == (6, 5, 3, 1, 2)
    assert len(found) == len(TASKS)


def test_a_campaign_given_twice_is_refused(tmp_path: Path) -> None:
    one = counted(ran(tmp_path / "a.db"))
    with pytest.raises(CountedTwice, match="give each campaign once"):
        added_up([one, one])


def test_an_agent_with_other_settings_is_not_added_to_its_namesake(tmp_path: Path) -> None:
    stores = [ran(tmp_path / "a.db"), ran(tmp_path / "b.db", name="d", settings='{"temperature": 1}')]
    with pytest.raises(CountedTwice, match="other settings"):
        added_up([counted(path) for path in stores])


def test_a_task_that_was_changed_in_between_is_not_the_same(tmp_path: Path) -> None:
    one = counted(ran(tmp_path / "a.db"))
    first, *others = one.seal.tasks
    changed = replace(one, seal=replace(one.seal, name="d", tasks=(replace(first, digest="0" * 64), *others)))
    ensure_same_tasks(one, one)
    for combined in (lambda: ensure_same_tasks(one, changed), lambda: added_up([one, changed])):
        with pytest.raises(CountedTwice, match=f"task {first.id} .* changed in between"):
            combined()
