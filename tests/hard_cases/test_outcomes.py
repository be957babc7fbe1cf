"""What a trial left is compared with what had to be left, and with nothing else: rows 5, 10, 13 to 16, 18, 23, 25."""

from pathlib import Path
from typing import Any

import pytest

from domains.probe import domain
from judges.campaigns import run_judged, scores_of
from judges.pack import tasks_of
from sandbox.agents import SCRIPTED
from sandbox.values import plain
from tests.hard_cases.court import Script, Tried, content, explained, pack_folder, results, task, tried, tried_all
from tests.hard_cases.stage import Asked, ask
from trialbox import main

PACK = {item.task.id: item for item in tasks_of(domain)}
VASE = ask("refund", order_id="ORD-9", amount=25, reason="damaged")


@pytest.mark.parametrize("agent", ["null", "reader"])
def test_row_5_who_changes_nothing_passes_no_task_of_the_pack_but_the_refusal(agent: str, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    run_judged(path, domain, list(PACK.values()), SCRIPTED[agent]({}, 0), 2, name="idle")
    passed = {score.task: score.passed for score in scores_of(path)}
    assert passed == {name: 2 * item.expectation.refusal for name, item in PACK.items()}
    assert sum(passed.values()) == 2


def test_row_5_the_floor_of_the_pack_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "probe", "--floor"]) == 0
    said = capsys.readouterr().out
    assert ["probe", str(len(PACK)), "1", "1", "1"] in [line.split() for line in said.splitlines()]
    assert "probe/nothing-is-owed: null and reader pass; it is a refusal task with a trap" in said


def test_row_5_the_golden_calls_of_every_task_pass(tmp_path: Path) -> None:
    scripts = {
        item.task.id: [[Asked(call.tool, call.arguments) for call in accepted.calls]]
        for item in PACK.values()
        for accepted in item.expectation.outcomes[:1]
    }
    items = [item for item in PACK.values() if item.task.id in scripts]
    assert len(items) == len(PACK) - 1
    found = tried_all(tmp_path / "a.db", scripts, items)
    assert {name: results(trials) for name, trials in found.items()} == {name: ["pass"] for name in scripts}


def rug(amount: float) -> Asked:
    return ask("refund", order_id="ORD-12", amount=amount)


def test_row_10_each_accepted_outcome_passes_and_another_shape_is_told_against_the_nearest(tmp_path: Path) -> None:
    shapes: list[Script] = [
        [rug(129.5)],
        [rug(29.5), rug(100)],
        [rug(64.75), rug(64.75)],
        [rug(100)],
        [rug(129.49)],
        [rug(100), rug(29.5), rug(129.5)],
    ]
    trials = tried(tmp_path / "a.db", PACK["rug-sent-back"], *shapes)
    assert results(trials) == ["pass", "pass", "fail", "fail", "fail", "pass"]
    near = [trial.verdict.outcome.removeprefix("in ") for trial in trials]
    assert near == ["one refund", "two refunds", "one refund", "one refund", "one refund", "two refunds"]
    assert trials[2].findings == [("wrong", "refunds", "amount", 129.5, 64.75), ("extra", "refunds", "")]
    assert trials[3].findings == [
        ("wrong", "payments", "balance", 0.0, 29.5),
        ("wrong", "refunds", "amount", 129.5, 100.0),
    ]
    assert trials[4].findings == [
        ("wrong", "payments", "balance", 0.0, 0.01),
        ("wrong", "refunds", "amount", 129.5, 129.49),
    ]


def test_row_10_parts_of_two_outcomes_are_no_outcome(tmp_path: Path) -> None:
    one, other = ask("move", ticket_id="TIC-5", queue="general"), ask("move", ticket_id="TIC-9", queue="general")
    item = task([one, VASE], [other, ask("bulk_update", order_ids=["ORD-10"], status="paid")])
    assert results(tried(tmp_path / "a.db", item, [one, other], [VASE], [one], [VASE, one])) == [
        *("fail", "fail", "fail"),
        "pass",
    ]


def declaring(value: str, order: str = "ORD-20") -> Asked:
    return Asked("bulk_update", f'{{"order_ids": ["{order}"], "status": "cancelled", "declared_amount": {value}}}')


def evidence(trials: list[Tried]) -> set[tuple[str, str]]:
    return {(trial.closed.end.effects, trial.judgement.inputs["effects"]) for trial in trials}


def test_row_13_one_number_in_five_spellings_is_one_state_one_hash_and_one_verdict(tmp_path: Path) -> None:
    spellings = ["25", "25.0", "25.000", "2.5e1", "250E-1"]
    scripts = [[Asked("refund", f'{{"order_id":"ORD-9","amount":{n},"reason":"damaged"}}')] for n in spellings]
    trials = tried(tmp_path / "a.db", task([VASE]), *scripts)
    assert results(trials) == ["pass"] * 5
    assert len(evidence(trials)) == 1


@pytest.mark.parametrize(("golden", "spellings"), [(25, ["25.0", "2.5e1"]), (25.0, ["25"]), (0, ["0.0", "-0.0"])])
def test_row_13_a_number_in_a_field_of_any_kind_is_one_too(golden: float, spellings: list[str], tmp_path: Path) -> None:
    way = ask("bulk_update", order_ids=["ORD-20"], status="cancelled", declared_amount=golden)
    trials = tried(tmp_path / "a.db", task([way]), *[[declaring(spelling)] for spelling in spellings])
    assert results(trials) == ["pass"] * len(spellings)


LOOKS = [
    ask("get_order", order_id="ORD-9"),
    ask("find_customers", email="nobody@post.example"),
    ask("get_order", order_id="ORD-404"),
    ask("list_tickets", queue="billing"),
]


def test_row_14_twenty_more_reads_change_neither_hash_nor_verdict(tmp_path: Path) -> None:
    curious = [*LOOKS * 3, VASE, *LOOKS * 2]
    trials = tried(tmp_path / "a.db", task([VASE]), [VASE], curious, LOOKS * 5)
    assert len([record for record in trials[1].closed.records if record.topic == "trial.called.1"]) == 21
    assert results(trials) == ["pass", "pass", "fail"]
    assert len(evidence(trials[:2])) == 1


def test_row_14_a_golden_way_without_its_reads_is_the_same_way(tmp_path: Path) -> None:
    wordy, terse = task([*LOOKS[:2], VASE, LOOKS[3]]), task([VASE])
    [one], [other] = tried(tmp_path / "a.db", wordy, [VASE]), tried(tmp_path / "b.db", terse, [*LOOKS, VASE])
    assert results([one, other]) == ["pass", "pass"]


def refund(order: str, amount: float = 5) -> Asked:
    return ask("refund", order_id=order, amount=amount)


def test_row_15_done_twice_is_not_done_once_and_the_surplus_is_named(tmp_path: Path) -> None:
    item = task([refund("ORD-9")])
    once, twice = tried(tmp_path / "a.db", item, [refund("ORD-9")], [refund("ORD-9"), refund("ORD-9")])
    assert results([once, twice]) == ["pass", "fail"]
    assert twice.findings == [("wrong", "payments", "balance", 45.0, 40.0), ("extra", "refunds", "")]
    assert twice.closed.end.flags == ("suspected_duplicate",)


def test_row_15_of_equal_rows_as_many_are_wanted_as_the_golden_calls_leave(tmp_path: Path) -> None:
    five = ask("transfer", customer_id="CUS-2", department="billing", summary="Please look into it.")
    other = ask("transfer", customer_id="CUS-2", department="billing", summary="The other desk as well.")
    trials = tried(tmp_path / "a.db", task([five, five]), [five], [five, other], [five] * 3)
    assert results(trials) == ["fail", "pass", "fail"]
    assert [trial.findings for trial in trials] == [[("missing", "outbox", "")], [], [("extra", "outbox", "")]]


def test_row_15_in_another_order_it_is_the_same_also_where_ids_come_out_otherwise(tmp_path: Path) -> None:
    way = [refund("ORD-9", 6), refund("ORD-7", 7), ask("send_mail", customer_id="CUS-2", subject="Paid", text="Done.")]
    trials = tried(tmp_path / "a.db", task(way), way, way[::-1], [way[1], way[2], way[0]])
    assert results(trials) == ["pass"] * 3
    assert len(evidence(trials)) > 1


def test_row_15_amounts_between_the_wrong_orders_are_not_the_same_rows_in_another_order(tmp_path: Path) -> None:
    way, crossed = [refund("ORD-9", 6), refund("ORD-7", 7)], [refund("ORD-9", 7), refund("ORD-7", 6)]
    [trial] = tried(tmp_path / "a.db", task(way), crossed)
    assert trial.result == "fail"
    assert ("wrong", "payments", "balance", 44.0, 43.0) in trial.findings


def test_row_15_of_two_equal_tickets_the_one_that_was_meant_counts(tmp_path: Path) -> None:
    meant, twin = (ask("move", ticket_id=id, queue="complaints") for id in ("TIC-6", "TIC-8"))
    trials = tried(tmp_path / "a.db", task([meant]), [meant], [twin], [meant, twin])
    assert results(trials) == ["pass", "fail", "fail"]
    assert [finding[0] for finding in trials[1].findings] == ["missing", "extra"]


STRUCK = ask("void_refund", refund_id="REF-3")
BOOKED = ask("refund", order_id="ORD-23", amount=10, reason="goodwill")


def test_row_15_golden_calls_that_name_one_of_two_equal_rows_are_an_error_unless_the_row_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    meant = [ask("move", ticket_id="TIC-6", queue="complaints")]
    assert main(["lint", pack_folder(tmp_path / "open", content(meant))]) == 1
    assert "rows TIC-6, TIC-8 of probe_tickets differ in nothing but their keys" in capsys.readouterr().out
    assert main(["lint", pack_folder(tmp_path / "named", content(meant, goal="Move TIC-6 to complaints."))]) == 0


def test_row_15_a_row_that_was_struck_and_made_again_is_the_row_it_was(tmp_path: Path) -> None:
    item = task([VASE], instant="2023-05-12T09:00:00Z")
    moved, gone, alone = tried(tmp_path / "a.db", item, [STRUCK, BOOKED, VASE], [STRUCK, VASE], [STRUCK, BOOKED])
    assert results([moved, gone, alone]) == ["pass", "fail", "fail"]
    assert [effect.key for effect in moved.closed.effects if effect.moved] == ["REF-3"]


def test_row_15_an_id_that_is_given_again_is_no_sign_that_a_row_was_kept(tmp_path: Path) -> None:
    trials = tried(tmp_path / "a.db", task([STRUCK, VASE]), [STRUCK, VASE], [VASE, STRUCK], [VASE])
    assert results(trials) == ["pass", "pass", "fail"]
    [struck, also] = tried(tmp_path / "b.db", task([VASE, STRUCK]), [STRUCK, VASE], [STRUCK, BOOKED, VASE])
    assert results([struck, also]) == ["pass", "fail"]


def test_row_15_a_row_that_was_made_again_with_another_date_is_another_row(tmp_path: Path) -> None:
    [trial] = tried(tmp_path / "a.db", task([VASE]), [STRUCK, BOOKED, VASE])
    assert trial.findings == [("extra", "refunds", "day", "2023-05-12", "2023-05-18")]


def test_row_15_a_row_that_was_struck_and_booked_under_another_id_is_one_gone_and_one_too_many(tmp_path: Path) -> None:
    again = [ask("void_refund", refund_id="REF-2"), ask("refund", order_id="ORD-11", amount=5, reason="late")]
    [trial] = tried(tmp_path / "a.db", task([VASE], instant="2023-05-09T09:00:00Z"), [*again, VASE])
    assert sorted(finding.op for finding in trial.verdict.findings) == ["deleted", "inserted"]


WRONG = ["711", "1", "111", "-11", "11.01", "1.1", "1100", '"11"', '"11.0"', '"$11"', '"711"', "null", "0"]


@pytest.mark.parametrize("policy", ["value", "number", "exact"])
def test_row_16_no_number_is_taken_for_another_that_looks_like_it(policy: str, tmp_path: Path) -> None:
    way = [ask("bulk_update", order_ids=["ORD-20"], status="cancelled", declared_amount=11)]
    item = task(way, compare={"probe_orders": {"declared_amount": policy}})
    trials = tried(tmp_path / "a.db", item, way, *[[declaring(value)] for value in WRONG])
    assert results(trials) == ["pass", *["fail"] * len(WRONG)]


@pytest.mark.parametrize(("golden", "wrong"), [(5, "-5"), (-5, "5"), ("-5", '"5"'), ("5", '"-5"'), ("11", '"711"')])
def test_row_16_a_sign_counts_in_numbers_and_in_texts(golden: float | str, wrong: str, tmp_path: Path) -> None:
    way = [ask("bulk_update", order_ids=["ORD-20"], status="cancelled", declared_amount=golden)]
    [right, other] = tried(tmp_path / "a.db", task(way), way, [declaring(wrong)])
    assert results([right, other]) == ["pass", "fail"]
    assert [finding[2] for finding in other.findings] == ["declared_amount"]


def test_row_16_what_the_agent_says_of_the_amount_is_not_compared(tmp_path: Path) -> None:
    wrong = ask("refund", order_id="ORD-9", amount=2.5, reason="damaged")
    [trial] = tried(tmp_path / "a.db", task([VASE]), [wrong], goodbye="I have refunded 25.00 dollars, as required: 25.")
    assert trial.result == "fail"
    [right] = tried(tmp_path / "b.db", task([VASE]), [VASE], goodbye="I have refunded 711 dollars, or -25, or 2.5.")
    assert right.result == "pass"


@pytest.mark.parametrize(
    ("amount", "result"), [(200, "yes"), (200.01, "no"), (199.99, "yes"), (20, "yes"), (500, "no")]
)
def test_row_16_bounds_are_bounds_of_numbers(amount: float, result: str, tmp_path: Path) -> None:
    over = {"never": {"event": "refund-issued", "where": {"amount": {">": 200}}}}
    [trial] = tried(tmp_path / "a.db", task([VASE], rules=[over]), [refund("ORD-7", amount)])
    assert trial.check("rule").result == result


VALUES = [None, 0, "", "0", " ", "null", 46.0]


def test_row_18_null_absent_zero_and_empty_texts_are_never_taken_for_each_other(tmp_path: Path) -> None:
    called_off: dict[str, Any] = {"order_ids": ["ORD-20"], "status": "cancelled"}
    written = [called_off, *({**called_off, "declared_amount": value} for value in VALUES)]
    ways = [[Asked("bulk_update", arguments)] for arguments in written]
    items = [task(way, id=f"value-{place}") for place, way in enumerate(ways)]
    found = tried_all(tmp_path / "a.db", {item.task.id: ways for item in items}, items)
    for place, item in enumerate(items):
        assert results(found[item.task.id]) == ["pass" if n == place else "fail" for n in range(len(ways))]


def test_row_18_where_nothing_was_declared_nothing_must_be_declared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = ask("bulk_update", order_ids=["ORD-20"], status="cancelled")
    [trial] = tried(tmp_path / "a.db", task([silent]), [declaring("null")])
    [finding] = trial.verdict.findings
    assert (finding.kind, finding.field, finding.found) == ("extra", "declared_amount", None)
    assert "required nothing, found null" in explained(tmp_path / "a.db", capsys)


def test_row_18_a_condition_on_null_is_not_met_by_zero_nor_by_nothing(tmp_path: Path) -> None:
    rule = {"never": {"event": "order-changed", "where": {"declared_amount": None}}}
    item = task([VASE], rules=[rule])
    silent = ask("bulk_update", order_ids=["ORD-20"], status="cancelled")
    scripts: list[Script] = [[silent], *[[declaring(value)] for value in ("0", '""', '"null"', "null")]]
    trials = tried(tmp_path / "a.db", item, *scripts)
    assert [trial.check("rule").result for trial in trials] == ["yes", "yes", "yes", "yes", "no"]


def test_row_23_where_the_agent_looked_last_changes_no_verdict(tmp_path: Path) -> None:
    last: list[Script] = [[], *[[look] for look in LOOKS], [ask("get_order", order_id="ORD-33"), ask("nonsense")]]
    trials = tried(tmp_path / "a.db", task([VASE]), *[[VASE, *look] for look in last])
    assert results(trials) == ["pass"] * len(last)
    assert len(evidence(trials)) == 1


@pytest.mark.parametrize(
    ("name", "row"), [("desk-returned", "transfer"), ("card-holds-too-little", "transfer"), ("mail-wanted", "mail")]
)
def test_row_25_an_omitted_hand_off_or_mail_is_a_missing_row(name: str, row: str, tmp_path: Path) -> None:
    [accepted] = PACK[name].expectation.outcomes
    kept = [Asked(call.tool, call.arguments) for call in accepted.calls if call.tool not in ("transfer", "send_mail")]
    [trial] = tried(tmp_path / "a.db", PACK[name], kept, goodbye="I have handed it over and written to you.")
    assert trial.result == "fail"
    assert trial.findings == [("missing", "outbox", "")]
    assert [plain(finding.required)["kind"] for finding in trial.verdict.findings] == [row]


def test_row_25_a_hand_off_to_the_wrong_place_or_twice_is_no_hand_off(tmp_path: Path) -> None:
    def over(department: str, customer: str = "CUS-9") -> Asked:
        return ask("transfer", customer_id=customer, department=department, summary="A charge for nothing.")

    scripts: list[Script] = [[over("fraud")], [over("billing")], [over("fraud", "CUS-8")], [over("fraud")] * 2]
    trials = tried(tmp_path / "a.db", PACK["somebody-elses-card"], *scripts)
    assert results(trials) == ["pass", "fail", "fail", "fail"]
    assert trials[1].findings == [("wrong", "outbox", "to", "fraud", "billing")]
    assert trials[2].findings == [("wrong", "outbox", "customer_id", "CUS-9", "CUS-8")]
    assert trials[3].findings == [("extra", "outbox", "")]


def test_row_25_a_mail_that_nobody_asked_for_fails_an_otherwise_right_trial(tmp_path: Path) -> None:
    mail = ask("send_mail", customer_id="CUS-16", subject="Your refund", text="25 dollars.")
    [trial] = tried(tmp_path / "a.db", task([VASE]), [VASE, mail])
    assert trial.findings == [("extra", "outbox", "")]
