"""What tokens cost: a price table with its source and date, and exact sums that never take unknown for nothing."""

import json
from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal, Inexact, InvalidOperation
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from sandbox.records import FailedAttempt, Replied, Unanswered
from sandbox.refusals import UserFault
from sandbox.usage import Usage

_EXACT = Context(prec=200, traps=[Inexact, InvalidOperation])
"""Sums and products are exact, or an error."""
_MILLION = 6


class PriceFault(UserFault):
    """A price table that cannot be used; the text names model and field."""


class Price(Struct, frozen=True, omit_defaults=True):
    """USD per million tokens of each bucket; None: unknown."""

    input: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    cache_write_long: Decimal | None = None
    output: Decimal | None = None
    reasoning: Decimal | None = None
    """Of reasoning tokens; None: as other output."""
    request: Decimal = Decimal(0)
    """USD for each answered call."""
    valid_up_to: int | None = None
    """Input tokens of a call beyond which other, unknown prices hold."""


class PriceTable(Struct, frozen=True):
    """Prices by model, and where they are from."""

    source: str
    date: str
    """ISO 8601."""
    prices: Mapping[str, Price]

    def price_of(self, *models: str) -> Price | None:
        """Of the first of these models that has one, such as the served one and the one asked for."""
        return next((self.prices[model] for model in models if model in self.prices), None)


NO_PRICES = PriceTable("", "", {})


class Cost(Struct, frozen=True):
    """
    Money spent, as far as it is known.

    Raises:
        ValueError: it is negative or not finite.
    """

    usd: Decimal = Decimal(0)
    unpriced: int = 0
    """Calls and attempts whose cost, or a part of it, is unknown."""

    def __post_init__(self) -> None:
        if not self.usd.is_finite() or self.usd < 0 or self.unpriced < 0:
            raise ValueError(f"a cost of {self.usd} with {self.unpriced} calls unpriced: neither may be negative")

    @property
    def is_lower_bound(self) -> bool:
        """Whether the true cost may be higher."""
        return self.unpriced > 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(_EXACT.add(self.usd, other.usd), self.unpriced + other.unpriced)

    def shown(self, places: int = 4) -> str:
        """For people: `$0.0123`, or `≥ $0.0123, 2 unpriced`. Only here is anything rounded, half up."""
        rounded = self.usd.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, Context(prec=200))
        return f"≥ ${rounded:f}, {self.unpriced} unpriced" if self.unpriced else f"${rounded:f}"


def cost(usage: Usage, price: Price | None) -> Cost:
    """What one answered call cost; the buckets that are known are counted even where others are not."""
    if price is None:
        return Cost(unpriced=1)
    reasoning = usage.reasoning or 0 if price.reasoning is not None else 0
    parts: list[tuple[int | None, Decimal | None]] = [
        (usage.uncached_input, price.input),
        (usage.cache_read or 0, price.cache_read),
        (usage.cache_write or 0, price.cache_write),
        (usage.cache_write_long or 0, price.cache_write_long),
        (usage.output if usage.output is None else usage.output - reasoning, price.output),
        (reasoning, price.reasoning),
    ]
    beyond = price.valid_up_to is not None and (usage.input is None or usage.input > price.valid_up_to)
    if beyond:
        return Cost(unpriced=1)
    is_unknown = any(tokens is None or (tokens and rate is None) for tokens, rate in parts)
    known = [(tokens, rate) for tokens, rate in parts if tokens is not None and rate is not None]
    return costed(price.request, 1, known, int(is_unknown))


def costed(request: Decimal, calls: int, used: Iterable[tuple[int, Decimal]], unpriced: int) -> Cost:
    """
    The exact sum of calls × the price of one, and of tokens × USD per million for each bucket.

    Args:
        unpriced: how many of the calls have a part whose cost is unknown.
    """
    usd = _EXACT.multiply(Decimal(calls), request)
    for tokens, rate in used:
        usd = _EXACT.add(usd, _EXACT.multiply(Decimal(tokens), rate).scaleb(-_MILLION, _EXACT))
    return Cost(usd, unpriced)


def total(costs: Iterable[Cost]) -> Cost:
    """The sum."""
    return sum(costs, Cost())


def call_cost(call: Replied | Unanswered, table: PriceTable) -> Cost:
    """A call with its failed attempts: those that came back with usage, and as unpriced those that got lost."""
    if isinstance(call, Unanswered):
        price = table.price_of(call.model)
        return total(_failed_cost(attempt, price) for attempt in call.failed)
    price = table.price_of(call.served, call.model)
    return total([cost(call.usage, price), *(_failed_cost(attempt, price) for attempt in call.failed)])


def _failed_cost(attempt: FailedAttempt, price: Price | None) -> Cost:
    if attempt.usage is not None:
        return cost(attempt.usage, price)
    return Cost(unpriced=int(attempt.lost))


def costs_by_party(calls: Iterable[Replied | Unanswered], table: PriceTable) -> dict[str, Cost]:
    """Sums for agent, user and judge, as far as they asked a model."""
    spent: dict[str, Cost] = {}
    for call in calls:
        spent[call.party] = spent.get(call.party, Cost()) + call_cost(call, table)
    return dict(sorted(spent.items()))


def load_prices(path: Path) -> PriceTable:
    """
    A price table from a YAML or JSON file: `source`, `date`, and `models` with a price each.

    Raises:
        PriceFault: it cannot be read, a key is unknown, or a price is no number of USD.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise PriceFault(f"price table {path} cannot be read: {error}") from None
    return price_table(content, f"price table {path}")


def price_table(content: object, where: str) -> PriceTable:
    """
    A price table from plain values: `source`, `date`, and `models` with a price each.

    Args:
        where: they are from, for the texts of faults.

    Raises:
        PriceFault: a key is unknown or missing, or a price is no number of USD.
    """
    if not isinstance(content, dict):
        raise PriceFault(f"{where} is no mapping; it has the keys source, date and models")
    _ensure_known(content, ("source", "date", "models"), where)
    missing = [name for name in ("source", "date", "models") if not content.get(name)]
    if missing or not isinstance(content["models"], dict):
        raise PriceFault(f"{where} lacks {', '.join(missing) or 'a mapping of models'}")
    prices = {str(model): _price(str(model), fields) for model, fields in content["models"].items()}
    return PriceTable(str(content["source"]), str(content["date"]), prices)


def _price(model: str, fields: object) -> Price:
    if not isinstance(fields, dict):
        raise PriceFault(f"the price of {model} is no mapping of buckets to USD per million tokens")
    _ensure_known(fields, Price.__struct_fields__, f"the price of {model}")
    made = {name: _usd(model, name, value) for name, value in fields.items() if name != "valid_up_to"}
    limit = fields.get("valid_up_to")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise PriceFault(f"valid_up_to of {model} is {limit!r}, no count of tokens")
    return Price(**made, valid_up_to=limit)


def _ensure_known(given: Mapping[Any, Any], known: Iterable[str], where: str) -> None:
    for name in given:
        if name not in (names := list(known)):
            close = get_close_matches(str(name), names, n=1)
            hint = f"did you mean `{close[0]}`?" if close else f"known: {', '.join(names)}"
            raise PriceFault(f"{where}: unknown key `{name}`; {hint}")


def _usd(model: str, name: str, value: object) -> Decimal:
    """An amount of USD; a float as the shortest text that means it."""
    try:
        amount = Decimal(str(value)) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    except InvalidOperation:
        amount = None
    if amount is None or not _is_amount(amount):
        raise PriceFault(f"{name} of {model} is {value!r}; write USD as a number from 0, such as 2.50")
    return amount


def from_openrouter(content: str, date: str) -> PriceTable:
    """
    Prices from OpenRouter's list of models: `data[].pricing`, USD per token as text.

    A model whose price depends on where it is sent (-1) has none here.
    """
    known = {
        "prompt": "input",
        "completion": "output",
        "input_cache_read": "cache_read",
        "input_cache_write": "cache_write",
        "input_cache_write_1h": "cache_write_long",
        "internal_reasoning": "reasoning",
    }
    prices = {}
    for model in json.loads(content)["data"]:
        pricing = model.get("pricing") or {}
        made: dict[str, Any] = {own: _per_million(pricing.get(name)) for name, own in known.items()}
        if made["input"] is None or made["output"] is None:
            continue
        made["reasoning"] = made["reasoning"] or None
        prices[model["id"]] = Price(**made, request=_amount(pricing.get("request")) or Decimal(0))
    return PriceTable("OpenRouter", date, prices)


def from_litellm(content: str, date: str) -> PriceTable:
    """Prices from LiteLLM's table: USD per token as floats; beyond the first tier of a tiered price, none is known."""
    known = {
        "input_cost_per_token": "input",
        "output_cost_per_token": "output",
        "cache_read_input_token_cost": "cache_read",
        "cache_creation_input_token_cost": "cache_write",
        "cache_creation_input_token_cost_above_1hr": "cache_write_long",
        "output_cost_per_reasoning_token": "reasoning",
    }
    prices = {}
    for model, fields in json.loads(content).items():
        if model == "sample_spec" or not isinstance(fields, dict):
            continue
        made: dict[str, Any] = {own: _per_million(fields.get(name)) for name, own in known.items()}
        if made["input"] is not None and made["output"] is not None:
            prices[model] = Price(**made, valid_up_to=_first_tier(fields))
    return PriceTable("LiteLLM", date, prices)


def _first_tier(fields: Mapping[str, Any]) -> int | None:
    tiers = []
    for name in fields:
        head, above, tail = name.partition("_above_")
        thousands = tail.removesuffix("k_tokens")
        if above and head in ("input_cost_per_token", "output_cost_per_token") and thousands.isdecimal():
            tiers.append(int(thousands) * 1000)
    return min(tiers, default=None)


def _per_million(value: object) -> Decimal | None:
    amount = _amount(value)
    return None if amount is None else amount.scaleb(_MILLION, _EXACT)


def _amount(value: object) -> Decimal | None:
    """An importer's amount: None where it is absent, illegible or negative, which means that it varies."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if _is_amount(amount) else None


def _is_amount(amount: Decimal) -> bool:
    """Whether it is a number from 0 with so few digits that sums of its products stay exact."""
    return amount.is_finite() and amount >= 0 and -40 <= amount.adjusted() <= 20 and len(amount.as_tuple().digits) <= 40
