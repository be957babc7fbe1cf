"""Usage and cost of a trial by party: what is not known is never nothing."""

from decimal import Decimal
from typing import Any

import pytest

from replay.exports.spending import decimal_text, used_by
from sandbox.prices import NO_PRICES, Price, PriceTable
from sandbox.records import FailedAttempt, Replied, Unanswered
from sandbox.usage import ABSENT, Usage

PRICES = PriceTable("list", "2026-01-01", {"m": Price(input=Decimal(1), output=Decimal("0.5"))})
KNOWN = Usage(uncached_input=10, output=4, reasoning=1)
SILENT = Usage(fault=ABSENT)


def replied(usage: Usage, *failed: FailedAttempt, party: str = "agent") -> Replied:
    return Replied(party, 1, "m", "m", "", "{}", "stop", usage, failed=failed)


def test_attempts_that_failed_count_with_what_they_used() -> None:
    calls = [replied(KNOWN, FailedAttempt("server", usage=KNOWN), FailedAttempt("unreachable")), replied(KNOWN)]
    [used] = used_by(calls, PRICES)
    assert (used.calls, used.failed, used.unreported, used.tokens["uncached_input"]) == (2, 2, 0, 30)
    assert (used.usd, used.cost.unpriced) == ("0.000036", 0)


def test_what_nobody_reported_is_no_zero() -> None:
    [used] = used_by([replied(SILENT)], PRICES)
    assert set(used.tokens.values()) == {None}
    assert (used.unreported, used.usd, used.cost.unpriced) == (1, None, 1)


def test_a_part_that_is_known_is_a_lower_bound() -> None:
    [used] = used_by([replied(KNOWN), replied(SILENT)], PRICES)
    assert (used.tokens["output"], used.tokens["cache_read"], used.unreported) == (4, None, 1)
    assert (used.usd, used.cost.unpriced) == ("0.000012", 1)


def test_a_call_that_was_given_up_and_a_lost_reply_are_told() -> None:
    given_up = Unanswered("user", 1, "m", "", "server", "", (FailedAttempt("cut_off", lost=True),))
    [used] = used_by([given_up], PRICES)
    assert (used.party, used.calls, used.failed, used.unreported, used.cost.unpriced) == ("user", 1, 1, 1, 1)


def test_parties_are_apart_and_without_prices_nothing_is_free() -> None:
    used = used_by([replied(KNOWN, party=party) for party in ("user", "agent", "judge")], NO_PRICES)
    assert [(one.party, one.usd, one.cost.unpriced) for one in used] == [
        ("agent", None, 1),
        ("judge", None, 1),
        ("user", None, 1),
    ]


@pytest.mark.parametrize(
    ("amount", "text"),
    [("0", "0"), ("1E+2", "100"), ("1E-9", "0.000000001"), ("1.2300", "1.23"), ("10", "10"), ("0.00", "0")],
)
def test_an_amount_is_text_without_an_exponent(amount: Any, text: str) -> None:
    assert decimal_text(Decimal(amount)) == text
