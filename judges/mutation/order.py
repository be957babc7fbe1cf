"""Pairs of calls that follow each other: whether they could as well have been made the other way round."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from msgspec import Struct

from judges.changes import Place
from judges.expectation import Before
from judges.mutation.mutants import Calls, Golden, Mutant, told, with_arguments
from judges.mutation.stage import Move
from judges.profile import value


class Swap(Struct, frozen=True):
    """Two writing calls with none between them that writes, and what it would be to swap them."""

    mutant: Mutant
    independent: bool
    """Neither needs the other, and no rule asks for their order."""


def swaps(golden: Golden) -> Iterator[Swap]:
    """Every pair of neighbouring writing calls, swapped; ids that later calls name are those that they get then."""
    for first, second in pairwise(golden.writing):
        if golden.calls[first] == golden.calls[second]:
            continue
        calls = _swapped(golden, first, second)
        made = golden.stage.played(calls[: second + 1]).moves
        note = f"swapped {told(golden, first)} and {told(golden, second)}"
        if _is_independent(golden, first, second, made[second], made[first]):
            yield Swap(Mutant(note, _renamed(golden, first, second, made, calls)), True)
        else:
            yield Swap(Mutant(note, calls), False)


def _swapped(golden: Golden, first: int, second: int) -> Calls:
    calls = list(golden.calls)
    calls[first], calls[second] = calls[second], calls[first]
    return tuple(calls)


def _is_independent(golden: Golden, first: int, second: int, one: Move, other: Move) -> bool:
    """
    Whether two calls touch different rows, neither names what the other made, and each does the same in both orders.

    Args:
        one: what the first call does when it comes second.
        other: what the second call does when it comes first.
    """
    before, after = golden.moves[first], golden.moves[second]
    if set(before.written) & set(after.written) or _names(after, before) or _is_ordered(golden, before, after):
        return False
    return _content(golden, before) == _content(golden, one) and _content(golden, after) == _content(golden, other)


def _names(move: Move, earlier: Move) -> bool:
    """Whether a call's arguments hold the id of a row that an earlier one created."""
    ids = {key for _, key in earlier.created}
    return any(text in ids for text in _texts(move.call.arguments))


def _texts(given: Any) -> Iterator[str]:
    if isinstance(given, Mapping):
        given = list(given.values())
    if isinstance(given, list | tuple):
        for item in given:
            yield from _texts(item)
    elif isinstance(given, str):
        yield given


def _is_ordered(golden: Golden, before: Move, after: Move) -> bool:
    return any(
        isinstance(rule.rule, Before)
        and rule.then is not None
        and any(map(rule.matches, before.events))
        and any(map(rule.then, after.events))
        for rule in golden.rules
    )


def _content(golden: Golden, move: Move) -> list[Any]:
    """What a call wrote, without the ids of what it created and without what is not compared."""
    own = {key for _, key in move.created}
    found = []
    for place, row in move.written.items():
        forms = golden.profile.table(place[0]).forms
        shown = {
            name: "new" if isinstance(given, str) and given in own else form(given)
            for name, given in (row.after or {}).items()
            if (form := forms.get(name, value)) is not None
        }
        found.append((place[0], "" if row.before is None else place[1], sorted(shown.items())))
    return [move.refusal, *sorted(found, key=repr)]


def _renamed(golden: Golden, first: int, second: int, made: tuple[Move, ...], calls: Calls) -> Calls:
    """The swapped calls, the later ones with the ids that the two give to their new rows in this order."""
    names: dict[str, str] = {}
    for was, then in ((first, second), (second, first)):
        pairs = zip(golden.moves[was].created, made[then].created, strict=True)
        names |= {key: now for (_, key), (_, now) in pairs if key != now}
    later = [with_arguments(call, _with_names(call.arguments, names)) for call in calls[second + 1 :]]
    return (*calls[: second + 1], *later)


def _with_names(given: Any, names: Mapping[str, str]) -> Any:
    if isinstance(given, Mapping):
        return {name: _with_names(item, names) for name, item in given.items()}
    if isinstance(given, list | tuple):
        return [_with_names(item, names) for item in given]
    return names.get(given, given) if isinstance(given, str) else given


def new_place(move: Move) -> Place | None:
    """The one row that a call created, if that is all it wrote."""
    created = move.created
    return created[0] if len(created) == 1 and len(move.written) == 1 else None


def changed_place(move: Move) -> Place | None:
    """The one row that a call changed, if that is all it wrote."""
    if len(move.written) != 1:
        return None
    [(place, row)] = move.written.items()
    return place if row.before is not None and row.after is not None else None
