"""The smallest difference between a trial's changes and an outcome's: findings that explain a no that is certain."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct

from judges.alignment import Graph
from judges.changes import Change
from judges.findings import Finding, FindingKind, Findings
from judges.profile import ABSENT, Canon
from judges.renaming import KnownTables, Renaming, Side

Place = tuple[str, str, str]
"""Table, key and kind of change."""
STEPS = 1_500
"""Pairs of new rows that are tried to make the explanation shorter; the first try is a good one already."""
DEEPEST = 200


def difference(required: Graph, found: Graph, known: KnownTables) -> Findings:
    """
    Missing, extra and wrong fields and rows, in the order of tables and rows.

    New rows are paired so that the fewest fields differ; two rows that differ in more than half of their fields are
    not a wrong row but a missing and an extra one.
    """
    renaming = _Matching(required, found, known).best()
    return _sorted(_findings(required.side, found.side, renaming))


def difference_in_place(required: Mapping[Place, Change], found: Mapping[Place, Change]) -> Findings | None:
    """
    The same, quicker, where no new row can stand for another one and no value is the id of a new row.

    Args:
        required: by place; the trial has changes at the same ones.

    Returns:
        None if a new row differs too much to be a wrong one.
    """
    findings: list[Finding] = []
    for place, one in required.items():
        other = found[place]
        a, b = one.fields, other.fields
        if a != b:
            names = [name for name in dict.fromkeys([*a, *b]) if a.get(name, ABSENT) != b.get(name, ABSENT)]
            if one.is_new and len(names) > _most_wrong(one):
                return None
            findings += _paired(one, other, names)
    return _sorted(findings)


def _sorted(findings: Iterable[Finding]) -> Findings:
    return tuple(sorted(findings, key=lambda finding: (finding.table, finding.op != "inserted", finding.key)))


def _most_wrong(change: Change) -> int:
    """In how many fields a row may differ from a new row of the outcome and still be that one."""
    return max(1, max(1, len(change.fields)) // 2)


class _Choice(Struct, frozen=True):
    """A new row of the outcome, and those of the trial that it can stand for, the likeliest first."""

    index: int
    weight: int
    """Fields that are missing if it stands for none."""
    partners: tuple[int, ...]


class _Matching:
    """Branch and bound over pairings of new rows. Old rows are themselves; equal rows without references are paired."""

    def __init__(self, required: Graph, found: Graph, known: KnownTables) -> None:
        is_plain = required.is_plain and found.is_plain
        self.renaming = Renaming(required.side, found.side, known, "all", is_plain=is_plain)
        _pair_old(self.renaming, required.side, found.side)
        _pair_equal(self.renaming, required, found)
        pairs = _pairs(self.renaming)
        self.moving = [(one, other) for one, other in pairs if required.references[one] or found.references[other]]
        self.settled = sum(len(self.renaming.differing(*pair)) for pair in pairs if pair not in self.moving)
        self.choices = _choices(self.renaming, required.side, found.side)
        self.least = 1 << 62
        self.partners: list[int | None] = list(self.renaming.partner)
        self.steps = 0

    def best(self) -> Renaming:
        """The renaming with the smallest difference that was found."""
        self._descend(0, 0)
        for one in range(len(self.partners)):
            self.renaming.unpair(one)
        for one, other in enumerate(self.partners):
            if other is not None:
                self.renaming.pair(one, other)
        return self.renaming

    def _descend(self, depth: int, missing: int) -> None:
        """One level for each new row, 200 at most: those beyond are paired as they come."""
        cost = missing + self._differing(depth)
        if cost >= self.least:
            return
        if depth == len(self.choices) or depth == DEEPEST:
            self.least, self.partners = cost, self._completed(depth)
            return
        choice = self.choices[depth]
        for other in choice.partners:
            if self.renaming.inverse[other] is None:
                self.renaming.pair(choice.index, other)
                self._descend(depth + 1, missing)
                self.renaming.unpair(choice.index)
                self.steps += 1
                if self.steps > STEPS or self.least <= cost:
                    return
        self._descend(depth + 1, missing + choice.weight)

    def _completed(self, depth: int) -> list[int | None]:
        """The partners so far, and for the choices from `depth` on the first ones that are left."""
        partners, taken = list(self.renaming.partner), {*self.renaming.partner}
        for choice in self.choices[depth:]:
            other = next((other for other in choice.partners if other not in taken), None)
            partners[choice.index] = other
            taken.add(other)
        return partners

    def _differing(self, depth: int) -> int:
        """Fields that differ in what is paired by now; more pairs never make it less."""
        chosen = [(choice.index, self.renaming.partner[choice.index]) for choice in self.choices[:depth]]
        pairs = [*self.moving, *((one, other) for one, other in chosen if other is not None)]
        return self.settled + sum(len(self.renaming.differing(one, other)) for one, other in pairs)


def _pairs(renaming: Renaming) -> list[tuple[int, int]]:
    return [(one, other) for one, other in enumerate(renaming.partner) if other is not None]


def _pair_equal(renaming: Renaming, required: Graph, found: Graph) -> None:
    waiting: dict[Canon, list[int]] = {}
    is_plain = required.is_plain and found.is_plain
    ours = range(len(required.labels)) if is_plain else sorted(required.free)
    theirs = reversed(range(len(found.labels))) if is_plain else sorted(found.free, reverse=True)
    for index in theirs:
        if renaming.inverse[index] is None:
            waiting.setdefault(found.labels[index], []).append(index)
    for index in ours:
        if renaming.partner[index] is None and (same := waiting.get(required.labels[index])):
            renaming.pair(index, same.pop())


def _pair_old(renaming: Renaming, required: Side, found: Side) -> None:
    """Rows of the snapshot are themselves."""
    places = {(c.table, c.key, c.op): index for index, c in enumerate(found.changes) if not c.is_new}
    for index, change in enumerate(required.changes):
        other = None if change.is_new else places.get((change.table, change.key, change.op))
        if other is not None:
            renaming.pair(index, other)


def _choices(renaming: Renaming, required: Side, found: Side) -> list[_Choice]:
    """What is open, the clearest first: rows that have an equal, then those with few partners. Others are missing."""
    ranked = []
    for index, change in enumerate(required.changes):
        if not change.is_new or renaming.partner[index] is not None:
            continue
        weight, most = max(1, len(change.fields)), _most_wrong(change)
        partners = []
        for other, candidate in enumerate(found.changes):
            if candidate.is_new and candidate.table == change.table and renaming.inverse[other] is None:
                differing = len(renaming.differing(index, other))
                if differing <= most:
                    partners.append((differing, other))
        partners.sort()
        if partners:
            clear = (partners[0][0], len(partners), index)
            ranked.append((clear, _Choice(index, weight, tuple(other for _, other in partners))))
    return [choice for _, choice in sorted(ranked, key=lambda item: item[0])]


def _findings(required: Side, found: Side, renaming: Renaming) -> Iterator[Finding]:
    for index, change in enumerate(required.changes):
        other = renaming.partner[index]
        if other is None:
            yield from _alone("missing", change, renaming)
        else:
            yield from _paired(change, found.changes[other], renaming.differing(index, other), renaming.renamed)
    for index, change in enumerate(found.changes):
        if renaming.inverse[index] is None:
            yield from _alone("extra", change, renaming)


def _alone(kind: FindingKind, change: Change, renaming: Renaming) -> Iterator[Finding]:
    """A change that has no counterpart: one finding for a row, or one for each changed field."""
    effect, is_missing = change.effect, kind == "missing"
    if change.op == "updated":
        for name in change.fields:
            before, after = _value(effect.before, name), _value(effect.row, name)
            after = renaming.renamed(after) if is_missing else after
            required, found = (after, before) if is_missing else (before, after)
            yield Finding(kind, change.table, change.key, change.op, name, required, found)
    else:
        row: Any = effect.row if change.is_new else effect.before
        if (change.op == "inserted") == is_missing:
            required = renaming.renamed(row) if is_missing else row
            yield Finding(kind, change.table, change.key, change.op, required=required)
        else:
            yield Finding(kind, change.table, change.key, change.op, found=row)


def _paired(
    one: Change, other: Change, names: Sequence[str], renamed: Callable[[Any], Any] = lambda given: given
) -> Iterator[Finding]:
    for name in names:
        required, found = renamed(_end_value(one, name, other)), _end_value(other, name, one)
        kind: FindingKind = "wrong"
        if one.op == "updated":
            kind = "missing" if name not in other.fields else "extra" if name not in one.fields else "wrong"
        yield Finding(kind, other.table, other.key, other.op, name, required, found)


def _end_value(change: Change, name: str, counterpart: Change) -> Any:
    """The field's value at the end; where an update left it alone, as it was in the snapshot."""
    if change.op == "updated" and name not in change.fields:
        return _value(counterpart.effect.before, name)
    return _value(change.effect.row, name)


def _value(row: dict[str, Any] | None, name: str) -> Any:
    return row[name] if row is not None and name in row else UNSET
