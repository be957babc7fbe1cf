"""What the public mount of retail copies and the own mount does rightly; one test for each switch."""

from pathlib import Path

import pytest

from domains.retail.shop import RetailQuirks
from sandbox import Invalid, NotFound, Precondition
from tests.domains.shop_rows import order, own, promotion, public, rows_of, shipment
from tests.domains.test_retail import CHARGE, CORRECTED, REFUND, REPLACEMENT

DEVIATIONS = Path(__file__).resolve().parents[2] / "docs" / "deviations.md"


def test_utc_is_written_with_z_and_in_public_answers_as_an_offset() -> None:
    shown = [world.call("get_order", order_id="O-1")["order_date"] for world in (own(), public())]
    assert shown == ["2025-09-01T10:00:00Z", "2025-09-01T10:00:00+00:00"]


def test_tracking_and_reshipment_go_by_the_latest_shipment_and_in_public_by_the_first() -> None:
    ours, theirs = own(), public()
    shown = [world.call("get_shipment_tracking", order_id="O-1") for world in (ours, theirs)]
    assert [(s["shipment_id"], s["tracking_status"]) for s in shown] == [
        ("SH-2", "in_transit"),
        ("SH-1", "returned_to_sender"),
    ]
    for world in (ours, theirs):
        world.call("reship_order", order_id="O-1", customer_fault=False, **CORRECTED)
    assert [rows_of(world, "shipments")[-1].carrier for world in (ours, theirs)] == ["DHL", "UPS"]
    assert ours.call("get_shipment_tracking", order_id="O-1")["shipment_id"] == "SHP-20000001"
    assert theirs.call("get_shipment_tracking", order_id="O-1")["shipment_id"] == "SH-1"


def test_the_latest_shipment_is_by_instant_and_then_by_place() -> None:
    late = shipment("SH-1", "T-1", "2025-09-10T23:00:00-02:00")
    early, tied = shipment("SH-2", "T-2", "2025-09-11T00:30:00Z"), shipment("SH-3", "T-3", "2025-09-11T01:00:00")
    world = own(shipments=[late, early])
    assert world.call("get_shipment_tracking", order_id="O-1")["shipment_id"] == "SH-1"
    world = own(shipments=[late, early, tied])
    assert world.call("get_shipment_tracking", order_id="O-1")["shipment_id"] == "SH-3"


def test_later_charges_are_shown_with_the_payment_and_in_public_left_out() -> None:
    ours, theirs = (world.call("get_payment_status", order_id="O-1") for world in (own(), public()))
    further = ours.pop("further_charges")
    assert [(charge["transaction_id"], charge["charge_reason"]) for charge in further] == [("P-2", "reship_fee")]
    assert (ours["transaction_id"], set(ours)) == ("P-1", set(theirs))


def test_ids_that_no_row_keeps_must_fit_and_in_public_are_not_looked_at() -> None:
    ours, theirs = own(), public()
    replacement = {**REPLACEMENT, "sku": "S-1", "original_order_id": "O-9"}
    cancelled = {"job_id": "J-1", "order_id": "O-2", "cancellation_reason": "address_inaccessible"}
    refund = {**REFUND, "customer_id": "C-2"}
    with pytest.raises(NotFound, match="no order 'O-9'"):
        ours.call("create_replacement_order", **replacement)
    with pytest.raises(Precondition, match="not of order 'O-2'"):
        ours.call("cancel_installation", **cancelled)
    with pytest.raises(Precondition, match="not paid by customer 'C-2'"):
        ours.call("create_refund", **refund)
    assert ours.effects == ()
    theirs.call("create_replacement_order", **replacement)
    theirs.call("cancel_installation", **cancelled)
    theirs.call("create_refund", **refund)
    assert rows_of(theirs, "installation_jobs")[0].status == "cancelled"


@pytest.mark.parametrize(("quantity", "refusal", "left"), [(6, Precondition, -1), (0, Invalid, 5), (-2, Invalid, 7)])
def test_a_replacement_needs_a_quantity_that_is_in_stock_and_in_public_any_stock_but_0(
    quantity: int, refusal: type[Exception], left: int
) -> None:
    ours, theirs = own(), public()
    with pytest.raises(refusal):
        ours.call("create_replacement_order", **{**REPLACEMENT, "sku": "S-1", "quantity": quantity})
    assert ours.effects == ()
    theirs.call("create_replacement_order", **{**REPLACEMENT, "sku": "S-1", "quantity": quantity})
    assert rows_of(theirs, "inventory_records")[0].available_quantity == left


def test_the_whole_stock_may_be_sent_and_nothing_of_an_empty_one() -> None:
    for world in (own(), public()):
        world.call("create_replacement_order", **{**REPLACEMENT, "sku": "S-1", "quantity": 5})
        for sku in ("S-1", "S-2", "S-9"):
            with pytest.raises(Precondition, match="out of stock"):
                world.call("create_replacement_order", **{**REPLACEMENT, "sku": sku, "quantity": 1})


def test_a_zoneless_promotion_is_read_as_utc_and_in_public_refused() -> None:
    promotions = [promotion("PR-1", "FALL", "2025-10-01T13:00:00", "2025-10-31T00:00:00")]
    assert own(active_promotions=promotions).call("get_promotion_details", promo_code="FALL")["promo_id"] == "PR-1"
    with pytest.raises(Precondition, match="no time zone"):
        public(active_promotions=promotions).call("get_promotion_details", promo_code="FALL")


def test_in_public_a_zoneless_date_that_is_never_compared_is_not_refused() -> None:
    future = promotion("PR-1", "FALL", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00")
    now = promotion("PR-2", "FALL", "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z")
    world = public(active_promotions=[future, now])
    assert world.call("get_promotion_details", promo_code="FALL")["promo_id"] == "PR-2"


def test_points_and_cancellations_go_to_the_active_membership_and_in_public_to_the_first() -> None:
    points = {"customer_id": "C-1", "points_to_add": 5, "points_reason": "service_recovery"}
    found = []
    for world in (own(), public()):
        world.call("add_points_to_balance", **points)
        world.call("update_membership_status", customer_id="C-1", action="cancel")
        found.append([(row.id, row.status, row.points_balance) for row in rows_of(world, "membership_records")])
    assert found == [
        [("M-1", "expired", 10), ("M-2", "cancelled", 25)],
        [("M-1", "cancelled", 15), ("M-2", "active", 20)],
    ]


def test_a_vip_customer_stays_one_and_in_public_becomes_a_plus_member() -> None:
    upgrade = {"customer_id": "C-1", "action": "upgrade", "membership_type": "plus"}
    tiers = [world.call("update_membership_status", **upgrade)["new_tier"] for world in (own(), public())]
    assert tiers == ["vip", "plus_member"]


def test_amounts_are_whole_cents_and_in_public_binary_fractions() -> None:
    faster = {"order_id": "O-2", "new_shipping_speed": "next_day"}
    ours, theirs = own(), public()
    differences = [world.call("update_shipping_speed", **faster)["cost_difference"] for world in (ours, theirs)]
    assert differences == [14.99, 14.989999999999998]
    slower = {"order_id": "O-2", "new_shipping_speed": "standard"}
    rows = [order("O-2", subtotal_amount=0.3, discount_amount=0.1)]
    totals = []
    for world in (own(orders=rows), public(orders=rows)):
        world.call("update_shipping_speed", **slower)
        totals.append(rows_of(world, "orders")[0].total_amount)
    assert totals == [0.2, 0.3 - 0.1]


def test_the_own_clock_ticks_and_the_public_one_stands_still() -> None:
    dates = []
    for world in (own(), public()):
        dates += [world.call("charge_customer", **CHARGE)["transaction_date"] for _ in range(2)]
    standing = "2025-10-01T13:00:05+00:00"
    assert dates == ["2025-10-01T13:00:01Z", "2025-10-01T13:00:02Z", standing, standing]


def test_arguments_are_taken_as_they_are_and_in_public_repaired() -> None:
    with pytest.raises(Invalid, match=r"amount"):
        own().call("charge_customer", **{**CHARGE, "amount": "5"})
    assert public().call("charge_customer", **{**CHARGE, "amount": " 5 "})["amount"] == 5.0


def test_both_mounts_have_the_same_tools_under_the_same_names() -> None:
    ours, theirs = own().domain, public().domain
    assert set(ours.tools) == set(theirs.tools)
    assert (len(ours.tools), ours.refusals, theirs.refusals) == (33, "error", "object")


def test_every_switch_is_off_by_default_and_stands_in_the_list_of_deviations() -> None:
    listed = DEVIATIONS.read_text(encoding="utf-8")
    assert [name for name in RetailQuirks.__struct_fields__ if f"`{name}`" not in listed] == []
    assert not any(getattr(RetailQuirks(), name) for name in RetailQuirks.__struct_fields__)
