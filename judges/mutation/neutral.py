"""Neutral kinds: other ways to make the same calls, which a judge must let pass."""

from collections.abc import Iterator, Mapping
from typing import Any

from judges.expectation import GoldenCall
from judges.mutation.mutants import Golden, Maker, Mutant, alterations, told, with_arguments
from judges.mutation.order import changed_place, swaps
from sandbox.slips import Leaf


def extra_reads(golden: Golden) -> Iterator[Mutant]:
    """Something more is looked at, before the first writing call or all of it before each."""
    reads = _possible_reads(golden)
    for place in golden.writing[:1]:
        for read in reads:
            yield Mutant(f"{read.tool} before {told(golden, place)}", golden.spliced(place, place, read))
    if reads:
        calls = [call for place, call in enumerate(golden.calls) for call in (*_due(golden, place, reads), call)]
        yield Mutant(f"{len(reads)} reads before every writing call", tuple(calls))


def repeated_reads(golden: Golden) -> Iterator[Mutant]:
    """Something is looked at twice, or all of it is looked at again at the end."""
    for place in golden.reading:
        call = golden.calls[place]
        yield Mutant(f"repeated {told(golden, place)}", golden.spliced(place, place + 1, call, call))
    if again := [golden.calls[place] for place in golden.reading]:
        yield Mutant("repeated all reads at the end", (*golden.calls, *again))


def reorder_independent(golden: Golden) -> Iterator[Mutant]:
    """Two writing calls that do not need each other are swapped; later calls name the ids that there are then."""
    return (swap.mutant for swap in swaps(golden) if swap.independent)


def free_text(golden: Golden) -> Iterator[Mutant]:
    """A text that is kept for people is put in other words."""

    def worded(place: int, leaf: Leaf) -> list[Any]:
        return [f"{leaf.value} Thank you!", "In other words."] if golden.is_prose(place, leaf) else []

    return alterations(golden, worded)


def numeric_repr(golden: Golden) -> Iterator[Mutant]:
    """A whole number is written with a point, or without, where the tool takes any number."""

    def spelled(_: int, leaf: Leaf) -> list[Any]:
        if isinstance(leaf.value, float) and leaf.value.is_integer():
            return [int(leaf.value)]
        is_whole = isinstance(leaf.value, int) and not isinstance(leaf.value, bool)
        return [float(leaf.value)] if is_whole and not leaf.takes("integer") else []

    return alterations(golden, spelled)


def split_update(golden: Golden) -> Iterator[Mutant]:
    """Fields of a row are changed in two calls instead of one."""
    for place in golden.writing:
        call = golden.calls[place]
        gathered = [name for name, given in call.arguments.items() if isinstance(given, Mapping)]
        if changed_place(golden.moves[place]) is None or len(gathered) != 1:
            continue
        fields = list(call.arguments[gathered[0]].items())
        for at in range(1, len(fields)):
            halves = (
                with_arguments(call, {**call.arguments, gathered[0]: dict(h)}) for h in (fields[:at], fields[at:])
            )
            yield Mutant(f"split {told(golden, place)} after {at} fields", golden.spliced(place, place + 1, *halves))


NEUTRAL: Mapping[str, Maker] = {
    maker.__name__: maker
    for maker in (extra_reads, repeated_reads, reorder_independent, free_text, numeric_repr, split_update)
}
"""By kind: what a judge should let pass."""


def _due(golden: Golden, place: int, reads: list[GoldenCall]) -> list[GoldenCall]:
    return reads if place in golden.writing else []


def _possible_reads(golden: Golden) -> list[GoldenCall]:
    """A call of each reading tool whose required arguments have values under the same names in the golden calls."""
    values: dict[str, Any] = {}
    for call in golden.calls:
        values = {**call.arguments, **values}
    found = []
    for tool in golden.stage.tools.values():
        required = tool.schema.get("required", ())
        if tool.is_read and all(name in values for name in required):
            found.append(GoldenCall(tool.name, {name: values[name] for name in required}))
    return found
