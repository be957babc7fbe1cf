"""A small shop: ids that depend on the path, references between new rows, and a field of every kind of comparison."""

from decimal import Decimal
from typing import Any

import msgspec
from msgspec.structs import replace

from sandbox import (
    UNSET,
    Call,
    Domain,
    Event,
    Gone,
    Instant,
    Precondition,
    Prose,
    Row,
    Rows,
    Toolset,
    Unordered,
    UnsetType,
    Volatile,
    World,
    counted,
)
from sandbox.records import Chain, Record, Said, TrialKey, TrialOpened, draft
from sandbox.world import request

START = "2025-10-01T13:00:00Z"
shop = Toolset("shop")


@shop.table("customers")
class Customer(Row):
    id: str
    address: str
    verified: bool = False


@shop.table("orders", ids="ORD")
class Order(Row):
    id: str
    customer: str
    total: float | None = None
    status: str = "open"
    placed_at: Instant | None = None
    note: Prose = ""
    tags: Unordered[str] = ()
    steps: tuple[str, ...] = ()
    touched: Volatile[int] = 0
    extra: int | str | UnsetType | None = UNSET


@shop.table("lines", ids="LIN")
class Line(Row):
    id: str
    order: str
    sku: str
    quantity: int = 1


@shop.table("shipments", ids="SHP")
class Shipment(Row):
    id: str
    lines: Unordered[str]
    weight: Decimal | None = None


@shop.table("refunds", ids="RFD")
class Refund(Row):
    id: str
    order: str
    amount: float
    reason: str


@shop.table("reservations", key=("order", "sku"))
class Reservation(Row):
    order: str
    sku: str
    quantity: int


@shop.table("users", ids=counted(offset=1))
class User(Row):
    id: str
    name: str


@shop.table("tickets", ids=counted(offset=1))
class Ticket(Row):
    id: str
    requester: str
    title: str


TABLES = {name: kind for kind, name in ((kind, spec.name) for kind, spec in shop.tables.items())}


class RowWritten(Event, tag="row-written", version=1):
    table: str
    row: dict[str, Any]


class RowDropped(Event, tag="row-dropped", version=1):
    table: str
    key: str


class RefundIssued(Event, tag="refund-issued", version=1):
    id: str
    order: str
    amount: float
    reason: str


class RefundVoided(Event, tag="refund-voided", version=1):
    id: str


class CustomerVerified(Event, tag="customer-verified", version=1):
    id: str


@shop.on(RowWritten)
def written(rows: Rows, e: RowWritten) -> Row:
    kind = TABLES[e.table]
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in e.row.items()}
    if isinstance(given.get("weight"), str):
        given["weight"] = Decimal(given["weight"])
    return kind(**given)


@shop.on(RowDropped)
def dropped(rows: Rows, e: RowDropped) -> Gone:
    return Gone(TABLES[e.table], e.key)


@shop.on(RefundIssued)
def issued(rows: Rows, e: RefundIssued) -> Refund:
    return Refund(e.id, e.order, e.amount, e.reason)


@shop.on(RefundVoided)
def voided(rows: Rows, e: RefundVoided) -> Gone:
    return Gone(Refund, e.id)


@shop.on(CustomerVerified)
def verified(rows: Rows, e: CustomerVerified) -> Customer:
    return replace(rows.get(Customer, e.id), verified=True)


@shop.tool(emits=[RowWritten])
def create(call: Call, table: str, row: dict[str, Any]) -> dict[str, str]:
    """Create a row under the next id, or under its own key."""
    kind = TABLES[table]
    key = {} if "id" in row or kind is Reservation else {"id": call.new_id(kind)}
    call.emit(RowWritten(table, {**key, **row}))
    return key


@shop.tool(emits=[RowWritten])
def change(call: Call, table: str, key: str, fields: dict[str, Any]) -> str:
    """Change fields of a row."""
    row = call.get(TABLES[table], key)
    values = {name: getattr(row, name) for name in row.__struct_fields__}
    kept = {name: value for name, value in values.items() if value is not UNSET}
    call.emit(RowWritten(table, {**kept, **fields}))
    return "changed"


@shop.tool(emits=[RowDropped])
def delete(call: Call, table: str, key: str) -> str:
    """Delete a row."""
    call.get(TABLES[table], key)
    call.emit(RowDropped(table, key))
    return "deleted"


@shop.tool(emits=[RefundIssued])
def refund(call: Call, order: str, amount: float, reason: str = "damaged") -> Refund:
    """Refund an order."""
    call.get(Order, order)
    if reason == "none":
        raise Precondition("a refund needs a reason; name one")
    made = RefundIssued(call.new_id(Refund), order, amount, reason)
    call.emit(made)
    return call.get(Refund, made.id)


@shop.tool(emits=[RefundVoided])
def void_refund(call: Call, id: str) -> str:
    """Take a refund back."""
    call.get(Refund, id)
    call.emit(RefundVoided(id))
    return "voided"


@shop.tool(emits=[CustomerVerified])
def verify(call: Call, id: str) -> str:
    """Verify who a customer is."""
    call.get(Customer, id)
    call.emit(CustomerVerified(id))
    return "verified"


@shop.tool()
def get_order(call: Call, id: str) -> Order:
    """An order."""
    return call.get(Order, id)


@shop.tool()
def fail_softly(call: Call) -> dict[str, str]:
    """Answer with an error instead of refusing."""
    return {"error": "card declined"}


SEED: dict[str, list[dict[str, Any]]] = {
    "shop_customers": [{"id": "C-1", "address": "Suite 641, Elm Street"}, {"id": "C-2", "address": "2 Oak Road"}],
    "shop_orders": [
        {"id": "ORD-1", "customer": "C-1", "total": 100.0, "placed_at": "2025-09-30T10:00:00Z", "tags": ["a", "b"]},
        {"id": "ORD-2", "customer": "C-2", "total": 0.0, "steps": ["picked", "packed"]},
    ],
    "shop_users": [{"id": str(number), "name": f"user {number}"} for number in (1, 2, 3)],
    "shop_tickets": [{"id": "1", "requester": "1", "title": "old"}],
}
domain = Domain("shop", shop, seed=SEED)

Script = list[tuple[str, dict[str, Any]]]


def after(script: Script) -> World:
    """A world in which these calls have been made."""
    world = World(domain, domain.snapshot, START)
    for tool, arguments in script:
        world.call(f"shop_{tool}", **arguments)
    return world


def new(table: str, **row: Any) -> tuple[str, dict[str, Any]]:
    """A call that creates a row."""
    return "create", {"table": table, "row": row}


def edit(table: str, key: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    """A call that changes a row."""
    return "change", {"table": table, "key": key, "fields": fields}


def drop(table: str, key: str) -> tuple[str, dict[str, Any]]:
    """A call that deletes a row."""
    return "delete", {"table": table, "key": key}


def refunded(order: str = "ORD-1", amount: float = 25.0, reason: str = "damaged") -> tuple[str, dict[str, Any]]:
    """A call that refunds."""
    return "refund", {"order": order, "amount": amount, "reason": reason}


def stream_of(script: Script) -> list[Record]:
    """The records of a trial in which these calls were made, refused ones too."""
    world = World(domain, domain.snapshot, START)
    key = TrialKey("c", "t", 1, 1)
    chain = Chain(key.id)
    opened = TrialOpened(key, "shop", "script", START, "", (), "", "", "0")
    records = chain.sealed([draft(opened, START), draft(Said("user", "hello"), START)], b"")
    chain.advance(records)
    for tool, arguments in script:
        decision = world.decide(request(f"shop_{tool}", msgspec.json.encode(arguments).decode()))
        world.apply(decision)
        batch = chain.sealed(decision.drafts, b"")
        chain.advance(batch)
        records += batch
    return records
