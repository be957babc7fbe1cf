"""The effects judge: a trial's effects against an outcome's required ones."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct

from judges.alignment import SEARCH_LIMIT, Equal, Graph, aligned
from judges.changes import Change, changes_of, generated_ids, moved_places, touched_places, vacated_places
from judges.difference import Place, difference, difference_in_place
from judges.findings import Findings
from judges.outcome import Outcome
from judges.profile import CONTAINERS, Profile
from judges.renaming import Side
from sandbox.domain import Domain
from sandbox.effects import Effects
from sandbox.snapshot import Snapshot


class Comparison(Struct, frozen=True, gc=False):
    """Whether a trial's effects equal an outcome's, and how they differ if they do not."""

    equal: Equal
    outcome: str
    findings: Findings = ()
    reason: str = ""
    """Why it could not be checked."""


class Required:
    """
    One outcome's effects, prepared for many comparisons.

    Args:
        snapshot: the rows that the outcome and every trial of the task start from.
        limit: how many pairings of new rows are tried before there is no answer.
    """

    def __init__(
        self, outcome: Outcome, domain: Domain, snapshot: Snapshot, profile: Profile, limit: int = SEARCH_LIMIT
    ) -> None:
        self.name = outcome.name
        self.effects = effects = outcome.effects
        self.profile = profile
        self._tables = tuple(domain.tables)
        self._snapshot = snapshot
        self._limit = limit
        self.changes = changes_of(profile, effects)
        self._by_place = _by_place(self.changes)
        self._touched = touched_places(effects)
        self._moved = moved_places(profile, effects)
        self._vacated = vacated_places(effects)
        self._ids = frozenset(generated_ids(self.changes))
        new = Counter(change.table for change in self.changes if change.is_new)
        self._is_simple = max(new.values(), default=0) <= 1 and not self._moved and self._is_plain(self.changes)
        """Whether each new row can only be the trial's one in its table, and no value is the id of a new row."""

    def compare(self, effects: Effects) -> Comparison:
        """Equal or not, exactly; "could not check" rather than a guess."""
        changes = changes_of(self.profile, effects, touched=self._touched)
        places = _by_place(changes)
        if len(changes) == len(self._by_place) and places.keys() == self._by_place.keys():
            if all(change.fields == self._by_place[place].fields for place, change in places.items()):
                return Comparison("yes", self.name)
            if self._is_simple and self._is_plain(changes) and not any(effect.moved for effect in effects):
                findings = difference_in_place(self._by_place, places)
                if findings is not None:
                    return Comparison("no", self.name, findings)
        required, found = self._graphs(effects, changes)
        answer = aligned(required, found, self._known, self._limit)
        if answer.equal == "no":
            return Comparison("no", self.name, difference(required, found, self._known))
        return Comparison(answer.equal, self.name, reason=answer.reason)

    def _is_plain(self, changes: Sequence[Change]) -> bool:
        """Whether no value is or holds a text that may be the id of a new row; the trial's are at the same places."""
        for change in changes:
            for form in change.fields.values():
                if form in self._ids if isinstance(form, str) else form[0] in CONTAINERS:  # type: ignore[index]
                    return False
        return True

    @cached_property
    def _graph(self) -> Graph:
        side = Side(self.changes)
        return Graph(side, frozenset(side.generated))

    def _graphs(self, effects: Effects, changes: Sequence[Change]) -> tuple[Graph, Graph]:
        """Both sides' changes; a row created anew under a deleted one's id is a new row if the other deleted it too."""
        required, found = self._graph.side, Side(changes)
        moved = moved_places(self.profile, effects)
        if moved or self._moved:
            required = Side(changes_of(self.profile, self.effects, self._moved & vacated_places(effects)))
            found = Side(changes_of(self.profile, effects, moved & self._vacated, self._touched))
        ids = frozenset(required.generated) | frozenset(found.generated)
        is_known = required is self._graph.side and ids == self._graph.ids
        return self._graph if is_known else Graph(required, ids), Graph(found, ids)

    def _known(self, key: str) -> tuple[str, ...]:
        return tuple(name for name in self._tables if self._snapshot.get(name, key) is not None)


def _by_place(changes: Sequence[Change]) -> dict[Place, Change]:
    return {(change.table, change.key, change.op): change for change in changes}


def nearest_comparison(comparisons: Sequence[Comparison]) -> Comparison:
    """The one that decides: an equal outcome, else one without an answer, else the one with the fewest findings."""
    for equal in ("yes", "could not check"):
        for comparison in comparisons:
            if comparison.equal == equal:
                return comparison
    return min(comparisons, key=lambda comparison: len(comparison.findings))
