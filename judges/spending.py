"""What a campaign cost: every model call of agent, user and judge, with its failed attempts, priced by its table."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
from msgspec.structs import replace

from judges.read_models import judge_calls_are_whole, opened_views, views_path
from judges.results.foreign import costs_given
from judges.results.kept import results_in
from judges.rubric_calls import calls_in
from sandbox.archive import Seal, attempts_of, keys_of, sealed_in
from sandbox.fold import end_of
from sandbox.in_flight import call_on_the_way
from sandbox.prices import NO_PRICES, Cost, PriceTable, costs_by_party, total
from sandbox.records import Record, Replied, TrialKey, Unanswered, decoded
from sandbox.refusals import UserFault
from sandbox.spent import Undecided, costs_of_spent, spent_by
from sandbox.stream import Store
from sandbox.values import canonical, digest_of
from sandbox.views import Views

KIND = "prices"
"""The kind of content under which a store keeps the price tables that it was run with."""

Call = Replied | Unanswered


def keep_prices(store: Store, table: PriceTable) -> None:
    """Keep a price table as the campaign's newest; one without any price is none."""
    names, content = store.names(KIND), canonical(table)
    if table.prices and not (names and store.kept(KIND, names[-1]) == content):
        name = digest_of(table)
        # What is kept stays at its place: a table that comes back after another one needs a name of its own.
        store.keep(KIND, name if name not in names else f"{name}-{len(names) + 1}", content)


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
    if not asks_models(seal):
        return
    for first in keys_of(seal):
        for key in attempts_of(first):
            records = store.read(key.id)
            if not records:
                break
            yield from calls_among(records)
            if end_of(records) is None and (lost := call_on_the_way(records, seal.agent_settings)) is not None:
                yield lost
    yield from calls_in(store)


def costs_of(path: Path, table: PriceTable | None = None) -> dict[str, Cost]:
    """
    What a store's campaign cost, by party; nothing if no model was asked.

    Args:
        table: other prices than those that it was run with.
    """
    with Store.open(path, read_only=True) as store, closing(opened_views(store, views_path(path))) as views:
        return costs_in(store, views, table)


def costs_in(store: Store, views: Views, table: PriceTable | None = None) -> dict[str, Cost]:
    """The same of a store with its read models, in which the sums are where that is possible."""
    seal, prices = sealed_in(store), table or prices_in(store)
    imported = results_in(store)
    if imported is not None:
        return costs_given(imported.trials) if table is None else _imported_costs(store, views, table)
    if not asks_models(seal):
        return {}
    spent = views.spent() + spent_by(_open_calls(store, seal, views))
    if not judge_calls_are_whole(store, views):
        spent = [one for one in spent if one.party != "judge"] + spent_by(calls_in(store))
    try:
        return costs_of_spent(spent, prices)
    except Undecided:
        return costs_by_party(all_calls(store), prices)


def _imported_costs(store: Store, views: Views, table: PriceTable) -> dict[str, Cost]:
    try:
        return costs_of_spent(views.spent(), table)
    except Undecided as model:
        raise UserFault(
            f"{store.name}: of imported results there are only sums, and the price of {model} holds up to a number of "
            f"tokens in one call; give a table in which it has one price"
        ) from None


def asks_models(seal: Seal) -> bool:
    """Whether a campaign's agent, user or judge is a model."""
    return '"model"' in seal.agent_settings


def _open_calls(store: Store, seal: Seal, views: Views) -> Iterator[Call]:
    """The calls of trials that have begun and not ended, which read models do not know."""
    if views.settled() == seal.repetitions * len(seal.tasks):
        return
    last = {(task, repetition): (attempt, end) for task, repetition, attempt, end in views.attempts()}
    keys: list[TrialKey] = []
    for first in keys_of(seal):
        attempt, end = last.get((first.task, first.repetition), (0, "infrastructure"))
        if end == "infrastructure":
            keys.append(replace(first, attempt=attempt + 1))
    begun = set(store.differing({key.id.hex: 0 for key in keys}))
    for key in keys:
        if key.id.hex in begun:
            records = store.read(key.id)
            yield from calls_among(records)
            if (lost := call_on_the_way(records, seal.agent_settings)) is not None:
                yield lost


def told_costs(costs: Mapping[str, Cost]) -> str:
    """In words: `agent $0.0120; user ≥ $0.0010, 2 unpriced; together ≥ $0.0130, 2 unpriced`."""
    parts = "; ".join(f"{party} {cost.shown()}" for party, cost in costs.items())
    return f"{parts}; together {total(costs.values()).shown()}"
