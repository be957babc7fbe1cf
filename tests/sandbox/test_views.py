"""The read models say what the streams say, and can be thrown away."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after, to_thread

from sandbox.agents import PlannedCall, careless
from sandbox.archive import Archive
from sandbox.campaign import Campaign, Closed
from sandbox.effects import encode_effects
from sandbox.mcp_session import Session
from sandbox.projection import folded_effects, trial_rows
from sandbox.records import Chain, End, Said, TrialKey, draft
from sandbox.refusals import SandboxFault
from sandbox.stream import Store
from sandbox.view_rows import EffectsRow, Score, TrialRow, VerdictRow
from sandbox.views import FORMAT, Views
from tests.sandbox.shopfloor import domain, remarks, task

pytestmark = pytest.mark.anyio

TASKS = [task("one"), task("two")]
PLANS = {one.id: [*remarks(2), PlannedCall("shop_remark", {"id": "SO-2", "text": "x"})] for one in TASKS}


@pytest.fixture(autouse=True)
async def bounded(anyio_backend: str) -> AsyncIterator[None]:
    with fail_after(30):
        yield


@pytest.fixture
def views(tmp_path: Path) -> Iterator[Views]:
    made = Views(tmp_path / "c.views.db")
    yield made
    made.close()


def trial(number: int, task: str = "one", end: End = "done", **changes: Any) -> TrialRow:
    given: dict[str, Any] = {"agent": "oracle", "repetition": number} | changes
    return TrialRow(
        trial=f"{task}-{number}",
        campaign="c",
        task=task,
        attempt=1,
        end=end,
        flags="",
        detail="",
        calls=1,
        refused=0,
        records=5,
        effects="e",
        domain_digest="d",
        **given,
    )


def verdict(of: TrialRow, result: str, place: int, bundle: str = "b") -> VerdictRow:
    return VerdictRow(of.trial, bundle, result, "", 0, place)


def tables(views: Views) -> list[Any]:
    trials = views.trials()
    return [trials, [views.effects(row.effects) for row in trials], views.verdicts(), views.scores()]


async def ran(store: Store, views: Views) -> Archive:
    """A careless campaign, one task of which breaks at first, projected while it ran."""
    campaign = Campaign(store, "c", domain, TASKS, 6, "careless")
    steady = careless(PLANS)

    class Stumbling:
        name = "careless"
        broken = False

        async def attempt(self, session: Session, repetition: int) -> End:
            if session.task.id == "two" and not self.broken:
                self.broken = True
                raise ConnectionError("no model")
            return await steady.attempt(session, repetition)

    async def project(closed: Closed) -> None:
        views.add(trial_rows(closed.key, closed.records, closed.effects, domain.digest))

    assert await campaign.run(Stumbling(), concurrency=1, on_closed=project) == []
    return Archive(store, domain)


async def test_every_closed_trial_is_a_row_with_what_its_stream_says(views: Views) -> None:
    archive = await ran(Store.in_memory(), views)
    rows = views.trials()
    assert [(row.task, row.repetition, row.attempt) for row in rows] == [
        *[("one", number, 1) for number in range(6)],
        ("two", 0, 1),
        ("two", 0, 2),
        *[("two", number, 1) for number in range(1, 6)],
    ]
    broken = rows[6]
    assert (broken.end, broken.detail, broken.flags) == ("infrastructure", "ConnectionError: no model", "no_action")
    assert (broken.calls, broken.refused, broken.records) == (0, 0, 3)
    for row, (key, records) in zip(rows, archive.closed(), strict=True):
        effects = folded_effects(domain, archive.snapshots[key.task], records)
        assert (row.trial, row.records) == (key.id.hex, len(records))
        assert views.effects(row.effects) == [EffectsRow(row.effects, domain.digest, encode_effects(effects))]
    assert max(row.refused for row in rows) > 0


async def test_dropped_and_rebuilt_the_tables_are_equal(views: Views, tmp_path: Path) -> None:
    archive = await ran(Store.in_memory(), views)
    verdicts = [verdict(row, "pass" if row.repetition % 2 else "fail", row.repetition) for row in views.trials()]
    views.add(verdicts)
    before = tables(views)
    anew = Views(tmp_path / "again.views.db")
    views.clear()
    assert tables(views) == [[], [], [], []]
    for made in (views, anew):
        for key, records in archive.closed():
            effects = folded_effects(domain, archive.snapshots[key.task], records)
            made.add(trial_rows(key, records, effects, domain.digest))
        made.add(verdicts)
        assert tables(made) == before
    anew.close()


def test_the_same_rows_again_change_nothing(views: Views) -> None:
    given = verdict(trial(1), "pass", 1)
    rows: list[TrialRow | VerdictRow | EffectsRow] = [trial(1), given, EffectsRow("e", "d", b"x")]
    views.add(rows)
    before = tables(views)
    views.add(rows)
    assert tables(views) == before
    views.add([])
    assert tables(views) == before


def test_the_newest_verdict_of_a_trial_counts(views: Views) -> None:
    one, two = trial(1), trial(2)
    views.add([one, two])
    views.add([verdict(one, "fail", 1, "old"), verdict(one, "pass", 4, "new"), verdict(two, "pass", 2, "new")])
    views.add([verdict(two, "ungradeable", 3, "old")])
    assert views.scores() == [Score("oracle", "one", 2, 1, 0, 1, ("new", "old"))]
    assert [(row.trial, row.place) for row in views.verdicts()] == [
        ("one-1", 1),
        ("one-2", 2),
        ("one-2", 3),
        ("one-1", 4),
    ]


def test_a_bundle_that_judges_again_replaces_its_verdict(views: Views) -> None:
    views.add([trial(1), verdict(trial(1), "fail", 1)])
    views.add([verdict(trial(1), "pass", 2)])
    assert [row.result for row in views.verdicts()] == ["pass"]
    assert views.scores() == [Score("oracle", "one", 1, 1, 0, 0, ("b",))]


def test_a_trial_without_a_verdict_counts_as_ungradeable(views: Views) -> None:
    views.add([trial(1), trial(2), trial(3), verdict(trial(1), "pass", 1), verdict(trial(2), "ungradeable", 2)])
    assert views.scores() == [Score("oracle", "one", 3, 1, 0, 2, ("b",))]


def test_an_infrastructure_end_does_not_count_even_with_a_verdict(views: Views) -> None:
    broken = trial(1, end="infrastructure")
    views.add([broken, trial(2), verdict(broken, "fail", 1), verdict(trial(2), "pass", 2)])
    assert views.scores() == [Score("oracle", "one", 1, 1, 0, 0, ("b",))]


def test_agents_and_tasks_are_counted_apart(views: Views) -> None:
    rows = [trial(1), trial(1, "two"), trial(2, agent="null")]
    views.add(rows)
    views.add(
        [
            verdict(row, result, place)
            for place, (row, result) in enumerate(zip(rows, ("pass", "fail", "fail"), strict=True))
        ]
    )
    assert views.scores() == [
        Score("null", "one", 1, 0, 1, 0, ("b",)),
        Score("oracle", "one", 1, 1, 0, 0, ("b",)),
        Score("oracle", "two", 1, 0, 1, 0, ("b",)),
    ]


@pytest.mark.parametrize("version", [FORMAT - 1, FORMAT + 1, 99])
def test_a_file_of_another_format_is_made_anew(tmp_path: Path, version: int) -> None:
    path = tmp_path / "c.views.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE trials (trial TEXT, old INTEGER)")
    connection.execute("INSERT INTO trials VALUES ('x', 1)")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.commit()
    connection.close()
    for _ in range(2):
        views = Views(path)
        views.add([trial(1)])
        assert views.trials() == [trial(1)]
        views.close()


def test_a_file_of_this_format_is_kept(tmp_path: Path) -> None:
    for expected in ([], [trial(1)]):
        views = Views(tmp_path / "c.views.db")
        assert views.trials() == expected
        views.add([trial(1)])
        views.close()


def test_the_file_may_be_deleted(tmp_path: Path) -> None:
    path = tmp_path / "c.views.db"
    for _ in range(2):
        views = Views(path)
        views.add([trial(1)])
        views.close()
        path.unlink()
    assert list(tmp_path.iterdir()) == []


async def test_views_in_memory_are_the_same_in_every_thread() -> None:
    views = Views()
    await to_thread.run_sync(views.add, [trial(1)])
    assert views.trials() == [trial(1)]
    views.close()


def test_a_trial_that_has_not_ended_has_no_row() -> None:
    key = TrialKey("c", "one", 0, 1)
    records = Chain(key.id).sealed([draft(Said("user", "hi"), "2025-10-01T13:00:00Z")], b"")
    with pytest.raises(SandboxFault, match="no beginning or no end"):
        trial_rows(key, records, (), "d")
