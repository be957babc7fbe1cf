"""The shop's toolset, what its modules share in writing answers, and the oddities that the public mount switches on."""

from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.inspect import Metadata, StructType, Type, UnionType

from sandbox import Call, Instant, Row, Toolset, Volatile

A = TypeVar("A", bound=Struct)

shop = Toolset("shop")

Stamp = Volatile[Instant]
"""The time of the call that wrote it: equal behaviour with one more look at the records gives another."""


class RetailQuirks(Struct, frozen=True):
    """Oddities of the public benchmark's retail servers, each off by default; `docs/deviations.md` weighs them."""

    utc_as_offset: bool = False
    """Answers write UTC as `+00:00` where rows write `Z`."""
    first_shipment_only: bool = False
    """Tracking shows, and a reshipment copies, the first shipment of an order, not the latest."""
    first_payment_only: bool = False
    """The payment status of an order leaves out its later charges."""
    unkept_ids_unchecked: bool = False
    """
    Ids that are asked for but kept in no row are not looked at: the original order of a replacement, the order of an
    installation to cancel, the customer of a refund.
    """
    stock_unguarded: bool = False
    """A replacement is declined at a stock of exactly 0 only; its quantity may exceed the stock or be negative."""
    zoneless_promotions_refused: bool = False
    """A promotion whose date has no zone is refused when that date is compared."""
    first_membership_of_any_status: bool = False
    """Points and cancellations go to the customer's first membership, active or not."""
    upgrade_demotes_vip: bool = False
    """A new membership makes a plus member of everybody, of VIP customers too."""
    unrounded_amounts: bool = False
    """Order totals and cost differences are sums of binary fractions, not rounded to cents."""


def shown(call: Call, instant: Instant) -> Instant:
    """An instant as this mount's answers write it."""
    if instant.endswith("Z") and call.quirks(RetailQuirks).utc_as_offset:
        return instant[:-1] + "+00:00"
    return instant


def cents(call: Call, amount: float) -> float:
    """An amount of money in whole cents."""
    return amount if call.quirks(RetailQuirks).unrounded_amounts else round(amount, 2)


def answer(call: Call, kind: type[A], row: Row, **named: Any) -> A:
    """What an answer of this kind shows of a row, with fields of other names given; instants as answers write them."""
    values = {name: named[name] if name in named else getattr(row, name) for name in kind.__struct_fields__}
    for name in _instants(kind):
        if values[name] is not None:
            values[name] = shown(call, values[name])
    return kind(**values)


@lru_cache
def _instants(kind: type[Struct]) -> tuple[str, ...]:
    info = msgspec.inspect.type_info(kind)
    return tuple(f.name for f in info.fields if _is_instant(f.type)) if isinstance(info, StructType) else ()


def _is_instant(kind: Type) -> bool:
    if isinstance(kind, UnionType):
        return any(_is_instant(part) for part in kind.types)
    return isinstance(kind, Metadata) and (kind.extra or {}).get("kind") == "instant"
