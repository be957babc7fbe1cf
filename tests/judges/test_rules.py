"""Event rules: the first event that breaks one, and rules that could never be broken."""

from typing import Any

import pytest

from judges.expectation import AtMostOnce, Before, Never, Rule, TaskInvalid
from judges.rules import events_of, prepared_rule
from tests.judges.shop import Script, domain, refunded, stream_of

VERIFY: Script = [("verify", {"id": "C-1"})]
VOID: Script = [("void_refund", {"id": "RFD-1"})]
LARGE = Never("refund-issued", {"amount": {">": 500}})


def first_violation(rule: Rule, script: Script) -> int:
    """Position of the event; 0 if the rule holds. Two records come first, and each call with one event has three."""
    broken = prepared_rule(domain, rule, "t").violation(events_of(domain, stream_of(script)))
    return broken.position if broken else 0


@pytest.mark.parametrize(
    ("rule", "script", "position"),
    [
        (LARGE, [refunded(amount=500)], 0),
        (LARGE, [refunded(amount=500.01)], 4),
        (LARGE, [refunded(amount=600), *VOID], 4),
        (Never("refund-issued", {"amount": {">=": 10, "<": 20}}), [refunded(amount=20), refunded(amount=19)], 7),
        (Never("refund-issued", {"amount": 25}), [refunded(amount=25.0)], 4),
        (Never("refund-issued", {"amount": -5}), [refunded(amount=5)], 0),
        (Never("refund-issued", {"order": "ORD-2"}), [refunded("ORD-1"), refunded("ORD-2")], 7),
        (Never("shop.refund-issued"), [refunded()], 4),
        (Never("refund-issued"), [("get_order", {"id": "ORD-1"})], 0),
        (Never("refund-issued"), [refunded(reason="none")], 0),
        (AtMostOnce("refund-issued"), [refunded()], 0),
        (AtMostOnce("refund-issued"), [refunded(), *VERIFY, refunded(), refunded()], 10),
        (AtMostOnce("refund-issued", {"order": "ORD-1"}), [refunded("ORD-1"), refunded("ORD-2")], 0),
        (Before("customer-verified", "refund-issued"), [*VERIFY, refunded()], 0),
        (Before("customer-verified", "refund-issued"), [refunded(), *VERIFY], 4),
        (Before("customer-verified", "refund-issued"), [*VERIFY], 0),
        (Before("customer-verified", "refund-issued", {"id": "C-2"}), [*VERIFY, refunded()], 7),
        (Before("customer-verified", "refund-issued", {}, {"amount": {">": 50}}), [refunded(), refunded(amount=51)], 7),
    ],
)
def test_a_rule_names_the_first_event_that_breaks_it(rule: Rule, script: Script, position: int) -> None:
    assert first_violation(rule, script) == position


@pytest.mark.parametrize(
    ("event", "where", "message"),
    [
        ("refund-isued", {}, "no event 'refund-isued' in domain shop; did you mean 'refund-issued'"),
        ("refund-issued", {"amout": 5}, "has no field 'amout'; did you mean 'amount'"),
        ("refund-issued", {"amount": "500"}, "can never be '500'"),
        ("refund-issued", {"order": 5}, "can never be 5"),
        ("refund-issued", {"amount": None}, "can never be None"),
        ("refund-issued", {"order": {">": 5}}, "is of kind text; only numbers"),
        ("refund-issued", {"amount": {}}, "compared with nothing"),
    ],
)
def test_a_rule_that_no_event_could_break_is_refused(event: str, where: dict[str, Any], message: str) -> None:
    for rule in (Never(event, where), AtMostOnce(event, where), Before("customer-verified", event, {}, where)):
        with pytest.raises(TaskInvalid, match=message):
            prepared_rule(domain, rule, "late-mixer")


def test_what_a_rule_sees_of_an_event_cannot_be_changed() -> None:
    (event,) = events_of(domain, stream_of([refunded()]))
    with pytest.raises(TypeError):
        event.fields["amount"] = 0  # type: ignore[index]
