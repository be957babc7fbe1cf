"""Costs are exact, by party, and never take what is unknown for nothing."""

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.prices import (
    NO_PRICES,
    Cost,
    Price,
    PriceFault,
    PriceTable,
    call_cost,
    cost,
    costs_by_party,
    from_litellm,
    from_openrouter,
    load_prices,
    total,
)
from sandbox.records import FailedAttempt, Replied, Unanswered
from sandbox.usage import Usage, usage_of

PRICE = Price(Decimal("2.50"), Decimal("0.25"), Decimal("3.125"), Decimal(5), Decimal(10))
FREE = Price(Decimal(0), Decimal(0), Decimal(0), Decimal(0), Decimal(0))
TABLE = PriceTable("a list", "2026-01-01", {"m": PRICE})
USAGE = Usage(uncached_input=50, cache_read=40, cache_write=10, output=20, reasoning=5)
COSTS = Decimal("0.00036625")
"""Of USAGE: (50 × 2.50 + 40 × 0.25 + 10 × 3.125 + 20 × 10) / 1,000,000."""


def replied(party: str = "agent", usage: Usage = USAGE, model: str = "m", **more: Any) -> Replied:
    return Replied(party, 1, model, more.pop("served", model), "d", "{}", "stop", usage, **more)


def test_each_bucket_has_its_price_and_reasoning_is_not_counted_twice() -> None:
    assert cost(USAGE, PRICE) == Cost(COSTS)


def test_openai_and_anthropic_shapes_of_one_call_cost_the_same() -> None:
    shapes = (
        {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 40}},
        {"input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 20},
    )
    assert len({cost(usage_of(shape), PRICE) for shape in shapes}) == 1


@pytest.mark.parametrize(
    ("usage", "price", "usd"),
    [
        (USAGE, None, "0"),
        (Usage(fault="absent"), PRICE, "0"),
        (Usage(uncached_input=100), PRICE, "0.00025"),
        (Usage(uncached_input=100, cache_read=1, output=0), Price(input=Decimal(1), output=Decimal(1)), "0.0001"),
        (USAGE, Price(input=Decimal(1), output=Decimal(1), valid_up_to=99), "0"),
    ],
)
def test_what_is_unknown_is_unpriced_and_the_rest_is_counted(usage: Usage, price: Price | None, usd: str) -> None:
    assert cost(usage, price) == Cost(Decimal(usd), 1)


def test_a_bucket_without_tokens_needs_no_price_and_a_free_model_costs_nothing() -> None:
    assert cost(Usage(uncached_input=0, cache_read=0, output=0), Price()) == Cost(Decimal(0), 0)
    assert cost(USAGE, FREE) == Cost(Decimal(0), 0)


def test_reasoning_and_requests_are_priced_apart_where_the_table_says_so() -> None:
    price = Price(input=Decimal(0), output=Decimal(1), reasoning=Decimal(3), request=Decimal("0.01"))
    assert cost(Usage(uncached_input=9, output=20, reasoning=5), price) == Cost(Decimal("0.01003"))


def test_failed_attempts_cost_what_came_back_and_lost_ones_are_unpriced() -> None:
    failed = (
        FailedAttempt("server", 500, usage=USAGE),
        FailedAttempt("rate_limited", 429),
        FailedAttempt("timed_out", lost=True),
    )
    assert call_cost(replied(failed=failed), TABLE) == Cost(COSTS * 2, 1)
    assert call_cost(Unanswered("agent", 1, "m", "d", "timed_out", "", failed), TABLE) == Cost(COSTS, 1)


def test_row_60_costs_are_by_party_and_one_unpriced_call_shows() -> None:
    calls = [replied(), replied("judge", Usage(fault="absent")), replied("judge"), replied("user")]
    costs = costs_by_party(calls, TABLE)
    assert costs == {"agent": Cost(COSTS), "judge": Cost(COSTS, 1), "user": Cost(COSTS)}
    assert total(costs.values()).shown(8) == "≥ $0.00109875, 1 unpriced"
    assert total(costs_by_party(calls, NO_PRICES).values()).shown() == "≥ $0.0000, 4 unpriced"


def test_the_served_model_is_priced_before_the_one_asked_for() -> None:
    table = PriceTable("a list", "2026-01-01", {"m": PRICE, "m-large": Price(input=Decimal(0), output=Decimal(0))})
    one = Usage(uncached_input=1_000_000, output=0)
    assert call_cost(replied(usage=one), table).usd == Decimal("2.50")
    assert call_cost(replied(usage=one, served="m-2026"), table).usd == Decimal("2.50")
    assert call_cost(replied(usage=one, served="m-large"), table).usd == 0


@pytest.mark.parametrize(
    ("usd", "places", "shown"),
    [("0.00005", 4, "$0.0001"), ("0.00004999", 4, "$0.0000"), ("0.125", 2, "$0.13"), ("1234567.5", 0, "$1234568")],
)
def test_only_what_is_shown_is_rounded_half_up(usd: str, places: int, shown: str) -> None:
    assert Cost(Decimal(usd)).shown(places) == shown


COUNTS = st.integers(0, 2**53 - 1)
RATES = st.decimals(0, 1000, places=12)


@given(st.lists(st.tuples(COUNTS, COUNTS, RATES, RATES), max_size=20))
def test_sums_are_exact_in_any_order(calls: list[tuple[int, int, Decimal, Decimal]]) -> None:
    costs = [cost(Usage(uncached_input=i, output=o), Price(input=a, output=b)) for i, o, a, b in calls]
    exact = sum(i * Fraction(a) + o * Fraction(b) for i, o, a, b in calls) / 1_000_000
    assert Fraction(total(costs).usd) == Fraction(total(costs[::-1]).usd) == exact


def test_a_table_is_read_from_yaml_with_source_and_date(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(
        "source: the provider's price page\ndate: 2026-01-01\n"
        "models:\n  m: {input: '2.50', cache_read: 0.1, output: 10, valid_up_to: 200000}\n",
        encoding="utf-8",
    )
    table = load_prices(path)
    price = Price(Decimal("2.50"), Decimal("0.1"), output=Decimal(10), valid_up_to=200_000)
    assert table == PriceTable("the provider's price page", "2026-01-01", {"m": price})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"source": "s", "date": "d"}, "lacks models"),
        ({"sauce": "s"}, "unknown key `sauce`; did you mean `source`?"),
        ({"source": "s", "date": "d", "models": {"m": {"imput": 1}}}, "price of m: unknown key `imput`; did you mean"),
        ({"source": "s", "date": "d", "models": {"m": {"input": -1}}}, "input of m is -1; write USD"),
        ({"source": "s", "date": "d", "models": {"m": {"input": "NaN"}}}, "input of m is 'NaN'"),
        ({"source": "s", "date": "d", "models": {"m": {"input": True}}}, "input of m is True"),
        ({"source": "s", "date": "d", "models": {"m": {"valid_up_to": "many"}}}, "no count of tokens"),
        ({"source": "s", "date": "d", "models": {"m": 3}}, "price of m is no mapping"),
        ([], "no mapping"),
    ],
)
def test_a_table_that_is_wrong_is_refused_in_words(tmp_path: Path, content: Any, words: str) -> None:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(PriceFault, match=words.replace("?", r"\?")):
        load_prices(path)


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PriceFault, match="cannot be read"):
        load_prices(tmp_path / "none.yaml")


def test_openrouters_list_is_imported_and_a_price_that_varies_is_none() -> None:
    priced = {
        "prompt": "0.0000025",
        "completion": "0.00001",
        "input_cache_read": "0.00000025",
        "request": "0.008",
        "internal_reasoning": "0",
    }
    varies = {"prompt": "-1", "completion": "-1"}
    data = [{"id": "a/m", "pricing": priced}, {"id": "auto", "pricing": varies}, {"id": "none"}]
    table = from_openrouter(json.dumps({"data": data}), "2026-01-01")
    price = Price(Decimal("2.5"), Decimal("0.25"), output=Decimal(10), request=Decimal("0.008"))
    assert table == PriceTable("OpenRouter", "2026-01-01", {"a/m": price})


def test_litellms_table_is_imported_and_its_later_tiers_are_unknown() -> None:
    fields = {
        "input_cost_per_token": 1.25e-06,
        "output_cost_per_token": 1e-05,
        "cache_read_input_token_cost": 3.1e-07,
        "input_cost_per_token_above_200k_tokens": 2.5e-06,
        "mode": "chat",
    }
    table = from_litellm(json.dumps({"sample_spec": {"input_cost_per_token": 0}, "m": fields, "image": {}}), "d")
    price = Price(Decimal("1.25"), Decimal("0.31"), output=Decimal(10), valid_up_to=200_000)
    assert dict(table.prices) == {"m": price}
    assert cost(Usage(uncached_input=200_001, output=1), price) == Cost(Decimal(0), 1)
