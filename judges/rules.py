"""Event rules: what must never happen in a trial, at most once, or only after something else."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct

from judges.expectation import AtMostOnce, Before, Condition, Never, Rule, TaskInvalid, Where, nearest
from judges.profile import POLICIES, Canon, default_policy, value
from sandbox.declarations import Event, FieldSpec
from sandbox.domain import Domain, Handling
from sandbox.fold import event_of
from sandbox.records import OWN_TOPICS, Record
from sandbox.values import plain


class Happened(Struct, frozen=True):
    """A domain event of a trial, upcast to today's version, its fields as plain JSON values."""

    position: int
    cause: int
    """Position of the call that emitted it."""
    topic: str
    fields: Mapping[str, Any]


def events_of(domain: Domain, records: Iterable[Record]) -> tuple[Happened, ...]:
    """The domain events of a stream, in order; UnknownTopic if one cannot be read."""
    found = []
    for record in records:
        if record.topic not in OWN_TOPICS:
            handling, event = event_of(domain, record)
            fields = MappingProxyType(plain(event))
            found.append(Happened(record.position, record.cause, handling.topic, fields))
    return tuple(found)


class Violation(Struct, frozen=True):
    """The first event that breaks a rule."""

    position: int
    cause: int
    reason: str


Matches = Callable[[Happened], bool]
Test = Callable[[Any], bool]

_BOUNDS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


class PreparedRule(Struct, frozen=True):
    """A rule that has been checked against a domain."""

    name: str
    rule: Rule
    matches: Matches
    then: Matches | None

    def violation(self, events: Sequence[Happened]) -> Violation | None:
        """The first event that breaks the rule, or None."""
        earlier: Happened | None = None
        for event in events:
            if self.then is not None and earlier is None and self.then(event):
                return _violation(event, f"before any {self.rule.event}")
            if self.matches(event):
                if isinstance(self.rule, Never):
                    return _violation(event, "which must never happen")
                if isinstance(self.rule, AtMostOnce) and earlier is not None:
                    return _violation(event, f"again after event {earlier.position}")
                earlier = earlier or event
        return None


def _violation(event: Happened, why: str) -> Violation:
    return Violation(event.position, event.cause, f"event {event.position} ({event.topic}) happened, {why}")


def prepared_rule(domain: Domain, rule: Rule, task: str) -> PreparedRule:
    """
    The rule, ready to look at events.

    Raises:
        TaskInvalid: no such event or field, or a condition that its field can never meet.
    """
    at = f"task {task}, rule {rule_name(rule)!r}"
    then = _matcher(domain, rule.then, rule.then_where, at) if isinstance(rule, Before) else None
    return PreparedRule(rule_name(rule), rule, _matcher(domain, rule.event, rule.where, at), then)


def rule_name(rule: Rule) -> str:
    """The rule in a few words, such as `never refund-issued where amount > 500`."""
    if isinstance(rule, Before):
        return f"{_told(rule.event, rule.where)} before {_told(rule.then, rule.then_where)}"
    return f"{'never' if isinstance(rule, Never) else 'at most once'} {_told(rule.event, rule.where)}"


def _told(event: str, where: Where) -> str:
    conditions = []
    for name, wanted in where.items():
        if isinstance(wanted, dict):
            conditions += [f"{name} {sign} {bound}" for sign, bound in wanted.items()]
        else:
            conditions.append(f"{name} = {msgspec.json.encode(wanted).decode()}")
    return event + (f" where {' and '.join(conditions)}" if conditions else "")


def _matcher(domain: Domain, event: str, where: Where, at: str) -> Matches:
    handlings = _handlings(domain, event, at)
    tests = {handling.topic: [_tests(handling, name, where[name], at) for name in where] for handling in handlings}

    def matches(happened: Happened) -> bool:
        wanted = tests.get(happened.topic)
        return wanted is not None and all(test(happened.fields) for test in wanted)

    return matches


def _handlings(domain: Domain, event: str, at: str) -> list[Handling]:
    names: dict[str, list[Handling]] = {}
    for handling in domain.handlings.values():
        tag, mount = handling.event_type.event_tag, handling.topic.rpartition(".")[0]
        for name in (tag, mount):
            names.setdefault(name, []).append(handling)
    if event not in names:
        raise TaskInvalid(f"{at}: no event {event!r} in domain {domain.name}; {nearest(event, names)}")
    return names[event]


def _tests(handling: Handling, name: str, wanted: Condition, at: str) -> Test:
    specs = {spec.name: spec for spec in handling.shape.fields}
    if name not in specs:
        raise TaskInvalid(f"{at}: event {handling.topic} has no field {name!r}; {nearest(name, specs)}")
    if isinstance(wanted, dict):
        return _bounds_test(specs[name], wanted, f"{at}: field {name} of {handling.topic}")
    return _equal_test(handling.event_type, specs[name], wanted, f"{at}: field {name} of {handling.topic}")


def _bounds_test(spec: FieldSpec, bounds: Mapping[Any, int | float], at: str) -> Test:
    if spec.kind not in ("int", "float", "decimal"):
        raise TaskInvalid(f"{at} is of kind {spec.kind}; only numbers can be compared with {', '.join(bounds)}")
    if not bounds:
        raise TaskInvalid(f"{at} is compared with nothing; give a bound such as {{'>': 500}}")
    exact = {sign: Decimal(str(bound)) for sign, bound in bounds.items()}

    def test(fields: Mapping[str, Any]) -> bool:
        given = fields.get(spec.name)
        if given is None:
            return False
        amount = Decimal(str(given))
        return all(_BOUNDS[sign](amount, bound) for sign, bound in exact.items())

    return test


def _equal_test(event_type: type[Event], spec: FieldSpec, wanted: Condition, at: str) -> Test:
    kinds = {field.name: field.type for field in msgspec.structs.fields(event_type)}
    given = str(wanted) if spec.kind == "decimal" and type(wanted) in (int, float) else wanted
    try:
        converted = plain(msgspec.convert(given, kinds[spec.name]))
    except msgspec.ValidationError as error:
        raise TaskInvalid(f"{at} can never be {wanted!r}: {error}") from None
    form = POLICIES["text" if spec.kind == "prose" else default_policy(spec)] or value
    target = form(converted)

    def test(fields: Mapping[str, Any]) -> bool:
        found: Canon = form(fields[spec.name]) if spec.name in fields else None
        return found == target

    return test
