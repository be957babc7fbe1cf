"""Payments: what customers were charged for an order, and what they got back."""

from typing import Literal

from msgspec import Struct

from domains.retail.shop import RetailQuirks, Stamp, answer, shop
from sandbox import Call, Event, Instant, NotFound, Precondition, Row, Rows, counted_free

ChargeReason = Literal["shipping_upgrade", "reship_fee", "installation_cancelled_shipping"]
RefundReason = Literal[
    "rma_processed",
    "discount_correction",
    "late_delivery_compensation",
    "partial_refund_minor_defect",
    "shipping_downgrade",
    "order_cancelled",
]


@shop.table("payment_transactions", ids=counted_free("TXN-2", width=7))
class Payment(Row):
    id: str
    order_id: str
    customer_id: str
    amount: float
    status: Literal["authorized", "declined", "pending_authorization", "failed"]
    payment_method: str
    transaction_date: Stamp
    charge_reason: ChargeReason | None = None


@shop.table("refunds", ids=counted_free("RFD-2", width=7))
class Refund(Row):
    id: str
    transaction_id: str
    order_id: str
    amount: float
    refund_reason: RefundReason
    refund_date: Stamp
    status: str = "pending"


class CustomerCharged(Event, tag="customer-charged", version=1):
    transaction_id: str
    order_id: str
    customer_id: str
    amount: float
    reason: ChargeReason
    charged_at: Instant


class RefundCreated(Event, tag="refund-created", version=1):
    refund_id: str
    transaction_id: str
    order_id: str
    customer_id: str
    amount: float
    reason: RefundReason
    refunded_at: Instant


@shop.on(CustomerCharged)
def charged(rows: Rows, e: CustomerCharged) -> Payment:
    return Payment(
        id=e.transaction_id,
        order_id=e.order_id,
        customer_id=e.customer_id,
        amount=e.amount,
        status="authorized",
        payment_method="Card on file",
        transaction_date=e.charged_at,
        charge_reason=e.reason,
    )


@shop.on(RefundCreated)
def refunded(rows: Rows, e: RefundCreated) -> Refund:
    return Refund(e.refund_id, e.transaction_id, e.order_id, e.amount, e.reason, e.refunded_at)


class ChargeReceipt(Struct, frozen=True):
    transaction_id: str
    order_id: str
    amount: float
    status: str
    transaction_date: Instant


class RefundReceipt(Struct, frozen=True):
    refund_id: str
    transaction_id: str
    amount: float
    status: str
    refund_date: Instant


class FurtherCharge(Struct, frozen=True, omit_defaults=True):
    transaction_id: str
    amount: float
    status: str
    transaction_date: Instant
    charge_reason: ChargeReason | None = None


class PaymentStatus(Struct, frozen=True, omit_defaults=True):
    transaction_id: str
    order_id: str
    customer_id: str
    amount: float
    status: str
    payment_method: str
    transaction_date: Instant
    further_charges: list[FurtherCharge] | None = None


@shop.tool(emits=[CustomerCharged])
def charge_customer(
    call: Call, order_id: str, customer_id: str, amount: float, charge_reason: ChargeReason
) -> ChargeReceipt:
    """
    Charge the customer's card on file; any amount passes, so whether it is owed is for you to judge.

    Args:
        order_id: the order that the charge belongs to.
        customer_id: who pays.
        amount: in dollars.
        charge_reason: what for.

    Returns:
        transaction_id, order_id, amount, status (`authorized`) and transaction_date.
    """
    charge = CustomerCharged(call.new_id(Payment), order_id, customer_id, amount, charge_reason, call.now)
    call.emit(charge)
    payment = call.get(Payment, charge.transaction_id)
    return answer(call, ChargeReceipt, payment, transaction_id=payment.id)


@shop.tool(emits=[RefundCreated])
def create_refund(
    call: Call, order_id: str, customer_id: str, amount: float, refund_reason: RefundReason
) -> RefundReceipt:
    """
    Pay money back for an order; any amount passes, so whether it is due is for you to judge.

    It is booked against the order's first payment. Orders and returns are not touched.

    Args:
        order_id: the order; it must have a payment.
        customer_id: who is paid back.
        amount: in dollars.
        refund_reason: what for.

    Returns:
        refund_id, transaction_id (of the payment), amount, status (`pending`) and refund_date.
    """
    payment = _payments(call, order_id)[0]
    if customer_id != payment.customer_id and not call.quirks(RetailQuirks).unkept_ids_unchecked:
        raise Precondition(f"order {order_id!r} was not paid by customer {customer_id!r}; give the customer who paid")
    refund = RefundCreated(call.new_id(Refund), payment.id, order_id, customer_id, amount, refund_reason, call.now)
    call.emit(refund)
    return answer(call, RefundReceipt, call.get(Refund, refund.refund_id), refund_id=refund.refund_id)


@shop.tool()
def get_payment_status(call: Call, order_id: str) -> PaymentStatus:
    """
    Show how an order was paid.

    Args:
        order_id: the order.

    Returns:
        transaction_id, order_id, customer_id, amount in dollars, status, payment_method and transaction_date of the
        order's payment, and in further_charges, where there are any to show, what was charged for it later: each with
        transaction_id, amount, status, transaction_date and, if there is one, charge_reason.
    """
    payment, *later = _payments(call, order_id)
    if call.quirks(RetailQuirks).first_payment_only:
        later = []
    further = [answer(call, FurtherCharge, charge, transaction_id=charge.id) for charge in later]
    return answer(call, PaymentStatus, payment, transaction_id=payment.id, further_charges=further or None)


def _payments(call: Call, order_id: str) -> list[Payment]:
    """What was paid for an order, first payment first; NotFound if nothing was."""
    payments = call.all(Payment, order_id=order_id)
    if not payments:
        raise NotFound(f"no payment for order {order_id!r}; look the order up with get_order")
    return payments
