"""Customers and their orders: looked up, and changed many at a time."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from domains.probe.desk import Stamp, probe
from sandbox import Call, Event, Instant, Precondition, Prose, Row, Rows

Status = Literal["open", "paid", "shipped", "delivered", "cancelled"]
Reason = Literal["returned", "damaged", "late", "goodwill"]


@probe.table("customers", ids="CUS")
class Customer(Row):
    id: str
    name: str
    email: str
    address: str


@probe.table("orders", ids="ORD")
class Order(Row):
    id: str
    customer_id: str
    placed: Instant
    total: float
    status: Status = "open"
    declared_amount: float | str | UnsetType | None = UNSET
    """What the customer declared, as it came in: nothing at all, null, "", a text or a number."""


@probe.table("order_items", ids="ITM")
class OrderItem(Row):
    id: str
    order_id: str
    sku: str
    quantity: int
    price: float


@probe.table("payments", ids="PAY")
class Payment(Row):
    id: str
    order_id: str
    method: Literal["card", "gift_card", "transfer"]
    balance: float
    """What is held of the order's money, in dollars: the most that can be paid back."""


@probe.table("refunds", ids="REF")
class Refund(Row):
    id: str
    order_id: str
    payment_id: str
    amount: float
    reason: Reason
    day: Instant


@probe.table("notes", ids="NOTE")
class Note(Row):
    id: str
    order_id: str
    text: Prose
    author: Literal["agent", "system"]
    written: Stamp


class OrderChanged(Event, tag="order-changed", version=1):
    """Fields that are not mentioned stay."""

    order_id: str
    status: Status | UnsetType = UNSET
    declared_amount: float | str | UnsetType | None = UNSET


@probe.on(OrderChanged)
def changed(rows: Rows, e: OrderChanged) -> Order:
    order = rows.get(Order, e.order_id)
    if e.status is not UNSET:
        order = replace(order, status=e.status)
    return order if e.declared_amount is UNSET else replace(order, declared_amount=e.declared_amount)


class OrderDetails(Struct, frozen=True):
    order: Order
    items: list[OrderItem]
    payments: list[Payment]
    refunds: list[Refund]
    notes: list[Note]


class BulkUpdate(Struct, frozen=True):
    updated: list[str]


@probe.tool()
def find_customers(call: Call, email: str) -> list[Customer]:
    """
    Find the customers with an e-mail address, exactly as written.

    Args:
        email: the address.
    """
    return call.all(Customer, email=email)


@probe.tool()
def get_order(call: Call, order_id: str) -> OrderDetails:
    """
    Show an order with its items, payments, refunds and notes.

    Args:
        order_id: the order.
    """
    order = call.get(Order, order_id)
    return OrderDetails(
        order,
        call.all(OrderItem, order_id=order_id),
        call.all(Payment, order_id=order_id),
        call.all(Refund, order_id=order_id),
        call.all(Note, order_id=order_id),
    )


@probe.tool(emits=[OrderChanged], idempotent=True)
def bulk_update(
    call: Call,
    order_ids: tuple[str, ...],
    status: Status | UnsetType = UNSET,
    declared_amount: float | str | UnsetType | None = UNSET,
    fail_after: int | None = None,
    failure: Literal["refusal", "fault"] = "refusal",
) -> BulkUpdate:
    """
    Change several orders at once, all or none. What is not mentioned stays; null clears the declared amount.

    Args:
        order_ids: the orders, in the order in which they are changed.
        status: their status from now on.
        declared_amount: what their customers declared, as a number or as text.
        fail_after: break off on purpose when so many orders are changed, to try out what remains of them.
        failure: how it breaks off: the call is declined, or the shop's own system fails.
    """
    for done, order_id in enumerate(order_ids):
        _break_off(done, fail_after, failure)
        call.get(Order, order_id)
        call.emit(OrderChanged(order_id, status, declared_amount))
    _break_off(len(order_ids), fail_after, failure)
    return BulkUpdate(list(order_ids))


def _break_off(done: int, fail_after: int | None, failure: Literal["refusal", "fault"]) -> None:
    if done != fail_after:
        return
    if failure == "fault":
        raise RuntimeError(f"bulk_update was told to fail after {done} orders")
    raise Precondition(f"the update was broken off after {done} orders, as asked; none of them is changed")
