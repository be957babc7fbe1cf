"""Retail as the public benchmark's own servers were seen to behave, for tasks that are imported from it."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import fields

from domains.retail.payments import Payment, Refund
from domains.retail.shop import RetailQuirks, shop
from domains.shared.helpdesk import public_helpdesk
from domains.shared.knowledge import knowledge
from sandbox import Domain, Mount, Pinned, counted

TABLES = {
    "oms_models": ("orders", "order_line_items", "shipments", "carrier_tracking"),
    "stripe_models": ("payment_transactions", "refunds"),
    "extend_models": ("warranty_contracts", "warranty_claims"),
    "jobber_models": ("installation_jobs",),
    "loop_returns_models": ("rma_records",),
    "netsuite_models": ("inventory_records",),
    "promo_models": ("active_promotions", "discount_applications"),
    "salesforce_models": ("customer_profiles", "membership_records"),
    "shopify_pim_models": ("products",),
}
"""The shop's tables by the system that the public names say they belong to."""


def public_shop() -> Mount:
    """The shop with every oddity, a clock that stands still, and ids that may collide."""
    return shop.mount(
        prefix="",
        clock=Pinned("2025-10-01T13:00:05Z"),
        quirks=RetailQuirks(**{field.name: True for field in fields(RetailQuirks)}),
        arguments="lax",
        ids={Payment: counted("TXN-2", width=7), Refund: counted("RFD-2", width=7)},
        table_names={
            table: f"external_retail_toolset_{system}_{table}" for system, tables in TABLES.items() for table in tables
        },
    )


def public_domain(seed: Mapping[str, Sequence[Mapping[str, Any]]]) -> Domain:
    """
    Retail for imported tasks: tools, tables and answers as the public servers have them.

    Args:
        seed: the rows that are there before a task's patch, by public table name; policies in `knowledge_policies`.
    """
    mounts = (public_helpdesk(), public_shop(), knowledge.mount(prefix="", arguments="lax"))
    return Domain("retail", *mounts, seed=seed, refusals="object")
