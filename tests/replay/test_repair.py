"""Repairs are the smallest ones and work; the point of no return is where a fork still passes and later does not."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trialbox
from judges.campaigns import run_judged
from judges.court import plans_of
from replay.calls import names_now, paired
from replay.fork import fork_judged, plan_after
from replay.point_of_no_return import NoReturn, point_of_no_return
from replay.repair import MOST_EXHAUSTIVE, Change, Repair, candidates, minimised, planned, repaired
from replay.repair_commands import repair_lines
from replay.trials import Recording, trial_named
from replay.workshop import Golden, Planned, Workshop
from sandbox.agents import PlannedCall
from sandbox.mcp_session import Session
from sandbox.records import End
from sandbox.stream import Store
from tests.replay.runs import CLAIM, COMMENT, GOLDEN, HOLD, RETAIL, SOLVE, TASK, TASKS, archive, ran

REFUND = next(call for call in plans_of(TASKS.values())["received-return"] if call.tool == "create_refund")
"""Somebody else's; the task has a rule that no refund is made."""


OTHER = "television-only"
"""Its golden calls end with a ticket, 19, and a comment on it."""


def repair_of(path: Path) -> Repair:
    with Store.open(path, read_only=True) as store:
        return repaired(Workshop(archive(store), TASK), trial_named(archive(store), f"{TASK}/0"))


def turn_of(path: Path) -> NoReturn:
    with Store.open(path, read_only=True) as store:
        return point_of_no_return(Workshop(archive(store), TASK), trial_named(archive(store), f"{TASK}/0"))


def told(repair: Repair) -> list[tuple[str, int, str]]:
    return [(c.kind, c.after, (c.golden or c.own or pytest.fail("empty")).tool) for c in repair.changes]


WRONG = [
    ([*GOLDEN[:9], SOLVE, COMMENT], [("instead", 10, HOLD.tool)]),
    ([*GOLDEN[:10], COMMENT, COMMENT], [("leave out", 12, COMMENT.tool)]),
    (GOLDEN[:10], [("also", 10, COMMENT.tool)]),
    ([*GOLDEN[:8], HOLD, COMMENT], [("also", 8, CLAIM.tool)]),
    (GOLDEN[:8], [("also", 8, CLAIM.tool), ("also", 8, HOLD.tool), ("also", 8, COMMENT.tool)]),
    ([*GOLDEN[:9], CLAIM, HOLD, COMMENT, SOLVE], [("leave out", 9, CLAIM.tool), ("leave out", 13, SOLVE.tool)]),
]


@pytest.mark.parametrize(("plan", "expected"), WRONG)
def test_each_mistake_is_repaired_by_its_opposite_alone(
    tmp_path: Path, plan: Sequence[PlannedCall], expected: list[tuple[str, int, str]]
) -> None:
    repair = repair_of(ran(tmp_path / "c.db", plan))
    assert (repair.passed, repair.is_minimal) == (False, True)
    assert sorted(told(repair)) == sorted(expected)


class Retrying:
    """Solves the ticket, and writes its comment twice under one idempotency key."""

    name = "tester"

    async def attempt(self, session: Session, repetition: int) -> End:
        for call in (CLAIM, SOLVE):
            await session.call(call.tool, call.arguments)
        for _ in range(2):
            await session.call(COMMENT.tool, COMMENT.arguments, key="once")
        return "done"


def test_a_call_that_was_repeated_under_its_key_is_no_mistake_to_repair(tmp_path: Path) -> None:
    run_judged(tmp_path / "c.db", RETAIL, [TASKS[TASK]], Retrying(), 1, name="test")
    assert told(repair_of(tmp_path / "c.db")) == [("instead", 2, HOLD.tool)]


def test_where_no_change_of_calls_helps_that_is_said(tmp_path: Path) -> None:
    path = ran(tmp_path / "c.db", [*GOLDEN[:9], SOLVE, COMMENT])
    with Store.open(path, read_only=True) as store:
        workshop, trial = Workshop(archive(store), TASK), trial_named(archive(store), f"{TASK}/0")
        workshop.goldens = [Golden("nothing", ())]
        repair = repaired(workshop, trial)
    assert (repair.passed, repair.changes, repair.tried) == (False, (), 2**3 - 1)
    assert next(repair_lines(repair)).startswith("no repair: none of 7 combinations")


def test_what_passes_needs_no_repair_and_has_no_point_of_no_return(tmp_path: Path) -> None:
    path = ran(tmp_path / "c.db", GOLDEN)
    assert repair_of(path) == Repair(True)
    turn = turn_of(path)
    assert (turn.passed, turn.fatal, turn.rest) == (True, None, ())


def test_many_mistakes_are_repaired_so_that_no_single_change_can_be_left_out(tmp_path: Path) -> None:
    note = COMMENT.arguments["item"]
    noise = [
        PlannedCall(COMMENT.tool, {"table": "comments", "item": {**note, "public": True}})
        for _ in range(MOST_EXHAUSTIVE + 2)
    ]
    path = ran(tmp_path / "c.db", [*GOLDEN[:9], *noise, HOLD, COMMENT])
    with Store.open(path, read_only=True) as store:
        workshop, trial = Workshop(archive(store), TASK), trial_named(archive(store), f"{TASK}/0")
        repair = repaired(workshop, trial)
        assert (repair.is_minimal, len(repair.changes)) == (False, len(noise))
        own = [call for call in workshop.calls(trial.records) if workshop.writes(call)]
        evidence = workshop.evidence(trial)
        for less in combinations(repair.changes, len(repair.changes) - 1):
            assert not workshop.is_right(workshop.redone(planned(own, less), evidence))


@given(st.sets(st.integers(0, 19), min_size=1), st.integers(20, 24))
def test_delta_debugging_finds_exactly_what_is_needed(needed: set[int], count: int) -> None:
    changes = [Change("leave out", place, place) for place in range(count)]
    found = minimised(changes, lambda chosen: needed <= {change.place for change in chosen})
    assert {change.place for change in found} == needed
    assert len(found) == len(needed)


def test_changing_all_candidates_gives_the_golden_calls(tmp_path: Path) -> None:
    path = ran(tmp_path / "c.db", [CLAIM, *GOLDEN[:8], SOLVE, COMMENT, COMMENT])
    with Store.open(path, read_only=True) as store:
        workshop, trial = Workshop(archive(store), TASK), trial_named(archive(store), f"{TASK}/0")
        calls = workshop.calls(trial.records)
        own = [call for call in calls if workshop.writes(call)]
        golden = [call for call in workshop.goldens[0].calls if workshop.writes(call)]
        made = [one.made.likeness for one in planned(own, candidates(own, golden, calls[-1].number))]
    assert made == [call.likeness for call in golden]


def test_before_the_point_of_no_return_the_golden_rest_passes_and_after_it_nothing_does(tmp_path: Path) -> None:
    path = ran(tmp_path / "c.db", [*GOLDEN[:9], CLAIM, HOLD, COMMENT])
    turn = turn_of(path)
    assert turn.fatal is not None
    assert (turn.fatal.number, [call.tool for call in turn.rest]) == (10, [HOLD.tool, COMMENT.tool])
    [before] = fork_judged(path, f"{TASK}/0", turn.position, "oracle")
    [after] = fork_judged(path, f"{TASK}/0", turn.fatal.end, "oracle")
    assert [one.judgement.verdict.result for one in (before, after)] == ["pass", "fail"]


def test_what_was_done_and_undone_is_done_again(tmp_path: Path) -> None:
    turn = turn_of(ran(tmp_path / "c.db", [*GOLDEN[:9], HOLD, SOLVE, COMMENT]))
    assert (turn.fatal, [call.tool for call in turn.rest]) == (None, [HOLD.tool])


@pytest.fixture
def shifted(tmp_path: Path) -> Iterator[tuple[Workshop, Recording]]:
    """A trial that creates a ticket too many first, so that the right one has another id than the golden calls give."""
    *reads, cancel, ticket, comment = plans_of(TASKS.values())[OTHER]
    extra = PlannedCall(ticket.tool, {"table": "tickets", "item": {**ticket.arguments["item"], "priority": "low"}})
    moved = PlannedCall(comment.tool, {"table": "comments", "item": {**comment.arguments["item"], "ticket_id": "20"}})
    with Store.open(ran(tmp_path / "c.db", [extra, *reads, cancel, ticket, moved], task=OTHER)) as store:
        yield Workshop(archive(store), OTHER), trial_named(archive(store), f"{OTHER}/0")


def test_calls_that_are_made_again_name_rows_by_the_ids_that_they_have_now(
    shifted: tuple[Workshop, Recording],
) -> None:
    repair = repaired(*shifted)
    assert told(repair) == [("leave out", 1, "zendesk_create_item")]


def test_golden_calls_after_a_prefix_name_rows_by_the_ids_that_the_trial_gave(
    shifted: tuple[Workshop, Recording],
) -> None:
    workshop, trial = shifted
    before = trial.records[: workshop.calls(trial.records)[-1].position - 1]
    [left] = plan_after(workshop, before)
    assert left.arguments["item"]["ticket_id"] == "20"
    pairs = paired(workshop.goldens[0].calls, workshop.calls(before))
    rest = [Planned(pair.golden, is_golden=True) for pair in pairs if pair.done is None]
    redone = workshop.redone(rest, workshop.evidence(trial), before, names_now(pairs))
    assert redone is not None
    assert redone.effects == workshop.evidence(trial).effects


@pytest.mark.parametrize("plan", [plan for plan, _ in WRONG])
def test_a_trials_own_writing_calls_alone_leave_what_the_whole_trial_left(
    tmp_path: Path, plan: Sequence[PlannedCall]
) -> None:
    with Store.open(ran(tmp_path / "c.db", plan), read_only=True) as store:
        workshop, trial = Workshop(archive(store), TASK), trial_named(archive(store), f"{TASK}/0")
        evidence = workshop.evidence(trial)
        own = [call for call in workshop.calls(trial.records) if workshop.writes(call)]
        redone = workshop.redone(planned(own, ()), evidence)
    assert redone is not None
    assert redone.effects == evidence.effects


def test_a_mistake_that_can_be_made_good_is_no_point_of_no_return(tmp_path: Path) -> None:
    turn = turn_of(ran(tmp_path / "c.db", [*GOLDEN[:9], SOLVE, COMMENT]))
    assert (turn.fatal, [call.tool for call in turn.rest]) == (None, [HOLD.tool])


def test_a_broken_rule_is_a_point_of_no_return_though_its_rows_could_be_undone(tmp_path: Path) -> None:
    turn = turn_of(ran(tmp_path / "c.db", [*GOLDEN[:9], REFUND, HOLD, COMMENT]))
    assert turn.fatal is not None
    assert turn.fatal.tool == "create_refund"


@pytest.fixture
def failed(tmp_path: Path) -> str:
    """The path of a campaign whose trial solves the ticket."""
    return str(ran(tmp_path / "c.db", [*GOLDEN[:9], SOLVE, COMMENT]))


def test_the_commands_say_what_to_do_at_which_call(failed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert trialbox.main(["repair", failed, f"{TASK}/0"]) == 0
    out = capsys.readouterr().out
    assert "no smaller change does" in out
    assert 'at call 10 do this instead: zendesk_update_item {"id":"7","item":{"status":"hold"}' in out
    assert trialbox.main(["no-return", failed, f"{TASK}/0"]) == 0
    assert "up to position 28 it could still have reached" in capsys.readouterr().out
