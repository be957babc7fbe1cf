"""Lint tells all that is wrong with tasks, each remark with its place, and nothing of tasks that are right."""

import json
from pathlib import Path
from typing import Any

import pytest

from judges.expectation import TaskInvalid
from judges.lint.pack import opened
from judges.pack import task_from
from judges.verdict import bundle_of
from sandbox.package_data import read_yaml, task_files
from sandbox.registry import domain_named
from tests.judges.linting import NOTED, READ, REFUND, edited, found, linted, new, task
from tests.judges.shop import domain
from trialbox import main

OWN = ("probe", "retail")
CALL = "$.expect.outcomes[0].calls"
NEVER_VERIFIED = {"never": "customer-verified"}


def refund(**more: Any) -> dict[str, Any]:
    return {"shop_refund": {**REFUND["shop_refund"], **more}}


def test_a_task_that_is_right_is_left_in_peace() -> None:
    report = linted(task(READ, REFUND))
    assert (report.tasks, report.remarks, report.exit_code) == (1, (), 0)


ERRORS = [
    (task(READ, {"shop_refnd": {}}), "golden-call", f"{CALL}[1]", "no tool 'shop_refnd'; did you mean 'shop_refund'"),
    (task(refund(order="ORD-9")), "golden-call", f"{CALL}[0]", "it is refused (NotFound): no order 'ORD-9'"),
    (task(refund(amout=1)), "golden-call", f"{CALL}[0]", "it is refused (Invalid)"),
    (task(REFUND, {"shop_fail_softly": None}), "golden-call", f"{CALL}[1]", "with an error: 'card declined'"),
    (task(READ, tools=["shop_get_ordr"]), "unknown-tool", "$.tools[0]", "no such tool"),
    (task(READ, REFUND, tools=["shop_get_order"]), "hidden-tool", f"{CALL}[1]", "does not show it"),
    (task(READ), "no-effect", "$.expect.outcomes[0]", "change nothing, so doing nothing would pass"),
    (task(NOTED), "no-effect", "$.expect.outcomes[0]", "nothing that is compared"),
    (task(NOTED, refusal=True), "no-effect", "$.expect.outcomes[0]", "nothing that is compared"),
    (task(REFUND, compare={"shop_refunds": {"reason": "instant"}}), "misfit", "$.expect.outcomes[0]", "field reason"),
    (task(), "empty-criterion", "$.expect", "expects nothing"),
    (task(REFUND, rubrics=["Kind?", " "]), "empty-criterion", "$.expect.rubrics[1]", "empty rubric"),
    (task(REFUND, rules=[{"never": "refund-isued"}]), "rule", "$.expect.rules[0]", "no event 'refund-isued'"),
    (task(REFUND, rules=[{"never": "refund-issued"}]), "rule", "$.expect.rules[0]", "'golden' break it at call 1"),
    (
        task(REFUND, rules=[NEVER_VERIFIED], tools=["shop_refund"]),
        "rule",
        "$.expect.rules[0]",
        "no tool that the agent",
    ),
    (task(REFUND, compare={"shop_refund": {}}), "compare", "$.expect.compare.shop_refund", "no table 'shop_refund'"),
    (task(REFUND, compare={"shop_refunds": {"sum": "text"}}), "compare", "$.expect.compare.shop_refunds", "no field"),
    (task(rules=[NEVER_VERIFIED]), "idle-pass", "$.expect", "does nothing passes"),
    (task(refusal=True), "refusal", "$.expect.refusal", "would pass"),
    (task(REFUND, patch={"shop_orders": [{"id": "ORD-7"}]}), "patch", "$.patch", "missing required field"),
]


@pytest.mark.parametrize(("content", "check", "path", "words"), ERRORS)
def test_a_fault_is_told_with_its_place_and_reason(content: Any, check: str, path: str, words: str) -> None:
    report = linted(content)
    assert (path, "error") in [(remark.path, remark.level) for remark in found(report, check)]
    assert words in " ".join(f"{remark.reason}; {remark.advice}" for remark in found(report, check))
    assert report.exit_code == 1


@pytest.mark.parametrize("content", [content for content, *_ in ERRORS])
def test_what_no_trial_could_be_judged_by_is_an_error(content: Any) -> None:
    try:
        made = task_from(domain, content, "a.yaml")
        bundle_of(domain, made.task, made.expectation)
    except (TaskInvalid, ValueError):
        assert linted(content).errors


def test_a_refusal_to_load_that_no_check_explains_is_told_in_its_own_words() -> None:
    content = task(REFUND)
    content["expect"] |= {"profile": "thinkingbox", "no_change": True}
    assert [(remark.check, remark.level) for remark in linted(content).remarks] == [("invalid", "error")]


def test_every_fault_of_every_task_is_told_at_once() -> None:
    report = linted(task(refund(order="ORD-9"), {"shop_refnd": {}}), task(READ, id="b"))
    told = [(remark.file, remark.path) for remark in report.remarks if remark.level == "error"]
    assert set(told) >= {
        ("tasks/0.yaml", f"{CALL}[0]"),
        ("tasks/0.yaml", f"{CALL}[1]"),
        ("tasks/1.yaml", "$.expect.outcomes[0]"),
    }


WARNINGS = [
    (task(REFUND, rubrics=["Kind?"]), "rubric", "$.expect.rubrics[0]", "only a judge model can answer it"),
    (
        task(REFUND, compare={"shop_orders": {"note": "text"}}),
        "compare",
        "$.expect.compare.shop_orders",
        "decides nothing",
    ),
]


@pytest.mark.parametrize(("content", "check", "path", "words"), WARNINGS)
def test_what_may_be_wrong_is_a_warning(content: Any, check: str, path: str, words: str) -> None:
    report = linted(content)
    assert [(remark.level, remark.check, remark.path) for remark in report.remarks] == [("warning", check, path)]
    assert words in report.remarks[0].reason
    assert report.exit_code == 0


@pytest.mark.parametrize(
    "content",
    [
        task(READ, refusal=True, rules=[{"never": "refund-issued"}]),
        task(refusal=True, rubrics=["Did the agent say why not?"]),
        task(new("tickets", requester="1", title="Declined"), refusal=True, goal="I am user 1. Declined?"),
    ],
    ids=["trap", "rubric", "note"],
)
def test_a_refusal_task_with_a_reason_is_no_error(content: Any) -> None:
    assert linted(content).errors == 0


def test_a_seed_that_already_holds_all_that_is_required_is_an_error() -> None:
    done = {"id": "RFD-7", "order": "ORD-1", "amount": 25, "reason": "damaged"}
    [remark] = found(linted(task(REFUND, patch={"shop_refunds": [done]})), "satisfied")
    assert (remark.level, "RFD-7" in remark.reason) == ("error", True)
    other = found(linted(task(REFUND, patch={"shop_refunds": [{**done, "amount": 26}]})), "satisfied")
    also = task(REFUND, edited("orders", "ORD-1", status="packed"), patch={"shop_refunds": [done]})
    assert (other, [remark.level for remark in found(linted(also), "satisfied")]) == ([], ["warning"])


VERIFY = {"shop_verify": {"id": "C-8"}}
TWINS = {"shop_customers": [{"id": "C-8", "address": "5 Elm"}, {"id": "C-9", "address": "5 Elm"}]}
ORDERS = [{"id": "ORD-8", "customer": "C-8"}, {"id": "ORD-9", "customer": "C-9"}]


@pytest.mark.parametrize(
    ("more", "is_open"),
    [
        ({"patch": TWINS}, True),
        ({"patch": {**TWINS, "shop_orders": ORDERS}}, True),
        ({"patch": TWINS, "goal": "I am C-8, verify me."}, False),
        ({"patch": {**TWINS, "shop_orders": ORDERS}, "goal": "Verify the customer of ORD-8."}, False),
        ({"patch": {**TWINS, "shop_orders": [{**ORDERS[0], "total": 5}, ORDERS[1]]}}, False),
        ({"patch": {"shop_customers": [TWINS["shop_customers"][0], {"id": "C-9", "address": "6 Elm"}]}}, False),
    ],
)
def test_rows_that_nothing_tells_apart_make_a_choice_undecidable(more: Any, is_open: bool) -> None:
    remarks = found(linted(task(VERIFY, **more)), "interchangeable")
    assert [(remark.level, remark.value) for remark in remarks] == ([("error", "C-8")] if is_open else [])


def test_a_key_that_several_tables_have_may_name_another_row() -> None:
    users = [{"id": "C-8", "name": "Ada"}]
    [remark] = found(linted(task(VERIFY, patch={**TWINS, "shop_users": users})), "interchangeable")
    assert remark.level == "warning"


def test_two_tasks_of_one_id_are_both_named() -> None:
    remarks = found(linted(task(REFUND), task(REFUND)), "duplicate-id")
    assert [(remark.file, remark.reason.split()[-1]) for remark in remarks] == [
        ("tasks/0.yaml", "tasks/1.yaml"),
        ("tasks/1.yaml", "tasks/0.yaml"),
    ]


@pytest.mark.parametrize("broken", [ValueError("0.yaml is no YAML"), ["no mapping"], {**task(REFUND), "gaol": "x"}])
def test_a_file_that_cannot_be_read_hides_no_other(broken: Any) -> None:
    report = linted(broken, task(READ, id="b"))
    assert report.exit_code == 2
    assert [(remark.file, remark.check) for remark in report.remarks] == [
        ("tasks/0.yaml", "unreadable"),
        ("tasks/1.yaml", "no-effect"),
    ]


@pytest.mark.parametrize("name", OWN)
def test_own_tasks_have_no_faults_and_leave_no_document_unused(name: str) -> None:
    own = domain_named(name)
    report = linted(*(read_yaml(item) for item in task_files(own.package)), of=own)
    assert [str(remark) for remark in report.remarks if remark.level == "error"] == []
    assert found(report, "unused-document") == []
    assert report.tasks > 5


def test_a_document_that_is_no_golden_calls_first_hit_and_is_not_cited_is_a_warning() -> None:
    retail = domain_named("retail")
    content = read_yaml(task_files(retail.package)[0])
    comment = content["expect"]["outcomes"][0]["calls"][-1]["zendesk_create_item"]["item"]
    comment["body"] = "Declined, see Warranty claims."
    unused = {remark.value for remark in found(linted(content, of=retail), "unused-document")}
    assert retail.seed.tables["knowledge_policies"].keys() - unused == {"Promotions and points", "Warranty claims"}


def test_documents_that_no_golden_call_looks_for_are_told_once() -> None:
    retail = domain_named("retail")
    content = read_yaml(task_files(retail.package)[0])
    content["expect"] = {"refusal": True, "rules": [{"never": "refund-created"}]}
    assert [remark.value for remark in found(linted(content, of=retail), "unused-document")] == [None]


def test_the_command_prints_remarks_for_people_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "probe"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("probe: 12 tasks, 0 errors, ")
    assert main(["lint", "probe", "--json"]) == 0
    [report] = json.loads(capsys.readouterr().out)
    assert len(report["remarks"]) == len(lines) - 1
    assert main(["lint", "prob"]) == 2
    assert "no domain 'prob'; did you mean 'probe'" in capsys.readouterr().err


def test_a_pack_in_a_folder_is_linted_by_its_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "pack.yaml").write_text("{name: mine, format: 1, domain: probe}")
    content = read_yaml(task_files("domains.probe")[0])
    content["expect"]["outcomes"][0]["calls"] = [{"refund": {"order_id": "ORD-4", "amount": 99}}]
    (tmp_path / "tasks" / "a.yaml").write_text(json.dumps(content))
    assert main(["lint", str(tmp_path)]) == 1
    assert f'{tmp_path}/tasks/a.yaml: {CALL}[0]: "refund": error: it is refused' in capsys.readouterr().out
    assert opened(str(tmp_path)).name == "mine"
