"""Returns: goods that customers send back, with what they get for them and what is held back."""

from typing import Literal

from msgspec import Struct

from domains.retail.shop import Stamp, answer, shop
from sandbox import Call, Event, Instant, Row, Rows, counted_free

ReturnReason = Literal["defective", "wrong_item_received", "changed_mind", "not_as_expected", "damaged_in_transit"]
ReturnStatus = Literal["pending", "approved", "shipped_to_warehouse", "received", "refunded", "cancelled"]


@shop.table("rma_records", ids=counted_free("RMA-20", width=6))
class Return(Row):
    id: str
    order_id: str
    line_item_id: str
    customer_id: str
    return_reason: ReturnReason
    is_defective: bool
    created_date: Stamp
    refund_amount: float
    status: ReturnStatus = "pending"
    restocking_fee: float = 0.0
    return_shipping_cost: float = 0.0
    removal_fee: float = 0.0


class ReturnApproved(Event, tag="return-approved", version=1):
    rma_id: str
    order_id: str
    line_item_id: str
    customer_id: str
    reason: ReturnReason
    is_defective: bool
    refund_amount: float
    restocking_fee: float
    return_shipping_cost: float
    removal_fee: float
    approved_at: Instant


@shop.on(ReturnApproved)
def approved(rows: Rows, e: ReturnApproved) -> Return:
    return Return(
        id=e.rma_id,
        order_id=e.order_id,
        line_item_id=e.line_item_id,
        customer_id=e.customer_id,
        return_reason=e.reason,
        is_defective=e.is_defective,
        created_date=e.approved_at,
        refund_amount=e.refund_amount,
        status="approved",
        restocking_fee=e.restocking_fee,
        return_shipping_cost=e.return_shipping_cost,
        removal_fee=e.removal_fee,
    )


class RmaReceipt(Struct, frozen=True):
    rma_id: str
    status: str
    created_date: Instant


class RmaStatus(Struct, frozen=True):
    rma_id: str
    order_id: str
    line_item_id: str
    customer_id: str
    return_reason: str
    status: str
    refund_amount: float
    restocking_fee: float
    return_shipping_cost: float
    removal_fee: float
    created_date: Instant


@shop.tool(emits=[ReturnApproved])
def create_rma(
    call: Call,
    order_id: str,
    line_item_id: str,
    customer_id: str,
    return_reason: ReturnReason,
    refund_amount: float,
    restocking_fee: float,
    return_shipping_cost: float,
    removal_fee: float,
    is_defective: bool = False,
) -> RmaReceipt:
    """
    Approve the return of a line of an order; whether it may be returned, and on what terms, is for you to judge.

    No money moves: the refund, when it is due, is a call of its own.

    Args:
        order_id: the order.
        line_item_id: the line of it that comes back.
        customer_id: who sends it back.
        return_reason: why it comes back.
        refund_amount: what the customer is to get back, in dollars.
        restocking_fee: held back for restocking, in dollars; 0 for none.
        return_shipping_cost: what the customer pays for the way back, in dollars; 0 for none.
        removal_fee: what the customer pays for taking down an installed product, in dollars; 0 for none.
        is_defective: whether the product is defective.

    Returns:
        rma_id, status (`approved`) and created_date.
    """
    rma = ReturnApproved(
        rma_id=call.new_id(Return),
        order_id=order_id,
        line_item_id=line_item_id,
        customer_id=customer_id,
        reason=return_reason,
        is_defective=is_defective,
        refund_amount=refund_amount,
        restocking_fee=restocking_fee,
        return_shipping_cost=return_shipping_cost,
        removal_fee=removal_fee,
        approved_at=call.now,
    )
    call.emit(rma)
    return answer(call, RmaReceipt, call.get(Return, rma.rma_id), rma_id=rma.rma_id)


@shop.tool()
def get_rma_status(call: Call, rma_id: str) -> RmaStatus:
    """
    Show a return.

    Args:
        rma_id: the return, by the number that create_rma gave it.

    Returns:
        rma_id, order_id, line_item_id, customer_id, return_reason, status, the amounts in dollars (refund_amount,
        restocking_fee, return_shipping_cost, removal_fee) and created_date.
    """
    return answer(call, RmaStatus, call.get(Return, rma_id), rma_id=rma_id)
