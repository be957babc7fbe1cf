"""`trialbox prices`: a price table for configurations and `--prices`, from a list that others keep."""

import argparse
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import yaml

from sandbox.prices import Price, PriceFault, PriceTable, from_litellm, from_openrouter
from sandbox.refusals import UserFault

LISTS: dict[str, Callable[[str, str], PriceTable]] = {"openrouter": from_openrouter, "litellm": from_litellm}
_HEAD = "# USD per million tokens; made by `trialbox prices`. What is not here is unknown, and never free.\n"


def add_to(commands: Any) -> None:
    """`prices`."""
    making = commands.add_parser("prices", help="make a price table from a list of OpenRouter's or LiteLLM's")
    making.add_argument("form", choices=LISTS, help="of the list")
    making.add_argument("list", type=Path, help="the file: OpenRouter's answer to /api/v1/models, or LiteLLM's JSON")
    making.add_argument("-o", "--output", type=Path, required=True, help="the table, a new YAML file")
    making.add_argument("--model", action="append", default=[], help="only this model; may be given several times")
    making.add_argument("--date", type=day, required=True, help="of the list, such as 2026-03-01")
    making.set_defaults(run=_prices)


def day(text: str) -> str:
    """A date from the command line, ISO 8601; ArgumentTypeError if it is none."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date; write it like 2026-03-01") from None


def _prices(options: argparse.Namespace) -> int:
    if options.output.exists():
        raise UserFault(f"{options.output} is there already; choose another file")
    table = listed(options.list, LISTS[options.form], options.date)
    missing = [model for model in options.model if model not in table.prices]
    if missing:
        raise UserFault(f"{options.list} has no price of {', '.join(missing)}{_like(missing[0], table)}")
    chosen = {model: table.prices[model] for model in options.model} or dict(table.prices)
    options.output.write_text(_HEAD + written(PriceTable(table.source, table.date, chosen)), encoding="utf-8")
    print(f"{len(chosen)} models in {options.output}")
    return 0


def listed(path: Path, read: Callable[[str, str], PriceTable], dated: str) -> PriceTable:
    """
    The prices in a list.

    Raises:
        PriceFault: it is no list of this form, or has no price.
    """
    try:
        table = read(path.read_text(encoding="utf-8"), dated)
    except OSError as error:
        raise PriceFault(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PriceFault(f"{path} is no list of this form: {type(error).__name__}: {error}") from None
    if not table.prices:
        raise PriceFault(f"{path} has no price; is it a list of another form?")
    return table


def written(table: PriceTable) -> str:
    """A price table as YAML that `load_prices` reads; numbers as text, so that no digit is lost."""
    models = {model: _fields(price) for model, price in sorted(table.prices.items())}
    content = {"source": table.source, "date": table.date, "models": models}
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)


def _fields(price: Price) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(price)
    return {name: value for name, value in found.items() if value is not None}


def _like(name: str, table: PriceTable) -> str:
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]
    close = [model for model in table.prices if words and all(word in model.lower() for word in words)][:3]
    return f"; it has {', '.join(close)}" if close else ""
