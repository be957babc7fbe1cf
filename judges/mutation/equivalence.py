"""
Whether two sets of effects leave the same rows behind, found without the judge: by looking, and by trying all ids.

It is what tells a mutant that changes nothing of account from a hole in a judge, so it uses nothing of how judges
align rows: rows are compared where they stand, and if that fails under every way to rename the new ones.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, permutations, product
from math import factorial, prod
from typing import Any

from judges.changes import Place
from judges.profile import Policy, Profile, value
from judges.rules import Happened
from sandbox.domain import Domain
from sandbox.effects import Effects
from sandbox.snapshot import Snapshot
from sandbox.values import plain

MOST_RENAMINGS = 5_040
"""Ways to rename new rows that are tried."""

Row = Mapping[str, Any] | None
Rows = Mapping[Place, Row]
Field = tuple[str, str]
"""Table and name."""


def same_rows(domain: Domain, snapshot: Snapshot, profile: Profile, required: Effects, found: Effects) -> str:
    """In what way the rows end equal, in every field that is compared, as words; empty if they do not."""
    ours = {(effect.table, effect.key): effect.row for effect in required}
    for renaming in _renamings(profile, required, found):
        fields = _fields_that_differ(snapshot, profile, ours, _renamed(domain, found, renaming))
        if fields is not None:
            changed = any(key != name for (_, key), name in renaming.items())
            return _told(domain, profile, fields, changed)
    return ""


def only_in_events(domain: Domain, required: Sequence[Happened], found: Sequence[Happened]) -> list[str]:
    """
    Facts in which one event differs from the one in its place, as `TAG.FIELD`, where all others are the same.

    Where the rows end equal such a fact is kept in no row, so that only a rule could look at it.
    """
    if [event.topic for event in required] != [event.topic for event in found]:
        return []
    told = [facts for one, other in zip(required, found, strict=True) if (facts := _facts(domain, one, other))]
    return told[0] if len(told) == 1 else []


def _facts(domain: Domain, one: Happened, other: Happened) -> list[str]:
    """Fields in which two events of a topic differ, prose and times left aside."""
    handling = domain.handlings[one.topic]
    return [
        f"{handling.event_type.event_tag}.{spec.name}"
        for spec in handling.shape.fields
        if not spec.volatile
        and spec.kind not in ("prose", "instant")
        and _field(one.fields, spec.name) != _field(other.fields, spec.name)
    ]


def _told(domain: Domain, profile: Profile, fields: Iterable[Field], changed: bool) -> str:
    kept = [(table, name) for table, name in fields if not _is_volatile(domain, table, name)]
    told = "the rows end equal"
    if changed:
        told += ", new rows under other ids"
    if kept:
        told += " but for " + ", ".join(
            f"{table}.{name} ({profile.table(table).names.get(name, 'value')})" for table, name in kept
        )
    return told


def _is_volatile(domain: Domain, table: str, name: str) -> bool:
    return any(spec.volatile for spec in domain.tables[table].shape.fields if spec.name == name)


def _fields_that_differ(snapshot: Snapshot, profile: Profile, ours: Rows, theirs: Rows) -> list[Field] | None:
    """Fields that differ and may; None if another one differs, or a row is on one side."""
    fields: dict[Field, None] = {}
    for place in {**ours, **theirs}:
        one, other = (rows[place] if place in rows else _seed(snapshot, place) for rows in (ours, theirs))
        if (one is None) != (other is None):
            return None
        for name in {**(one or {}), **(other or {})}:
            a, b = _field(one, name), _field(other, name)
            if a == b and repr(a) == repr(b):
                continue
            policy = profile.table(place[0])
            forms = policy.forms if place in ours else policy.untouched
            if not _is_same(forms.get(name, value), a, b):
                return None
            fields[place[0], name] = None
    return list(fields)


def _is_same(form: Policy, a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    if form is None:
        return True
    return len(a) == len(b) == 1 and form(a[0]) == form(b[0])


def _field(row: Row, name: str) -> tuple[Any, ...]:
    """The value in a tuple of one; empty if it is absent."""
    return (row[name],) if row is not None and name in row else ()


def _seed(snapshot: Snapshot, place: Place) -> Row:
    row = snapshot.get(*place)
    return None if row is None else plain(row)


def _renamings(profile: Profile, required: Effects, found: Effects) -> Iterator[dict[Place, str]]:
    """What the trial's new rows may be called in the outcome, by place; first as they are called."""
    yield {}
    tables = sorted(
        {effect.table for effect in required if effect.op == "inserted" and profile.table(effect.table).key}
    )
    ours = [[e.key for e in required if e.table == table and e.op == "inserted"] for table in tables]
    theirs = [[e.key for e in found if e.table == table and e.op == "inserted"] for table in tables]
    if [len(keys) for keys in ours] != [len(keys) for keys in theirs]:
        return
    if prod(factorial(len(keys)) for keys in ours) > MOST_RENAMINGS:
        return
    ways = product(*(permutations(keys) for keys in ours))
    for way in islice(ways, MOST_RENAMINGS):
        yield {
            (table, key): name
            for table, keys, names in zip(tables, theirs, way, strict=True)
            for key, name in zip(keys, names, strict=True)
        }


def _renamed(domain: Domain, found: Effects, names: Mapping[Place, str]) -> Rows:
    """The rows under other ids; a text that is one of these ids is renamed with them, if it names one row only."""
    texts: dict[str, set[str]] = {}
    for (_, key), name in names.items():
        texts.setdefault(key, set()).add(name)
    sure = {key: next(iter(meant)) for key, meant in texts.items() if len(meant) == 1}
    made: dict[Place, Row] = {}
    for effect in found:
        key, fields = effect.key, domain.tables[effect.table].spec.key
        row = None if effect.row is None else {name: _text(item, sure) for name, item in effect.row.items()}
        if row is not None and effect.op == "inserted":
            if (effect.table, effect.key) in names:
                row[fields[0]] = names[effect.table, effect.key]
            key = ":".join(str(row[name]) for name in fields)
        made[effect.table, key] = row
    return made


def _text(given: Any, names: Mapping[str, str]) -> Any:
    if not names:
        return given
    if isinstance(given, list):
        return [_text(item, names) for item in given]
    return names.get(given, given) if isinstance(given, str) else given
