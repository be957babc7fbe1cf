"""Promotions, and which discounts an order got."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from domains.retail.shop import RetailQuirks, answer, shop
from sandbox import Call, Instant, NotFound, Precondition, Row, Unordered, moment

DiscountType = Literal["percentage", "fixed_amount", "bogo", "bundle", "loyalty_pricing"]


@shop.table("active_promotions")
class Promotion(Row):
    id: str
    promo_code: str
    discount_type: DiscountType
    discount_value: float
    valid_from: Instant
    valid_until: Instant
    stackable_with_points: bool = False
    stackable_with_loyalty: bool = True
    excluded_skus: Unordered[str] = ()


@shop.table("discount_applications")
class Discount(Row):
    id: str
    order_id: str
    total_discount_amount: float
    promo_code_used: str | None = None
    points_used: int = 0
    loyalty_discount_applied: bool = False
    stacking_rule_applied: str | None = None


class PromotionDetails(Struct, frozen=True, omit_defaults=True):
    promo_id: str
    promo_code: str
    discount_type: DiscountType
    discount_value: float
    stackable_with_points: bool
    stackable_with_loyalty: bool
    valid_from: Instant
    valid_until: Instant
    excluded_skus: tuple[str, ...] = ()


class DiscountDetails(Struct, frozen=True, omit_defaults=True):
    discount_app_id: str
    order_id: str
    points_used: int
    loyalty_discount_applied: bool
    total_discount_amount: float
    promo_code_used: str | None = None
    stacking_rule_applied: str | None = None


@shop.tool()
def get_discount_application(call: Call, order_id: str) -> DiscountDetails:
    """
    Show which discounts an order got.

    Args:
        order_id: the order.

    Returns:
        discount_app_id, order_id, promo_code_used if there was one, points_used, loyalty_discount_applied,
        total_discount_amount in dollars, and stacking_rule_applied if there was one. An order without discounts, or an
        unknown one, has an empty discount_app_id.
    """
    discount = call.first(Discount, order_id=order_id)
    if discount is None:
        return DiscountDetails("", order_id, 0, False, 0.0)
    return answer(call, DiscountDetails, discount, discount_app_id=discount.id)


@shop.tool()
def get_promotion_details(call: Call, promo_code: str) -> PromotionDetails:
    """
    Show a promotion that runs today.

    Args:
        promo_code: its code, in the exact letters.

    Returns:
        promo_id, promo_code, discount_type, discount_value (percent or dollars, by its type), stackable_with_points,
        stackable_with_loyalty, excluded_skus if there are any, valid_from and valid_until (that instant included).
        A code that is unknown, not yet valid or expired is not found.
    """
    for promotion in call.all(Promotion, promo_code=promo_code):
        if _runs(call, promotion):
            return answer(call, PromotionDetails, promotion, promo_id=promotion.id)
    raise NotFound(f"no promotion {promo_code!r} runs today; check the spelling of the code")


def _runs(call: Call, promotion: Promotion) -> bool:
    now = moment(call.now)
    return _instant(call, promotion.valid_from) <= now and now <= _instant(call, promotion.valid_until)


def _instant(call: Call, date: Instant) -> datetime:
    if call.quirks(RetailQuirks).zoneless_promotions_refused and datetime.fromisoformat(date).tzinfo is None:
        raise Precondition("the promotion cannot be read: a date of it has no time zone")
    return moment(date)
