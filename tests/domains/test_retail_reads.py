"""Each read of the shop once, with its whole answer, and what a row has that leaves a field out."""

from typing import Any

import pytest

from sandbox import UNSET
from tests.domains.shop_rows import order, own

LINE = {
    "id": "L-1",
    "sku": "S-1",
    "product_name": "Product S-1",
    "quantity": 1,
    "base_price": 100.0,
    "discount_amount": 0.0,
    "final_price": 100.0,
}
READS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "get_order",
        {"order_id": "O-1"},
        {
            **order("O-1", status="delivered"),
            "discount_amount": 0.0,
            "points_used": 0,
            "points_value": 0.0,
            "shipping_cost": 0.0,
            "shipping_speed": "standard",
            "fulfillment_type": "warehouse",
            "line_items": [LINE],
        },
    ),
    (
        "get_shipment_tracking",
        {"order_id": "O-1"},
        {
            "shipment_id": "SH-2",
            "order_id": "O-1",
            "carrier": "DHL",
            "tracking_number": "T-2",
            "ship_date": "2025-09-12T00:00:00Z",
            "estimated_delivery_date": "2025-09-20T00:00:00Z",
            "tracking_status": "in_transit",
        },
    ),
    (
        "check_warranty_coverage",
        {"order_id": "O-1", "sku": "S-1"},
        {
            "has_coverage": True,
            "contract_id": "W-1",
            "warranty_type": "manufacturer",
            "start_date": "2025-01-01T00:00:00Z",
            "end_date": "2026-01-01T00:00:00Z",
            "coverage_details": "Parts and labour",
        },
    ),
    (
        "get_installation_job",
        {"order_id": "O-1"},
        {
            "job_id": "J-1",
            "order_id": "O-1",
            "customer_id": "C-1",
            "service_type": "tv_mounting",
            "scheduled_date": "2025-10-05T09:00:00Z",
            "status": "completed",
            "completion_date": "2025-09-15T12:00:00Z",
            "service_cost": 80.0,
        },
    ),
    ("check_inventory", {"sku": "S-1"}, {"sku": "S-1", "available_quantity": 5, "reserved_quantity": 0}),
    (
        "get_product_details",
        {"sku": "S-1"},
        {
            "sku": "S-1",
            "name": "Product S-1",
            "category": "gaming",
            "brand": "Acme",
            "base_price": 100.0,
            "weight_lbs": 2.0,
            "is_refurbished": False,
            "points_redemption_eligible": True,
            "requires_installation": False,
        },
    ),
    (
        "get_promotion_details",
        {"promo_code": "TEN"},
        {
            "promo_id": "PR-1",
            "promo_code": "TEN",
            "discount_type": "percentage",
            "discount_value": 10.0,
            "stackable_with_points": False,
            "stackable_with_loyalty": True,
            "valid_from": "2025-01-01T00:00:00Z",
            "valid_until": "2025-12-31T00:00:00Z",
        },
    ),
    (
        "get_discount_application",
        {"order_id": "O-1"},
        {
            "discount_app_id": "",
            "order_id": "O-1",
            "points_used": 0,
            "loyalty_discount_applied": False,
            "total_discount_amount": 0.0,
        },
    ),
    (
        "get_customer_profile",
        {"email": "ada@example.com"},
        {
            "id": "C-1",
            "email": "ada@example.com",
            "name": "Ada",
            "registration_date": "2024-01-01T00:00:00Z",
            "customer_tier": "vip",
            "lifetime_value": 0.0,
            "total_orders": 0,
            "customer_score": 50,
            "behavioral_segment": "opportunist",
            "discount_usage_rate": 0.0,
        },
    ),
    (
        "get_membership_details",
        {"customer_id": "C-1"},
        {
            "membership_id": "M-2",
            "customer_id": "C-1",
            "membership_type": "plus",
            "start_date": "2025-01-01T00:00:00Z",
            "end_date": "2025-12-31T00:00:00Z",
            "status": "active",
            "points_balance": 20,
        },
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "answer"), READS, ids=[tool for tool, _, _ in READS])
def test_a_read_answers(tool: str, arguments: dict[str, Any], answer: dict[str, Any]) -> None:
    assert own().call(tool, **arguments) == answer


LEFT_OUT: dict[str, dict[str, Any]] = {
    "orders": {"status": "pending_payment", "fulfillment_type": "warehouse", "points_used": 0, "shipping_cost": 0.0},
    "order_line_items": {"discount_amount": 0.0},
    "refunds": {"status": "pending"},
    "rma_records": {
        "status": "pending",
        "restocking_fee": 0.0,
        "return_shipping_cost": 0.0,
        "removal_fee": 0.0,
    },
    "installation_jobs": {"status": "scheduled", "technician_id": None},
    "carrier_tracking": {"status": "pending"},
    "active_promotions": {"stackable_with_points": False, "stackable_with_loyalty": True, "excluded_skus": ()},
    "discount_applications": {"points_used": 0, "loyalty_discount_applied": False},
    "customer_profiles": {"customer_tier": "standard", "customer_score": 50, "behavioral_segment": "opportunist"},
    "membership_records": {"membership_type": "plus", "status": "active", "points_balance": 0},
    "products": {"is_refurbished": False, "points_redemption_eligible": True, "requires_installation": False},
}


@pytest.mark.parametrize(("table", "defaults"), LEFT_OUT.items(), ids=LEFT_OUT)
def test_a_field_that_a_row_leaves_out_has_its_default(table: str, defaults: dict[str, Any]) -> None:
    fields = {field.name: field.default for field in own().domain.tables[f"shop_{table}"].shape.fields}
    assert {name: fields.get(name, UNSET) for name in defaults} == defaults
