"""Orders and their line items: looked up, cancelled, readdressed, sped up, replaced."""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from domains.retail.products import Product, Stock
from domains.retail.shop import RetailQuirks, Stamp, answer, cents, shop
from sandbox import Call, Event, Instant, Invalid, Precondition, Row, Rows, smallest_free

Speed = Literal["standard", "expedited", "next_day"]
PRICES: dict[Speed, float] = {"standard": 0.0, "expedited": 15.0, "next_day": 29.99}
"""What each shipping speed costs, in dollars."""


@shop.table("orders", ids=smallest_free("ORD-2", width=7))
class Order(Row):
    id: str
    customer_id: str
    order_date: Stamp
    subtotal_amount: float
    total_amount: float
    shipping_address_line1: str
    shipping_address_city: str
    shipping_address_state: str
    shipping_address_zip: str
    status: Literal["pending_payment", "processing", "shipped", "installation_scheduled", "delivered", "cancelled"] = (
        "pending_payment"
    )
    discount_amount: float = 0.0
    points_used: int = 0
    points_value: float = 0.0
    shipping_cost: float = 0.0
    shipping_speed: Speed = "standard"
    fulfillment_type: Literal["warehouse", "drop_ship"] = "warehouse"
    installation_service_id: str | None = None


@shop.table("order_line_items", ids=smallest_free("LIN-2", width=7))
class LineItem(Row):
    id: str
    order_id: str
    sku: str
    product_name: str
    quantity: int
    base_price: float
    final_price: float
    discount_amount: float = 0.0


class Address(Struct, frozen=True):
    """Where an order goes."""

    line1: str
    city: str
    state: str
    zip: str


class OrderCancelled(Event, tag="order-cancelled", version=1):
    order_id: str
    reason: str


class OrderReaddressed(Event, tag="order-readdressed", version=1):
    order_id: str
    address: Address


class ShippingSpeedChanged(Event, tag="shipping-speed-changed", version=1):
    order_id: str
    speed: Speed
    shipping_cost: float
    total_amount: float


class ReplacementOrdered(Event, tag="replacement-ordered", version=1):
    order_id: str
    line_item_id: str
    original_order_id: str
    customer_id: str
    sku: str
    product_name: str
    quantity: int
    stock_left: int
    shipping_speed: Speed
    address: Address
    ordered_at: Instant


def readdressed(order: Order, address: Address) -> Order:
    """The order, going to another address."""
    return replace(
        order,
        shipping_address_line1=address.line1,
        shipping_address_city=address.city,
        shipping_address_state=address.state,
        shipping_address_zip=address.zip,
    )


@shop.on(OrderCancelled)
def cancelled(rows: Rows, e: OrderCancelled) -> Order:
    return replace(rows.get(Order, e.order_id), status="cancelled")


@shop.on(OrderReaddressed)
def address_corrected(rows: Rows, e: OrderReaddressed) -> Order:
    return readdressed(rows.get(Order, e.order_id), e.address)


@shop.on(ShippingSpeedChanged)
def speed_changed(rows: Rows, e: ShippingSpeedChanged) -> Order:
    order = rows.get(Order, e.order_id)
    return replace(order, shipping_speed=e.speed, shipping_cost=e.shipping_cost, total_amount=e.total_amount)


@shop.on(ReplacementOrdered)
def replacement_ordered(rows: Rows, e: ReplacementOrdered) -> tuple[Row, ...]:
    order = Order(
        id=e.order_id,
        customer_id=e.customer_id,
        order_date=e.ordered_at,
        subtotal_amount=0.0,
        total_amount=0.0,
        shipping_address_line1=e.address.line1,
        shipping_address_city=e.address.city,
        shipping_address_state=e.address.state,
        shipping_address_zip=e.address.zip,
        status="processing",
        shipping_speed=e.shipping_speed,
    )
    item = LineItem(e.line_item_id, e.order_id, e.sku, e.product_name, e.quantity, base_price=0.0, final_price=0.0)
    stock = replace(rows.get(Stock, e.sku), available_quantity=e.stock_left)
    return stock, order, item


class OrderLine(Struct, frozen=True):
    id: str
    sku: str
    product_name: str
    quantity: int
    base_price: float
    discount_amount: float
    final_price: float


class OrderDetails(Struct, frozen=True, omit_defaults=True):
    id: str
    customer_id: str
    order_date: Instant
    status: str
    subtotal_amount: float
    discount_amount: float
    points_used: int
    points_value: float
    shipping_cost: float
    total_amount: float
    shipping_address_line1: str
    shipping_address_city: str
    shipping_address_state: str
    shipping_address_zip: str
    shipping_speed: str
    fulfillment_type: str
    line_items: list[OrderLine]
    installation_service_id: str | None = None


class Cancellation(Struct, frozen=True):
    order_id: str
    status: str
    refund_initiated: bool


class AddressUpdate(Struct, frozen=True):
    order_id: str
    address_updated: bool
    new_shipping_address_line1: str
    new_shipping_address_city: str
    new_shipping_address_state: str
    new_shipping_address_zip: str


class SpeedUpdate(Struct, frozen=True):
    order_id: str
    old_shipping_speed: str
    new_shipping_speed: str
    cost_difference: float
    updated: bool


class Replacement(Struct, frozen=True):
    replacement_order_id: str
    status: str
    total_amount: float


@shop.tool(emits=[OrderCancelled])
def cancel_order(
    call: Call,
    order_id: str,
    cancellation_reason: Literal["customer_request", "payment_failed", "address_undeliverable", "out_of_stock"],
) -> Cancellation:
    """
    Cancel an order, whatever its status: whether it may still be cancelled is for you to judge.

    Only the order's status changes. Stock, shipments, installations and money are not touched; a refund is a call of
    its own.

    Args:
        order_id: the order.
        cancellation_reason: why it is cancelled.

    Returns:
        order_id, status (`cancelled`), and refund_initiated: whether the order was still processing.
    """
    order = call.get(Order, order_id)
    call.emit(OrderCancelled(order_id, cancellation_reason))
    return Cancellation(order_id, "cancelled", refund_initiated=order.status == "processing")


@shop.tool(emits=[ReplacementOrdered])
def create_replacement_order(
    call: Call,
    original_order_id: str,
    customer_id: str,
    sku: str,
    quantity: int,
    shipping_speed: Speed,
    shipping_address_line1: str,
    shipping_address_city: str,
    shipping_address_state: str,
    shipping_address_zip: str,
) -> Replacement:
    """
    Send a product again, free of charge: a new order of 0 dollars, taken from the available stock.

    The original order stays as it is. Declined when the product is out of stock.

    Args:
        original_order_id: the order whose product is replaced.
        customer_id: who gets it.
        sku: the product's stock keeping unit.
        quantity: how many pieces.
        shipping_speed: how fast it travels.
        shipping_address_line1: street and number.
        shipping_address_city: city.
        shipping_address_state: state.
        shipping_address_zip: postal code.

    Returns:
        replacement_order_id, status (`processing`) and total_amount (0).
    """
    if not call.quirks(RetailQuirks).unkept_ids_unchecked:
        call.get(Order, original_order_id)
    left = _stock_left(call, sku, quantity)
    replacement = ReplacementOrdered(
        order_id=call.new_id(Order),
        line_item_id=call.new_id(LineItem),
        original_order_id=original_order_id,
        customer_id=customer_id,
        sku=sku,
        product_name=call.get(Product, sku).name,
        quantity=quantity,
        stock_left=left,
        shipping_speed=shipping_speed,
        address=Address(shipping_address_line1, shipping_address_city, shipping_address_state, shipping_address_zip),
        ordered_at=call.now,
    )
    call.emit(replacement)
    return Replacement(replacement.order_id, "processing", 0.0)


def _stock_left(call: Call, sku: str, quantity: int) -> int:
    """What is left of a product's stock when a quantity is taken; Precondition if there is not enough."""
    unguarded = call.quirks(RetailQuirks).stock_unguarded
    if quantity < 1 and not unguarded:
        raise Invalid(f"a quantity of {quantity} cannot be sent; it is 1 or more")
    stock = call.peek(Stock, sku)
    if stock is None or stock.available_quantity == 0:
        raise Precondition(f"product {sku!r} is out of stock; check_inventory shows when more will come")
    if quantity > stock.available_quantity and not unguarded:
        raise Precondition(
            f"product {sku!r} is out of stock: {stock.available_quantity} available, {quantity} asked for"
        )
    return stock.available_quantity - quantity


@shop.tool()
def get_order(call: Call, order_id: str) -> OrderDetails:
    """
    Show an order with its line items.

    Args:
        order_id: the order.

    Returns:
        id, customer_id, order_date, status, the amounts in dollars (subtotal_amount, discount_amount, points_value,
        shipping_cost, total_amount), points_used, the shipping address, shipping_speed, fulfillment_type,
        installation_service_id if there is one, and line_items: each with id, sku, product_name, quantity,
        base_price, discount_amount and final_price.
    """
    order = call.get(Order, order_id)
    lines = [answer(call, OrderLine, item) for item in call.all(LineItem, order_id=order_id)]
    return answer(call, OrderDetails, order, line_items=lines)


@shop.tool(emits=[OrderReaddressed])
def update_order_address(
    call: Call,
    order_id: str,
    new_address_line1: str,
    new_address_city: str,
    new_address_state: str,
    new_address_zip: str,
) -> AddressUpdate:
    """
    Change where an order goes, whatever its status; parcels that are under way are not redirected.

    Args:
        order_id: the order.
        new_address_line1: street and number.
        new_address_city: city.
        new_address_state: state.
        new_address_zip: postal code.

    Returns:
        order_id, address_updated (true) and the new address.
    """
    call.get(Order, order_id)
    call.emit(
        OrderReaddressed(order_id, Address(new_address_line1, new_address_city, new_address_state, new_address_zip))
    )
    return AddressUpdate(order_id, True, new_address_line1, new_address_city, new_address_state, new_address_zip)


@shop.tool(emits=[ShippingSpeedChanged])
def update_shipping_speed(call: Call, order_id: str, new_shipping_speed: Speed) -> SpeedUpdate:
    """
    Change how fast an order travels, whatever its status, and its total with it.

    Prices: standard 0, expedited 15.00, next_day 29.99 dollars. The order's shipping cost becomes the price of the new
    speed. Nobody is charged or refunded; that is a call of its own.

    Args:
        order_id: the order.
        new_shipping_speed: the speed from now on.

    Returns:
        order_id, old_shipping_speed, new_shipping_speed, cost_difference (price of the new speed less that of the old
        one; negative if cheaper) and updated (true).
    """
    order = call.get(Order, order_id)
    price = PRICES[new_shipping_speed]
    total = order.subtotal_amount - order.discount_amount - order.points_value + price
    call.emit(ShippingSpeedChanged(order_id, new_shipping_speed, price, cents(call, total)))
    difference = cents(call, price - PRICES[order.shipping_speed])
    return SpeedUpdate(order_id, order.shipping_speed, new_shipping_speed, difference, updated=True)
