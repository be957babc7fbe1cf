"""
Whether a trial's changes equal an outcome's, ids of new rows renamed: exact, or no answer.

New rows refer to each other by ids that depend on the order of calls, so the question is whether two small labelled
graphs are isomorphic. Colours are refined first (1-dimensional Weisfeiler-Leman), which decides nearly every case; what
is left is searched, within a bound.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct

from judges.profile import CONTAINERS, Canon
from judges.renaming import Doubt, KnownTables, Renaming, Side

SEARCH_LIMIT = 20_000
"""Pairs that are tried before the question is given up."""

Equal = Literal["yes", "no", "could not check"]


class Aligned(Struct, frozen=True):
    """The answer; and why there is none, if there is none."""

    equal: Equal
    reason: str = ""


class Graph:
    """
    One side's changes, and which of them hold ids of new rows.

    Args:
        ids: of the new rows of both sides.
    """

    def __init__(self, side: Side, ids: frozenset[str]) -> None:
        self.side = side
        self.ids = ids
        self.references = side.references(ids)
        self.is_plain = not any(self.references)
        """Whether no change holds the id of a new row."""
        self.labels = _labels(side, ids)

    @cached_property
    def counts(self) -> Counter[Canon]:
        """How many changes have each label."""
        return Counter(self.labels)

    @cached_property
    def free(self) -> set[int]:
        """Changes that hold no id of a new row and whose id nothing holds: those of one label are interchangeable."""
        held = {text for refs in self.references for _, text, _ in refs}
        changes = self.side.changes
        return {i for i, change in enumerate(changes) if not self.references[i] and change.key not in held}

    @cached_property
    def referring(self) -> list[list[int]]:
        """For each change: those that hold its id."""
        referring: list[list[int]] = [[] for _ in self.side.changes]
        for source, held in enumerate(self.references):
            for _, text, _ in held:
                for at in self.side.generated.get(text, {}).values():
                    referring[at].append(source)
        return referring


def aligned(required: Graph, found: Graph, known: KnownTables, limit: int = SEARCH_LIMIT) -> Aligned:
    """
    Whether there is a bijection of new rows under which both sides have the same changes.

    "could not check" if the bound is hit, or if an id may be read in two ways (as that of a new row of either of two
    tables, or of a new row and an old one) and the answer depends on which is meant.
    """
    if len(required.labels) != len(found.labels) or required.counts != Counter(found.labels):
        return Aligned("no")
    if required.is_plain and found.is_plain:
        return Aligned("yes")
    surely = _bijection(required, found, known, "all", _refined(required, found), limit)
    if surely == "yes":
        return Aligned("yes")
    doubtful = _doubtful(required, found, known)
    if not doubtful:
        return Aligned(surely, "" if surely == "no" else _bound(limit))
    perhaps = _bijection(required, found, known, "any", (required.labels, found.labels), limit)
    if perhaps == "no":
        return Aligned("no")
    return Aligned("could not check", _ambiguity(doubtful) if perhaps == "yes" else _bound(limit))


def _bound(limit: int) -> str:
    return f"{limit} ways to match the new rows were tried without an answer"


def _ambiguity(doubtful: Sequence[str]) -> str:
    return (
        f"id {doubtful[0]!r} names rows of several tables, and the answer depends on which is meant; "
        f"say so in the task's `compare`, with `refers TABLE` or `exact` for the fields that hold it"
    )


def _doubtful(required: Graph, found: Graph, known: KnownTables) -> list[str]:
    """The ids that some field holds without a table, and that several tables know."""
    held = {text for graph in (required, found) for refs in graph.references for _, text, table in refs if not table}
    ours, theirs = required.side.generated, found.side.generated
    return sorted(text for text in held if len({*ours.get(text, {}), *theirs.get(text, {}), *known(text)}) > 1)


def _shaped(form: Canon, name_of: Callable[[str, str], Canon]) -> Canon:
    """A form with each text in it replaced by what `name_of` (text, table referred to) gives for it."""
    if isinstance(form, str):
        return name_of(form, "")
    if isinstance(form, tuple):
        kind = form[0]
        if kind == "ref":
            return ("ref", name_of(form[2], form[1]))
        if kind == "list":
            return ("list", tuple([_shaped(item, name_of) for item in form[1]]))
        if kind == "bag":
            return ("bag", tuple(sorted((_shaped(item, name_of) for item in form[1]), key=repr)))
        if kind == "map":
            return ("map", tuple([(name, _shaped(item, name_of)) for name, item in form[1]]))
    return form


def _labels(side: Side, ids: frozenset[str]) -> list[Canon]:
    """What each change is like when all ids of new rows look alike."""

    def name_of(text: str, table: str) -> Canon:
        return ("new",) if text in ids else text

    def shape(form: Canon) -> Canon:
        if isinstance(form, str):
            return ("new",) if form in ids else form
        return _shaped(form, name_of) if isinstance(form, tuple) and form[0] in CONTAINERS else form

    return [
        (
            change.table,
            change.op,
            "" if change.is_new else change.key,
            frozenset([(name, shape(form)) for name, form in change.fields.items()]),
        )
        for change in side.changes
    ]


def _refined(required: Graph, found: Graph) -> tuple[list[Canon], list[Canon]]:
    """Colours of both sides' changes; partners in any bijection that is sure have the same."""
    numbers: dict[Any, int] = {}
    colours = [[numbers.setdefault(label, len(numbers)) for label in graph.labels] for graph in (required, found)]
    classes = 0
    while len(numbers) > classes:
        classes, numbers = len(numbers), {}
        signed = [_signatures(graph, colours[i]) for i, graph in enumerate((required, found))]
        colours = [[numbers.setdefault(signature, len(numbers)) for signature in part] for part in signed]
    return list(colours[0]), list(colours[1])


def _signatures(graph: Graph, colours: list[int]) -> list[Canon]:
    """The colour of each change with the colours of what it refers to and of what refers to it."""
    generated, changes = graph.side.generated, graph.side.changes

    def name_of(text: str, table: str) -> Canon:
        targets = generated.get(text, {})
        seen = tuple(sorted((name, colours[at]) for name, at in targets.items() if not table or name == table))
        return ("new", seen) if seen else text

    incoming: list[list[tuple[int, str]]] = [[] for _ in colours]
    for source, held in enumerate(graph.references):
        for field, text, table in held:
            for name, at in generated.get(text, {}).items():
                if not table or name == table:
                    incoming[at].append((colours[source], field))
    return [
        (
            colours[index],
            frozenset([(field, _shaped(changes[index].fields[field], name_of)) for field, _, _ in held]),
            tuple(sorted(incoming[index])),
        )
        for index, held in enumerate(graph.references)
    ]


def _bijection(
    required: Graph,
    found: Graph,
    known: KnownTables,
    doubt: Doubt,
    colours: tuple[Sequence[Canon], Sequence[Canon]],
    limit: int,
) -> Equal:
    """Whether some pairing of changes of one colour makes all of them agree."""
    ours, theirs = colours
    if Counter(ours) != Counter(theirs):
        return "no"
    renaming = Renaming(required.side, found.side, known, doubt)
    classes: dict[Canon, list[int]] = {}
    for index, colour in enumerate(theirs):
        classes.setdefault(colour, []).append(index)
    tied = []
    for index in sorted(range(len(ours)), key=lambda index: (len(classes[ours[index]]), index)):
        choices = classes[ours[index]]
        if len(choices) == 1:
            renaming.pair(index, choices[0])
        elif index in required.free and found.free.issuperset(choices):
            renaming.pair(index, choices.pop(0))
        else:
            tied.append((index, tuple(choices)))
    return _search(renaming, tied, required.referring, limit)


def _search(
    renaming: Renaming, tied: Sequence[tuple[int, tuple[int, ...]]], referring: list[list[int]], limit: int
) -> Equal:
    """
    Try to complete the renaming, depth first; the decided part must agree at every step.

    A change is looked at again when one that it refers to gets its partner, so all have been looked at in the end.
    """
    if not _agrees(renaming, range(len(renaming.partner))):
        return "no"
    depth, steps, tries = 0, 0, [iter(choices) for _, choices in tied]
    while depth < len(tied):
        index, choices = tied[depth]
        renaming.unpair(index)
        choice = next(tries[depth], None)
        if choice is None:
            if depth == 0:
                return "no"
            tries[depth] = iter(choices)
            depth -= 1
            continue
        steps += 1
        if steps > limit:
            return "could not check"
        if renaming.inverse[choice] is None:
            renaming.pair(index, choice)
            if _agrees(renaming, (index, *referring[index])):
                depth += 1
    return "yes"


def _agrees(renaming: Renaming, indexes: Sequence[int]) -> bool:
    """Whether the changes that have a partner agree with it."""
    partners = [(index, renaming.partner[index]) for index in indexes]
    return not any(renaming.differing(one, other) for one, other in partners if other is not None)
