"""Customers, their memberships and points."""

from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from domains.retail.shop import RetailQuirks, answer, shop, shown
from sandbox import Call, Event, Instant, NotFound, Precondition, Row, Rows, moment, smallest_free, written

Tier = Literal["standard", "plus_member", "vip"]
MembershipStatus = Literal["active", "cancelled", "expired"]


@shop.table("customer_profiles")
class Customer(Row):
    id: str
    email: str
    name: str
    registration_date: Instant
    phone: str | None = None
    customer_tier: Tier = "standard"
    lifetime_value: float = 0.0
    total_orders: int = 0
    customer_score: int = 50
    behavioral_segment: Literal["regular", "opportunist", "bonus_hunter"] = "opportunist"
    acquisition_source: str | None = None
    discount_usage_rate: float = 0.0


@shop.table("membership_records", ids=smallest_free("MEM-2", width=7))
class Membership(Row):
    id: str
    customer_id: str
    start_date: Instant
    end_date: Instant
    membership_type: str = "plus"
    status: MembershipStatus = "active"
    points_balance: int = 0


class MembershipStarted(Event, tag="membership-started", version=1):
    membership_id: str
    customer_id: str
    membership_type: str
    start_date: Instant
    end_date: Instant
    customer_tier: Tier


class MembershipCancelled(Event, tag="membership-cancelled", version=1):
    membership_id: str
    customer_id: str
    customer_tier: Tier


class PointsAdded(Event, tag="points-added", version=1):
    membership_id: str
    customer_id: str
    points: int
    balance: int
    reason: str


@shop.on(MembershipStarted)
def started(rows: Rows, e: MembershipStarted) -> tuple[Row, ...]:
    return (
        Membership(e.membership_id, e.customer_id, e.start_date, e.end_date, e.membership_type),
        replace(rows.get(Customer, e.customer_id), customer_tier=e.customer_tier),
    )


@shop.on(MembershipCancelled)
def ended(rows: Rows, e: MembershipCancelled) -> tuple[Row, ...]:
    return (
        replace(rows.get(Membership, e.membership_id), status="cancelled"),
        replace(rows.get(Customer, e.customer_id), customer_tier=e.customer_tier),
    )


@shop.on(PointsAdded)
def points_added(rows: Rows, e: PointsAdded) -> Membership:
    return replace(rows.get(Membership, e.membership_id), points_balance=e.balance)


class CustomerProfile(Struct, frozen=True, omit_defaults=True):
    id: str
    email: str
    name: str
    registration_date: Instant
    customer_tier: Tier
    lifetime_value: float
    total_orders: int
    customer_score: int
    behavioral_segment: str
    discount_usage_rate: float
    phone: str | None = None
    acquisition_source: str | None = None


class MembershipDetails(Struct, frozen=True):
    membership_id: str
    customer_id: str
    membership_type: str
    start_date: Instant
    end_date: Instant
    status: MembershipStatus
    points_balance: int


class PointsUpdate(Struct, frozen=True):
    customer_id: str
    old_balance: int
    points_added: int
    new_balance: int


class MembershipUpdate(Struct, frozen=True, omit_defaults=True):
    customer_id: str
    new_tier: Tier
    action_completed: Literal["upgraded", "cancelled"]
    membership_id: str | None = None
    start_date: Instant | None = None
    end_date: Instant | None = None


@shop.tool(emits=[PointsAdded])
def add_points_to_balance(
    call: Call,
    customer_id: str,
    points_to_add: int,
    points_reason: Literal["refund_return", "service_recovery", "manual_adjustment"],
) -> PointsUpdate:
    """
    Add points to a customer's membership; any number passes, so whether they are due is for you to judge.

    Args:
        customer_id: the customer, who must have a membership.
        points_to_add: how many; a negative number takes points away.
        points_reason: what for.

    Returns:
        customer_id, old_balance, points_added and new_balance.
    """
    membership = _membership(call, customer_id)
    balance = membership.points_balance + points_to_add
    call.emit(PointsAdded(membership.id, customer_id, points_to_add, balance, points_reason))
    return PointsUpdate(customer_id, membership.points_balance, points_to_add, balance)


@shop.tool()
def get_customer_profile(call: Call, customer_id: str | None = None, email: str | None = None) -> CustomerProfile:
    """
    Show a customer, found by id or by e-mail address.

    Args:
        customer_id: the customer; if it is given, email is not looked at.
        email: the customer's e-mail address, in the exact letters.

    Returns:
        id, email, name, phone if it is known, registration_date, customer_tier (`standard`, `plus_member` or `vip`),
        lifetime_value in dollars, total_orders, customer_score, behavioral_segment, acquisition_source if it is known,
        and discount_usage_rate (0 to 1).
    """
    if customer_id:
        return answer(call, CustomerProfile, call.get(Customer, customer_id))
    if not email:
        raise Precondition("no customer is named; give a customer_id or an email")
    customer = call.first(Customer, email=email)
    if customer is None:
        raise NotFound(f"no customer has the e-mail address {email!r}; check its spelling")
    return answer(call, CustomerProfile, customer)


@shop.tool()
def get_membership_details(call: Call, customer_id: str) -> MembershipDetails:
    """
    Show a customer's active membership and its points.

    Args:
        customer_id: the customer.

    Returns:
        membership_id, customer_id, membership_type, start_date, end_date, status and points_balance.
    """
    membership = _active_membership(call, customer_id)
    return answer(call, MembershipDetails, membership, membership_id=membership.id)


@shop.tool(emits=[MembershipStarted, MembershipCancelled])
def update_membership_status(
    call: Call, customer_id: str, action: Literal["upgrade", "cancel"], membership_type: str | None = None
) -> MembershipUpdate:
    """
    Start a membership for a customer, or cancel one; the customer's tier follows.

    A new membership runs from today for a year, with no points. A cancelled one keeps its points. Memberships that the
    customer already has are not checked. Nobody is charged or refunded.

    Args:
        customer_id: the customer.
        action: `upgrade` starts a membership, `cancel` ends one.
        membership_type: such as `plus`; required to upgrade, not looked at to cancel.

    Returns:
        customer_id, new_tier, action_completed (`upgraded` or `cancelled`) and, when upgraded, membership_id,
        start_date and end_date.
    """
    customer = call.get(Customer, customer_id)
    if action == "cancel":
        membership = _membership(call, customer_id)
        call.emit(MembershipCancelled(membership.id, customer_id, "standard"))
        return MembershipUpdate(customer_id, "standard", "cancelled")
    if not membership_type:
        raise Precondition("an upgrade needs a membership_type; give one, such as plus")
    return _started(call, customer, membership_type)


def _started(call: Call, customer: Customer, membership_type: str) -> MembershipUpdate:
    keeps_tier = customer.customer_tier == "vip" and not call.quirks(RetailQuirks).upgrade_demotes_vip
    tier: Tier = "vip" if keeps_tier else "plus_member"
    today = moment(call.now).replace(hour=0, minute=0, second=0, microsecond=0)
    start, end = written(today), written(_year_later(today) + timedelta(days=1) - timedelta(microseconds=1))
    membership_id = call.new_id(Membership)
    call.emit(MembershipStarted(membership_id, customer.id, membership_type, start, end, tier))
    return MembershipUpdate(customer.id, tier, "upgraded", membership_id, shown(call, start), shown(call, end))


def _year_later(day: datetime) -> datetime:
    """The same day of the next year; 28 February for a leap day."""
    leaps = (day.month, day.day) == (2, 29)
    return day.replace(year=day.year + 1, day=28 if leaps else day.day)


def _membership(call: Call, customer_id: str) -> Membership:
    """The membership that points and cancellations go to; NotFound if there is none."""
    if not call.quirks(RetailQuirks).first_membership_of_any_status:
        return _active_membership(call, customer_id)
    membership = call.first(Membership, customer_id=customer_id)
    if membership is None:
        raise NotFound(f"no membership of customer {customer_id!r}")
    return membership


def _active_membership(call: Call, customer_id: str) -> Membership:
    membership = call.first(Membership, customer_id=customer_id, status="active")
    if membership is None:
        raise NotFound(f"no active membership of customer {customer_id!r}; get_customer_profile shows the tier")
    return membership
