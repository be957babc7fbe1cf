"""The rules of retail that hold in both mounts, among them those that no recorded call decides."""

from collections.abc import Callable
from typing import Any

import pytest

from sandbox import Conflict, Invalid, NotFound, Precondition, Unsupported, World
from tests.domains.shop_rows import MOUNTS, contract, job, order, own, payment, promotion, public, rows_of, shipment

ADDRESS = {"line1": "9 Elm", "city": "Ely", "state": "NV", "zip": "89301"}
CORRECTED = {f"corrected_address_{part}": text for part, text in ADDRESS.items()}
SENT_TO = {f"shipping_address_{part}": text for part, text in ADDRESS.items()}
CHARGE = {"order_id": "O-1", "customer_id": "C-1", "amount": 5.0, "charge_reason": "reship_fee"}
REFUND = {"order_id": "O-1", "customer_id": "C-1", "amount": 5.0, "refund_reason": "order_cancelled"}
CLAIM = {"contract_id": "W-1", "customer_id": "C-1", "warranty_issue_type": "component_failed"}
RMA = {
    "order_id": "O-1",
    "line_item_id": "L-1",
    "customer_id": "C-1",
    "return_reason": "defective",
    "refund_amount": 100,
    "restocking_fee": 0,
    "return_shipping_cost": 0,
    "removal_fee": 0,
}
REPLACEMENT = {"original_order_id": "O-1", "customer_id": "C-1", "quantity": 2, "shipping_speed": "standard", **SENT_TO}

both = pytest.mark.parametrize("mounted", MOUNTS.values(), ids=MOUNTS)


Mounted = Callable[..., World]


def refund(key: str) -> dict[str, Any]:
    return {
        "id": key,
        "transaction_id": "P-1",
        "order_id": "O-1",
        "amount": 1.0,
        "refund_reason": "order_cancelled",
        "refund_date": "2025-09-01T00:00:00Z",
    }


@pytest.mark.parametrize(
    ("tool", "arguments", "table", "rows"),
    [
        ("charge_customer", CHARGE, "payment_transactions", [payment("TXN-20000001")]),
        ("create_refund", REFUND, "refunds", [refund("RFD-20000001")]),
    ],
)
def test_an_id_that_is_taken_is_refused_for_ever_in_public_and_passed_over_in_the_own_mount(
    tool: str, arguments: dict[str, Any], table: str, rows: list[dict[str, Any]]
) -> None:
    world = public(**{table: rows})
    for _ in range(2):
        with pytest.raises(Conflict, match="already exists"):
            world.call(tool, **arguments)
    assert world.effects == ()
    ours = own(**{table: rows})
    ours.call(tool, **arguments)
    ours.call(tool, **arguments)
    prefix = rows[0]["id"][:-1]
    assert [row.id for row in rows_of(ours, table)] == [f"{prefix}{number}" for number in (1, 2, 3)]


@both
def test_claim_and_return_ids_start_at_the_count_and_pass_over_taken_ones(mounted: Mounted) -> None:
    claim = {"contract_id": "W-1", "customer_id": "C-1", "claim_date": "2025-09-01T00:00:00Z", "status": "denied"}
    claims = [{"id": key, "issue_description": "Component failed", **claim} for key in ("WCL-20000002", "WCL-20000003")]
    world = mounted(warranty_claims=claims)
    assert world.call("file_warranty_claim", **CLAIM)["claim_id"] == "WCL-20000004"
    assert world.call("create_rma", **RMA)["rma_id"] == "RMA-20000000"
    assert world.call("create_rma", **RMA)["rma_id"] == "RMA-20000001"


@both
def test_other_ids_are_the_smallest_that_are_free(mounted: Mounted) -> None:
    world = mounted(orders=[order("O-1"), order("ORD-20000002"), order("ORD-20000001")])
    made = [world.call("create_replacement_order", sku="S-1", **REPLACEMENT) for _ in range(2)]
    assert [answer["replacement_order_id"] for answer in made] == ["ORD-20000003", "ORD-20000004"]


@both
def test_a_parcel_without_tracking_is_pending_and_cannot_be_sent_again(mounted: Mounted) -> None:
    world = mounted(carrier_tracking=[])
    shown = world.call("get_shipment_tracking", order_id="O-1")
    assert (shown["tracking_status"], "current_location" in shown) == ("pending", False)
    with pytest.raises(NotFound, match="tracking"):
        world.call("reship_order", order_id="O-1", customer_fault=False, **CORRECTED)
    assert world.effects == ()


@both
@pytest.mark.parametrize(
    ("since", "until", "covered"),
    [
        ("2025-10-01T13:00:05Z", "2025-10-01T13:00:05Z", True),
        ("2025-10-01T15:00:05+02:00", "2025-10-01T13:00:05", True),
        ("2025-10-01T13:00:05.000001Z", "2026-01-01T00:00:00Z", False),
        ("2025-01-01T00:00:00Z", "2025-10-01T13:00:04.999999", False),
    ],
)
def test_warranty_includes_its_bounds_and_reads_zoneless_dates_as_utc(
    mounted: Mounted, since: str, until: str, covered: bool
) -> None:
    world = mounted("2025-10-01T13:00:04Z", warranty_contracts=[contract("W-1", since, until)])
    assert world.call("check_warranty_coverage", order_id="O-1", sku="S-1")["has_coverage"] is covered


@both
def test_a_product_without_a_contract_is_just_not_covered(mounted: Mounted) -> None:
    assert mounted().call("check_warranty_coverage", order_id="O-9", sku="S-9") == {"has_coverage": False}


@both
def test_a_promotion_includes_its_bounds_and_an_expired_namesake_is_passed_over(mounted: Mounted) -> None:
    old = promotion("PR-1", "FALL", "2024-01-01T00:00:00Z", "2025-10-01T13:00:04Z")
    now = promotion("PR-2", "FALL", "2025-10-01T13:00:05Z", "2025-10-01T13:00:05Z", excluded_skus=["S-2"])
    world = mounted("2025-10-01T13:00:04Z", active_promotions=[old, now])
    shown = world.call("get_promotion_details", promo_code="FALL")
    assert (shown["promo_id"], shown["excluded_skus"]) == ("PR-2", ["S-2"])
    with pytest.raises(NotFound):
        world.call("get_promotion_details", promo_code="fall")


@both
def test_what_a_business_may_not_do_passes_and_is_evidence(mounted: Mounted) -> None:
    world = mounted()
    world.call("create_refund", **{**REFUND, "amount": 1_000_000.0})
    world.call("create_refund", **{**REFUND, "amount": -3.5})
    world.call("charge_customer", **{**CHARGE, "order_id": "nowhere", "customer_id": "nobody"})
    assert world.call("cancel_order", order_id="O-1", cancellation_reason="out_of_stock")["status"] == "cancelled"
    assert [row.amount for row in rows_of(world, "refunds")] == [1_000_000.0, -3.5]
    assert rows_of(world, "payment_transactions")[-1].order_id == "nowhere"
    assert rows_of(world, "orders")[0].status == "cancelled"


@both
def test_a_replacement_of_an_unlisted_product_is_refused_and_leaves_the_stock_alone(mounted: Mounted) -> None:
    world = mounted()
    with pytest.raises(NotFound, match="S-3"):
        world.call("create_replacement_order", sku="S-3", **REPLACEMENT)
    assert world.effects == ()
    assert world.call("check_inventory", sku="S-3")["available_quantity"] == 5


@both
def test_a_replacement_takes_stock_and_is_a_free_order_with_one_line(mounted: Mounted) -> None:
    world = mounted()
    key = world.call("create_replacement_order", sku="S-1", **REPLACEMENT)["replacement_order_id"]
    made = world.call("get_order", order_id=key)
    assert (made["status"], made["total_amount"], made["shipping_address_city"]) == ("processing", 0.0, "Ely")
    assert [(line["sku"], line["quantity"], line["final_price"]) for line in made["line_items"]] == [("S-1", 2, 0.0)]
    assert rows_of(world, "inventory_records")[0].available_quantity == 3


@both
def test_a_reshipment_moves_the_order_and_is_tracked_with_five_days_to_go(mounted: Mounted) -> None:
    world = mounted("2025-10-01T13:00:04Z")
    made = world.call("reship_order", order_id="O-1", customer_fault=True, **CORRECTED)
    assert (made["reship_cost"], made["new_tracking_number"]) == (15.0, "TRK-200000000001")
    sent, followed = rows_of(world, "shipments")[-1], rows_of(world, "carrier_tracking")[-1]
    assert sent.estimated_delivery_date == followed.estimated_delivery == "2025-10-06T13:00:05Z"
    assert (followed.status, followed.last_update) == ("pending", sent.ship_date)
    assert rows_of(world, "orders")[0].shipping_address_line1 == "9 Elm"


@both
def test_only_a_completed_job_with_bad_workmanship_is_scheduled_again(mounted: Mounted) -> None:
    world = mounted(installation_jobs=[job("J-1", status="completed"), job("J-2", status="cancelled")])
    moved = {"new_scheduled_date": "2025-10-07T09:00:00", "reschedule_reason": "workmanship_issue"}
    assert world.call("reschedule_installation", job_id="J-1", **moved)["status"] == "scheduled"
    assert world.call("reschedule_installation", job_id="J-2", **moved)["status"] == "cancelled"
    later = {"new_scheduled_date": "2025-10-08T09:00:00+02:00", "reschedule_reason": "weather_delay"}
    shown = world.call("reschedule_installation", job_id="J-1", **later)
    assert shown["old_scheduled_date"] == "2025-10-07T09:00:00"
    assert rows_of(world, "installation_jobs")[0].scheduled_date == "2025-10-08T09:00:00+02:00"


@both
@pytest.mark.parametrize(("tool", "names"), [("get_installation_job", "job"), ("get_customer_profile", "customer")])
def test_nothing_named_is_refused_and_empty_text_names_nothing(mounted: Mounted, tool: str, names: str) -> None:
    with pytest.raises(Precondition, match=f"no {names} is named"):
        mounted().call(tool, **{f"{names}_id": ""})


@both
def test_a_named_job_is_not_looked_for_by_its_order(mounted: Mounted) -> None:
    world = mounted()
    assert world.call("get_installation_job", job_id="", order_id="O-1")["job_id"] == "J-1"
    with pytest.raises(NotFound):
        world.call("get_installation_job", job_id="J-9", order_id="O-1")


@both
def test_a_new_membership_runs_for_a_year_of_whole_days(mounted: Mounted) -> None:
    world = mounted("2025-10-01T13:00:04Z")
    world.call("update_membership_status", customer_id="C-1", action="upgrade", membership_type="plus")
    made = rows_of(world, "membership_records")[-1]
    assert (made.id, made.points_balance, made.status) == ("MEM-20000001", 0, "active")
    assert (made.start_date, made.end_date) == ("2025-10-01T00:00:00Z", "2026-10-01T23:59:59.999999Z")


def test_a_membership_from_a_leap_day_ends_in_february() -> None:
    world = own("2028-02-29T08:00:00Z")
    made = world.call("update_membership_status", customer_id="C-1", action="upgrade", membership_type="plus")
    assert (made["start_date"], made["end_date"]) == ("2028-02-29T00:00:00Z", "2029-02-28T23:59:59.999999Z")


@both
def test_an_upgrade_needs_a_type_and_a_cancellation_a_membership(mounted: Mounted) -> None:
    world = mounted(membership_records=[])
    with pytest.raises(Precondition, match="membership_type"):
        world.call("update_membership_status", customer_id="C-1", action="upgrade", membership_type="")
    with pytest.raises(NotFound, match="membership"):
        world.call("update_membership_status", customer_id="C-1", action="cancel")
    assert world.effects == ()


@both
def test_an_order_without_discounts_has_an_empty_application(mounted: Mounted) -> None:
    shown = mounted().call("get_discount_application", order_id="O-1")
    assert (shown["discount_app_id"], shown["total_discount_amount"], len(shown)) == ("", 0.0, 5)


@both
def test_a_balance_beyond_what_can_be_recorded_is_invalid(mounted: Mounted) -> None:
    world = mounted()
    points = {"customer_id": "C-1", "points_to_add": 2**64 - 1, "points_reason": "manual_adjustment"}
    with pytest.raises(Invalid):
        world.call("add_points_to_balance", **points)
    assert world.effects == ()


@both
def test_an_unknown_argument_or_tool_is_refused(mounted: Mounted) -> None:
    world = mounted()
    with pytest.raises(Invalid, match="unknown argument `order`"):
        world.call("get_order", order_id="O-1", order="O-1")
    with pytest.raises(Unsupported, match="did you mean 'get_order'"):
        world.call("get_orders", order_id="O-1")


@both
def test_first_and_latest_shipment_are_one_where_there_is_one(mounted: Mounted) -> None:
    world = mounted(shipments=[shipment("SH-1", "T-1", "2025-09-10T00:00:00Z")])
    assert world.call("get_shipment_tracking", order_id="O-1")["current_location"] == "Reno"
