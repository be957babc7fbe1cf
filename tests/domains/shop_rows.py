"""A small shop for the tests of retail: the same rows for its own mount and for the public one."""

from typing import Any

from domains.retail import domain, public_domain
from domains.retail.public import public_shop
from sandbox import Domain, Snapshot, World

START = "2025-10-01T13:00:00Z"
PUBLIC_NAMES = public_shop().table_names

Rows = dict[str, list[dict[str, Any]]]


def order(key: str, **fields: Any) -> dict[str, Any]:
    address = {f"shipping_address_{part}": part.upper() for part in ("line1", "city", "state", "zip")}
    amounts = {"subtotal_amount": 100.0, "total_amount": 100.0}
    return {"id": key, "customer_id": "C-1", "order_date": "2025-09-01T10:00:00Z", **address, **amounts, **fields}


def shipment(key: str, number: str, shipped: str, carrier: str = "UPS") -> dict[str, Any]:
    return {
        "id": key,
        "order_id": "O-1",
        "carrier": carrier,
        "tracking_number": number,
        "ship_date": shipped,
        "estimated_delivery_date": "2025-09-20T00:00:00Z",
    }


def tracking(number: str, shipment_id: str, **fields: Any) -> dict[str, Any]:
    times = {"estimated_delivery": "2025-09-20T00:00:00Z", "last_update": "2025-09-12T00:00:00Z"}
    return {"tracking_number": number, "shipment_id": shipment_id, "carrier": "UPS", **times, **fields}


def payment(key: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": key,
        "order_id": "O-1",
        "customer_id": "C-1",
        "amount": 100.0,
        "status": "authorized",
        "payment_method": "Visa",
        "transaction_date": "2025-09-01T10:00:00Z",
        **fields,
    }


def membership(key: str, status: str, points: int) -> dict[str, Any]:
    dates = {"start_date": "2025-01-01T00:00:00Z", "end_date": "2025-12-31T00:00:00Z"}
    return {"id": key, "customer_id": "C-1", **dates, "status": status, "points_balance": points}


def promotion(key: str, code: str, since: str, until: str, **fields: Any) -> dict[str, Any]:
    terms = {"discount_type": "percentage", "discount_value": 10.0}
    return {"id": key, "promo_code": code, **terms, "valid_from": since, "valid_until": until, **fields}


def contract(key: str, since: str, until: str, sku: str = "S-1") -> dict[str, Any]:
    words = {"warranty_type": "manufacturer", "coverage_details": "Parts and labour"}
    return {
        "id": key,
        "order_id": "O-1",
        "sku": sku,
        "customer_id": "C-1",
        **words,
        "start_date": since,
        "end_date": until,
    }


def ticket(key: str, **fields: Any) -> dict[str, Any]:
    times = {"created_at": "2025-09-30T00:00:00Z", "updated_at": "2025-09-30T00:00:00Z"}
    return {"id": key, "subject": f"Ticket {key}", **times, **fields}


def product(sku: str) -> dict[str, Any]:
    terms = {"base_price": 100.0, "weight_lbs": 2.0, "warranty_period_days": 365}
    return {"sku": sku, "name": f"Product {sku}", "category": "gaming", "brand": "Acme", **terms}


def job(key: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": key,
        "order_id": "O-1",
        "customer_id": "C-1",
        "service_type": "tv_mounting",
        "scheduled_date": "2025-10-05T09:00:00Z",
        "service_cost": 80.0,
        **fields,
    }


SHOP: Rows = {
    "orders": [order("O-1", status="delivered"), order("O-2", shipping_speed="expedited", subtotal_amount=0.1)],
    "order_line_items": [
        {
            "id": "L-1",
            "order_id": "O-1",
            "sku": "S-1",
            "product_name": "Product S-1",
            "quantity": 1,
            "base_price": 100.0,
            "final_price": 100.0,
        }
    ],
    "shipments": [
        shipment("SH-1", "T-1", "2025-09-10T00:00:00Z"),
        shipment("SH-2", "T-2", "2025-09-12T00:00:00Z", carrier="DHL"),
    ],
    "carrier_tracking": [
        tracking("T-1", "SH-1", status="returned_to_sender", current_location="Reno"),
        tracking("T-2", "SH-2", status="in_transit"),
    ],
    "payment_transactions": [payment("P-1"), payment("P-2", amount=15.0, charge_reason="reship_fee")],
    "warranty_contracts": [contract("W-1", "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z")],
    "installation_jobs": [job("J-1", status="completed", completion_date="2025-09-15T12:00:00Z")],
    "inventory_records": [
        {"sku": "S-1", "available_quantity": 5, "reserved_quantity": 0},
        {"sku": "S-2", "available_quantity": 0, "reserved_quantity": 0},
        {"sku": "S-3", "available_quantity": 5, "reserved_quantity": 0},
    ],
    "products": [product("S-1"), product("S-2")],
    "active_promotions": [promotion("PR-1", "TEN", "2025-01-01T00:00:00Z", "2025-12-31T00:00:00Z")],
    "customer_profiles": [
        {
            "id": "C-1",
            "email": "ada@example.com",
            "name": "Ada",
            "registration_date": "2024-01-01T00:00:00Z",
            "customer_tier": "vip",
        }
    ],
    "membership_records": [membership("M-1", "expired", 10), membership("M-2", "active", 20)],
}
"""S-3 is in stock and in no catalogue."""


def own(start: str = START, /, **rows: Any) -> World:
    """A world of the shop's own mount; rows of a table given replace those of `SHOP`."""
    shop = Domain("retail", *domain.mounts, seed=_named(rows, {table: f"shop_{table}" for table in PUBLIC_NAMES}))
    return World(shop, shop.snapshot, start)


def public(start: str = START, /, **rows: Any) -> World:
    """A world of the public mount."""
    shop = public_domain(_named(rows, PUBLIC_NAMES))
    return World(shop, Snapshot([shop.seed]), start)


MOUNTS = {"own": own, "public": public}


def rows_of(world: World, table: str) -> list[Any]:
    """The rows of a table of the shop, whichever the mount."""
    rows = world.rows
    return rows[f"shop_{table}"] if f"shop_{table}" in rows else rows[PUBLIC_NAMES[table]]


def _named(rows: Rows, names: Any) -> Rows:
    return {names.get(table, table): items for table, items in {**SHOP, **rows}.items()}
