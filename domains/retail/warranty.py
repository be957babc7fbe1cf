"""Warranty contracts, and the claims filed under them."""

from typing import Literal

from msgspec import Struct

from domains.retail.shop import Stamp, answer, shop
from sandbox import Call, Event, Instant, Prose, Row, Rows, counted_free, moment

WarrantyType = Literal["manufacturer", "extended_warranty", "protection_plan"]
Issue = Literal["product_not_functioning", "component_failed", "performance_degradation", "accidental_damage"]
ISSUES: dict[Issue, str] = {
    "product_not_functioning": "Product not functioning properly",
    "component_failed": "Component failed",
    "performance_degradation": "Performance degradation",
    "accidental_damage": "Accidental damage",
}
"""How a claim words each kind of issue."""


@shop.table("warranty_contracts")
class Contract(Row):
    id: str
    order_id: str
    sku: str
    customer_id: str
    warranty_type: WarrantyType
    start_date: Instant
    end_date: Instant
    coverage_details: Prose


@shop.table("warranty_claims", ids=counted_free("WCL-2", width=7))
class Claim(Row):
    id: str
    contract_id: str
    customer_id: str
    claim_date: Stamp
    issue_description: str
    status: Literal["pending", "approved", "in_progress", "completed", "denied"]
    resolution: Prose | None = None


class ClaimFiled(Event, tag="claim-filed", version=1):
    claim_id: str
    contract_id: str
    customer_id: str
    issue_description: str
    filed_at: Instant


@shop.on(ClaimFiled)
def filed(rows: Rows, e: ClaimFiled) -> Claim:
    return Claim(e.claim_id, e.contract_id, e.customer_id, e.filed_at, e.issue_description, status="pending")


class Coverage(Struct, frozen=True, omit_defaults=True):
    has_coverage: bool
    contract_id: str | None = None
    warranty_type: WarrantyType | None = None
    start_date: Instant | None = None
    end_date: Instant | None = None
    coverage_details: str | None = None


class ClaimReceipt(Struct, frozen=True):
    claim_id: str
    status: str
    claim_date: Instant


@shop.tool()
def check_warranty_coverage(call: Call, order_id: str, sku: str) -> Coverage:
    """
    Show whether a product of an order is under warranty today, and by which contract.

    Args:
        order_id: the order with which it was bought.
        sku: the product's stock keeping unit.

    Returns:
        has_coverage, and if it is true contract_id, warranty_type, start_date, end_date (that instant included) and
        coverage_details. An unknown order or product is not covered.
    """
    now = moment(call.now)
    for contract in call.all(Contract, order_id=order_id, sku=sku):
        if moment(contract.start_date) <= now <= moment(contract.end_date):
            return answer(call, Coverage, contract, has_coverage=True, contract_id=contract.id)
    return Coverage(has_coverage=False)


@shop.tool(emits=[ClaimFiled])
def file_warranty_claim(call: Call, contract_id: str, customer_id: str, warranty_issue_type: Issue) -> ClaimReceipt:
    """
    File a claim under a warranty contract; whether the contract is in force and covers it is for you to judge.

    Args:
        contract_id: the contract, as check_warranty_coverage shows it.
        customer_id: who claims.
        warranty_issue_type: what is wrong with the product.

    Returns:
        claim_id, status (`pending`) and claim_date.
    """
    call.get(Contract, contract_id)
    claim = ClaimFiled(call.new_id(Claim), contract_id, customer_id, ISSUES[warranty_issue_type], call.now)
    call.emit(claim)
    return answer(call, ClaimReceipt, call.get(Claim, claim.claim_id), claim_id=claim.claim_id)
