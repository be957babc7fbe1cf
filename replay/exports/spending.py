"""What the model calls of a trial used and cost, by party, as far as it is known."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from judges.spending import Call
from sandbox.prices import Cost, PriceTable, costs_by_party
from sandbox.records import Replied
from sandbox.spent import BUCKETS
from sandbox.usage import Usage


class Used(Struct, frozen=True):
    """The model calls of one party: agent, user or judge. Sums are of what is known; None if nothing is."""

    party: str
    calls: int
    failed: int
    """Attempts that brought no reply."""
    unreported: int
    """Attempts whose usage nobody told, though a reply was made or may have been."""
    tokens: Mapping[str, int | None]
    """By bucket; the buckets do not overlap, but for reasoning, which is part of output."""
    cost: Cost

    @property
    def usd(self) -> str | None:
        """The cost as decimal text, a lower bound where calls are unpriced; None if nothing of it is known."""
        return None if self.cost.unpriced and not self.cost.usd else decimal_text(self.cost.usd)


def used_by(calls: Sequence[Call], prices: PriceTable) -> list[Used]:
    """What each party used that asked a model, in the order of their names."""
    costs = costs_by_party(calls, prices)
    return [_used(party, [call for call in calls if call.party == party], cost) for party, cost in costs.items()]


def _used(party: str, calls: Sequence[Call], cost: Cost) -> Used:
    usages = [usage for call in calls for usage in _usages(call)]
    known = [usage for usage in usages if usage is not None and not usage.fault]
    tokens = {bucket: _sum(getattr(usage, bucket) for usage in known) for bucket in BUCKETS}
    failed = sum(len(call.failed) for call in calls)
    return Used(party, len(calls), failed, len(usages) - len(known), tokens, cost)


def _usages(call: Call) -> Iterator[Usage | None]:
    """Of every attempt that a provider may charge; None where nothing came back."""
    for attempt in call.failed:
        if attempt.usage is not None or attempt.lost:
            yield attempt.usage
    if isinstance(call, Replied):
        yield call.usage


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def decimal_text(amount: Decimal) -> str:
    """All digits, no exponent, no zeros at the end."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
