"""`trialbox gate`: whether a campaign keeps some rules, as an exit code."""

import argparse
import operator
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from judges.lines import cut
from judges.metrics.comparison import compare
from judges.metrics.counted import Counted, counted, ensure_one_judge, ensure_same_tasks
from judges.metrics.counts import Counts, Coverage, Policy, coverage, refusals_only, settled
from judges.metrics.reliability_commands import POLICIES, add_policy_to
from judges.metrics.rounding import half_up, percent
from judges.metrics.statistic import Statistic, statistic_named
from sandbox.refusals import UserFault

Answer = Literal["yes", "no", "open"]

OPERATORS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}
_NUMBER = r"(?P<number>[0-9]{1,60}(?:\.[0-9]{1,60})?(?:[eE][+-]?[0-9]{1,3})?)"
_RATE = re.compile(rf"(?P<name>pass[@^][1-9][0-9]{{0,5}})\s*(?P<operator>>=|>|<=|<)\s*{_NUMBER}")
_REGRESSION = re.compile(rf"regression\s+p\s*<\s*{_NUMBER}")
ALLOWED = (
    "write `pass@K OP NUMBER` or `pass^K OP NUMBER`, such as 'pass^5 >= 0.6', with OP one of >=, >, <=, <, or "
    "`regression p < NUMBER`, such as 'regression p < 0.05'; a NUMBER is a decimal from 0 to 1, compared exactly, such "
    "as 0.6, 0.230769230769 or 1e-3"
)

PLACES = 4
"""Decimals of a value."""
MOST_PLACES = 12
"""Decimals of a value that is all but the number of its rule."""


class RuleInvalid(UserFault):
    """A rule that cannot be checked as it is written, or with what it was given."""


class RateRule(Struct, frozen=True):
    """A rate over all tasks, and what it must be."""

    text: str
    statistic: Statistic
    operator: str
    number: Fraction


class RegressionRule(Struct, frozen=True):
    """The campaign is not worse than the baseline with a p below a number."""

    text: str
    number: Fraction


GateRule = RateRule | RegressionRule


class Checked(Struct, frozen=True):
    """A rule's answer, and the value that gives it."""

    rule: str
    answer: Answer
    """`open`: it cannot be checked."""
    value: str


def add_to(commands: Any) -> None:
    """`gate`."""
    gate = commands.add_parser("gate", help="check a campaign against rules and a baseline; 0 kept, 1 broken, 2 open")
    gate.add_argument("store", type=Path)
    gate.add_argument("--baseline", type=Path, help="store of an earlier campaign, for `regression` rules")
    gate.add_argument("--rule", action="append", required=True, help=ALLOWED)
    add_policy_to(gate)
    gate.add_argument("--mixed", action="store_true", help="sum up verdicts of different judge bundles too")
    gate.set_defaults(run=_gate)


def _gate(options: argparse.Namespace) -> int:
    rules = [parsed(text) for text in options.rule]
    is_regression = any(isinstance(rule, RegressionRule) for rule in rules)
    if is_regression and options.baseline is None:
        raise RuleInvalid("a `regression` rule needs something to compare with; give --baseline STORE")
    if options.baseline is not None and not is_regression:
        raise RuleInvalid("--baseline is read by a `regression` rule only; add --rule 'regression p < 0.05'")
    store = counted(options.store, mixed=options.mixed)
    baseline = None if options.baseline is None else counted(options.baseline, mixed=options.mixed)
    if baseline is not None:
        ensure_same_tasks(baseline, store)
        if not options.mixed:
            ensure_one_judge([baseline, store])
    policy = POLICIES[options.policy]
    checked = [check(rule, store.counts, baseline, policy) for rule in rules]
    for line in told(store, policy, checked):
        print(line)
    return code_of(checked)


def parsed(text: str) -> GateRule:
    """A rule as it is written on the command line; RuleInvalid says what is allowed."""
    stripped = text.strip()
    found = _RATE.fullmatch(stripped) or _REGRESSION.fullmatch(stripped)
    if found is None:
        raise RuleInvalid(f"rule {cut(text)!r} is not understood; {ALLOWED}")
    number = Fraction(found["number"])
    if number > 1:
        raise RuleInvalid(f"rule {cut(text)!r}: {found['number']} is more than 1; {ALLOWED}")
    if found.re is _RATE:
        return RateRule(stripped, statistic_named(found["name"]), found["operator"], number)
    if not number:
        raise RuleInvalid(f"rule {cut(text)!r}: no p is below 0, so it would always hold; {ALLOWED}")
    return RegressionRule(stripped, number)


def check(rule: GateRule, counts: Sequence[Counts], baseline: Counted | None, policy: Policy) -> Checked:
    """A rule's answer for one campaign."""
    if isinstance(rule, RateRule):
        return _check_rate(rule, counts, policy)
    if baseline is None:
        return Checked(rule.text, "open", "no baseline")
    return _check_regression(rule, counts, baseline.counts, policy)


def _check_rate(rule: RateRule, counts: Sequence[Counts], policy: Policy) -> Checked:
    """Yes or no only if it is so whatever becomes of the trials that are missing."""
    samples = [settled(item, policy) for item in counts]
    low = sum((rule.statistic.low(sample) for sample in samples), Fraction(0)) / len(samples)
    high = sum((rule.statistic.high(sample) for sample in samples), Fraction(0)) / len(samples)
    answers = {OPERATORS[rule.operator](end, rule.number) for end in (low, high)}
    answer: Answer = "open" if len(answers) > 1 else "yes" if answers == {True} else "no"
    value = told_apart(low, rule.number) if low == high else f"{half_up(low, PLACES)} to {half_up(high, PLACES)}"
    few = [s.task for s in samples if s.trials + s.open < rule.statistic.k]
    if few:
        value += f"; undefined for {len(few)} of {len(samples)} tasks, which have fewer than {rule.statistic.k} trials"
    elif low != high:
        value += f"; trials without a result: {sum(s.open for s in samples)}"
    return Checked(rule.text, answer, f"{value} ({rule.statistic.family}; {rule.statistic.estimator})")


def _check_regression(
    rule: RegressionRule, counts: Sequence[Counts], baseline: Sequence[Counts], policy: Policy
) -> Checked:
    found = compare(counts, baseline, policy=policy, side="worse")
    left_out = [
        f"tasks {where}: {len(tasks)} ({cut(', '.join(tasks))})"
        for where, tasks in (
            ("only in the store", found.only_first),
            ("only in the baseline", found.only_second),
            ("without a trial that counts", found.undefined),
        )
        if tasks
    ]
    aside = "".join(f"; {text}" for text in left_out)
    if found.p is None or found.exact is None or found.undefined:
        return Checked(rule.text, "open", f"too little to compare{aside}")
    # As the decimal that it is shown as: the float for 0.3 is less than 0.3.
    p = Fraction(str(found.p.value))
    is_worse = found.exact < 0 and p < rule.number
    value = (
        f"p = {told_apart(p, rule.number)} for being worse ({found.p.method}); pass@1 (one attempt; c/n) "
        f"differs by {percent(found.exact)} points from the baseline, mean over {found.tasks} tasks; "
        f"judged {_judged(found.coverage_first)} and {_judged(found.coverage_second)} trials"
    )
    return Checked(rule.text, "no" if is_worse else "yes", value + aside)


def told_apart(value: Fraction, number: Fraction) -> str:
    """A value with as many decimals as show on which side of a number it is; four at least."""
    side = _sign(value - number)
    right = (p for p in range(PLACES, MOST_PLACES) if _sign(Fraction(half_up(value, p)) - number) == side)
    return str(half_up(value, next(right, MOST_PLACES)))


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


def _judged(found: Coverage) -> str:
    return f"{found.judged} of {found.planned}"


def told(store: Counted, policy: Policy, checked: Sequence[Checked]) -> list[str]:
    """What is printed: what was looked at, and a line for each rule."""
    found, refusals = coverage(store.counts), len(refusals_only(store.counts))
    head = f"{cut(store.seal.agent)}: {found.tasks} tasks, {refusals} of them refusal or no change"
    lines = [f"{head}; judged {found.judged} of {found.planned} trials", f"policy: {policy.name}"]
    return lines + [f"{ANSWERS[one.answer]:18} {one.rule}: {one.value}" for one in checked]


ANSWERS: dict[Answer, str] = {"yes": "yes", "no": "no", "open": "cannot be checked"}


def code_of(checked: Sequence[Checked]) -> int:
    """0: every rule holds. 1: one does not. 2: none is broken, but one cannot be checked."""
    answers = {one.answer for one in checked}
    return 1 if "no" in answers else 2 if "open" in answers else 0
