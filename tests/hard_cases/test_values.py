"""What counts as the same value, and what does not: rows 13 and 18."""

import pytest

from domains.probe import domain
from sandbox import Answer, FieldChange
from sandbox.records import ToolRefused, decoded
from sandbox.task import Task
from tests.hard_cases.stage import NOW, Asked, Played, ask, events_in, played

pytestmark = pytest.mark.anyio


async def refunded(amount: str) -> Played:
    return await played(Asked("refund", f'{{"order_id": "ORD-9", "amount": {amount}}}'))


@pytest.mark.parametrize("amount", ["25.0", "25.00", "2.5e1", "250E-1"])
async def test_row_13_one_number_in_two_spellings_leaves_one_state(amount: str) -> None:
    whole, other = await refunded("25"), await refunded(amount)
    assert other.digest == whole.digest
    assert other.effects == whole.effects
    assert other.answers == whole.answers
    assert events_in(other.records) == events_in(whole.records) == ["probe.refund-issued.1"]


async def test_row_13_the_spelling_itself_is_kept_in_the_record_of_the_call() -> None:
    whole, other = await refunded("25"), await refunded("25.0")
    differing = [one.topic for one, two in zip(whole.records, other.records, strict=True) if one.body != two.body]
    assert differing == ["trial.called.1"]


def test_row_13_a_patch_in_two_spellings_is_one_snapshot() -> None:
    order = {"id": "ORD-90", "customer_id": "CUS-1", "placed": NOW}
    rows = [{**order, "total": 25, "declared_amount": 0}, {**order, "total": 25.0, "declared_amount": 0.0}]
    whole, other = [domain.layer({"probe_orders": [row]}) for row in rows]
    assert whole.digest == other.digest


async def test_row_13_numbers_that_differ_by_a_cent_leave_two_states() -> None:
    assert (await refunded("25")).digest != (await refunded("24.99")).digest


async def test_row_13_a_number_as_text_is_no_number() -> None:
    trial = await refunded('"25"')
    assert trial.answers == [Answer("refund: expected `float`, got `str` - at `$.amount`", "Refused")]
    assert trial.effects == ()


async def declared(value: str, order: str = "ORD-18") -> Played:
    return await played(Asked("bulk_update", f'{{"order_ids": ["{order}"], "declared_amount": {value}}}'))


async def test_row_18_null_zero_and_texts_are_five_states() -> None:
    values = ["null", "0", '""', '"0"', "46.0"]
    assert len({(await declared(value)).digest for value in values}) == len(values)


async def test_row_18_not_mentioned_is_not_cleared() -> None:
    silent = await played(ask("bulk_update", order_ids=["ORD-18"], status="paid"))
    [effect] = silent.effects
    assert effect.changes == (FieldChange("status", "open", "paid"),)
    [cleared] = (await declared("null")).effects
    assert cleared.changes == (FieldChange("declared_amount", 46.0, None),)


@pytest.mark.parametrize(
    ("order", "value"), [("ORD-14", "null"), ("ORD-15", "0"), ("ORD-15", "0.0"), ("ORD-16", '""'), ("ORD-17", '"0"')]
)
async def test_row_18_a_value_written_over_itself_is_no_change(order: str, value: str) -> None:
    assert (await declared(value, order)).effects == ()


@pytest.mark.parametrize("value", ["null", "0", '""', '"0"'])
async def test_row_18_a_missing_value_is_none_of_them(value: str) -> None:
    [effect] = (await declared(value, "ORD-20")).effects
    assert effect.before is not None
    assert effect.row is not None
    assert "declared_amount" not in effect.before
    assert "declared_amount" in effect.row


def test_row_18_a_task_may_patch_each_of_them_and_they_stay_apart() -> None:
    order = {"id": "ORD-90", "customer_id": "CUS-1", "placed": NOW, "total": 1}
    rows = [order, *({**order, "declared_amount": value} for value in (None, 0, "", "0"))]
    assert len({domain.layer({"probe_orders": [row]}).digest for row in rows}) == 5


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 400])
async def test_row_18_what_is_no_finite_number_is_refused_and_becomes_nothing_else(value: str) -> None:
    trial = await declared(value)
    assert trial.answers[0].refusal
    assert trial.effects == ()
    refused = decoded(trial.records[-2])
    assert isinstance(refused, ToolRefused)
    assert refused.refusal == "Invalid"


async def test_row_18_a_task_of_an_empty_patch_is_the_seed_itself() -> None:
    empty = Task("probing", "probe", NOW, "Please see to my order.", patch={"probe_orders": []})
    script = ask("bulk_update", order_ids=["ORD-18"], declared_amount=None)
    assert (await played(script, task=empty)).digest == (await played(script)).digest
