"""Effects in the form in which they are compared."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from judges.profile import ABSENT, Canon, Policy, Profile, TablePolicy, value
from sandbox.effects import Effect, Effects, Op

Place = tuple[str, str]
"""Table and key."""


class Change(Struct, frozen=True, gc=False, eq=False):
    """One effect, as far as it is compared."""

    table: str
    key: str
    op: Op
    fields: dict[str, Canon]
    """Of a new row all compared fields, of an updated one those that changed."""
    effect: Effect
    is_generated: bool
    """Whether the key is an id that depends on the path."""

    @property
    def is_new(self) -> bool:
        return self.op == "inserted"


def changes_of(
    profile: Profile, effects: Effects, renewed: Collection[Place] = (), touched: Collection[Place] | None = None
) -> list[Change]:
    """
    What is compared of these effects, in their order.

    An update of which nothing is compared is no change: of prose where that is free, or to another spelling of the
    same time.
    A row that was deleted and created again counts as the one it was, since the order of rows is not compared.

    Args:
        renewed: rows that were deleted and created again and count as a deletion and a new row.
        touched: rows that the outcome changes, so that their prose is free; None: that of every row is.
    """
    return [change for effect in effects for change in _changes(profile.table(effect.table), effect, renewed, touched)]


def _changes(
    policy: TablePolicy, effect: Effect, renewed: Collection[Place], touched: Collection[Place] | None
) -> Iterator[Change]:
    table, key, op = effect.table, effect.key, effect.op
    if renewed and (table, key) in renewed:
        yield Change(table, key, "deleted", {}, effect, False)
        op = "inserted"
    if op == "deleted":
        yield Change(table, key, op, {}, effect, False)
    elif op == "inserted":
        yield Change(table, key, op, _new_fields(policy, effect.row or {}), effect, bool(policy.key))
    else:
        forms = policy.forms if touched is None or (table, key) in touched else policy.untouched
        if fields := _changed_fields(forms, effect):
            yield Change(table, key, op, fields, effect, False)


def _new_fields(policy: TablePolicy, row: dict[str, Any]) -> dict[str, Canon]:
    forms, fields = policy.forms, {}
    for name, given in row.items():
        form = forms.get(name, value)
        if form is not None and name != policy.key:
            fields[name] = form(given)
    return fields


def _changed_fields(forms: Mapping[str, Policy], effect: Effect) -> dict[str, Canon]:
    fields = {}
    for change in effect.changes:
        form = forms.get(change.name, value)
        if form is not None:
            after = _form_in(effect.row, change.name, form)
            if after != _form_in(effect.before, change.name, form):
                fields[change.name] = after
    return fields


def _form_in(row: dict[str, Any] | None, name: str, form: Any) -> Canon:
    return form(row[name]) if row is not None and name in row else ABSENT


def touched_places(effects: Effects) -> frozenset[Place]:
    """Rows of the snapshot that were changed, in whichever of their fields, and are still there."""
    return frozenset([(effect.table, effect.key) for effect in effects if effect.op == "updated"])


def moved_places(profile: Profile, effects: Effects) -> set[Place]:
    """Rows with a generated id that were deleted and created again."""
    return {(e.table, e.key) for e in effects if e.moved and profile.table(e.table).key}


def vacated_places(effects: Effects) -> set[Place]:
    """Rows of the snapshot that were deleted, for good or to be created again."""
    return {(e.table, e.key) for e in effects if e.moved or e.op == "deleted"}


def leaves(form: Canon) -> Iterator[tuple[str, str]]:
    """Each text in a form that may be the id of a new row, with the one table it can refer to (empty: any)."""
    if isinstance(form, str):
        yield form, ""
    elif isinstance(form, tuple):
        kind = form[0]
        if kind == "ref":
            yield form[2], form[1]
        elif kind in ("list", "bag"):
            for item in form[1]:
                yield from leaves(item)
        elif kind == "map":
            for _, item in form[1]:
                yield from leaves(item)


def generated_ids(changes: Sequence[Change]) -> dict[str, dict[str, int]]:
    """Where the id of a new row was generated: by id and table, the index of its change."""
    found: dict[str, dict[str, int]] = {}
    for index, change in enumerate(changes):
        if change.is_generated:
            found.setdefault(change.key, {})[change.table] = index
    return found
