"""
Golden calls in another order: where that gives another result, an agent who does all that is right may fail.

Only writing calls are put in another order, all of them at the same virtual time, so that what is found is not the
clock. A call that names an id which an earlier call made stays behind it, and names the id that was made instead.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, permutations
from typing import Any

from msgspec import Struct

from judges.compare import Required
from judges.expectation import GoldenCall, TaskInvalid
from judges.lint.case import Case, scalars
from judges.lint.rehearsal import Step, attempted
from judges.lint.report import Remark
from judges.outcome import Outcome
from judges.profile import Profile
from judges.rules import Happened, PreparedRule, prepared_rule
from sandbox.effects import Effects, effects_digest
from sandbox.snapshot import Overlay
from sandbox.world import World

MOST_PERMUTED = 5
"""Writing calls of which every order is tried; of more, those that differ by one swap of neighbours."""

Order = tuple[int, ...]
Pairs = frozenset[tuple[int, int]]


class Reached(Struct, frozen=True, eq=False):
    """Where some of the calls, in some order, have led."""

    overlay: Overlay
    effects: Effects
    made: Mapping[int, tuple[str, ...]]
    """Ids of the new rows, by call."""


class Taken(Struct, frozen=True, eq=False):
    """One call, made where others have led."""

    reached: int | None
    """Number of the state; None if the call is refused."""
    events: tuple[Happened, ...]


class Orders:
    """
    The orders of one outcome's writing calls.

    Orders that lead to the same state are followed as one from there on.
    """

    def __init__(self, case: Case, steps: Sequence[Step]) -> None:
        self._case = case
        self._calls = [step.call for step in steps]
        self._states = [Reached(Overlay(case.snapshot), (), {})]
        self._numbers: dict[object, int] = {}
        self._taken: dict[tuple[int, int], Taken] = {}
        self._made: Mapping[int, tuple[str, ...]] = {}
        self.golden = tuple(range(len(steps)))
        end, _ = self.run(self.golden)
        self._made = {} if end is None else end.made
        self._taken.clear()
        self._needs = [self._needed_by(place) for place in range(len(steps))]

    def run(self, order: Iterable[int]) -> tuple[Reached | None, tuple[Happened, ...]]:
        """Where an order leads and what happens on the way; None if a call is refused."""
        number = 0
        events: list[Happened] = []
        for place in order:
            taken = self._taken.get((number, place))
            if taken is None:
                taken = self._taken[number, place] = self._next(self._states[number], place)
            if taken.reached is None:
                return None, ()
            number = taken.reached
            events += taken.events
        return self._states[number], tuple(events)

    def others(self) -> Iterator[Order]:
        """Other orders, those with the fewest swapped pairs first; calls stay behind those whose new ids they name."""
        golden = self.golden
        if len(golden) <= MOST_PERMUTED:
            found = _permuted(len(golden))
        else:
            found = tuple((*golden[:at], at + 1, at, *golden[at + 2 :]) for at in golden[:-1])
        for order in found:
            if not any(earlier in self._needs[later] for earlier, later in swapped(order)):
                yield order

    def _needed_by(self, place: int) -> frozenset[int]:
        named = {item for item in scalars(self._calls[place].arguments) if isinstance(item, str)}
        return frozenset(other for other in range(place) if not named.isdisjoint(self._made.get(other, ())))

    def _next(self, before: Reached, place: int) -> Taken:
        call = self._calls[place]
        ids = {
            old: new
            for other, made in before.made.items()
            for old, new in zip(self._made.get(other, made), made, strict=False)
            if old != new
        }
        world = World(self._case.domain, self._case.snapshot, self._case.task.instant)
        world.overlay.merge(before.overlay)
        step = attempted(world, GoldenCall(call.tool, _renamed(call.arguments, ids)) if ids else call)
        if step.fault:
            return Taken(None, ())
        reached = Reached(world.overlay, world.effects, {**before.made, place: _new_ids(before.overlay, world.overlay)})
        name = (effects_digest(reached.effects), tuple(sorted(reached.made.items())))
        number = self._numbers.setdefault(name, len(self._states))
        if number == len(self._states):
            self._states.append(reached)
        return Taken(number, step.events)


def dependent(case: Case) -> Iterator[Remark]:
    """A warning for each pair of golden calls whose order decides, though both orders can be run."""
    profile = case.profile
    if not case.runs or profile is None:
        return
    accepted = [Required(outcome, case.domain, case.snapshot, profile) for outcome in _outcomes(case)]
    rules = _rules(case)
    for outcome, rehearsal in enumerate(case.rehearsals):
        places = [place for place, step in enumerate(rehearsal.steps) if step.events]
        if len(places) > 1:
            orders = Orders(case, [rehearsal.steps[place] for place in places])
            for pairs in _deciding(case, profile, orders, accepted, rules):
                yield _remark(case, outcome, [(places[one], places[other]) for one, other in sorted(pairs)])


def _outcomes(case: Case) -> list[Outcome]:
    return [Outcome("", rehearsal.effects) for rehearsal in case.rehearsals if rehearsal.effects]


def _rules(case: Case) -> list[PreparedRule]:
    try:
        return [prepared_rule(case.domain, rule, case.task.id) for rule in case.expectation.rules]
    except TaskInvalid:
        return []


def _deciding(
    case: Case, profile: Profile, orders: Orders, accepted: Sequence[Required], rules: Sequence[PreparedRule]
) -> list[Pairs]:
    """The pairs of calls whose order decides: what orders that lead elsewhere, and break no rule, have in common."""
    end, _ = orders.run(orders.golden)
    if end is None:
        return []
    required = Required(Outcome("golden", end.effects), case.domain, case.snapshot, profile)
    answers: dict[int, bool] = {}
    found: list[Pairs] = []
    for order in orders.others():
        pairs = swapped(order)
        reached, events = orders.run(order)
        if reached is None or any(rule.violation(events) for rule in rules):
            continue
        if id(reached) not in answers:
            compared = [one.compare(reached.effects) for one in (required, *accepted)]
            answers[id(reached)] = all(one.equal == "no" for one in compared)
        if answers[id(reached)]:
            kin = next((known for known in found if known & pairs), pairs)
            found = [known for known in found if known is not kin] + [kin & pairs]
    return found


def swapped(order: Sequence[int]) -> Pairs:
    """The pairs of calls that stand the other way round, each with the golden order's first one first."""
    return frozenset((later, earlier) for earlier, later in combinations(order, 2) if later < earlier)


def _remark(case: Case, outcome: int, pairs: Sequence[tuple[int, int]]) -> Remark:
    calls = case.expectation.outcomes[outcome].calls
    told = " and ".join(
        f"calls {one + 1} {calls[one].tool} and {other + 1} {calls[other].tool}" for one, other in pairs
    )
    reason = f"{told} can be made the other way round, and then the outcome is another one"
    advice = "accept that outcome too, say in the policy which comes first, or add a `before` rule"
    return case.warning("order", case.path_of(outcome, pairs[0][0]), None, reason, advice)


@cache
def _permuted(calls: int) -> tuple[Order, ...]:
    return tuple(sorted(permutations(range(calls)), key=lambda order: len(swapped(order)))[1:])


def _new_ids(before: Overlay, after: Overlay) -> tuple[str, ...]:
    new = [
        (table, after.place(table, key), key)
        for table, key, row, _ in after.touched()
        if row is not None and before.get(table, key) is None
    ]
    return tuple(key for _, _, key in sorted(new))


def _renamed(value: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {name: _renamed(item, ids) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(item, ids) for item in value]
    return ids.get(value, value) if isinstance(value, str) else value
