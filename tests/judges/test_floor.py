"""The floor: agents that change nothing pass no task, but for refusal tasks that say why."""

import json

import pytest

from judges.lint.floor import floor
from judges.lint.pack import opened
from judges.lint.rehearsal import rehearsed
from judges.lint.run import read
from tests.judges.linting import READ, REFUND, new, pack, task
from tests.judges.shop import START, domain
from trialbox import main

TRAP = {"never": "refund-issued"}
NOTE = new("tickets", requester="1", title="Declined")


def test_a_task_that_idle_agents_pass_is_an_error() -> None:
    found = floor("shop", read(pack(task(rules=[TRAP]), task(READ, REFUND, id="b"))).cases)
    assert (found.tasks, found.null, found.reader, found.errors) == (2, 1, 1, 1)
    assert str(found.passed[0]).startswith("shop/late-mixer: error: null and reader pass without changing anything")


@pytest.mark.parametrize(
    ("content", "passes", "errors"),
    [
        (task(READ, refusal=True, rules=[TRAP]), 1, 0),
        (task(READ, refusal=True), 1, 1),
        (task(READ, NOTE, refusal=True), 0, 0),
        (task(READ, refusal=True, rubrics=["Did the agent say why not?"]), 0, 0),
    ],
    ids=["trap", "no reason", "note", "rubric"],
)
def test_a_refusal_task_is_passed_only_with_its_reason(content: object, passes: int, errors: int) -> None:
    found = floor("shop", read(pack(content)).cases)
    assert (found.refusals, found.null, found.reader, found.errors) == (1, passes, passes, errors)


def test_a_task_that_cannot_be_judged_is_an_error_of_the_floor() -> None:
    found = floor("shop", read(pack(task(READ))).cases)
    assert (found.unjudged, found.errors) == (("late-mixer",), 1)


def test_own_domains_have_a_floor_of_refusals_alone() -> None:
    found = [floor(name, read(opened(name)).cases) for name in ("probe", "retail")]
    assert [(one.tasks, one.refusals, one.null, one.reader, one.errors) for one in found] == [
        (12, 1, 1, 1, 0),
        (13, 1, 0, 0, 0),
    ]


def test_the_command_prints_a_table_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--floor", "retail"]) == 0
    header, line, *rest = capsys.readouterr().out.splitlines()
    assert header.split("  ")[0] == "pack"
    assert (line.split(), rest) == (["retail", "13", "1", "0", "0"], [])
    assert main(["lint", "--floor", "probe", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["passed"][0]["task"] == "nothing-is-owed"


def test_a_rehearsal_goes_on_after_a_call_that_fails() -> None:
    calls = read(pack(task({"shop_refund": {"order": "ORD-9", "amount": 1}}, REFUND))).cases[0].expectation.outcomes[0]
    rehearsal = rehearsed(domain, domain.snapshot, START, calls.calls)
    assert [bool(step.fault) for step in rehearsal.steps] == [True, False]
    assert [effect.table for effect in rehearsal.effects] == ["shop_refunds"]
    assert [(event.topic, event.cause) for event in rehearsal.events] == [("shop.refund-issued.1", 2)]
