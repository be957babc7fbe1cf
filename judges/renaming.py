"""Which new row of a trial stands for which new row of an outcome, and what equals what under that."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from judges.changes import Change, generated_ids, leaves
from judges.profile import ABSENT, CONTAINERS, Canon

Doubt = Literal["all", "any"]
"""
Where an id may be read in several ways, as the id of new rows of two tables, or of a new row and one that was there:
whether values must agree in all readings or in any.
"""
KnownTables = Callable[[str], Sequence[str]]
"""The tables whose snapshot has a row with this key."""


class Side:
    """The changes of an outcome or of a trial, and the ids that were generated in it."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self.changes = changes
        self.generated = generated_ids(changes)

    def references(self, ids: frozenset[str]) -> list[list[tuple[str, str, str]]]:
        """For each change: field, id and table referred to (empty: any) of each text that is one of these ids."""
        if not ids:
            return [[] for _ in self.changes]
        return [
            [
                (name, text, table)
                for name, form in change.fields.items()
                if type(form) is str or form[0] in CONTAINERS  # type: ignore[index]
                for text, table in leaves(form)
                if text in ids
            ]
            for change in self.changes
        ]


class Renaming:
    """
    A partial bijection between the changes of an outcome and of a trial.

    What is not decided yet counts as agreeing if it still can.

    Args:
        is_plain: whether no change holds the id of a new row, so that values agree only where they are equal.
    """

    def __init__(
        self, required: Side, found: Side, known: KnownTables, doubt: Doubt, *, is_plain: bool = False
    ) -> None:
        self._is_plain = is_plain or not (required.generated or found.generated)
        self.required = required
        self.found = found
        self._known = known
        self._every = all if doubt == "all" else any
        self.partner: list[int | None] = [None] * len(required.changes)
        self.inverse: list[int | None] = [None] * len(found.changes)

    def pair(self, one: int, other: int) -> None:
        """The `other` change of the trial stands for the outcome's `one`."""
        self.partner[one], self.inverse[other] = other, one

    def unpair(self, one: int) -> None:
        """Forget the partner of one of the outcome's changes."""
        other = self.partner[one]
        if other is not None:
            self.partner[one] = self.inverse[other] = None

    def differing(self, one: int, other: int) -> list[str]:
        """The fields in which two changes cannot agree, in the order of the row."""
        a, b = self.required.changes[one].fields, self.found.changes[other].fields
        if self._is_plain and a == b:
            return []
        names = a if a.keys() == b.keys() else dict.fromkeys([*a, *b])
        if self._is_plain:
            return [name for name in names if a.get(name, ABSENT) != b.get(name, ABSENT)]
        return [name for name in names if not self.agree(a.get(name, ABSENT), b.get(name, ABSENT))]

    def agree(self, a: Canon, b: Canon) -> bool:
        """Whether two values are equal, or can be, when ids are renamed."""
        if isinstance(a, str) or isinstance(b, str):
            return isinstance(a, str) and isinstance(b, str) and self._texts_agree(a, b, "")
        if not (isinstance(a, tuple) and isinstance(b, tuple)) or a[0] not in CONTAINERS or a[0] != b[0]:
            return a == b
        if a[0] == "ref":
            return a[1] == b[1] and self._texts_agree(a[2], b[2], a[1])
        if a[0] == "list":
            return len(a[1]) == len(b[1]) and all(map(self.agree, a[1], b[1]))
        if a[0] == "map":
            names = [[name for name, _ in form[1]] for form in (a, b)]
            return names[0] == names[1] and all(self.agree(x, y) for (_, x), (_, y) in zip(a[1], b[1], strict=True))
        return len(a[1]) == len(b[1]) and self._bags_agree(a[1], b[1])

    def _texts_agree(self, a: str, b: str, table: str) -> bool:
        ours, theirs = self.required.generated.get(a), self.found.generated.get(b)
        if ours is None and theirs is None:
            return a == b
        ours, theirs = ours or {}, theirs or {}
        readings = {name for name in (*ours, *theirs) if not table or name == table}
        if not readings:
            return a == b
        verdicts = [self._may_be_partners(ours.get(name), theirs.get(name)) for name in sorted(readings)]
        if not table and any(name not in readings for text in {a, b} for name in self._known(text)):
            verdicts.append(a == b)
        return self._every(verdicts)

    def _may_be_partners(self, one: int | None, other: int | None) -> bool:
        if one is None or other is None:
            return False
        partner = self.partner[one]
        return self.inverse[other] is None if partner is None else partner == other

    def _bags_agree(self, ours: Sequence[Canon], theirs: Sequence[Canon]) -> bool:
        """Whether the items of two lists can be paired so that each pair agrees (augmenting paths)."""
        if not self._has_ids((*ours, *theirs)):
            return ours == theirs
        taken: dict[int, int] = {}

        def placed(item: int, tried: set[int]) -> bool:
            for place, candidate in enumerate(theirs):
                if place not in tried and self.agree(ours[item], candidate):
                    tried.add(place)
                    if place not in taken or placed(taken[place], tried):
                        taken[place] = item
                        return True
            return False

        return all(placed(item, set()) for item in range(len(ours)))

    def _has_ids(self, items: Sequence[Canon]) -> bool:
        texts = [text for item in items for text, _ in leaves(item)]
        return any(text in self.required.generated or text in self.found.generated for text in texts)

    def renamed(self, given: Any) -> Any:
        """An outcome's plain value with the ids that the trial gave to its new rows, as far as they are decided."""
        if isinstance(given, list):
            return [self.renamed(item) for item in given]
        if isinstance(given, dict):
            return {name: self.renamed(item) for name, item in given.items()}
        if isinstance(given, str):
            partners = {self.partner[index] for index in self.required.generated.get(given, {}).values()}
            if len(partners) == 1 and (other := partners.pop()) is not None:
                return self.found.changes[other].key
        return given
