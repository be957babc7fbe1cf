"""Sums of what attempts used give exactly what the calls give one by one."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.prices import Cost, Price, PriceTable, costs_by_party
from sandbox.projection import usage_rows
from sandbox.records import FailedAttempt, Replied, Unanswered
from sandbox.spent import Spent, Undecided, costs_of_spent, spent_by
from sandbox.usage import Usage
from sandbox.view_rows import UsageRow
from sandbox.views import Views

TOKENS = st.none() | st.integers(0, 3)
RATES = st.none() | st.decimals(0, 10, places=2)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    output = draw(TOKENS)
    reasoning = None if output is None else draw(st.none() | st.integers(0, output))
    return Usage(draw(TOKENS), draw(TOKENS), draw(TOKENS), output, reasoning, draw(TOKENS))


ATTEMPTS = st.builds(
    FailedAttempt,
    fault=st.just("server"),
    lost=st.booleans(),
    usage=st.none() | usages(),
)
PARTIES, MODELS = st.sampled_from(["agent", "user", "judge"]), st.sampled_from(["a", "b", "unknown"])
CALLS = st.lists(
    st.one_of(
        st.builds(
            Replied,
            party=PARTIES,
            number=st.just(1),
            model=MODELS,
            served=MODELS | st.just(""),
            request=st.just(""),
            reply=st.just(""),
            finish=st.just("stop"),
            usage=usages(),
            failed=st.lists(ATTEMPTS, max_size=2).map(tuple),
        ),
        st.builds(
            Unanswered,
            party=PARTIES,
            number=st.just(1),
            model=MODELS,
            request=st.just(""),
            fault=st.just("server"),
            message=st.just(""),
            failed=st.lists(ATTEMPTS, max_size=2).map(tuple),
        ),
    ),
    max_size=8,
)
PRICES = st.builds(
    Price,
    input=RATES,
    cache_read=RATES,
    cache_write=RATES,
    cache_write_long=RATES,
    output=RATES,
    reasoning=RATES,
    request=st.decimals(0, 1, places=3),
    valid_up_to=st.none() | st.integers(1, 6),
)
TABLES = st.builds(
    PriceTable, st.just("here"), st.just("2026-01-01"), st.fixed_dictionaries({"a": PRICES, "b": PRICES})
)


@given(CALLS, TABLES)
def test_sums_cost_what_the_calls_cost_or_say_that_they_do_not_tell(
    calls: list[Replied | Unanswered], table: PriceTable
) -> None:
    try:
        found = costs_of_spent(spent_by(calls), table)
    except Undecided:
        assert any(price.valid_up_to is not None for price in table.prices.values())
        return
    assert found == costs_by_party(calls, table)


@given(st.lists(CALLS, max_size=4), TABLES)
def test_rows_of_several_trials_are_summed_up_by_the_tables(
    trials: list[list[Replied | Unanswered]], table: PriceTable
) -> None:
    views = Views()
    views.add(row for number, calls in enumerate(trials) for row in usage_rows(f"{number:032x}", calls))
    calls = [call for found in trials for call in found]
    try:
        assert costs_of_spent(views.spent(), table) == costs_by_party(calls, table)
    except Undecided:
        assert any(price.valid_up_to is not None for price in table.prices.values())
    finally:
        views.close()


def test_a_limit_between_two_attempts_is_not_decided_by_their_sum() -> None:
    price = Price(input=Decimal(1), output=Decimal(1), valid_up_to=2)
    few, many = (Replied("agent", 1, "a", "a", "", "", "stop", Usage(tokens, 0, 0, 1)) for tokens in (1, 3))
    table = PriceTable("here", "2026-01-01", {"a": price})
    assert costs_of_spent(spent_by([few]), table) == {"agent": Cost(Decimal("0.000002"))}
    assert costs_of_spent(spent_by([many]), table) == {"agent": Cost(unpriced=1)}
    with pytest.raises(Undecided):
        costs_of_spent(spent_by([few, many]), table)


def test_a_row_of_the_tables_has_the_fields_of_a_sum() -> None:
    assert UsageRow.__struct_fields__ == ("trial", *Spent.__struct_fields__)
