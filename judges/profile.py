"""How fields are compared: a policy for each, from its declared type unless a task says otherwise."""

from collections.abc import Callable, Hashable, Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from math import isfinite
from re import search
from typing import Any
from unicodedata import normalize

import msgspec
from msgspec import Struct

from judges.expectation import TaskInvalid, nearest
from sandbox.declarations import FieldSpec
from sandbox.domain import Domain, Table
from sandbox.values import ValueFault, moment

Canon = Hashable
"""
A value in the form in which it is compared: equal forms, equal values.

A bare text may be the id of a row that the trial created; everything else is a tuple that begins with what it is.
"""
Policy = Callable[[Any], Canon] | None
"""From a plain JSON value to its form; None: the field is not compared."""

CONTAINERS = frozenset({"ref", "list", "bag", "map"})
"""How the forms begin that may hold ids of new rows inside."""
DEEPEST = 64
NULL: Canon = ("null",)
ABSENT: Canon = ("absent",)
_pack = msgspec.msgpack.Encoder(order="sorted").encode


def text(value: Any) -> Canon:
    """Text as written, ids of new rows followed."""
    return value if type(value) is str else _other(value)


def number(value: Any) -> Canon:
    """A JSON number by its value: 25 and 25.0 are one, "25" and true are none."""
    if type(value) is float and isfinite(value):
        return ("number", int(value) if value.is_integer() else value)
    return ("number", value) if type(value) is int else _other(value)


def decimal(value: Any) -> Canon:
    """A decimal, recorded as text, by its value: "890.00" and "890.0" are one."""
    try:
        sign, digits, exponent = Decimal(value).as_tuple() if type(value) is str else (0, (), "n")
    except InvalidOperation:
        return _other(value)
    if not isinstance(exponent, int):
        return _other(value)
    significant = "".join(map(str, digits)).lstrip("0")
    kept = significant.rstrip("0")
    return ("decimal", sign, kept, exponent + len(significant) - len(kept)) if kept else ("decimal", 0, "", 0)


def instant(value: Any) -> Canon:
    """An instant by the time it means, whatever its offset; digits beyond microseconds count."""
    if type(value) is not str:
        return _other(value)
    try:
        time = moment(value)
    except ValueFault:
        return _other(value)
    finer = search(r"[.,]\d{6}(\d+)", value)
    return ("instant", time, finer[1].rstrip("0") if finer else "")


def exact(value: Any) -> Canon:
    """Value and JSON type as recorded; 25 and 25.0 are two, ids of new rows are not followed."""
    return NULL if value is None else ("exact", _pack(value))


def casefold_trim(value: Any) -> Canon:
    """Text without regard to case, to blanks at its ends and to how accents are encoded."""
    if type(value) is not str:
        return _other(value)
    return ("folded", normalize("NFC", normalize("NFC", value).casefold()).strip())


def value(given: Any, depth: int = 0) -> Canon:
    """
    Any JSON value: numbers by value, lists in order, texts as written with ids of new rows followed.

    What lies more than `DEEPEST` levels deep is compared as recorded.
    """
    if depth > DEEPEST:
        return ("deep", _pack(given))
    if type(given) is str:
        return given
    if given is None:
        return NULL
    if type(given) is bool:
        return ("bool", given)
    if type(given) is list or type(given) is tuple:
        return ("list", tuple([value(item, depth + 1) for item in given]))
    if type(given) is dict:
        return ("map", tuple([(name, value(given[name], depth + 1)) for name in sorted(given, key=repr)]))
    return number(given)


def unordered(given: Any) -> Canon:
    """A list without regard to order; duplicates count."""
    return bag([value(item) for item in given]) if isinstance(given, list | tuple) else _other(given)


def bag(items: list[Canon]) -> Canon:
    """The form of an unordered list."""
    return ("bag", tuple(sorted(items, key=repr)))


def reference(table: str, is_unordered: bool, given: Any) -> Canon:
    """The id of a row of one table, or a list of such ids."""
    if type(given) is str:
        return ("ref", table, given)
    if isinstance(given, list | tuple) and all(type(item) is str for item in given):
        items: list[Canon] = [("ref", table, item) for item in given]
        return bag(items) if is_unordered else ("list", tuple(items))
    return _other(given)


def is_misfit(form: Canon) -> bool:
    """Whether a value was not of the kind that its policy compares."""
    return isinstance(form, tuple) and form[0] == "misfit"


def _other(given: Any) -> Canon:
    return NULL if given is None else ("misfit", type(given).__name__, repr(given))


POLICIES: Mapping[str, Policy] = {
    "text": text,
    "number": number,
    "decimal": decimal,
    "instant": instant,
    "exact": exact,
    "casefold_trim": casefold_trim,
    "value": value,
    "unordered": unordered,
    "prose": None,
    "ignore": None,
}
REFERS = "refers "
"""`refers TABLE`: the field holds ids of that table's rows and nothing else."""

_BY_KIND = {name: name for name in ("decimal", "instant", "text", "prose")} | {"int": "number", "float": "number"}
_TEXTS = ("text", "prose", "instant", "decimal", "other")
_FITS = {
    "number": ("int", "float", "other"),
    "decimal": _TEXTS,
    "instant": _TEXTS,
    "casefold_trim": _TEXTS,
    "text": _TEXTS,
    "unordered": ("other",),
}


class TablePolicy(Struct, frozen=True, eq=False):
    """How the rows of one table are compared."""

    names: Mapping[str, str]
    """Policy names by field."""
    forms: Mapping[str, Policy]
    untouched: Mapping[str, Policy]
    """The same for a row of the snapshot that the outcome leaves alone: there also prose must stay as it is."""
    key: str
    """The key field where new rows are aligned by content, and their ids renamed; empty: they are compared by key."""


class Profile(Struct, frozen=True, eq=False):
    """How every table of a domain is compared in one task."""

    tables: Mapping[str, TablePolicy]

    def table(self, name: str) -> TablePolicy:
        """The table's policies; a table that the domain does not know is compared by key and value."""
        return self.tables.get(name, _UNKNOWN)

    @property
    def names(self) -> dict[str, dict[str, str]]:
        """Policy names by table and field: what a bundle's digest covers."""
        made = {table: dict(policy.names) for table, policy in self.tables.items()}
        return {table: names | ({"": "aligned"} if self.tables[table].key else {}) for table, names in made.items()}


_UNKNOWN = TablePolicy({}, {}, {}, "")


def default_policy(spec: FieldSpec) -> str:
    """The policy that a field's declared type asks for."""
    if spec.volatile:
        return "ignore"
    return "unordered" if spec.unordered else _BY_KIND.get(spec.kind, "value")


def profile_of(
    domain: Domain, compare: Mapping[str, Mapping[str, str]], task: str, *, refusal: bool = False
) -> Profile:
    """
    The domain's defaults with a task's overrides.

    Prose is not compared in rows that the outcome writes; in others it must stay, unless an override names the field.
    The rows of a table with a single text key are aligned by content if its ids come from a rule, or its key is not
    compared; an override for the key field (`exact`, `text`) makes them be compared by key.

    Args:
        refusal: whether nothing may change: then prose and volatile fields count too, unless an override names them.

    Raises:
        TaskInvalid: an override names no table, field or policy that there is, or cannot compare such a field.
    """
    for table, fields in compare.items():
        if table not in domain.tables:
            raise TaskInvalid(f"task {task}, compare: no table {table!r}; {nearest(table, domain.tables)}")
        _ensure_fields(domain, table, fields, task)
    return Profile(
        {name: _table_policy(table, compare.get(name, {}), refusal) for name, table in domain.tables.items()}
    )


def _table_policy(table: Table, overrides: Mapping[str, str], refusal: bool) -> TablePolicy:
    specs = {spec.name: spec for spec in table.shape.fields}
    defaults = {name: default_policy(spec) for name, spec in specs.items()}
    if refusal:
        defaults = {name: policy if POLICIES[policy] else "value" for name, policy in defaults.items()}
    defaults |= {name: REFERS + table.beside(spec.refers) for name, spec in specs.items() if spec.refers}
    names = {name: overrides.get(name, default) for name, default in defaults.items()}
    key = table.spec.key[0]
    is_text = len(table.spec.key) == 1 and specs[key].kind in ("text", "prose")
    is_aligned = is_text and (names[key] == "ignore" or (table.ids is not None and key not in overrides))
    forms = {name: _form(policy, specs[name]) for name, policy in names.items()}
    kept = {name: exact for name, policy in names.items() if policy == "prose" and name not in overrides}
    return TablePolicy(names, forms, forms | kept, key if is_aligned else "")


def _form(policy: str, spec: FieldSpec) -> Policy:
    if policy.startswith(REFERS):
        return partial(reference, policy.removeprefix(REFERS), spec.unordered)
    return POLICIES[policy]


def _ensure_fields(domain: Domain, table: str, fields: Mapping[str, str], task: str) -> None:
    specs = {spec.name: spec for spec in domain.tables[table].shape.fields}
    for name, policy in fields.items():
        at = f"task {task}, compare: {table}.{name}"
        if name not in specs:
            raise TaskInvalid(f"{at} is no field; {nearest(name, specs)}")
        target = policy.removeprefix(REFERS)
        if policy.startswith(REFERS):
            if target not in domain.tables:
                raise TaskInvalid(f"{at}: no table {target!r}; {nearest(target, domain.tables)}")
        elif policy not in POLICIES:
            raise TaskInvalid(f"{at}: no policy {policy!r}; {nearest(policy, (*POLICIES, REFERS + 'TABLE'))}")
        fits = _TEXTS if policy.startswith(REFERS) else _FITS.get(policy)
        if fits and specs[name].kind not in fits:
            raise TaskInvalid(f"{at} is a field of kind {specs[name].kind}, which {policy!r} cannot compare")
