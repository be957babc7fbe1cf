"""The JSON Schema of task files takes what the loader takes."""

import json
from copy import deepcopy
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from judges.expectation import TaskInvalid
from judges.lint.task_schema import task_schema
from judges.pack import unchecked_task
from sandbox.package_data import read_yaml, task_files
from tests.judges.linting import REFUND, task
from tests.judges.shop import domain
from trialbox import main

VALIDATOR = Draft202012Validator(task_schema())
OWN = [item for name in ("probe", "retail") for item in task_files(f"domains.{name}")]


@pytest.mark.parametrize("file", OWN, ids=lambda file: file.name)
def test_every_own_task_keeps_to_the_schema(file: Any) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(read_yaml(file))] == []


def rules(*given: Any) -> dict[str, Any]:
    return task(REFUND, rules=list(given))


def call(given: Any) -> dict[str, Any]:
    content = deepcopy(task(REFUND))
    content["expect"]["outcomes"][0]["calls"] = [given]
    return content


FORMS = [
    call({"shop_refund": None}),
    call({"tool": "shop_refund"}),
    call({"tool": "shop_refund", "arguments": {"a": 1}}),
    call({"tool": "shop_refund", "argument": {}}),
    call({"shop_refund": {}, "shop_verify": {}}),
    call({"shop_refund": "ORD-1"}),
    call({"tool": None}),
    call({}),
    call("shop_refund"),
    rules({"never": "refund-issued"}),
    rules({"never": {"event": "refund-issued", "where": {"amount": {">": 5}, "order": None}}}),
    rules({"never": {"event": "refund-issued", "where": {"amount": {"=>": 5}}}}),
    rules({"never": {"event": "refund-issued", "were": {}}}),
    rules({"never": {"where": {}}}),
    rules({"at_most_once": "refund-issued"}),
    rules({"before": {"event": "a", "then": "b", "then_where": {}}}),
    rules({"before": "refund-issued"}),
    rules({"before": {"event": "a"}}),
    rules({"nevr": "refund-issued"}),
    rules({"never": "a", "at_most_once": "a"}),
    task(REFUND, rubrics="Kind?"),
    task(REFUND, tools="shop_refund"),
    task(REFUND, gaol="x"),
    task(REFUND, patch={"shop_orders": {"id": "ORD-7"}}),
    task(REFUND, compare={"shop_orders": {"note": "text"}}, refusal=True),
]


@pytest.mark.parametrize("content", FORMS, ids=lambda content: json.dumps(content["expect"])[:90])
def test_a_form_is_valid_just_where_it_can_be_loaded(content: Any) -> None:
    try:
        unchecked_task(domain, content, "a.yaml")
        loads = True
    except TaskInvalid:
        loads = False
    assert VALIDATOR.is_valid(content) is loads


def test_the_command_prints_a_schema_that_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "task"]) == 0
    printed = json.loads(capsys.readouterr().out)
    Draft202012Validator.check_schema(printed)
    assert printed == task_schema()
