"""Products and the stock of each."""

from typing import Literal

from msgspec import Struct

from domains.retail.shop import answer, shop
from sandbox import Call, Instant, Row


@shop.table("products", key="sku")
class Product(Row):
    sku: str
    name: str
    category: Literal[
        "electronics", "appliances", "smart_home", "audio_video", "computing", "gaming", "wearables", "networking"
    ]
    brand: str
    base_price: float
    weight_lbs: float
    warranty_period_days: int
    is_refurbished: bool = False
    points_redemption_eligible: bool = True
    requires_installation: bool = False


@shop.table("inventory_records", key="sku")
class Stock(Row):
    sku: str
    available_quantity: int
    reserved_quantity: int
    warehouse_location: str | None = None
    restock_date: Instant | None = None
    expected_restock_quantity: int | None = None


class ProductDetails(Struct, frozen=True):
    sku: str
    name: str
    category: str
    brand: str
    base_price: float
    weight_lbs: float
    is_refurbished: bool
    points_redemption_eligible: bool
    requires_installation: bool


class Inventory(Struct, frozen=True, omit_defaults=True):
    sku: str
    available_quantity: int
    reserved_quantity: int
    warehouse_location: str | None = None
    restock_date: Instant | None = None
    expected_restock_quantity: int | None = None


@shop.tool()
def check_inventory(call: Call, sku: str) -> Inventory:
    """
    Show how many pieces of a product are in stock, and when more will come.

    Args:
        sku: the product's stock keeping unit, as order lines show it.

    Returns:
        sku, available_quantity (free to sell or to send), reserved_quantity, and where they are known
        warehouse_location, restock_date and expected_restock_quantity.
    """
    return answer(call, Inventory, call.get(Stock, sku))


@shop.tool()
def get_product_details(call: Call, sku: str) -> ProductDetails:
    """
    Show a product of the catalogue.

    Args:
        sku: the product's stock keeping unit, as order lines show it.

    Returns:
        sku, name, category, brand, base_price in dollars, weight_lbs in pounds, is_refurbished,
        points_redemption_eligible (whether points may pay for it) and requires_installation.
    """
    return answer(call, ProductDetails, call.get(Product, sku))
