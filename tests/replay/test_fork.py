"""Forks: they read as their parent and then as themselves, copy nothing, and never count."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

import trialbox
from judges.campaigns import rebuilt_views, run_judged, scores_of
from judges.court import newest_judgement
from replay.fork import ForkPoint, fork_judged, fork_point, fork_trial, forked
from replay.trials import closed_forks, trial_named
from sandbox.agents import PlannedCall, Scripted
from sandbox.archive import INTERRUPTED
from sandbox.campaign import Closed, StoreJournal
from sandbox.fold import end_of
from sandbox.lineage import Fork, children, complete_positions, forks, spliced
from sandbox.mcp_session import Session
from sandbox.projection import folded_effects
from sandbox.records import End, Forked, Record, Said, ToolCalled, ToolReturned, TrialKey, decoded
from sandbox.refusals import UserFault
from sandbox.store_file import StreamFault
from sandbox.stream import Store
from sandbox.writer import Writer
from tests.replay.runs import COMMENT, GOLDEN, HOLD, RETAIL, SOLVE, TASK, TASKS, archive, ran


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A campaign whose one trial solves the ticket instead of putting it on hold."""
    path = ran(tmp_path / "c.db", [*GOLDEN[:9], SOLVE, COMMENT])
    with Store.open(path) as opened:
        yield opened


def the_trial(store: Store) -> tuple[TrialKey, list[Record]]:
    trial = trial_named(archive(store), f"{TASK}/0")
    return trial.key, trial.records


def before_call(records: Sequence[Record], number: int) -> int:
    """The position just before a call."""
    calls = [record for record in records if isinstance(decoded(record), ToolCalled)]
    return calls[number - 1].position - 1


def gone_on(store: Store, point: ForkPoint, calls: Sequence[PlannedCall], **options: Any) -> list[tuple[Fork, Closed]]:
    """Forks of an agent that makes these calls."""

    async def run() -> list[tuple[Fork, Closed]]:
        with anyio.fail_after(30):
            return await forked(archive(store), point, Scripted("second", {TASK: calls}), **options)

    return anyio.run(run)


def test_a_fork_reads_as_its_parent_up_to_n_and_goes_on_at_n_plus_1(store: Store) -> None:
    key, records = the_trial(store)
    n = before_call(records, 10)
    [(fork, closed)] = gone_on(store, fork_point(store, key, n), [HOLD, COMMENT])
    assert closed.records[:n] == records[:n]
    assert [record.position for record in closed.records] == list(range(1, len(closed.records) + 1))
    called = [record for record in closed.records[n:] if isinstance(decoded(record), ToolCalled)]
    assert [(record.position, decoded(record).number) for record in called] == [(n + 1, 10), (n + 4, 11)]
    assert {record.cause for record in closed.records[n:]} == {0, n + 1, n + 4}
    assert spliced(store.read, fork.key.id) == list(closed.records)


def test_a_fork_stores_its_own_records_alone_and_its_parent_stays_as_it_was(store: Store) -> None:
    key, records = the_trial(store)
    [(fork, closed)] = gone_on(store, fork_point(store, key, 21), [HOLD])
    own = store.read(fork.key.id)
    assert len(own) == 1 + len(closed.records) - 21
    assert decoded(own[0]) == Forked(key.id.hex, 21, records[20].digest.hex())
    assert store.read(key.id) == records


def test_the_rows_that_a_fork_leaves_are_those_of_its_spliced_records(store: Store) -> None:
    key, records = the_trial(store)
    snapshot = archive(store).snapshots[TASK]
    calls = [*GOLDEN[:9], SOLVE, COMMENT]
    whole = folded_effects(RETAIL, snapshot, records)
    for n in complete_positions(records):
        done = sum(isinstance(decoded(record), ToolCalled) for record in records[:n])
        [(_, closed)] = gone_on(store, fork_point(store, key, n), calls[done:])
        assert closed.effects == folded_effects(RETAIL, snapshot, closed.records) == whole


@pytest.mark.parametrize(
    ("position", "nearest"), [(-3, 2), (0, 2), (1, 2), (22, 21), (23, 24), (29, 28), (30, 28), (999, 28)]
)
def test_where_a_call_is_unfinished_or_nothing_is_a_fork_is_refused_and_told_the_nearest(
    store: Store, position: int, nearest: int
) -> None:
    key, records = the_trial(store)
    assert len(records) == 29
    with pytest.raises(UserFault, match=rf"cannot be forked at {position}: .*the nearest is {nearest}$"):
        fork_point(store, key, position)


class Curious:
    """Notes what it is given, and does nothing."""

    name = "curious"

    def __init__(self) -> None:
        self.past: tuple[Any, ...] = ()

    async def attempt(self, session: Session, repetition: int) -> End:
        self.past = session.past
        return "done"


def test_an_edited_answer_is_what_the_agent_sees_and_changes_no_row(store: Store) -> None:
    key, records = the_trial(store)
    curious = Curious()
    n = before_call(records, 10)
    point = fork_point(store, key, n, '{"claim":"denied"}')
    [(_, closed)] = anyio.run(forked, archive(store), point, curious)
    assert curious.past[0] == Said("user", archive(store).tasks[TASK].goal)
    assert curious.past[-1] == ToolReturned('{"claim":"denied"}')
    assert [p.number for p in curious.past if isinstance(p, ToolCalled)] == list(range(1, 10))
    assert isinstance(decoded(records[n - 1]), ToolReturned)
    assert [effect.table for effect in closed.effects] == ["shop_warranty_claims"]
    assert store.read(key.id) == records


@pytest.mark.parametrize(("position", "edited"), [(2, "{}"), (21, "no json")])
def test_only_an_answer_can_be_edited_and_only_into_json(store: Store, position: int, edited: str) -> None:
    with pytest.raises(UserFault, match=r"the nearest is|is no JSON"):
        fork_point(store, the_trial(store)[0], position, edited)


def test_forks_of_forks_read_through_all_their_parents(store: Store) -> None:
    key, records = the_trial(store)
    [(child, closed)] = gone_on(store, fork_point(store, key, 21), [HOLD])
    [(grandchild, again)] = gone_on(store, fork_point(store, child.key, 24), [COMMENT])
    assert list(again.records[:24]) == list(closed.records[:24])
    assert again.effects == folded_effects(RETAIL, archive(store).snapshots[TASK], again.records)
    [(early, at_start)] = gone_on(store, fork_point(store, grandchild.key, 6), [HOLD])
    assert list(at_start.records[:6]) == records[:6]
    assert [record.position for record in at_start.records] == list(range(1, 12))
    assert [fork.key for fork in children(store, child.key.id)] == [grandchild.key]
    assert [fork.key for fork in children(store, grandchild.key.id)] == [early.key]


def test_forks_enter_no_score_and_are_judged_all_the_same(store: Store, tmp_path: Path) -> None:
    before = scores_of(tmp_path / "c.db")
    store.close()
    made = fork_judged(tmp_path / "c.db", f"{TASK}/0", 21, "oracle", repetitions=2)
    assert [one.judgement.verdict.result for one in made] == ["pass", "pass"]
    assert scores_of(tmp_path / "c.db") == before
    rebuilt_views(tmp_path / "c.db")
    assert scores_of(tmp_path / "c.db") == before
    with Store.open(tmp_path / "c.db", read_only=True) as again:
        assert [newest_judgement(again, one.fork.key) for one in made] == [one.judgement for one in made]
        assert [trial.key for trial in closed_forks(archive(again))] == [one.fork.key for one in made]


def test_a_trial_whose_user_left_too_early_passes_when_it_is_forked_where_that_happened(tmp_path: Path) -> None:
    path = ran(tmp_path / "early.db", GOLDEN[:8])
    with Store.open(path, read_only=True) as opened:
        end = len(trial_named(archive(opened), f"{TASK}/0").records) - 1
    [made] = fork_judged(path, f"{TASK}/0", end, "oracle")
    assert made.judgement.verdict.result == "pass"


def test_the_same_fork_again_is_the_one_that_is_there(store: Store) -> None:
    key, _ = the_trial(store)
    point = fork_point(store, key, 21)
    [first] = gone_on(store, point, [HOLD])
    again = gone_on(store, point, [HOLD], repetitions=2)
    assert again[0] == first
    assert len(list(forks(store))) == 2
    edited = fork_point(store, key, 21, "{}")
    others = [gone_on(store, point, [HOLD], settings="colder")]
    others += [gone_on(store, other, [HOLD]) for other in (edited, fork_point(store, key, 18))]
    assert len({first[0].key, *(fork.key for [(fork, _)] in others)}) == 4


def test_a_fork_that_was_interrupted_is_closed_as_infrastructure_and_made_again(store: Store) -> None:
    key, _ = the_trial(store)
    point = fork_point(store, key, 21)
    [(fork, _)] = gone_on(store, point, [HOLD], settings="other")
    lost = msgspec.structs.replace(fork, key=msgspec.structs.replace(fork.key, repetition=1))

    async def begin() -> None:
        async with Writer(store) as writer:
            await fork_trial(store, StoreJournal(store, writer), lost, point)

    anyio.run(begin)
    [_, (again, closed)] = gone_on(store, point, [HOLD], settings="other", repetitions=2)
    end = end_of(spliced(store.read, lost.key.id))
    assert end is not None
    assert (end.end, end.detail) == ("infrastructure", INTERRUPTED)
    assert (again.key.attempt, closed.end.end) == (2, "done")


@pytest.mark.parametrize("kept", [0, 20], ids=["gone", "shorter"])
def test_a_fork_whose_parent_is_gone_or_shorter_is_not_read(store: Store, kept: int) -> None:
    key, records = the_trial(store)
    [(fork, _)] = gone_on(store, fork_point(store, key, 21), [HOLD])
    with Store.in_memory() as other:
        other.append([(fork.key.id, store.read(fork.key.id)), *([(key.id, records[:kept])] if kept else [])])
        with pytest.raises(StreamFault, match=r"goes on after record 21 .* gone or another one now"):
            spliced(other.read, fork.key.id)


def test_the_commands_fork_and_list(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store.close()
    path = str(tmp_path / "c.db")
    assert trialbox.main(["forks", path]) == 0
    assert "no forks" in capsys.readouterr().out
    assert trialbox.main(["fork", path, f"{TASK}/0@21", "--agent", "oracle"]) == 0
    line = capsys.readouterr().out
    assert line.split()[1:3] == ["pass", "done"]
    assert trialbox.main(["forks", path]) == 0
    assert capsys.readouterr().out.startswith(line.split()[0] + "  pass")
    assert trialbox.main(["fork", path, f"{TASK}/0", "--agent", "oracle"]) == 2
    assert "names no position" in capsys.readouterr().err


class Repeating:
    """Writes the comment under an idempotency key, and once more."""

    name = "repeating"

    async def attempt(self, session: Session, repetition: int) -> End:
        await session.call(COMMENT.tool, COMMENT.arguments, key="once")
        return "done"


def test_a_call_repeated_in_a_fork_gets_the_answer_of_the_parents_call(tmp_path: Path) -> None:
    run_judged(tmp_path / "c.db", RETAIL, [TASKS[TASK]], Repeating(), 1, name="test")
    with Store.open(tmp_path / "c.db") as store:
        key, records = the_trial(store)
        [(fork, closed)] = anyio.run(forked, archive(store), fork_point(store, key, 5), Repeating())
        [(_, again)] = anyio.run(forked, archive(store), fork_point(store, fork.key, 7), Repeating())
    first, last = decoded(records[4]), decoded(again.records[-2])
    assert last == ToolReturned(first.result, repeats=3)
    assert len(again.effects) == len(closed.effects) == 1


@pytest.mark.parametrize(
    ("position", "edited", "told"),
    [
        (24, "no json", "the edited answer is no JSON"),
        (999, "no json", "the edited answer is no JSON"),
        (24, "[" * 100_000, "the edited answer is no JSON"),
        (0, "{}", "position 0 is the snapshot, where nobody has said anything yet; the nearest is 4"),
        (0, None, "position 0 is the snapshot, where nobody has said anything yet; the nearest is 2"),
    ],
)
def test_why_there_is_no_fork_does_not_contradict_itself(
    store: Store, position: int, edited: str | None, told: str
) -> None:
    with pytest.raises(UserFault) as fault:
        fork_point(store, the_trial(store)[0], position, edited)
    assert told in str(fault.value)
    assert str(fault.value).count("the nearest is") == ("nearest" in told)


def test_an_edited_answer_is_shown_beside_the_original_and_the_fork_is_listed_as_edited(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.close()
    path, edited = str(tmp_path / "c.db"), '{"claim":"denied"}'
    for more in (["--edit", edited], []):
        assert trialbox.main(["fork", path, f"{TASK}/0@21", "--agent", "oracle", *more]) == 0
    [one, other] = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert trialbox.main(["forks", path]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.endswith(", the answer at 21 edited") for line in lines] == [True, False]
    for name, is_edited in ((one, True), (other, False), (f"{TASK}/0", False)):
        for at in ("@21", "@20", "@22"):
            assert trialbox.main(["show", path, f"{name}{at}"]) == 0
            lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
            assert (f"21  = {edited} (edited: this is what the agent saw)" in lines) == (is_edited)
            assert any(line.startswith('recorded before: = {"') for line in lines) == is_edited
