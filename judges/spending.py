"""What a campaign cost: every model call of agent, user and judge, with its failed attempts, priced by its table."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from judges.rubric_calls import calls_in
from sandbox.archive import attempts_of, keys_of, sealed_in
from sandbox.prices import NO_PRICES, Cost, PriceTable, costs_by_party, total
from sandbox.records import Record, Replied, Unanswered, decoded
from sandbox.stream import Store
from sandbox.values import canonical, digest_of

KIND = "prices"
"""The kind of content under which a store keeps the price tables that it was run with."""

Call = Replied | Unanswered


def keep_prices(store: Store, table: PriceTable) -> None:
    """Keep a price table with the campaign; one without any price is none."""
    if table.prices:
        store.keep(KIND, digest_of(table), canonical(table))


def prices_in(store: Store) -> PriceTable:
    """The price table that a store was given last; one without a price if it has none."""
    names = store.names(KIND)
    content = store.kept(KIND, names[-1]) if names else None
    return NO_PRICES if content is None else msgspec.json.decode(content, type=PriceTable)


def calls_among(records: Sequence[Record]) -> Iterator[Call]:
    """The model calls in a trial's stream."""
    return (payload for record in records if isinstance(payload := decoded(record), Replied | Unanswered))


def all_calls(store: Store) -> Iterator[Call]:
    """Every model call of a campaign, those of attempts that were interrupted or broke included."""
    seal = sealed_in(store)
    if '"model"' not in seal.agent_settings:
        return
    for first in keys_of(seal):
        for key in attempts_of(first):
            records = store.read(key.id)
            if not records:
                break
            yield from calls_among(records)
    yield from calls_in(store)


def costs_of(path: Path, table: PriceTable | None = None) -> dict[str, Cost]:
    """
    What a store's campaign cost, by party; nothing if no model was asked.

    Args:
        table: other prices than those that it was run with.
    """
    with Store.open(path, read_only=True) as store:
        return costs_by_party(all_calls(store), table or prices_in(store))


def told_costs(costs: Mapping[str, Cost]) -> str:
    """In words: `agent $0.0120; user ≥ $0.0010, 2 unpriced; together ≥ $0.0130, 2 unpriced`."""
    parts = "; ".join(f"{party} {cost.shown()}" for party, cost in costs.items())
    return f"{parts}; together {total(costs.values()).shown()}"
