"""Retail: a shop for electronics and appliances, its customers, and the desk that helps them."""

from domains.retail import (
    customers,
    installations,
    orders,
    payments,
    products,
    promotions,
    public,
    returns,
    shipments,
    warranty,
)
from domains.retail.public import public_domain
from domains.retail.shop import shop
from domains.shared.helpdesk import helpdesk
from domains.shared.knowledge import knowledge
from sandbox import Domain

__all__ = [
    "customers",
    "domain",
    "installations",
    "orders",
    "payments",
    "products",
    "promotions",
    "public",
    "public_domain",
    "returns",
    "shipments",
    "warranty",
]

domain = Domain(
    "retail", shop.mount(prefix=""), helpdesk.mount("zendesk"), knowledge.mount(prefix=""), package="domains.retail"
)
