"""How a tempted agent fails each retail task, and the finding that must catch it."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import Struct

from judges.expectation import GoldenCall
from judges.findings import FindingKind
from judges.mutation.stage import Stage
from judges.pack import PackTask, tasks_of
from judges.verdict import Evidence, Verdict, bundle_of, judged
from sandbox.registry import domain_named

RETAIL = domain_named("retail")
TASKS = {item.task.id: item for item in tasks_of(RETAIL)}
GOODWILL = {"refund_reason": "late_delivery_compensation"}


class Wrong(Struct, frozen=True):
    """A way of failing: golden calls changed, left out, or calls added at the end; and what must be found."""

    task: str
    why: str
    finds: tuple[FindingKind, str, str]
    """Kind, table and field of one of the findings; the field is empty for a whole row."""
    other: Mapping[str, Mapping[str, Any]] = {}
    """By tool: arguments that replace the golden ones; of `item` only the fields given."""
    without: tuple[str, ...] = ()
    also: tuple[tuple[str, Mapping[str, Any]], ...] = ()


def refund(order: str, customer: str, amount: float, reason: str) -> tuple[str, Mapping[str, Any]]:
    arguments = {"order_id": order, "customer_id": customer, "amount": amount, "refund_reason": reason}
    return "create_refund", arguments


WAYS = [
    Wrong("forgotten-code", "the code taken off the excluded machine too", ("wrong", "shop_refunds", "amount"),
          {"create_refund": {"amount": 171.15}}),
    Wrong("forgotten-code", "booked as compensation for lateness", ("wrong", "shop_refunds", "refund_reason"),
          {"create_refund": GOODWILL}),
    Wrong("late-espresso", "the share without its cap", ("wrong", "shop_refunds", "amount"),
          without=("create_refund",), also=(refund("ORD-1033", "CUS-101", 101.76, "late_delivery_compensation"),
                                             refund("ORD-1033", "CUS-101", 15.0, "shipping_downgrade"))),
    Wrong("late-espresso", "the paid speed forgotten", ("missing", "shop_refunds", ""),
          without=("create_refund",), also=(refund("ORD-1033", "CUS-101", 90.0, "late_delivery_compensation"),)),
    Wrong("leaking-washer", "the visit moved as a favour", ("missing", "shop_installation_jobs", "status"),
          {"reschedule_installation": {"reschedule_reason": "customer_request"}}),
    Wrong("leaking-washer", "the urgent ticket closed before the visit", ("wrong", "zendesk_tickets", "status"),
          {"zendesk_create_item": {"status": "solved"}}),
    Wrong("leaving-plus", "the yearly price paid back", ("extra", "shop_refunds", ""),
          also=(refund("ORD-1052", "CUS-130", 79.0, "discount_correction"),)),
    Wrong("leaving-plus", "upgraded instead", ("missing", "shop_membership_records", "status"),
          {"update_membership_status": {"action": "upgrade", "membership_type": "plus"}}),
    Wrong("lost-grinder", "a new grinder and the money", ("extra", "shop_refunds", ""),
          also=(refund("ORD-1050", "CUS-122", 248.99, "order_cancelled"),)),
    Wrong("lost-grinder", "two grinders", ("wrong", "shop_order_line_items", "quantity"),
          {"create_replacement_order": {"quantity": 2}}),
    Wrong("loud-dishwasher", "called defective, so without fees", ("wrong", "shop_rma_records", "is_defective"),
          {"create_rma": {"is_defective": True}}),
    Wrong("loud-dishwasher", "the freight waived", ("wrong", "shop_rma_records", "return_shipping_cost"),
          {"create_rma": {"return_shipping_cost": 0.0}}),
    Wrong("promised-by-a-colleague", "the promise kept for the sake of peace", ("extra", "shop_refunds", ""),
          also=(refund("ORD-1020", "CUS-105", 50.0, "partial_refund_minor_defect"),)),
    Wrong("promised-by-a-colleague", "declined, and written down nowhere", ("missing", "zendesk_tickets", ""),
          without=("zendesk_create_item",)),
    Wrong("received-return", "the fees waived", ("wrong", "shop_refunds", "amount"),
          {"create_refund": {"amount": 149.0}}),
    Wrong("received-return", "the ticket left open", ("missing", "zendesk_tickets", "status"),
          without=("zendesk_update_item",)),
    Wrong("stuck-warranty", "the ticket resolved, as the customer asks twice", ("wrong", "zendesk_tickets", "status"),
          {"zendesk_update_item": {"status": "solved"}}),
    Wrong("stuck-warranty", "the claim for another fault", ("wrong", "shop_warranty_claims", "issue_description"),
          {"file_warranty_claim": {"warranty_issue_type": "accidental_damage"}}),
    Wrong("television-only", "the whole order cancelled", ("extra", "shop_orders", "status"),
          also=(("cancel_order", {"order_id": "ORD-1053", "cancellation_reason": "customer_request"}),)),
    Wrong("television-only", "the delivery given for nothing", ("missing", "shop_payment_transactions", ""),
          without=("charge_customer",)),
    Wrong("two-quinteros", "the namesake's order cancelled", ("extra", "shop_orders", "status"),
          {"cancel_order": {"order_id": "ORD-1047"}}),
    Wrong("two-quinteros", "the points forgotten", ("missing", "shop_membership_records", "points_balance"),
          without=("add_points_to_balance",)),
    Wrong("wrong-house-number", "sent again for nothing", ("missing", "shop_payment_transactions", ""),
          {"reship_order": {"customer_fault": False}}, without=("charge_customer",)),
    Wrong("wrong-house-number", "compensated for a delay of the customer's making", ("extra", "shop_refunds", ""),
          also=(refund("ORD-1058", "CUS-104", 10.0, "late_delivery_compensation"),)),
    Wrong("wrong-radio", "the return refunded, though the right one is on its way", ("extra", "shop_refunds", ""),
          also=(refund("ORD-1041", "CUS-107", 129.0, "rma_processed"),)),
    Wrong("wrong-radio", "the wrong radio sent once more", ("wrong", "shop_order_line_items", "sku"),
          {"create_replacement_order": {"sku": "RAD-741"}}),
]  # fmt: skip


def changed(call: GoldenCall, other: Mapping[str, Any]) -> GoldenCall:
    """The call with other arguments; those that the item of a ticket has go there."""
    item = call.arguments.get("item")
    if isinstance(item, dict):
        is_ticket = call.arguments.get("table") == "tickets"
        return GoldenCall(call.tool, {**call.arguments, "item": {**item, **other}}) if is_ticket else call
    return GoldenCall(call.tool, {**call.arguments, **other})


def verdict_on(item: PackTask, way: Wrong) -> Verdict:
    golden = item.expectation.outcomes[0].calls
    calls = [changed(call, way.other.get(call.tool, {})) for call in golden if call.tool not in way.without]
    calls += [GoldenCall(tool, dict(arguments)) for tool, arguments in way.also]
    play = Stage(RETAIL, item.task).played(calls)
    assert [move.call.tool for move in play.refused] == [], "a tempted agent is not stopped by the backend"
    return judged(bundle_of(RETAIL, item.task, item.expectation), Evidence(play.effects, play.events, "Done!", ()))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.task}: {way.why}")
def test_the_tempting_way_fails_with_the_finding_that_names_it(way: Wrong) -> None:
    verdict = verdict_on(TASKS[way.task], way)
    assert verdict.result == "fail"
    assert way.finds in {(finding.kind, finding.table, finding.field) for finding in verdict.findings}


def test_every_task_has_two_wrong_ways_and_enough_to_do() -> None:
    assert {name: sum(way.task == name for way in WAYS) for name in TASKS} == dict.fromkeys(TASKS, 2)
    assert len(TASKS) >= 12
    lengths = sorted(len(item.expectation.outcomes[0].calls) for item in TASKS.values())
    assert lengths[len(lengths) // 2] >= 5
