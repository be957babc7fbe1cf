"""What model attempts used, summed up by what is known of them, so that prices give what they give call by call."""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from sandbox.prices import Cost, PriceTable, costed
from sandbox.records import FailedAttempt, Replied, Unanswered
from sandbox.usage import Usage

LOST = "lost"
"""The shape of attempts that may have cost something, nobody knows what."""
BUCKETS = ("uncached_input", "cache_read", "cache_write", "cache_write_long", "output", "reasoning")
"""Of tokens; they do not overlap, but for reasoning, which is part of output."""
FREE = ""
"""The shape of calls that were given up without an attempt that could have cost anything."""


class Undecided(ValueError):
    """Some of these attempts are beyond the limit of a price and some are not; ask the calls one by one."""


class Spent(Struct, frozen=True):
    """
    Attempts of one party at one model of which the same is known and unknown, and what they used together.

    Counts are tokens; what a provider did not say of caches and reasoning counts as 0, as it does in a price.
    """

    party: str
    model: str
    """Asked for."""
    served: str
    """The one that answered; empty where none did."""
    shape: str
    """`LOST`, `FREE`, or a sign for each bucket: `n` not known, `0` none, `1` some."""
    attempts: int
    uncached_input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_long: int = 0
    output: int = 0
    reasoning: int = 0
    least: int = 0
    """Input tokens of the attempt with the fewest."""
    most: int = 0
    """Input tokens of the attempt with the most."""


def spent_by(calls: Iterable[Replied | Unanswered]) -> list[Spent]:
    """The attempts of some calls, in groups that are alike."""
    found: dict[tuple[str, str, str, str], Spent] = {}
    for call in calls:
        for one in _attempts(call):
            key = (one.party, one.model, one.served, one.shape)
            found[key] = _both(found[key], one) if key in found else one
    return list(found.values())


def _attempts(call: Replied | Unanswered) -> Iterator[Spent]:
    served = call.served if isinstance(call, Replied) else ""
    usages = [call.usage] if isinstance(call, Replied) else []
    usages += [attempt.usage for attempt in call.failed if attempt.usage is not None]
    lost = sum(_is_lost(attempt) for attempt in call.failed)
    yield from (_attempt(call.party, call.model, served, usage) for usage in usages)
    if lost:
        yield Spent(call.party, call.model, served, LOST, lost)
    if not usages and not lost:
        yield Spent(call.party, call.model, served, FREE, 0)


def _is_lost(attempt: FailedAttempt) -> bool:
    return attempt.usage is None and attempt.lost


def _attempt(party: str, model: str, served: str, usage: Usage) -> Spent:
    buckets = (
        usage.uncached_input,
        usage.cache_read or 0,
        usage.cache_write or 0,
        usage.cache_write_long or 0,
        usage.output,
        usage.reasoning or 0,
    )
    plain = None if usage.output is None else usage.output - (usage.reasoning or 0)
    shape = "".join("n" if tokens is None else "1" if tokens else "0" for tokens in (*buckets, plain))
    whole = usage.input or 0
    used = dict(zip(BUCKETS, (tokens or 0 for tokens in buckets), strict=True))
    return Spent(party, model, served, shape, 1, **used, least=whole, most=whole)


def _both(one: Spent, other: Spent) -> Spent:
    sums = {name: getattr(one, name) + getattr(other, name) for name in ("attempts", *BUCKETS)}
    return replace(one, **sums, least=min(one.least, other.least), most=max(one.most, other.most))


def costs_of_spent(spent: Iterable[Spent], table: PriceTable) -> dict[str, Cost]:
    """
    Sums by party, as `prices.costs_by_party` gives for the calls themselves.

    Raises:
        Undecided: sums do not tell.
    """
    found: dict[str, Cost] = {}
    for one in spent:
        found[one.party] = found.get(one.party, Cost()) + _cost(one, table)
    return dict(sorted(found.items()))


def _cost(spent: Spent, table: PriceTable) -> Cost:
    price = table.price_of(spent.served, spent.model)
    if spent.shape == FREE:
        return Cost()
    if price is None or spent.shape == LOST:
        return Cost(unpriced=spent.attempts)
    limit = price.valid_up_to
    if limit is not None and (spent.shape[0] == "n" or spent.most > limit):
        if spent.shape[0] != "n" and spent.least <= limit:
            raise Undecided(spent.model)
        return Cost(unpriced=spent.attempts)
    uncached, read, write, long, output, reasoning, plain = tuple(spent.shape)
    split = price.reasoning is not None
    parts: list[tuple[str, int, Decimal | None]] = [
        (uncached, spent.uncached_input, price.input),
        (read, spent.cache_read, price.cache_read),
        (write, spent.cache_write, price.cache_write),
        (long, spent.cache_write_long, price.cache_write_long),
        (plain if split else output, spent.output - (spent.reasoning if split else 0), price.output),
        (reasoning if split else "0", spent.reasoning, price.reasoning),
    ]
    is_unknown = any(sign == "n" or (sign == "1" and rate is None) for sign, _, rate in parts)
    known = [(tokens, rate) for _, tokens, rate in parts if rate is not None]
    return costed(price.request, spent.attempts, known, spent.attempts if is_unknown else 0)
