"""Tasks by which nobody could be judged are refused before anybody is: rows 1, 2, 3, 4 and 6."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from domains.probe import domain, probe
from judges.expectation import TaskInvalid
from judges.verdict import bundle_of
from sandbox import Call, Domain, Toolset
from tests.hard_cases.court import Script, content, pack_folder, results, task, tried
from tests.hard_cases.stage import ask
from trialbox import main

LOOK = ask("get_order", order_id="ORD-4")
ALL = ask("refund", order_id="ORD-4", amount=21.10, reason="damaged")
VASE = ask("refund", order_id="ORD-9", amount=25, reason="damaged")


def refused(capsys: pytest.CaptureFixture[str], home: Path, given: dict[str, Any], *command: str) -> tuple[int, str]:
    """Exit code of a command on a pack of this one task, and what it said."""
    code = main([*command, pack_folder(home, given)])
    said = capsys.readouterr()
    return code, said.out + said.err


def not_run(capsys: pytest.CaptureFixture[str], home: Path, given: dict[str, Any], agent: str = "null") -> str:
    """What `run` says of a pack that it refuses; no trial is left behind."""
    store = home / "trials.db"
    folder = pack_folder(home / "pack", given)
    assert main(["run", "--pack", folder, "--agent", agent, "-k", "1", "-o", str(store)]) == 2
    said = capsys.readouterr()
    assert "pass" not in said.out
    assert not store.exists() or main(["stats", str(store)]) == 2
    return said.err


def test_row_1_golden_calls_that_break_the_own_rules_of_a_task_stop_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = not_run(capsys, tmp_path, content([VASE], rules=[{"never": "refund-issued"}]), "oracle")
    assert "outcome 'way 1': its golden calls break the rule 'never refund-issued', so nobody can pass" in said


@pytest.mark.parametrize("agent", ["null", "oracle"])
@pytest.mark.parametrize(("ways", "place"), [([[ALL]], 1), ([[LOOK, VASE, ALL]], 3), ([[VASE], [LOOK, ALL]], 2)])
def test_row_1_a_golden_call_that_is_refused_stops_the_run_by_its_number_and_reason(
    ways: list[Script], place: int, agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = not_run(capsys, tmp_path, content(*ways), agent)
    assert f"task probing, outcome 'way {len(ways)}', call {place} refund is refused (Precondition)" in said
    assert "payment PAY-4 holds 17.00; 21.10 cannot be paid from it" in said


def test_row_1_lint_names_the_golden_call_that_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = refused(capsys, tmp_path, content([LOOK, ALL]), "lint")
    assert code == 1
    assert "0.yaml: $.expect.outcomes[0].calls[1]" in said
    assert "payment PAY-4 holds 17.00" in said
    assert "[golden-call]" in said


def test_row_1_a_golden_call_that_breaks_a_tool_is_told_like_one_that_is_declined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = content([VASE, ask("bulk_update", order_ids=["ORD-1"], status="paid", fail_after=1, failure="fault")])
    said = not_run(capsys, tmp_path / "run", broken)
    assert "call 2 bulk_update breaks: RuntimeError: bulk_update was told to fail after 1 orders" in said
    code, said = refused(capsys, tmp_path / "lint", broken, "lint")
    assert code == 1
    assert "calls[1]" in said
    assert "it breaks: RuntimeError" in said


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (ask("get_order", order_id="ORD-404"), "no order 'ORD-404'"),
        (ask("refund", order_id="ORD-9", amout=5), "amout"),
        (ask("refund", order_id="ORD-9", amount="25"), "expected `float`, got `str`"),
        (ask("refund", order_id="ORD-9", amount=25, reason="Damaged"), "reason"),
        (ask("move", ticket_id="TIC-5", queue="billing"), "waits in billing already"),
    ],
)
def test_row_1_also_a_golden_call_that_would_change_nothing_has_to_succeed(call: Any, named: str) -> None:
    item = task([VASE, call])
    with pytest.raises(TaskInvalid, match=f"call 2 {call.tool} is refused") as caught:
        bundle_of(domain, item.task, item.expectation)
    assert named in str(caught.value)


MISSPELT: list[tuple[dict[str, Any], str]] = [
    (content([ask("refnd", order_id="ORD-9", amount=25)]), "no tool 'refnd'; did you mean 'refund'?"),
    (content([ALL, ask("confirm_paymnt")]), "call 2: no tool 'confirm_paymnt'"),
    (content([VASE], [ask("Refund", order_id="ORD-9", amount=25)]), "no tool 'Refund'; did you mean 'refund'?"),
    (content([VASE], tools=["refund", "get_ordr"]), "no tool 'get_ordr'; did you mean 'get_order'?"),
    (content([VASE], tools=["get_order"]), "the task hides refund from the agent"),
    (content([VASE], rules=[{"nevr": "refund-issued"}]), "no rule 'nevr'; did you mean 'never'?"),
    (content([VASE], rules=[{"never": "refund-isued"}]), "no event 'refund-isued'"),
    (content([VASE], rules=[{"before": {"event": "refund-issued", "then": "ticket-movd"}}]), "no event 'ticket-movd'"),
    (
        content([VASE], rules=[{"never": {"event": "refund-issued", "where": {"amout": {">": 5}}}}]),
        "has no field 'amout'; did you mean 'amount'?",
    ),
    (
        content([VASE], rules=[{"never": {"event": "refund-issued", "where": {"reason": "brocken"}}}]),
        "can never be 'brocken'",
    ),
    (content([VASE], compare={"probe_refund": {"day": "ignore"}}), "no table 'probe_refund'; did you mean"),
    (content([VASE], compare={"probe_refunds": {"dya": "ignore"}}), "dya is no field; did you mean 'day'?"),
    (content([VASE], compare={"probe_refunds": {"day": "ignored"}}), "no policy 'ignored'; did you mean 'ignore'?"),
    (content([VASE], profile="thinkingbx"), "no profile 'thinkingbx'; did you mean 'thinkingbox'?"),
    (content([VASE], patch={"probe_order": []}), "probe_order"),
    (content([VASE], goall="x"), "unknown key 'goall'; did you mean 'goal'?"),
]


@pytest.mark.parametrize(("given", "named"), MISSPELT, ids=[named for _, named in MISSPELT])
def test_row_2_a_name_that_is_not_there_is_found_before_anything_runs(
    given: dict[str, Any], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert named in not_run(capsys, tmp_path, given, "oracle")


@pytest.mark.parametrize(("given", "named"), MISSPELT, ids=[named for _, named in MISSPELT])
def test_row_2_lint_finds_a_name_that_is_not_there(
    given: dict[str, Any], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = refused(capsys, tmp_path, given, "lint")
    assert code in (1, 2)
    assert (named.partition("'")[2].partition("'")[0] or named) in said


desk = Toolset("desk")


class Answered(Struct, frozen=True):
    """A result that is an error in the form of a success."""

    error: str | None = None


@desk.tool()
def as_mapping(call: Call) -> dict[str, Any]:
    """Answer that it failed, in a mapping."""
    return {"error": {"code": 402, "message": "declined"}}


@desk.tool()
def as_struct(call: Call) -> Answered:
    """Answer that it failed, in a struct."""
    return Answered("declined")


@desk.tool()
def fine(call: Call) -> Answered:
    """Answer that there was no error."""
    return Answered()


ODD = Domain("odd", probe.mount(prefix=""), desk.mount(prefix=""), package="domains.probe")


@pytest.mark.parametrize("tool", ["as_mapping", "as_struct"])
def test_row_3_an_error_in_the_form_of_an_answer_is_a_failed_golden_call(tool: str) -> None:
    item = task([VASE, ask(tool)], domain=ODD)
    with pytest.raises(TaskInvalid, match=rf"call 2 {tool} answers with an error: .*declined.*must succeed"):
        bundle_of(ODD, item.task, item.expectation)


def test_row_3_a_refusal_in_the_form_of_an_object_is_a_failed_golden_call() -> None:
    polite = Domain("polite", probe.mount(prefix=""), package="domains.probe", refusals="object")
    item = task([LOOK, ALL], domain=polite)
    with pytest.raises(TaskInvalid, match=r"call 2 refund is refused \(Precondition\)"):
        bundle_of(polite, item.task, item.expectation)


def test_row_3_an_answer_that_says_that_there_was_no_error_is_none(tmp_path: Path) -> None:
    way = [VASE, ask("fine")]
    assert results(tried(tmp_path / "a.db", task(way, domain=ODD), way, domain=ODD)) == ["pass"]


PAID = {"id": "REF-90", "order_id": "ORD-9", "payment_id": "PAY-9", "amount": 25, "reason": "damaged"}
PAID_TODAY = {**PAID, "day": "2023-05-18"}


def test_row_4_a_row_that_the_seed_holds_already_is_flagged_and_doing_nothing_still_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held = content([VASE], patch={"probe_refunds": [PAID_TODAY]})
    code, said = refused(capsys, tmp_path, held, "lint")
    assert "the seed already holds such a row of probe_refunds: REF-90" in said
    assert "[satisfied]" in said
    assert code == 0
    item = task([VASE], patch={"probe_refunds": [PAID_TODAY]})
    assert results(tried(tmp_path / "a.db", item, [], [VASE])) == ["fail", "pass"]


def test_row_4_all_that_is_required_being_there_already_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mail = ask("send_mail", customer_id="CUS-2", subject="Your parcel", text="It is on its way.")
    code, said = refused(capsys, tmp_path, content([mail]), "lint")
    assert code == 1
    assert "all that the outcome requires holds before any call" in said
    assert "OUT-1" in said


@pytest.mark.parametrize(
    "way",
    [
        [ask("get_order", order_id="ORD-9")],
        [ask("bulk_update", order_ids=["ORD-1"], status="shipped")],
        [ask("bulk_update", order_ids=["ORD-15"], declared_amount=0.0)],
        [VASE, ask("void_refund", refund_id="REF-4")],
        [ask("move", ticket_id="TIC-5", queue="general"), ask("move", ticket_id="TIC-5", queue="billing")],
    ],
)
def test_row_4_golden_calls_that_leave_the_seed_as_it_is_are_refused(
    way: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "its golden calls change nothing" in not_run(capsys, tmp_path / "run", content(way))
    code, said = refused(capsys, tmp_path / "lint", content(way), "lint")
    assert code == 1
    assert "[no-effect]" in said


def test_row_4_a_row_that_is_struck_and_made_again_as_it_was_is_no_work() -> None:
    again = [ask("void_refund", refund_id="REF-3"), ask("refund", order_id="ORD-23", amount=10, reason="goodwill")]
    item = task(again, instant="2023-05-12T09:00:00Z")
    with pytest.raises(TaskInvalid, match="change nothing that is compared"):
        bundle_of(domain, item.task, item.expectation)


def test_row_4_what_changes_only_where_nothing_is_compared_is_refused() -> None:
    item = task(
        [ask("bulk_update", order_ids=["ORD-1"], status="paid")], compare={"probe_orders": {"status": "ignore"}}
    )
    with pytest.raises(TaskInvalid, match="change nothing that is compared, so doing nothing would pass"):
        bundle_of(domain, item.task, item.expectation)


def test_row_4_a_task_of_rules_alone_that_doing_nothing_passes_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = refused(capsys, tmp_path, content(rules=[{"never": "refund-issued"}]), "lint")
    assert code == 1
    assert "an agent that does nothing passes" in said


EMPTY: list[tuple[dict[str, Any], str]] = [
    (content(), "expects nothing"),
    (content(outcomes=[], rules=[], rubrics=[]), "expects nothing"),
    (content(refusal=False), "expects nothing"),
    (content([]), "has no golden calls"),
    (content([VASE], []), "outcome 'way 2' has no golden calls"),
    (content([VASE], rubrics=["  "]), "has an empty rubric"),
    (content([VASE], rules=[{"never": ""}]), "no event ''"),
    (content([VASE], rules=[{}]), "a rule is a mapping with one key"),
    (content([VASE], rules=[{"never": {}}]), "event"),
    (content([VASE], rules=[{"never": {"event": "refund-issued", "where": {"amount": {}}}}]), "compared with nothing"),
    (content([VASE], messages=[]), "unknown key 'messages'"),
    ({**content([VASE]), "expect": None}, "expect"),
    ({key: value for key, value in content([VASE]).items() if key != "expect"}, "expect"),
    (content(outcomes=[{"name": "way 1"}]), "calls"),
    (content(outcomes=[{"name": "way 1", "calls": None}]), "calls"),
    (content([VASE], profile="thinkingbox", no_change=True), "no_change"),
]


@pytest.mark.parametrize(("given", "named"), EMPTY)
def test_row_6_an_empty_criterion_is_a_load_error_by_name(
    given: dict[str, Any], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert named in not_run(capsys, tmp_path / "run", given, "oracle")
    assert refused(capsys, tmp_path / "lint", given, "lint")[0] in (1, 2)


def test_row_6_an_empty_list_of_rules_beside_an_outcome_is_no_criterion_at_all(tmp_path: Path) -> None:
    item = task([VASE], rules=[], rubrics=[])
    idle, right = tried(tmp_path / "a.db", item, [], [VASE])
    assert [check.kind for check in right.verdict.checks] == ["outcome"]
    assert results([idle, right]) == ["fail", "pass"]
