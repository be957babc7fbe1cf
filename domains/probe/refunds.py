"""Refunds: issued from what a payment holds, and struck from the books again."""

from msgspec import Struct
from msgspec.structs import replace

from domains.probe.desk import probe, today
from domains.probe.orders import Order, Payment, Reason, Refund
from sandbox import Call, Event, Gone, Instant, Invalid, Precondition, Row, Rows


class RefundIssued(Event, tag="refund-issued", version=1):
    id: str
    order_id: str
    payment_id: str
    amount: float
    reason: Reason
    balance: float
    """What the payment holds afterwards."""
    day: Instant


class RefundVoided(Event, tag="refund-voided", version=1):
    id: str
    payment_id: str
    balance: float
    """What the payment holds afterwards."""


@probe.on(RefundIssued)
def issued(rows: Rows, e: RefundIssued) -> tuple[Row, ...]:
    payment = replace(rows.get(Payment, e.payment_id), balance=e.balance)
    return payment, Refund(e.id, e.order_id, e.payment_id, e.amount, e.reason, e.day)


@probe.on(RefundVoided)
def voided(rows: Rows, e: RefundVoided) -> tuple[Row | Gone, ...]:
    return replace(rows.get(Payment, e.payment_id), balance=e.balance), Gone(Refund, e.id)


class Voided(Struct, frozen=True):
    voided: str
    balance: float


@probe.tool(emits=[RefundIssued])
def refund(call: Call, order_id: str, amount: float, reason: Reason = "returned") -> Refund:
    """
    Pay money back to the payment of an order. Whether it is owed is for you to judge.

    Declined when the payment holds less.

    Args:
        order_id: the order.
        amount: in dollars, above 0, in whole cents.
        reason: why it is paid back.
    """
    if amount <= 0 or round(amount, 2) != amount:
        raise Invalid(f"refund: an amount of {amount} cannot be paid; give dollars above 0 with at most two decimals")
    call.get(Order, order_id)
    payment = call.first(Payment, order_id=order_id)
    if payment is None:
        raise Precondition(f"order {order_id} has no payment; there is nothing to pay back")
    if amount > payment.balance:
        raise Precondition(f"payment {payment.id} holds {payment.balance:.2f}; {amount:.2f} cannot be paid from it")
    id, left = call.new_id(Refund), round(payment.balance - amount, 2)
    call.emit(RefundIssued(id, order_id, payment.id, amount, reason, left, today(call)))
    return call.get(Refund, id)


@probe.tool(emits=[RefundVoided])
def void_refund(call: Call, refund_id: str) -> Voided:
    """
    Strike a refund from the books, as if it had never been: its money goes back to the payment.

    Args:
        refund_id: the refund.
    """
    refund = call.get(Refund, refund_id)
    payment = call.get(Payment, refund.payment_id)
    balance = round(payment.balance + refund.amount, 2)
    call.emit(RefundVoided(refund_id, payment.id, balance))
    return Voided(refund_id, balance)
