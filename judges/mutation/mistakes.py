"""Kinds of mistakes: what goes wrong in calls, each as every single way to get it wrong."""

from collections.abc import Iterator, Mapping
from typing import Any

from judges.changes import touched_places
from judges.expectation import GoldenCall
from judges.mutation.mutants import Golden, Maker, Mutant, alterations, told, with_arguments
from judges.mutation.order import changed_place, new_place, swaps
from sandbox.slips import Leaf, following_id, removed, replaced

OTHER_ROWS = 3
"""How many other rows of a table are named in place of the right one: those that follow it, and the first."""


def drop_mutating(golden: Golden) -> Iterator[Mutant]:
    """A writing call is left out."""
    for place in golden.writing:
        yield Mutant(f"dropped {told(golden, place)}", golden.spliced(place, place + 1))


def duplicate_mutating(golden: Golden) -> Iterator[Mutant]:
    """A writing call is made twice."""
    for place in golden.writing:
        call = golden.calls[place]
        yield Mutant(f"repeated {told(golden, place)}", golden.spliced(place, place + 1, call, call))


def enum_swap(golden: Golden) -> Iterator[Mutant]:
    """A value of an enumeration is another of its values."""
    return alterations(golden, lambda _, leaf: _others(leaf))


def enum_invalid(golden: Golden) -> Iterator[Mutant]:
    """A value of an enumeration is none of its values."""

    def invalid(_: int, leaf: Leaf) -> list[Any]:
        if not leaf.allowed or not isinstance(leaf.value, str):
            return []
        made = [f"{leaf.value}_x", f"{leaf.value} ", leaf.value.upper(), "unknown_value"]
        return [text for text in made if text not in leaf.allowed]

    return alterations(golden, invalid)


def status_swap_last(golden: Golden) -> Iterator[Mutant]:
    """The last status that is set is another one."""
    found = [(place, leaf) for place in golden.writing for leaf in golden.leaves(place) if _is_status(leaf)]
    for place, leaf in found[-1:]:
        for value in _others(leaf):
            note = f"{told(golden, place, leaf.path)}: {leaf.value!r} → {value!r}"
            yield Mutant(note, golden.altered(place, leaf.path, value))


def amount_change(golden: Golden) -> Iterator[Mutant]:
    """A number is another one."""

    def other(_: int, leaf: Leaf) -> list[Any]:
        given = leaf.value
        if not isinstance(given, int | float) or isinstance(given, bool):
            return []
        is_whole = isinstance(given, int) or leaf.takes("integer")
        made = [given + 1, given + 10] if is_whole else [round(given - 0.01, 2), round(given + 0.01, 2), given + 10]
        return [number for number in dict.fromkeys([*made, 0, given * 2, -given]) if number != given]

    return alterations(golden, other)


def wrong_id(golden: Golden) -> Iterator[Mutant]:
    """An id is that of another row, or the one after it."""
    snapshot, tables = golden.stage.snapshot, golden.stage.domain.tables

    def others(_: int, leaf: Leaf) -> list[Any]:
        if not _is_text(leaf):
            return []
        made = [following_id(leaf.value)]
        for table in tables:
            if snapshot.get(table, leaf.value) is not None:
                keys = list(snapshot.table(table))
                at = keys.index(leaf.value)
                made += [*keys[at + 1 : at + OTHER_ROWS], keys[0]]
        return [text for text in dict.fromkeys(made) if text and text != leaf.value]

    return alterations(golden, others, prose=False)


def id_case_space(golden: Golden) -> Iterator[Mutant]:
    """An id has a blank too many, or is written in the other case."""

    def spelled(_: int, leaf: Leaf) -> list[Any]:
        if not _is_text(leaf) or not _is_id(golden, leaf.value):
            return []
        made = [f" {leaf.value}", f"{leaf.value} ", leaf.value.lower(), leaf.value.upper()]
        return [text for text in dict.fromkeys(made) if text != leaf.value]

    return alterations(golden, spelled, prose=False)


def missing_required(golden: Golden) -> Iterator[Mutant]:
    """An argument that must be given is left out, also one inside an object."""
    for place in golden.writing:
        call = golden.calls[place]
        for found in golden.objects(place):
            for name in found.required:
                path = (*found.path, name)
                changed = with_arguments(call, removed(call.arguments, path))
                yield Mutant(f"{told(golden, place, path)}: left out", golden.spliced(place, place + 1, changed))


def wrong_type(golden: Golden) -> Iterator[Mutant]:
    """A value is of another JSON type, or a whole number has a point; an object or a list is a text."""

    def mistyped(_: int, leaf: Leaf) -> list[Any]:
        if isinstance(leaf.value, bool):
            return ["maybe", [leaf.value]]
        if isinstance(leaf.value, int | float):
            pointed = [float(leaf.value)] if isinstance(leaf.value, int) and leaf.takes("integer") else []
            return [*pointed, str(leaf.value), "many", [leaf.value]]
        digits = isinstance(leaf.value, str) and leaf.value.isascii() and leaf.value.isdecimal()
        return [int(leaf.value) if digits else 123, True, [leaf.value]] if isinstance(leaf.value, str) else []

    yield from alterations(golden, mistyped)
    for place in golden.writing:
        for name, given in golden.calls[place].arguments.items():
            if isinstance(given, Mapping | list):
                yield Mutant(f"{told(golden, place, (name,))}: a text", golden.altered(place, (name,), "many"))


def extra_param(golden: Golden) -> Iterator[Mutant]:
    """There is an argument that the tool does not have, also inside an object."""
    for place in golden.writing:
        for found in golden.objects(place):
            path = (*found.path, "foo")
            yield Mutant(f"{told(golden, place, path)}: added", golden.altered(place, path, "bar"))


def unknown_tool(golden: Golden) -> Iterator[Mutant]:
    """A writing call asks for a tool that is not there; or such a call is made besides."""
    for place in golden.writing:
        call = golden.calls[place]
        for name in (f"{call.tool}_v2", call.tool.upper(), call.tool.replace("_", ".")):
            if name not in golden.stage.tools:
                wrong = GoldenCall(name, call.arguments)
                yield Mutant(f"{told(golden, place)}: asks for {name}", golden.spliced(place, place + 1, wrong))
    for place in golden.writing[:1]:
        wrong = GoldenCall(f"{golden.calls[place].tool}_v2", golden.calls[place].arguments)
        yield Mutant(f"inserted {wrong.tool} before call {place + 1}", golden.spliced(place, place, wrong))


def null_to_absent(golden: Golden) -> Iterator[Mutant]:
    """A null that was given is left out."""
    for place in golden.writing:
        call = golden.calls[place]
        for leaf in golden.leaves(place):
            if leaf.value is None and not isinstance(leaf.path[-1], int):
                changed = with_arguments(call, removed(call.arguments, leaf.path))
                yield Mutant(f"{told(golden, place, leaf.path)}: left out", golden.spliced(place, place + 1, changed))


def absent_to_null(golden: Golden) -> Iterator[Mutant]:
    """What was left out is given as null, also inside an object."""
    for place in golden.writing:
        for found in golden.objects(place):
            for name in found.absent:
                path = (*found.path, name)
                yield Mutant(f"{told(golden, place, path)}: null added", golden.altered(place, path, None))


def reorder_mutating(golden: Golden) -> Iterator[Mutant]:
    """Two writing calls of which one needs the other, or whose order a rule asks for, are swapped."""
    return (swap.mutant for swap in swaps(golden) if not swap.independent)


def merge_update_into_create(golden: Golden) -> Iterator[Mutant]:
    """A new row gets at once what it should get in a later call."""
    for first in golden.writing:
        created = new_place(golden.moves[first])
        for second in golden.writing:
            if second > first and created is not None and changed_place(golden.moves[second]) == created:
                one, other = golden.calls[first].arguments, golden.calls[second].arguments
                for name in (name for name, given in one.items() if isinstance(given, Mapping)):
                    if isinstance(other.get(name), Mapping):
                        merged = replaced(one, (name,), {**one[name], **other[name]})
                        rest = golden.calls[first + 1 : second]
                        calls = (with_arguments(golden.calls[first], merged), *rest)
                        note = f"merged {told(golden, second)} into {told(golden, first)}"
                        yield Mutant(note, golden.spliced(first, second + 1, *calls))


def prose_elsewhere(golden: Golden) -> Iterator[Mutant]:
    """A text of a row that is none of the task's business is overwritten at the end."""
    touched = touched_places(golden.play.effects)
    for place in golden.writing:
        target, call = changed_place(golden.moves[place]), golden.calls[place]
        named = [leaf.path for leaf in golden.leaves(place) if target is not None and leaf.value == target[1]]
        gathered = [name for name, given in call.arguments.items() if isinstance(given, Mapping)]
        if target is None or len(named) != 1 or len(gathered) != 1 or named[0][0] in gathered:
            continue
        specs = golden.stage.domain.tables[target[0]].shape.fields
        others = [key for key in golden.stage.snapshot.table(target[0]) if (target[0], key) not in touched]
        for key in others[:OTHER_ROWS]:
            for name in (spec.name for spec in specs if spec.kind == "prose"):
                other = replaced(call.arguments, named[0], key)
                again = with_arguments(call, replaced(other, (gathered[0],), {name: "Overwritten."}))
                yield Mutant(f"overwrote {target[0]} {key}.{name} with {call.tool}", (*golden.calls, again))


MISTAKES: Mapping[str, Maker] = {
    maker.__name__: maker
    for maker in (
        *(drop_mutating, duplicate_mutating, enum_swap, enum_invalid, status_swap_last, amount_change),
        *(wrong_id, id_case_space, missing_required, wrong_type, extra_param, unknown_tool),
        *(null_to_absent, absent_to_null, reorder_mutating, merge_update_into_create, prose_elsewhere),
    )
}
"""By kind: what a judge should fail, unless the rows end as they should all the same."""


def _others(leaf: Leaf) -> list[Any]:
    return [value for value in leaf.allowed if value != leaf.value]


def _is_status(leaf: Leaf) -> bool:
    return bool(leaf.allowed) and leaf.path[-1] == "status"


def _is_text(leaf: Leaf) -> bool:
    return isinstance(leaf.value, str) and not leaf.allowed


def _is_id(golden: Golden, text: str) -> bool:
    """Whether a text is the key of a row that was there, or that the golden calls made."""
    there = any(golden.stage.snapshot.get(table, text) is not None for table in golden.stage.domain.tables)
    return there or any(text == key for move in golden.moves for _, key in move.created)
