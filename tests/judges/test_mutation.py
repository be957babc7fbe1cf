"""Mistakes in golden calls are noticed, other ways to do the same pass, and what is left over is explained."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from domains.retail import domain
from judges.expectation import Accepted, Before, Expectation, GoldenCall, Never
from judges.mutation.mistakes import MISTAKES, prose_elsewhere
from judges.mutation.mutants import Calls, Golden, Maker
from judges.mutation.neutral import NEUTRAL, reorder_independent, split_update
from judges.mutation.run import Bench, Case, Report, mutated
from judges.mutation.stage import Stage
from judges.mutation.told import told
from judges.pack import PackTask, tasks_of
from judges.profile import profile_of
from judges.verdict import bundle_of
from sandbox.registry import domain_named
from sandbox.task import Task, UserContext
from trialbox import main

TASK = Task("two-tickets", "retail", "2026-03-12T09:30:00Z", "Two things, please.")


def ticket(subject: str, **fields: Any) -> GoldenCall:
    item = {"subject": subject, "requester_id": "501", **fields}
    return GoldenCall("zendesk_create_item", {"table": "tickets", "item": item})


def edit(id: str, **fields: Any) -> GoldenCall:
    return GoldenCall("zendesk_update_item", {"table": "tickets", "id": id, "item": fields})


def refund(amount: float = 25.0) -> GoldenCall:
    reason = "late_delivery_compensation"
    arguments = {"order_id": "ORD-1033", "customer_id": "CUS-101", "amount": amount, "refund_reason": reason}
    return GoldenCall("create_refund", arguments)


CALLS: Calls = (
    GoldenCall("get_order", {"order_id": "ORD-1033"}),
    ticket("Late", priority="high", due_at=None),
    ticket("Loud", status="open"),
    edit("20", status="hold", priority="low"),
    refund(),
)


def pack(*calls: GoldenCall, **expectation: Any) -> PackTask:
    """A task that these calls solve."""
    expected = Expectation((Accepted("both", calls or CALLS),), **expectation)
    return PackTask(TASK, UserContext(TASK.id), expected)


def made(maker: Maker, *calls: GoldenCall) -> list[Calls]:
    """The mutants of one kind."""
    golden = Golden(Stage(domain, TASK), calls or CALLS, profile_of(domain, {}, TASK.id))
    return [mutant.calls for mutant in maker(golden)]


def judged_as(item: PackTask, **other: Any) -> list[Case]:
    """The mutants of a task, judged by a bundle that expects something else."""
    bench = Bench(domain, item)
    bench.bundle = bundle_of(domain, item.task, replace(item.expectation, **other))
    return list(bench.cases())


@pytest.mark.parametrize("name", ["retail", "probe"])
def test_every_mistake_in_our_tasks_is_failed_unless_the_rows_end_equal(name: str) -> None:
    report = mutated(domain_named(name), tasks_of(domain_named(name)))
    assert report.of("survivor", "false alarm") == []
    assert len(report.of("killed")) > 200
    assert all(case.reason for case in report.of("equivalent"))


def test_every_kind_finds_something_to_change() -> None:
    cases = mutated(domain, [pack()]).cases
    assert {case.kind for case in cases} == {*MISTAKES, *NEUTRAL}
    assert {case.fate for case in cases if case.kind in MISTAKES} == {"killed", "equivalent"}
    assert {case.fate for case in cases if case.kind in NEUTRAL} == {"passed"}


def test_the_same_task_gives_the_same_report() -> None:
    assert mutated(domain, [pack()]) == mutated(domain, [pack()])


def test_a_refused_call_that_leaves_the_effect_out_is_killed_and_one_made_besides_is_not() -> None:
    cases = [case for case in mutated(domain, [pack(refund())]).cases if case.kind == "unknown_tool"]
    assert [case.fate for case in cases] == ["killed"] * 3 + ["equivalent"]
    assert cases[-1].reason == "refused (Unsupported); the rows end equal"


def test_swapped_independent_calls_go_on_with_the_ids_that_there_are_then() -> None:
    first, second, change = ticket("Late"), ticket("Loud", status="open"), edit("20", status="hold")
    assert (second, first, edit("19", status="hold")) in made(reorder_independent, first, second, change)


def test_calls_whose_order_a_rule_asks_for_are_no_neutral_swap_and_their_swap_is_failed() -> None:
    rule = Before("refund-created", "ticket-changed")
    cases = mutated(domain, [pack(refund(), edit("8", status="hold"), rules=(rule,))]).cases
    fates = {case.kind: case.fate for case in cases if case.note.startswith("swapped")}
    assert fates == {"reorder_mutating": "killed"}


def test_a_split_update_changes_the_same_fields_in_two_calls() -> None:
    whole = edit("8", status="hold", priority="low", type="task")
    assert made(split_update, whole) == [
        (edit("8", status="hold"), edit("8", priority="low", type="task")),
        (edit("8", status="hold", priority="low"), edit("8", type="task")),
    ]


def test_an_altered_value_that_no_row_keeps_is_equivalent_and_the_event_that_tells_it_is_named() -> None:
    cancel = GoldenCall("cancel_order", {"order_id": "ORD-1074", "cancellation_reason": "customer_request"})
    reasons = {c.reason for c in mutated(domain, [pack(cancel)]).of("equivalent") if c.kind == "enum_swap"}
    assert reasons == {"the rows end equal; only events tell order-cancelled.reason"}


def test_a_judge_that_does_not_look_lets_mistakes_survive() -> None:
    cases = judged_as(pack(), compare={"shop_refunds": {"amount": "ignore"}})
    survivors = Counter(case.kind for case in cases if case.fate == "survivor")
    assert survivors == {"amount_change": 6}
    assert not Report(tuple(cases)).is_good


def test_words_are_overwritten_in_rows_that_the_golden_calls_leave_alone() -> None:
    whole = (edit("2", status="hold"), ticket("Late"))
    fields = ("subject", "description")
    overwritten = [edit(id, **{field: "Overwritten."}) for id in ("1", "3", "4") for field in fields]
    assert made(prose_elsewhere, *whole) == [(*whole, call) for call in overwritten]
    assert made(prose_elsewhere, ticket("Late")) == []


def test_a_judge_that_looks_at_no_subject_lets_overwritten_ones_survive() -> None:
    cases = judged_as(pack(), compare={"zendesk_tickets": {"subject": "prose"}})
    survivors = [case for case in cases if case.fate == "survivor"]
    assert {case.kind for case in survivors} == {"prose_elsewhere"}
    assert all(".subject with" in case.note for case in survivors)
    named = pack(compare={"zendesk_tickets": {"subject": "prose"}})
    reasons = {case.reason for case in mutated(domain, [named]).of("equivalent") if case.kind == "prose_elsewhere"}
    assert reasons == {"the rows end equal but for zendesk_tickets.subject (prose)"}


def test_a_judge_that_wants_the_very_words_raises_false_alarms_with_what_it_found() -> None:
    cases = judged_as(pack(), compare={"zendesk_tickets": {"subject": "text"}})
    alarms = [case for case in cases if case.fate == "false alarm"]
    assert {case.kind for case in alarms} == {"free_text"}
    assert "subject: required Late, found In other words." in alarms[1].reason
    assert not Report(tuple(cases)).is_good


def test_a_judge_that_wants_the_very_ids_fails_swapped_calls_wrongly() -> None:
    cases = judged_as(pack(), compare={"zendesk_tickets": {"id": "text"}})
    assert {case.kind for case in cases if case.fate == "false alarm"} == {"reorder_independent"}


def test_a_mistake_after_which_the_rows_end_equal_must_not_be_failed_for_its_rows() -> None:
    cases = judged_as(pack(), compare={"zendesk_tickets": {"updated_at": "instant"}})
    alarms = [case for case in cases if case.fate == "false alarm" and case.kind == "unknown_tool"]
    assert [case.reason.partition(",")[0] for case in alarms] == ["the rows end equal"]


def test_a_mistake_that_leads_to_another_accepted_outcome_is_equivalent_and_says_so() -> None:
    outcomes = (Accepted("small", (refund(25.0),)), Accepted("double", (refund(50.0),)))
    cases = mutated(domain, [PackTask(TASK, UserContext(TASK.id), Expectation(outcomes))]).of("equivalent")
    [case] = [case for case in cases if case.kind == "amount_change"]
    assert case.reason == "the rows end equal, as in outcome 'double'"


def test_more_mutants_than_the_cap_are_taken_evenly_and_counted() -> None:
    whole, capped = mutated(domain, [pack()]), mutated(domain, [pack()], most=4)
    assert capped.left_out == len(whole.cases) - len(capped.cases) > 100
    assert max(tally.mutants for tally in capped.tallies) == 4


def test_a_task_without_calls_that_write_is_named_and_rubrics_are_left_aside() -> None:
    silent = PackTask(TASK, UserContext(TASK.id), Expectation(rules=(Never("refund-created"),), rubrics=("Polite?",)))
    report = mutated(domain, [silent, pack(rubrics=("Was the agent polite?",))])
    assert report.untouched == ("two-tickets",)
    assert report.is_good
    assert "not mutated: two-tickets has no golden calls that write" in list(told(report))


def test_the_command_prints_a_table_and_says_what_is_equivalent(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mutate", "retail", "--task", "stuck-warranty"]) == 0
    printed = capsys.readouterr().out
    assert "status_swap_last" in printed
    assert "equivalent: 1 duplicate_mutating: the rows end equal" in printed
    assert "100.00% of mistakes that matter killed (at least 99%), 0 false alarms (none)" in printed


def test_the_command_gives_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mutate", "probe", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["kill_rate"] == 1.0
    assert {tally["kind"] for tally in report["tallies"]} >= {"drop_mutating", "extra_reads"}


def test_a_pack_is_mutated_like_a_domain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    about = {"name": "desk", "format": 1, "domain": "probe", "mount": "own", "title": "t", "source": "s"}
    (tmp_path / "pack.yaml").write_text(json.dumps({**about, "evaluation_only": False}))
    (tmp_path / "tasks").mkdir()
    for file in (Path(__file__).parents[2] / "domains" / "probe" / "tasks").glob("one-*.yaml"):
        (tmp_path / "tasks" / file.name).write_bytes(file.read_bytes())
    assert main(["mutate", str(tmp_path)]) == 0
    assert "one-broken-vase" in capsys.readouterr().out
    assert main(["mutate", str(tmp_path), "--task", "no-such-task"]) == 2
