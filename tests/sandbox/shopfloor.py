"""A small shop for tests of trials and campaigns: enumerations, numbers, ids, nested items, a tool that breaks."""

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from sandbox import Call, Domain, Event, Precondition, Row, Rows, Toolset
from sandbox.agents import PlannedCall
from sandbox.task import Task

START = "2025-10-01T13:00:00Z"

shop = Toolset("shop")


class Item(Struct, frozen=True):
    """A line of an order."""

    sku: str
    quantity: int
    wrapping: Literal["none", "paper", "box"] = "none"


@shop.table("orders", ids="SO")
class Order(Row):
    id: str
    customer: str
    items: tuple[Item, ...] = ()
    status: Literal["new", "packed", "sent"] = "new"
    remark: str = ""


class OrderPlaced(Event, tag="order-placed", version=1):
    id: str
    customer: str
    items: tuple[Item, ...]


class StatusSet(Event, tag="status-set", version=1):
    id: str
    status: Literal["new", "packed", "sent"]


class Remarked(Event, tag="remarked", version=1):
    id: str
    text: str


@shop.on(OrderPlaced)
def placed(rows: Rows, e: OrderPlaced) -> Order:
    return Order(e.id, e.customer, e.items)


@shop.on(StatusSet)
def status_set(rows: Rows, e: StatusSet) -> Order:
    return replace(rows.get(Order, e.id), status=e.status)


@shop.on(Remarked)
def remarked(rows: Rows, e: Remarked) -> Order:
    return replace(rows.get(Order, e.id), remark=e.text)


@shop.tool(emits=[OrderPlaced])
def place_order(call: Call, customer: str, items: tuple[Item, ...] = ()) -> Order:
    """Place an order."""
    id = call.new_id(Order)
    call.emit(OrderPlaced(id, customer, items))
    return call.get(Order, id)


@shop.tool(emits=[StatusSet], idempotent=True)
def set_status(call: Call, id: str, status: Literal["new", "packed", "sent"] | None = None) -> Order:
    """Set an order's status."""
    call.get(Order, id)
    call.emit(StatusSet(id, status or "new"))
    return call.get(Order, id)


@shop.tool(emits=[Remarked])
def remark(call: Call, id: str, text: str) -> Order:
    """Leave a remark on an order that is not sent yet."""
    if call.get(Order, id).status == "sent":
        raise Precondition(f"order {id} is sent; nothing can be added")
    call.emit(Remarked(id, text))
    return call.get(Order, id)


@shop.tool()
def list_orders(call: Call) -> list[Order]:
    """List all orders."""
    return call.all(Order)


@shop.tool()
def break_down(call: Call) -> str:
    """Always break."""
    raise KeyError("cupboard key 4711")


SEED: dict[str, list[dict[str, Any]]] = {
    "shop_orders": [
        {"id": "SO-1", "customer": "C-17", "items": [{"sku": "LAMP", "quantity": 2}]},
        {"id": "SO-2", "customer": "C-18", "status": "sent"},
    ]
}

domain = Domain("shop", shop, seed=SEED)
objects = Domain("shop", shop, seed=SEED, refusals="object")


def task(name: str = "remark", *, tools: tuple[str, ...] = ()) -> Task:
    """A task of this shop."""
    return Task(name, "shop", START, f"Please see to {name}.", tools)


def remarks(count: int = 3) -> list[PlannedCall]:
    """A plan that leaves one remark after the other."""
    return [PlannedCall("shop_remark", {"id": "SO-1", "text": f"remark {number}"}) for number in range(count)]
