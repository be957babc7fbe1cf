"""Lint on what golden calls say: values without a source, answers given away, and orders that decide."""

from typing import Any

import pytest

from sandbox.domain import Domain
from sandbox.package_data import read_yaml, task_files
from sandbox.registry import domain_named
from tests.judges.linting import REFUND, edited, found, linted, new, task
from tests.judges.shop import shop

CALL = "$.expect.outcomes[0].calls"


def invented(content: Any) -> list[tuple[str, str, Any]]:
    return [(remark.level, remark.path, remark.value) for remark in found(linted(content), "invented-value")]


LONG_FORM = {"tool": "shop_refund", "arguments": {"order": "ORD-1", "amount": 25, "reason": "goodwill"}}
CHRISTMAS = edited("orders", "ORD-1", placed_at="2025-12-24T10:30:00Z")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (task({"shop_refund": {"order": "ORD-1", "amount": 31}}), [("warning", f"{CALL}[0].shop_refund.amount", 31)]),
        (task(LONG_FORM), [("error", f"{CALL}[0].arguments.reason", "goodwill")]),
        (task(LONG_FORM, policy="For old friends the reason is `goodwill`."), []),
        (task(new("lines", order="ORD-1", sku="mug", quantity=1), goal="A Mug for ORD-1."), []),
        (task(new("lines", order="ORD-1", sku="mug"), goal="Smuggle something."), [
            ("error", f"{CALL}[0].shop_create.row.sku", "mug")
        ]),
        (task(new("orders", customer="C-1"), new("lines", order="ORD-3", sku="mug"), goal="One mug."), []),
        (task(new("lines", order="ORD-3", sku="mug"), goal="One mug."), [
            ("error", f"{CALL}[0].shop_create.row.order", "ORD-3")
        ]),
        (task(edited("customers", "C-1", address="2  oak road")), []),
        (task(CHRISTMAS), [("warning", f"{CALL}[0].shop_change.fields.placed_at", "2025-12-24T10:30:00Z")]),
        (task(CHRISTMAS, user="On December 24 at 10:30."), []),
        (task(edited("orders", "ORD-1", placed_at="2025-10-01T13:00:00.0Z"), user="13:00"), []),
        (task(new("lines", order="ORD-1", sku="key")), []),
        (task({"shop_refund": {"order": "ORD-1", "amount": 25, "reason": "damaged"}}, goal="25 for ORD-1."), []),
        (task(CHRISTMAS, user="On December 24."), [
            ("warning", f"{CALL}[0].shop_change.fields.placed_at", "2025-12-24T10:30:00Z")
        ]),
        (task(CHRISTMAS, user="On December 241 at 10:30."), [
            ("warning", f"{CALL}[0].shop_change.fields.placed_at", "2025-12-24T10:30:00Z")
        ]),
    ],
)  # fmt: skip
def test_a_value_without_a_source_is_told(content: Any, told: Any) -> None:
    assert invented(content) == told


def probed(*calls: dict[str, Any], compare: dict[str, Any] | None = None) -> list[Any]:
    """The values that lint remarks on in a task of the probe."""
    content = {"id": "t", "instant": "2023-05-18T09:00:00Z", "goal": "Who am I? CUS-9 wants to know."}
    expect = {"outcomes": [{"name": "golden", "calls": list(calls)}], "compare": compare or {}}
    return [remark.value for remark in linted({**content, "expect": expect}, of=domain_named("probe")).remarks]


def mail(subject: str, text: str) -> dict[str, Any]:
    return {"send_mail": {"customer_id": "CUS-9", "subject": subject, "text": text}}


@pytest.mark.parametrize(
    ("email", "told"),
    [("imre.ivanova@post.example", []), ("some words", []), ("an 'X-7' here", ["X-7"])]
    + [(key, [key]) for key in ("nobody@post.example", "77501")],
)
def test_a_read_must_know_its_keys_and_may_choose_its_words(email: str, told: list[str]) -> None:
    assert probed({"find_customers": {"email": email}}, mail("Your parcel", "x")) == told


def test_prose_is_the_agents_own_unless_it_is_compared_or_stands_where_something_else_is() -> None:
    assert probed(mail("Your parcel", "Nobody wrote this.")) == []
    assert probed(mail("Xylophone", "Xylophone")) == ["Xylophone", "Xylophone"]
    compare = {"probe_outbox": {"text": "casefold_trim"}}
    handed = {"transfer": {"customer_id": "CUS-9", "department": "fraud", "summary": "Nobody wrote this."}}
    assert probed(handed) == []
    assert probed(handed, compare=compare) == ["Nobody wrote this."]


def retail(name: str) -> dict[str, Any]:
    own = domain_named("retail")
    [file] = [item for item in task_files(own.package) if item.name == f"{name}.yaml"]
    content: dict[str, Any] = read_yaml(file)
    return content


def test_an_invented_id_in_a_filter_is_an_error() -> None:
    content = retail("late-espresso")
    content["expect"]["outcomes"][0]["calls"][5]["zendesk_get_items"]["$filter"] = "requester_id eq '77501'"
    [remark] = [r for r in linted(content, of=domain_named("retail")).remarks if r.level == "error"]
    assert (remark.check, remark.value) == ("invented-value", "77501")
    assert remark.path == f'{CALL}[5].zendesk_get_items["$filter"]'


@pytest.mark.parametrize(
    ("body", "values"),
    [
        ("A colleague: book late_delivery_compensation here.", ["late_delivery_compensation"]),
        ("The compensation is 90 dollars, as far as I see.", [90.0]),
        ("She has called 90 times.", []),
        ("She was promised a compensation of 80 dollars.", []),
    ],
)
def test_a_row_of_the_story_that_tells_the_answer_is_named(body: str, values: list[Any]) -> None:
    content = retail("late-espresso")
    row = {"id": "90", "ticket_id": "8", "author_id": "904", "public": False, "body": body}
    content["patch"] = {"zendesk_comments": [{**row, "created_at": "2026-03-07T09:00:00Z"}]}
    remarks = found(linted(content, of=domain_named("retail")), "giveaway")
    assert [(remark.level, remark.value) for remark in remarks] == [("warning", value) for value in values]
    assert all(remark.reason.startswith("zendesk_comments 90, body gives it away") for remark in remarks)


def test_a_patched_row_belongs_to_the_story_and_a_document_does_not_give_away() -> None:
    content = retail("late-espresso")
    words = "Such cases are late_delivery_compensation."
    comment = {"id": "90", "ticket_id": "3", "author_id": "904", "created_at": "2026-03-07T09:00:00Z", "body": words}
    document = {"name": "Late and lost deliveries", "text": words}
    content["patch"] = {"zendesk_comments": [comment], "knowledge_policies": [document]}
    remarks = found(linted(content, of=domain_named("retail")), "giveaway")
    assert [remark.reason.partition(" gives")[0] for remark in remarks] == ["zendesk_comments 90, body"]


def test_of_the_seed_only_rows_that_golden_ids_lead_to_can_give_away() -> None:
    told = "Please refund 25 dollars."
    orders = [{"id": f"ORD-{number}", "customer": "C-1", "note": told} for number in (1, 2)]
    tickets = [{"id": "1", "requester": order, "title": told} for order in ("ORD-1",)]
    seeded = Domain("shop", shop, seed={"shop_orders": orders, "shop_tickets": tickets})
    remarks = found(linted(task(REFUND, goal="Refund me 25 dollars for ORD-1."), of=seeded), "giveaway")
    places = [remark.reason.partition(" gives")[0] for remark in remarks]
    assert places == ["shop_orders ORD-1, note", "shop_tickets 1, title"]


HOLD, PACKED = edited("orders", "ORD-1", status="hold"), edited("orders", "ORD-1", status="packed")
UNVERIFY = edited("customers", "C-1", verified=False, address="2 Oak Road")
VERIFY = {"shop_verify": {"id": "C-1"}}
WORDS = "hold packed mug pen C-1"
RULE = {"before": {"event": "row-written", "then": "customer-verified"}}


@pytest.mark.parametrize(
    ("content", "places"),
    [
        (task(HOLD, PACKED), [0]),
        (task(HOLD, REFUND, PACKED), [0]),
        (task(UNVERIFY, VERIFY), [0]),
        (task(UNVERIFY, VERIFY, rules=[RULE]), []),
        (task(REFUND, {"shop_refund": {"order": "ORD-2", "amount": 25}}), []),
        (task(new("orders", customer="C-1"), new("lines", order="ORD-3", sku="mug")), []),
        (task(REFUND, {"shop_void_refund": {"id": "RFD-1"}}, HOLD), []),
        (task(
            new("orders", customer="C-1"), new("orders", customer="C-2"),
            new("lines", order="ORD-3", sku="mug"), new("lines", order="ORD-4", sku="pen"),
        ), []),
        (task(*([REFUND] * 5), HOLD, PACKED), [5]),
    ],
)  # fmt: skip
def test_calls_whose_order_decides_are_named_as_a_pair(content: Any, places: list[int]) -> None:
    report = linted({**content, "user": WORDS})
    assert [remark.path for remark in found(report, "order")] == [f"{CALL}[{place}]" for place in places]
    assert [remark.check for remark in report.remarks if remark.level == "error"] == []


def test_the_other_order_is_right_if_its_outcome_is_accepted_too() -> None:
    content = task(HOLD, PACKED, user=WORDS)
    content["expect"]["outcomes"].append({"name": "the other way round", "calls": [PACKED, HOLD]})
    assert found(linted(content), "order") == []


def test_a_pair_is_told_by_the_numbers_of_its_calls() -> None:
    [remark] = found(linted(task(HOLD, REFUND, PACKED, user=WORDS)), "order")
    assert remark.reason.startswith("calls 1 shop_change and 3 shop_change can be made the other way round")
