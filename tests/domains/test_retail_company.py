"""The bundled shop: its rows fit together, its policies can be found, and its tasks can be solved."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from statistics import median
from typing import Any, get_args, get_type_hints

import pytest

from domains.retail import domain
from judges.expectation import Accepted, GoldenCall
from judges.pack import PackTask, tasks_of
from judges.verdict import Evidence, bundle_of, judged
from sandbox import World
from sandbox.task import snapshot_of

NOW = "2026-03-12T09:30:00Z"
REFERENCES = (
    ("shop_orders", "customer_id", "shop_customer_profiles"),
    ("shop_orders", "installation_service_id", "shop_installation_jobs"),
    ("shop_order_line_items", "order_id", "shop_orders"),
    ("shop_order_line_items", "sku", "shop_products"),
    ("shop_shipments", "order_id", "shop_orders"),
    ("shop_shipments", "tracking_number", "shop_carrier_tracking"),
    ("shop_carrier_tracking", "shipment_id", "shop_shipments"),
    ("shop_payment_transactions", "order_id", "shop_orders"),
    ("shop_payment_transactions", "customer_id", "shop_customer_profiles"),
    ("shop_refunds", "transaction_id", "shop_payment_transactions"),
    ("shop_refunds", "order_id", "shop_orders"),
    ("shop_warranty_contracts", "order_id", "shop_orders"),
    ("shop_warranty_contracts", "sku", "shop_products"),
    ("shop_warranty_contracts", "customer_id", "shop_customer_profiles"),
    ("shop_warranty_claims", "contract_id", "shop_warranty_contracts"),
    ("shop_warranty_claims", "customer_id", "shop_customer_profiles"),
    ("shop_installation_jobs", "order_id", "shop_orders"),
    ("shop_installation_jobs", "customer_id", "shop_customer_profiles"),
    ("shop_rma_records", "order_id", "shop_orders"),
    ("shop_rma_records", "line_item_id", "shop_order_line_items"),
    ("shop_rma_records", "customer_id", "shop_customer_profiles"),
    ("shop_inventory_records", "sku", "shop_products"),
    ("shop_discount_applications", "order_id", "shop_orders"),
    ("shop_membership_records", "customer_id", "shop_customer_profiles"),
    ("zendesk_tickets", "requester_id", "zendesk_users"),
    ("zendesk_tickets", "assignee_id", "zendesk_users"),
    ("zendesk_tickets", "organization_id", "zendesk_organizations"),
    ("zendesk_users", "organization_id", "zendesk_organizations"),
    ("zendesk_comments", "ticket_id", "zendesk_tickets"),
    ("zendesk_comments", "author_id", "zendesk_users"),
    ("zendesk_ticket_comments", "ticket_id", "zendesk_tickets"),
    ("zendesk_ticket_comments", "author_id", "zendesk_users"),
    ("zendesk_articles", "author_id", "zendesk_users"),
)
QUERIES = {
    "Identity and privacy": "how do I identify a customer",
    "Returns and restocking fees": "return window and restocking fee",
    "Late and lost deliveries": "compensation for a late delivery",
    "Flawed, damaged and wrong goods": "scratched product, cosmetic flaw, keep it",
    "Addresses and reships": "parcel returned to sender, wrong address",
    "Cancellations and changes before shipping": "cancel an order in processing",
    "Installation": "technician visit moved to another day",
    "Warranty claims": "file a claim under a protection plan",
    "Promotions and points": "forgotten promotion code",
    "Memberships and tiers": "join or leave Plus",
    "Help desk tickets": "which ticket status and priority",
    "Saying no": "customer threatens with reviews",
}


@cache
def rows(table: str) -> dict[str, Any]:
    """A table's seed rows by key."""
    spec = domain.tables[table].spec
    return {spec.key_of(row): row for row in World(domain, domain.snapshot, NOW).rows[table]}


TASKS = {made.task.id: made for made in tasks_of(domain)}
GOLDENS = [(name, accepted) for name, made in TASKS.items() for accepted in made.expectation.outcomes]
each_golden = pytest.mark.parametrize(("task", "accepted"), GOLDENS, ids=[f"{t}: {a.name}" for t, a in GOLDENS])


def played(made: PackTask, calls: Iterable[GoldenCall]) -> World:
    """The task's world after these calls."""
    world = World(domain, snapshot_of(domain, made.task), made.task.instant)
    for call in calls:
        world.call(call.tool, **call.arguments)
    return world


def written_values(made: PackTask) -> Iterator[Any]:
    """Every value in the golden calls that write, but for free text."""
    for call in (call for accepted in made.expectation.outcomes for call in accepted.calls):
        if not domain.tools[call.tool].is_read:
            fields = {**call.arguments, **call.arguments.get("item", {})}
            yield from (v for k, v in fields.items() if k not in ("item", "subject", "description", "body"))


@pytest.mark.parametrize(("table", "field", "target"), REFERENCES)
def test_what_a_row_refers_to_exists(table: str, field: str, target: str) -> None:
    known = rows(target).keys()
    given = {str(value) for row in rows(table).values() if (value := getattr(row, field)) is not None}
    assert given
    assert given <= known


def test_lines_add_up_to_their_order() -> None:
    for order in rows("shop_orders").values():
        lines = [line for line in rows("shop_order_line_items").values() if line.order_id == order.id]
        subtotal = sum(line.quantity * line.base_price for line in lines)
        discount = sum(line.discount_amount for line in lines)
        due = subtotal - discount - order.points_value + order.shipping_cost
        paid = sum(line.final_price for line in lines)
        shown = (order.subtotal_amount, order.discount_amount, order.total_amount, subtotal - discount)
        assert shown == pytest.approx((subtotal, discount, due, paid)), order.id


def test_every_order_has_lines_and_one_payment_of_its_total() -> None:
    totals = {order.id: (order.total_amount, order.customer_id) for order in rows("shop_orders").values()}
    payments = rows("shop_payment_transactions").values()
    assert {p.order_id: (p.amount, p.customer_id) for p in payments} == totals
    assert len(payments) == len(totals)
    assert {line.order_id for line in rows("shop_order_line_items").values()} == totals.keys()


def test_lines_and_stock_are_of_the_catalogue() -> None:
    products = rows("shop_products")
    for line in rows("shop_order_line_items").values():
        product = products[line.sku]
        assert (line.product_name, line.base_price) == (product.name, product.base_price), line.id
    assert rows("shop_inventory_records").keys() == products.keys()


def test_discounts_and_points_of_an_order_are_on_its_discount_record() -> None:
    recorded = {
        d.order_id: (d.total_discount_amount, d.points_used) for d in rows("shop_discount_applications").values()
    }
    granted = {
        order.id: (pytest.approx(order.discount_amount + order.points_value), order.points_used)
        for order in rows("shop_orders").values()
        if order.discount_amount or order.points_used
    }
    assert recorded == granted


def test_what_happens_to_an_order_happens_in_order() -> None:
    orders, tracking = rows("shop_orders"), rows("shop_carrier_tracking")
    for shipment in rows("shop_shipments").values():
        order, report = orders[shipment.order_id], tracking[shipment.tracking_number]
        assert order.order_date < shipment.ship_date < shipment.estimated_delivery_date, shipment.id
        assert (report.shipment_id, report.carrier) == (shipment.id, shipment.carrier)
        arrived = shipment.actual_delivery_date
        assert (arrived is not None) == (order.status == "delivered") == (report.status == "delivered"), shipment.id
        assert arrived is None or shipment.ship_date < arrived <= report.last_update, shipment.id
    shipped = {order.id for order in orders.values() if order.status in ("shipped", "delivered")}
    assert {shipment.order_id for shipment in rows("shop_shipments").values()} == shipped


def test_nothing_in_the_records_is_later_than_the_tasks() -> None:
    now = min(made.task.instant for made in TASKS.values())
    tables = (("orders", "order_date"), ("refunds", "refund_date"), ("warranty_claims", "claim_date"))
    happened = [getattr(row, field) for table, field in tables for row in rows(f"shop_{table}").values()]
    happened += [ticket.updated_at for ticket in rows("zendesk_tickets").values()]
    assert max(happened) < now


def test_returns_are_priced_as_their_fees_say() -> None:
    lines = rows("shop_order_line_items")
    for rma in rows("shop_rma_records").values():
        line = lines[rma.line_item_id]
        back = rma.refund_amount + rma.restocking_fee + rma.return_shipping_cost + rma.removal_fee
        assert line.order_id == rma.order_id
        assert any(back == pytest.approx(line.final_price * n / line.quantity) for n in range(1, line.quantity + 1))


def test_members_are_those_with_an_active_membership() -> None:
    tiers = {customer.id: customer.customer_tier for customer in rows("shop_customer_profiles").values()}
    active = [m.customer_id for m in rows("shop_membership_records").values() if m.status == "active"]
    assert len(active) == len(set(active))
    assert set(active) == {customer for customer, tier in tiers.items() if tier != "standard"}


def test_every_customer_has_a_desk_user_of_that_address() -> None:
    users = {user.email: user.name for user in rows("zendesk_users").values() if user.role == "end-user"}
    assert users == {customer.email: customer.name for customer in rows("shop_customer_profiles").values()}


@each_golden
def test_golden_calls_work_and_change_two_tables_or_more(task: str, accepted: Accepted) -> None:
    assert len({effect.table for effect in played(TASKS[task], accepted.calls).effects}) >= 2


@each_golden
def test_golden_calls_leave_one_internal_note_and_one_ticket_that_is_not_new(task: str, accepted: Accepted) -> None:
    effects = played(TASKS[task], accepted.calls).effects
    (note,) = (effect.row for effect in effects if effect.table == "zendesk_comments")
    (ticket,) = (effect.row for effect in effects if effect.table == "zendesk_tickets")
    assert note is not None
    assert ticket is not None
    assert (note["public"], note["ticket_id"], note["author_id"]) == (False, ticket["id"], "900")
    assert ticket["status"] in ("open", "pending", "hold", "solved")


@each_golden
def test_another_way_to_the_same_rows_passes(task: str, accepted: Accepted) -> None:
    look = GoldenCall("zendesk_get_tables")
    calls = [look, *(call for call in accepted.calls if not domain.tools[call.tool].is_read), look]
    assert outcome_of(task, calls) == "yes"


@each_golden
def test_leaving_out_any_call_that_writes_fails(task: str, accepted: Accepted) -> None:
    writes = [call for call in accepted.calls if not domain.tools[call.tool].is_read]
    for left_out in writes:
        assert outcome_of(task, [call for call in writes if call is not left_out]) == "no", left_out


def test_solving_the_ticket_of_a_pending_warranty_claim_fails_on_its_status() -> None:
    (accepted,) = TASKS["stuck-warranty"].expectation.outcomes
    solve = GoldenCall("zendesk_update_item", {"table": "tickets", "id": "7", "item": {"status": "solved"}})
    bundle = bundle_of(domain, TASKS["stuck-warranty"].task, TASKS["stuck-warranty"].expectation)
    verdict = judged(bundle, Evidence(played(TASKS["stuck-warranty"], [*accepted.calls, solve]).effects, ()))
    assert verdict.result == "fail"
    assert [(f.table, f.key, f.field, f.required, f.found) for f in verdict.findings] == [
        ("zendesk_tickets", "7", "status", "hold", "solved")
    ]


def outcome_of(task: str, calls: Iterable[GoldenCall]) -> str:
    """Whether these calls bring about an accepted outcome of the task."""
    bundle = bundle_of(domain, TASKS[task].task, TASKS[task].expectation)
    verdict = judged(bundle, Evidence(played(TASKS[task], calls).effects, ()))
    (check,) = (check for check in verdict.checks if check.kind == "outcome")
    return check.result


def test_tasks_are_varied_and_long_enough() -> None:
    calls = [accepted.calls for _, accepted in GOLDENS]
    assert len(TASKS) >= 12
    assert median(map(len, calls)) >= 5
    assert len({call.tool for golden in calls for call in golden if not domain.tools[call.tool].is_read}) >= 12


@pytest.mark.parametrize("task", TASKS)
def test_the_first_message_gives_no_part_of_the_answer_away(task: str) -> None:
    words = set(re.findall(r"[\w.-]+", TASKS[task].task.goal.lower()))
    assert not words & {str(value).lower() for value in written_values(TASKS[task])}


@pytest.mark.parametrize("task", TASKS)
def test_no_record_and_no_context_names_the_amounts_of_the_answer(task: str) -> None:
    said = [TASKS[task].task.goal, TASKS[task].user.text]
    said += [f"{ticket.subject} {ticket.description}" for ticket in rows("zendesk_tickets").values()]
    said += [
        row.body for name in ("comments", "ticket_comments", "articles") for row in rows(f"zendesk_{name}").values()
    ]
    amounts = [f"{value:.2f}" for value in written_values(TASKS[task]) if isinstance(value, float) and value]
    assert not [amount for amount in amounts for text in said if amount in text]


def test_every_policy_is_the_first_hit_of_a_sensible_question() -> None:
    world = World(domain, domain.snapshot, NOW)
    first = {name: world.call("search_policy", query=query)["snippets"][0]["source"] for name, query in QUERIES.items()}
    assert first == {name: name for name in rows("knowledge_policies")}


def test_every_policy_is_needed_by_a_task() -> None:
    world = World(domain, domain.snapshot, NOW)
    asked = [call.arguments["query"] for _, a in GOLDENS for call in a.calls if call.tool == "search_policy"]
    first = {world.call("search_policy", query=query)["snippets"][0]["source"] for query in asked}
    assert first == rows("knowledge_policies").keys()


def test_policies_and_instructions_use_only_words_that_the_systems_know() -> None:
    known = {*domain.tools, "comments", "declined", "ticket_comments", "900", "plus"}
    known |= {part for tool in domain.tools.values() for part in tool.schema["properties"]}
    known |= {word for tool in domain.tools.values() for word in choices(tool.spec.function)}
    for table in domain.tables.values():
        known |= {*table.spec.row_type.__struct_fields__, *choices(table.spec.row_type)}
    texts = [policy.text for policy in rows("knowledge_policies").values()] + [domain.instructions]
    assert {word for text in texts for word in re.findall(r"`([^`]+)`", text)} <= known


def choices(declared: Any) -> Iterator[str]:
    """Every word that a field or parameter may be chosen from."""
    for annotation in get_type_hints(declared).values():
        yield from literals(annotation)


def literals(annotation: Any) -> Iterator[str]:
    """The words of every Literal in an annotation."""
    for part in get_args(annotation):
        if isinstance(part, str):
            yield part
        yield from literals(part)
