"""Seed rows that decide a task before it begins, or leave it open which of two is meant."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from judges.changes import Change, changes_of
from judges.lint.case import Case, same_content, scalars
from judges.lint.corpus import Corpus
from judges.lint.report import Remark
from judges.profile import Profile
from sandbox.domain import Domain
from sandbox.effects import Effect
from sandbox.snapshot import Snapshot
from sandbox.values import plain


class SeedRow(Struct, frozen=True, eq=False, dict=True):
    """A row of a snapshot in its plain form."""

    table: str
    key: str
    fields: Mapping[str, Any]

    @cached_property
    def texts(self) -> frozenset[str]:
        """Every text in it."""
        return frozenset(item for item in scalars(self.fields) if isinstance(item, str))


class Seed:
    """The rows of one snapshot, prepared for questions that many tasks ask."""

    def __init__(self, domain: Domain, snapshot: Snapshot) -> None:
        self.rows: dict[str, list[SeedRow]] = {}
        self._tables = domain.tables
        self._alike: dict[tuple[str, bytes], list[str]] = {}
        self._content: dict[tuple[str, str], bytes] = {}
        self.corpus = Corpus()
        for name, table in domain.tables.items():
            self.rows[name] = [SeedRow(name, key, plain(row)) for key, row in snapshot.items(name)]
            for row in self.rows[name]:
                self.corpus.add(row.fields)
                content = same_content(row.fields, table.spec.key)
                self._content[name, row.key] = content
                self._alike.setdefault((name, content), []).append(row.key)

    def twins(self, table: str, key: str) -> list[str]:
        """The keys of the rows that differ from this one in nothing but their keys."""
        content = self._content.get((table, key))
        return [] if content is None else [other for other in self._alike[table, content] if other != key]

    def references(self, key: str) -> dict[str, bytes]:
        """The rows that hold a key outside their own: by their own key, what they hold with it blanked out."""
        found = {}
        for table, rows in self.rows.items():
            own = self._tables[table].spec.key
            for row in rows:
                others = {name: value for name, value in row.fields.items() if name not in own}
                if key in row.texts and key in scalars(others):
                    found[row.key] = table.encode() + same_content(_blanked(others, key), own)
        return found

    def equals(self, profile: Profile, change: Change) -> list[str]:
        """The keys of the rows that already are what a new row is to be, as far as it is compared."""
        return [
            row.key
            for row in self.rows.get(change.table, ())
            for found in changes_of(profile, (Effect(change.table, row.key, "inserted", dict(row.fields)),))
            if found.fields == change.fields
        ]


def _blanked(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        return {name: _blanked(item, key) for name, item in value.items()}
    if isinstance(value, list):
        return [_blanked(item, key) for item in value]
    return None if value == key else value


def satisfied(case: Case, seed: Seed) -> Iterator[Remark]:
    """New rows of an outcome that the seed already holds under another key: the work looks done before it begins."""
    if case.profile is None:
        return
    for place, (accepted, rehearsal) in enumerate(zip(case.expectation.outcomes, case.rehearsals, strict=True)):
        changes = changes_of(case.profile, rehearsal.effects)
        found = [(change, seed.equals(case.profile, change)) for change in changes if change.is_new]
        for change, keys in found:
            if keys and change.fields:
                everything = len(found) == len(changes) and all(others for _, others in found)
                reason = f"the seed already holds such a row of {change.table}: {', '.join(keys[:3])}"
                if everything:
                    reason += "; all that the outcome requires holds before any call"
                advice = "take it out of the seed, or check that it must be done again"
                level = case.error if everything else case.warning
                yield level("satisfied", f"$.expect.outcomes[{place}]", accepted.name, reason, advice)


def interchangeable(case: Case, seed: Seed) -> Iterator[Remark]:
    """
    Golden arguments that name one of several rows between which nobody can decide.

    They can if goal, user or policy name the key, or name a row that refers to it, or if the rows that refer to one
    differ from those that refer to the other. Where several tables have a row of that key, it may be another that is
    named: a warning then.
    """
    told = Corpus(case.told)
    done: set[str] = set()
    for outcome, rehearsal in enumerate(case.rehearsals):
        for call in range(len(rehearsal.steps)):
            for path, _, value in case.leaves_of(outcome, call):
                if not isinstance(value, str) or value in done:
                    continue
                done.add(value)
                tables = [table for table in seed.rows if case.snapshot.get(table, value) is not None]
                for table in tables:
                    others = [other for other in seed.twins(table, value) if _is_open(seed, told, value, other)]
                    if others:
                        yield _undecidable(case, path, value, table, others, is_vague=len(tables) > 1)


def _is_open(seed: Seed, told: Corpus, key: str, other: str) -> bool:
    if told.holds(key):
        return False
    references, others = seed.references(key), seed.references(other)
    if any(told.holds(name) for name in references):
        return False
    return sorted(references.values()) == sorted(others.values())


def _undecidable(case: Case, path: str, key: str, table: str, others: Sequence[str], *, is_vague: bool) -> Remark:
    reason = f"rows {', '.join([key, *others])} of {table} differ in nothing but their keys, so none can be chosen"
    remark = case.warning if is_vague else case.error
    return remark("interchangeable", path, key, reason, "tell them apart in the seed, or name the key to the user")
