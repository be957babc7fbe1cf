"""Golden calls with one thing changed: what a mutant is, and what is known of the calls that it is made from."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from judges.expectation import GoldenCall
from judges.mutation.stage import Move, Play, Stage
from judges.profile import Profile
from judges.rules import PreparedRule
from sandbox.slips import Gathered, Leaf, Path, leaves, objects, replaced

Calls = tuple[GoldenCall, ...]


class Mutant(Struct, frozen=True):
    """One changed sequence of calls."""

    note: str
    """What was changed, in a line."""
    calls: Calls


class Golden:
    """
    The golden calls of one outcome, and what each did when all were made.

    Args:
        rules: of the task; some speak of the order of events.
    """

    def __init__(self, stage: Stage, calls: Calls, profile: Profile, rules: tuple[PreparedRule, ...] = ()) -> None:
        self.stage = stage
        self.calls = calls
        self.profile = profile
        self.rules = rules
        self.play: Play = stage.played(calls)

    @property
    def moves(self) -> tuple[Move, ...]:
        """The golden calls, and what became of each."""
        return self.play.moves

    @property
    def writing(self) -> list[int]:
        """The places of calls that may change something."""
        return [place for place, call in enumerate(self.calls) if self.stage.writes(call)]

    @property
    def reading(self) -> list[int]:
        """The places of the other calls."""
        return [place for place, call in enumerate(self.calls) if not self.stage.writes(call)]

    def leaves(self, place: int) -> list[Leaf]:
        """What can be altered in the arguments of a call."""
        call = self.calls[place]
        return leaves(call.arguments, self.stage.tools[call.tool].schema)

    def objects(self, place: int) -> list[Gathered]:
        """The arguments of a call, and every object in them."""
        call = self.calls[place]
        return objects(call.arguments, self.stage.tools[call.tool].schema)

    def spliced(self, first: int, after: int, *calls: GoldenCall) -> Calls:
        """The golden calls with those from `first` up to `after` replaced."""
        return (*self.calls[:first], *calls, *self.calls[after:])

    def altered(self, place: int, path: Path, value: Any) -> Calls:
        """The golden calls with one value in one of them replaced."""
        call = self.calls[place]
        return self.spliced(place, place + 1, with_arguments(call, replaced(call.arguments, path, value)))

    def is_prose(self, place: int, leaf: Leaf) -> bool:
        """Whether a text is kept in fields that are not compared, and nowhere else."""
        if not isinstance(leaf.value, str) or leaf.allowed:
            return False
        holding = [
            (table, name)
            for (table, _), row in self.moves[place].written.items()
            for name, value in (row.after or {}).items()
            if value == leaf.value
        ]
        return bool(holding) and all(self.profile.table(table).forms.get(name, str) is None for table, name in holding)


Maker = Callable[[Golden], Iterator[Mutant]]


def with_arguments(call: GoldenCall, arguments: Mapping[str, Any]) -> GoldenCall:
    """The same call with other arguments."""
    return GoldenCall(call.tool, dict(arguments))


def told(golden: Golden, place: int, path: Path = ()) -> str:
    """Where a change is: the number and the tool of the call, and the argument."""
    at = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
    return f"call {place + 1} {golden.calls[place].tool}" + (f" {at}" if at else "")


def alterations(golden: Golden, values_of: Callable[[int, Leaf], list[Any]], *, prose: bool = True) -> Iterator[Mutant]:
    """
    Every writing call with every value in it replaced by each of its others.

    Args:
        values_of: the other values for a place of a call and what stands in it.
        prose: whether texts that are not compared are altered as well.
    """
    for place in golden.writing:
        for leaf in golden.leaves(place):
            if not prose and golden.is_prose(place, leaf):
                continue
            for value in values_of(place, leaf):
                note = f"{told(golden, place, leaf.path)}: {leaf.value!r} → {value!r}"
                yield Mutant(note, golden.altered(place, leaf.path, value))
