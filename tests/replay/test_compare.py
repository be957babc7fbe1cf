"""Two trials part where what they did or saw differs in more than words; a task's trials form a tree."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

import trialbox
from judges.campaigns import run_judged
from replay.calls import Line, Made, steps_in
from replay.compare import Branch, Counts, Parting, parting, tree
from replay.fork import fork_judged
from replay.trials import trial_named
from sandbox.agents import Plan, PlannedCall, Scripted
from sandbox.mcp_session import Session
from sandbox.refusals import UserFault
from sandbox.stream import Store
from tests.replay.runs import CLAIM, COMMENT, GOLDEN, HOLD, RETAIL, SOLVE, TASK, TASKS, archive, ran


def parted(tmp_path: Path, one: list[PlannedCall], other: list[PlannedCall]) -> Parting | None:
    paths = [ran(tmp_path / f"{name}.db", plan) for name, plan in (("a", one), ("b", other))]
    with Store.open(paths[0], read_only=True) as a, Store.open(paths[1], read_only=True) as b:
        archives = archive(a), archive(b)
        trials = [trial_named(one, f"{TASK}/0") for one in archives]
        return parting(archives[0], trials[0], archives[1], trials[1])


def comment(**item: Any) -> PlannedCall:
    return PlannedCall(COMMENT.tool, {"table": "comments", "item": {**COMMENT.arguments["item"], **item}})


def test_a_trial_does_not_part_from_one_with_other_words(tmp_path: Path) -> None:
    assert parted(tmp_path, GOLDEN, [*GOLDEN[:10], comment(body="Something else entirely.")]) is None


def test_words_are_masked_in_refused_calls_too(tmp_path: Path) -> None:
    """No event tells there which of the arguments are words."""
    bodies = [{"table": "comments", "id": "777", "item": {"body": body}} for body in ("Some words.", "Others.")]
    one, other = ([PlannedCall("zendesk_update_item", arguments)] for arguments in bodies)
    assert parted(tmp_path, one, other) is None


def test_rows_that_differ_under_the_same_answer_are_seen(tmp_path: Path) -> None:
    with Store.open(ran(tmp_path / "c.db", GOLDEN), read_only=True) as store:
        one = trial_named(archive(store), f"{TASK}/0")
        place = next(at for at, record in enumerate(one.records) if record.topic == "zendesk.ticket-changed.1")
        event = msgspec.msgpack.decode(one.records[place].payload) | {"status": "solved"}
        changed = msgspec.structs.replace(one.records[place], payload=msgspec.msgpack.encode(event))
        other = msgspec.structs.replace(one, records=[*one.records[:place], changed, *one.records[place + 1 :]])
        found = parting(archive(store), one, archive(store), other)
    assert found is not None
    assert (found.how, found.calls) == ("rows", 9)


def test_trials_that_stop_in_different_ways_part_at_the_end(tmp_path: Path) -> None:
    with Store.open(ran(tmp_path / "c.db", GOLDEN), read_only=True) as store:
        one = trial_named(archive(store), f"{TASK}/0")
        other = msgspec.structs.replace(one, records=one.records[:-1])
        found = parting(archive(store), one, archive(store), other)
    assert found == Parting("end", 11, None, None)


@pytest.mark.parametrize(
    ("other", "how", "calls", "number"),
    [
        ([*GOLDEN[:9], SOLVE, COMMENT], "asked", 9, 10),
        ([*GOLDEN[:10], comment(public=True)], "asked", 10, 11),
        ([*GOLDEN[:10]], "asked", 10, 11),
        ([GOLDEN[1], *GOLDEN[1:]], "asked", 0, 1),
    ],
)
def test_the_first_call_that_differs_is_named(
    tmp_path: Path, other: list[PlannedCall], how: str, calls: int, number: int
) -> None:
    found = parted(tmp_path, GOLDEN, other)
    assert found is not None
    # One who stops a call earlier speaks where the other acts.
    assert (found.how, found.calls) == (how if len(other) == 11 else "said", calls)
    assert isinstance(found.one, Made)
    assert found.one.number == number


def test_ids_of_new_rows_are_compared_by_their_order_of_creation(tmp_path: Path) -> None:
    ticket = {"subject": "Oven", "description": "Cold", "requester_id": "502", "status": "open", "priority": "high"}
    created = PlannedCall("zendesk_create_item", {"table": "tickets", "item": ticket})
    path = ran(tmp_path / "c.db", [created, CLAIM, created])
    with Store.open(path, read_only=True) as store:
        trial = trial_named(archive(store), f"{TASK}/0")
        steps = steps_in(RETAIL, archive(store).snapshots[TASK], trial.records)
    made = [step for step in steps if isinstance(step, Made)]
    assert [isinstance(step, Line) for step in steps] == [True, False, False, False, True]
    assert all("‹zendesk_tickets 1›" in text for text in (made[0].wrote, made[0].answered))
    assert "‹zendesk_tickets 2›" in made[2].wrote
    assert made[0].did == made[2].did != made[0].wrote


def test_a_fork_with_an_edited_answer_parts_from_its_parent_there(tmp_path: Path) -> None:
    path = ran(tmp_path / "c.db", GOLDEN)
    [fork] = fork_judged(path, f"{TASK}/0", 21, "oracle", edited='{"claim_id":"WCL-1","status":"denied"}')
    with Store.open(path, read_only=True) as store:
        one, other = (trial_named(archive(store), name) for name in (f"{TASK}/0", fork.fork.key.id.hex))
        found = parting(archive(store), one, archive(store), other)
    assert found is not None
    assert (found.how, found.calls) == ("answered", 8)
    assert isinstance(found.one, Made)
    assert isinstance(found.other, Made)
    assert "denied" in found.other.answered
    assert (found.one.number, found.one.wrote) == (9, found.other.wrote)


def test_trials_of_two_tasks_are_not_compared(tmp_path: Path) -> None:
    ran(tmp_path / "a.db", GOLDEN)
    ran(tmp_path / "b.db", [], task="wrong-radio")
    with Store.open(tmp_path / "a.db") as a, Store.open(tmp_path / "b.db") as b:
        one, other = trial_named(archive(a), f"{TASK}/0"), trial_named(archive(b), "wrong-radio/0")
        with pytest.raises(UserFault, match="tasks stuck-warranty of retail and wrong-radio of retail"):
            parting(archive(a), one, archive(b), other)


@pytest.fixture
def five(tmp_path: Path) -> Path:
    """Five trials of one task: two right ones, two that solve the ticket, one that files two claims."""
    plans: list[Plan] = [
        GOLDEN,
        [*GOLDEN[:9], SOLVE, COMMENT],
        [*GOLDEN[:10], comment(body="Said in other words.")],
        [*GOLDEN[:9], SOLVE, COMMENT],
        [*GOLDEN[:9], CLAIM, HOLD, COMMENT],
    ]

    def chosen(plan: Plan, session: Session, repetition: int) -> Plan:
        return plans[repetition]

    agent = Scripted("tester", {TASK: GOLDEN}, chosen)
    run_judged(tmp_path / "five.db", RETAIL, [TASKS[TASK]], agent, 5, name="test")
    return tmp_path / "five.db"


def test_a_tree_folds_equal_beginnings_and_counts_every_trial_once(five: Path) -> None:
    with Store.open(five, read_only=True) as store:
        root = tree(archive(store), TASK)
    [trunk] = root.branches
    assert (root.counts, trunk.counts, trunk.parts, len(trunk.calls)) == (Counts(2, 3), Counts(2, 3), True, 9)
    ways = {(branch.first, len(branch.calls), branch.counts.passed, branch.counts.failed) for branch in trunk.branches}
    assert ways == {(10, 2, 0, 2), (10, 2, 2, 0), (10, 3, 0, 1)}
    assert total(root) == Counts(2, 3)


def total(branch: Branch) -> Counts:
    """The ends of all trials of a branch."""
    ends = [branch.ended, *map(total, branch.branches)]
    return Counts(sum(c.passed for c in ends), sum(c.failed for c in ends), sum(c.other for c in ends))


def test_the_commands_show_where_trials_part(five: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert trialbox.main(["diff", str(five), f"{TASK}/0", f"{TASK}/2"]) == 0
    assert "no difference" in capsys.readouterr().out
    assert trialbox.main(["diff", str(five), f"{TASK}/0", f"{TASK}/1", "--store2", str(five)]) == 1
    out = capsys.readouterr().out
    assert "the same for 9 calls; then they ask different things" in out
    assert 'zendesk_tickets 7: {"status":"solved"' in out
    assert trialbox.main(["tree", str(five), TASK]) == 0
    out = capsys.readouterr().out
    assert "2 pass, 3 fail   ◄ passing and failing ones part after this\n    1. search_policy" in out
    assert "    2 fail\n      10. zendesk_update_item" in out
    assert trialbox.main(["tree", str(five), "nothing"]) == 2
