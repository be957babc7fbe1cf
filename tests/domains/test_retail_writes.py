"""Each write of the shop once, with its whole answer and every field that it changes."""

from typing import Any

import pytest

from sandbox import plain
from tests.domains.shop_rows import order, own, rows_of
from tests.domains.test_retail import CHARGE, CLAIM, CORRECTED, REFUND, REPLACEMENT, RMA

NOW = "2025-10-01T13:00:01Z"

Write = tuple[str, dict[str, Any], dict[str, Any], dict[str, dict[str, Any]]]
SHIPPED_TO = {f"new_shipping_address_{part}": part for part in ("line1", "city", "state", "zip")}
WRITES: list[Write] = [
    (
        "cancel_order",
        {"order_id": "O-1", "cancellation_reason": "customer_request"},
        {"order_id": "O-1", "status": "cancelled", "refund_initiated": False},
        {"shop_orders O-1": {"status": "cancelled"}},
    ),
    (
        "update_order_address",
        {"order_id": "O-1", **{f"new_address_{part}": part for part in ("line1", "city", "state", "zip")}},
        {"order_id": "O-1", "address_updated": True, **SHIPPED_TO},
        {"shop_orders O-1": {f"shipping_address_{part}": part for part in ("line1", "city", "state", "zip")}},
    ),
    (
        "update_shipping_speed",
        {"order_id": "O-1", "new_shipping_speed": "next_day"},
        {
            "order_id": "O-1",
            "old_shipping_speed": "standard",
            "new_shipping_speed": "next_day",
            "cost_difference": 29.99,
            "updated": True,
        },
        {"shop_orders O-1": {"shipping_speed": "next_day", "shipping_cost": 29.99, "total_amount": 129.99}},
    ),
    (
        "reship_order",
        {"order_id": "O-1", "customer_fault": False, **CORRECTED},
        {
            "order_id": "O-1",
            "new_shipment_id": "SHP-20000001",
            "new_tracking_number": "TRK-200000000001",
            "reship_cost": 0.0,
            "reship_initiated": True,
        },
        {
            "shop_orders O-1": {
                "shipping_address_line1": "9 Elm",
                "shipping_address_city": "Ely",
                "shipping_address_state": "NV",
                "shipping_address_zip": "89301",
            },
            "shop_shipments SHP-20000001": {
                "id": "SHP-20000001",
                "order_id": "O-1",
                "carrier": "DHL",
                "tracking_number": "TRK-200000000001",
                "ship_date": NOW,
                "estimated_delivery_date": "2025-10-06T13:00:01Z",
                "actual_delivery_date": None,
            },
            "shop_carrier_tracking TRK-200000000001": {
                "tracking_number": "TRK-200000000001",
                "shipment_id": "SHP-20000001",
                "carrier": "DHL",
                "estimated_delivery": "2025-10-06T13:00:01Z",
                "last_update": NOW,
                "status": "pending",
                "current_location": None,
            },
        },
    ),
    (
        "create_replacement_order",
        {"sku": "S-1", **REPLACEMENT},
        {"replacement_order_id": "ORD-20000001", "status": "processing", "total_amount": 0.0},
        {
            "shop_inventory_records S-1": {"available_quantity": 3},
            "shop_orders ORD-20000001": {
                "id": "ORD-20000001",
                "customer_id": "C-1",
                "order_date": NOW,
                "subtotal_amount": 0.0,
                "total_amount": 0.0,
                "shipping_address_line1": "9 Elm",
                "shipping_address_city": "Ely",
                "shipping_address_state": "NV",
                "shipping_address_zip": "89301",
                "status": "processing",
                "discount_amount": 0.0,
                "points_used": 0,
                "points_value": 0.0,
                "shipping_cost": 0.0,
                "shipping_speed": "standard",
                "fulfillment_type": "warehouse",
                "installation_service_id": None,
            },
            "shop_order_line_items LIN-20000001": {
                "id": "LIN-20000001",
                "order_id": "ORD-20000001",
                "sku": "S-1",
                "product_name": "Product S-1",
                "quantity": 2,
                "base_price": 0.0,
                "final_price": 0.0,
                "discount_amount": 0.0,
            },
        },
    ),
    (
        "charge_customer",
        CHARGE,
        {
            "transaction_id": "TXN-20000002",
            "order_id": "O-1",
            "amount": 5.0,
            "status": "authorized",
            "transaction_date": NOW,
        },
        {
            "shop_payment_transactions TXN-20000002": {
                "id": "TXN-20000002",
                "order_id": "O-1",
                "customer_id": "C-1",
                "amount": 5.0,
                "status": "authorized",
                "payment_method": "Card on file",
                "transaction_date": NOW,
                "charge_reason": "reship_fee",
            }
        },
    ),
    (
        "create_refund",
        REFUND,
        {
            "refund_id": "RFD-20000000",
            "transaction_id": "P-1",
            "amount": 5.0,
            "status": "pending",
            "refund_date": NOW,
        },
        {
            "shop_refunds RFD-20000000": {
                "id": "RFD-20000000",
                "transaction_id": "P-1",
                "order_id": "O-1",
                "amount": 5.0,
                "refund_reason": "order_cancelled",
                "refund_date": NOW,
                "status": "pending",
            }
        },
    ),
    (
        "file_warranty_claim",
        CLAIM,
        {"claim_id": "WCL-20000000", "status": "pending", "claim_date": NOW},
        {
            "shop_warranty_claims WCL-20000000": {
                "id": "WCL-20000000",
                "contract_id": "W-1",
                "customer_id": "C-1",
                "claim_date": NOW,
                "issue_description": "Component failed",
                "status": "pending",
                "resolution": None,
            }
        },
    ),
    (
        "cancel_installation",
        {"job_id": "J-1", "order_id": "O-1", "cancellation_reason": "product_incompatible"},
        {"job_id": "J-1", "status": "cancelled", "service_cost_refunded": 80.0},
        {"shop_installation_jobs J-1": {"status": "cancelled"}},
    ),
    (
        "reschedule_installation",
        {"job_id": "J-1", "new_scheduled_date": "2025-10-09T09:00:00Z", "reschedule_reason": "customer_request"},
        {
            "job_id": "J-1",
            "old_scheduled_date": "2025-10-05T09:00:00Z",
            "new_scheduled_date": "2025-10-09T09:00:00Z",
            "status": "completed",
        },
        {"shop_installation_jobs J-1": {"scheduled_date": "2025-10-09T09:00:00Z"}},
    ),
    (
        "create_rma",
        {**RMA, "restocking_fee": 1, "return_shipping_cost": 2, "removal_fee": 3},
        {"rma_id": "RMA-20000000", "status": "approved", "created_date": NOW},
        {
            "shop_rma_records RMA-20000000": {
                "id": "RMA-20000000",
                "order_id": "O-1",
                "line_item_id": "L-1",
                "customer_id": "C-1",
                "return_reason": "defective",
                "is_defective": False,
                "created_date": NOW,
                "refund_amount": 100.0,
                "status": "approved",
                "restocking_fee": 1.0,
                "return_shipping_cost": 2.0,
                "removal_fee": 3.0,
            }
        },
    ),
    (
        "add_points_to_balance",
        {"customer_id": "C-1", "points_to_add": -50, "points_reason": "manual_adjustment"},
        {"customer_id": "C-1", "old_balance": 20, "points_added": -50, "new_balance": -30},
        {"shop_membership_records M-2": {"points_balance": -30}},
    ),
    (
        "update_membership_status",
        {"customer_id": "C-1", "action": "cancel"},
        {"customer_id": "C-1", "new_tier": "standard", "action_completed": "cancelled"},
        {
            "shop_membership_records M-2": {"status": "cancelled"},
            "shop_customer_profiles C-1": {"customer_tier": "standard"},
        },
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "answer", "changed"), WRITES, ids=[write[0] for write in WRITES])
def test_a_write_answers_and_changes(
    tool: str, arguments: dict[str, Any], answer: dict[str, Any], changed: dict[str, dict[str, Any]]
) -> None:
    world = own()
    assert world.call(tool, **arguments) == answer
    found = {f"{effect.table} {effect.key}": effect for effect in world.effects}
    fields = {
        name: effect.row if effect.op == "inserted" else {change.name: change.after for change in effect.changes}
        for name, effect in found.items()
    }
    assert fields == changed


def test_no_write_is_left_out_here() -> None:
    tools = own().domain.tools.items()
    assert {name for name, tool in tools if tool.mount.name == "shop" and not tool.is_read} == {w[0] for w in WRITES}


def test_a_return_is_shown_without_its_defect() -> None:
    world = own()
    world.call("create_rma", **RMA, is_defective=True)
    shown = world.call("get_rma_status", rma_id="RMA-20000000")
    row = plain(rows_of(world, "rma_records")[0])
    assert row.pop("is_defective") is True
    assert shown == {"rma_id": row.pop("id"), **row}


def test_a_charge_is_shown_with_what_it_was_for() -> None:
    world = own(payment_transactions=[])
    world.call("charge_customer", **CHARGE)
    world.call("charge_customer", **{**CHARGE, "amount": 7, "charge_reason": "shipping_upgrade"})
    shown = world.call("get_payment_status", order_id="O-1")
    later = {"transaction_id": "TXN-20000001", "amount": 7.0, "charge_reason": "shipping_upgrade"}
    assert shown == {
        "transaction_id": "TXN-20000000",
        "order_id": "O-1",
        "customer_id": "C-1",
        "amount": 5.0,
        "status": "authorized",
        "payment_method": "Card on file",
        "transaction_date": NOW,
        "further_charges": [{**later, "status": "authorized", "transaction_date": "2025-10-01T13:00:02Z"}],
    }


def test_only_an_order_that_is_processing_has_its_refund_under_way() -> None:
    world = own(orders=[order("O-1", status="processing"), order("O-2", status="shipped")])
    cancelled = [
        world.call("cancel_order", order_id=key, cancellation_reason="customer_request")["refund_initiated"]
        for key in ("O-1", "O-2", "O-1")
    ]
    assert cancelled == [True, False, False]
