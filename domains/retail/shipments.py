"""Shipments and what their carriers report: tracked, and sent again to a corrected address."""

from typing import Literal

from msgspec import Struct

from domains.retail.orders import Address, Order, readdressed
from domains.retail.shop import RetailQuirks, Stamp, answer, shop
from sandbox import Call, Event, Instant, NotFound, Row, Rows, later, moment, smallest_free

TRANSIT_S = 5 * 24 * 3600
"""How long a reshipment is expected to take, in seconds."""
RESHIP_FEE = 15.0
"""What a customer owes, in dollars, for a reshipment that is the customer's fault."""


@shop.table("shipments", ids=smallest_free("SHP-2", width=7))
class Shipment(Row):
    id: str
    order_id: str
    carrier: str
    tracking_number: str
    ship_date: Stamp
    estimated_delivery_date: Stamp
    actual_delivery_date: Instant | None = None


@shop.table("carrier_tracking", key="tracking_number", ids=smallest_free("TRK-2", width=11))
class Tracking(Row):
    tracking_number: str
    shipment_id: str
    carrier: str
    estimated_delivery: Stamp
    last_update: Stamp
    status: Literal["pending", "in_transit", "delayed", "delivered", "exception", "returned_to_sender"] = "pending"
    current_location: str | None = None


class OrderReshipped(Event, tag="order-reshipped", version=1):
    order_id: str
    address: Address
    customer_fault: bool
    shipment_id: str
    tracking_number: str
    carrier: str
    shipped_at: Instant
    expected_at: Instant


@shop.on(OrderReshipped)
def reshipped(rows: Rows, e: OrderReshipped) -> tuple[Row, ...]:
    return (
        readdressed(rows.get(Order, e.order_id), e.address),
        Shipment(e.shipment_id, e.order_id, e.carrier, e.tracking_number, e.shipped_at, e.expected_at),
        Tracking(
            e.tracking_number, e.shipment_id, e.carrier, estimated_delivery=e.expected_at, last_update=e.shipped_at
        ),
    )


class ShipmentTracking(Struct, frozen=True, omit_defaults=True):
    shipment_id: str
    order_id: str
    carrier: str
    tracking_number: str
    ship_date: Instant
    estimated_delivery_date: Instant
    tracking_status: str
    actual_delivery_date: Instant | None = None
    current_location: str | None = None


class Reshipment(Struct, frozen=True):
    order_id: str
    new_shipment_id: str
    new_tracking_number: str
    reship_cost: float
    reship_initiated: bool


@shop.tool()
def get_shipment_tracking(call: Call, order_id: str) -> ShipmentTracking:
    """
    Show the parcel of an order, and what its carrier reports of it.

    Args:
        order_id: the order.

    Returns:
        shipment_id, order_id, carrier, tracking_number, ship_date, estimated_delivery_date, actual_delivery_date once
        delivered, tracking_status (`pending` while the carrier reports nothing) and current_location if it is known.
    """
    shipment = _shipment(call, order_id)
    tracking = call.peek(Tracking, shipment.tracking_number)
    return answer(
        call,
        ShipmentTracking,
        shipment,
        shipment_id=shipment.id,
        tracking_status=tracking.status if tracking else "pending",
        current_location=tracking.current_location if tracking else None,
    )


@shop.tool(emits=[OrderReshipped])
def reship_order(
    call: Call,
    order_id: str,
    corrected_address_line1: str,
    corrected_address_city: str,
    corrected_address_state: str,
    corrected_address_zip: str,
    customer_fault: bool,
) -> Reshipment:
    """
    Send an order's parcel again, with the same carrier, to a corrected address that the order keeps.

    The order must have a tracked shipment; what the carrier reports of it is for you to judge. The new parcel is
    expected five days from now. Nobody is charged; that is a call of its own.

    Args:
        order_id: the order.
        corrected_address_line1: street and number.
        corrected_address_city: city.
        corrected_address_state: state.
        corrected_address_zip: postal code.
        customer_fault: whether the customer is to blame for the failed delivery, and so owes 15 dollars.

    Returns:
        order_id, new_shipment_id, new_tracking_number, reship_cost in dollars (15 or 0) and reship_initiated (true).
    """
    call.get(Order, order_id)
    shipment = _shipment(call, order_id)
    call.get(Tracking, shipment.tracking_number)
    reshipment = OrderReshipped(
        order_id,
        Address(corrected_address_line1, corrected_address_city, corrected_address_state, corrected_address_zip),
        customer_fault,
        shipment_id=call.new_id(Shipment),
        tracking_number=call.new_id(Tracking),
        carrier=shipment.carrier,
        shipped_at=call.now,
        expected_at=later(call.now, TRANSIT_S),
    )
    call.emit(reshipment)
    cost = RESHIP_FEE if customer_fault else 0.0
    return Reshipment(order_id, reshipment.shipment_id, reshipment.tracking_number, cost, reship_initiated=True)


def _shipment(call: Call, order_id: str) -> Shipment:
    """The order's shipment that counts: the one shipped last."""
    shipments = call.all(Shipment, order_id=order_id)
    if not shipments:
        raise NotFound(f"no shipment for order {order_id!r}; it has not been shipped, or there is no such order")
    if call.quirks(RetailQuirks).first_shipment_only:
        return shipments[0]
    return max(reversed(shipments), key=lambda shipment: moment(shipment.ship_date))
