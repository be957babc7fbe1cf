"""Words for what is wrong with rows and tasks of a pack: the place, the value there, and the nearest valid name."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from judges.expectation import nearest
from judges.pack_files import PackFault
from sandbox.declarations import Row
from sandbox.domain import Domain, RowFault

_PLACE = re.compile(r" - at `(?:key in )?\$([^`]*)`")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_WIDEST = 60


def with_value(reason: str, content: Any) -> str:
    """A reason that names a place in some content, with the value that stands there."""
    found = _PLACE.search(reason)
    value = _at(content, found[1]) if found else None
    if value is None or isinstance(value, dict | list):
        return reason
    shown = repr(value)
    return f"{reason}: {shown if len(shown) <= _WIDEST else shown[: _WIDEST - 1] + '…'}"


def _at(content: Any, path: str) -> Any:
    try:
        for name, place in _STEP.findall(path):
            content = content[int(place)] if place else content[name]
    except (KeyError, IndexError, TypeError):
        return None
    return content


def row_faults(
    domain: Domain, rows: Mapping[str, Any], fault_in: Callable[[str, str], PackFault], place: Callable[[str], str]
) -> Iterator[PackFault]:
    """
    Everything that keeps rows by table from being loaded.

    Args:
        fault_in: table and reason → the fault, with the file in which the table's rows stand.
        place: table → where its rows stand in that file, such as `$.patch.crm_users`.
    """
    for name, items in rows.items():
        table = domain.tables.get(name)
        if table is None:
            yield fault_in(name, f"no table {name!r} in domain {domain.name}; {nearest(name, domain.tables)}")
            continue
        is_sound = True
        for number, item in enumerate(items):
            try:
                domain.layer({name: [item]})
            except RowFault as fault:
                reason = str(fault).removeprefix(f"{name}[0]: ")
                told = with_value(reason, item) + _hint(table.spec.row_type, reason)
                at = f"{place(name)}[{number}]"
                told = told.replace("- at `$", f"- at `{at}") if "- at `$" in told else f"{told} - at `{at}`"
                is_sound = False
                yield fault_in(name, told)
        if is_sound:
            try:
                domain.layer({name: items})
            except RowFault as fault:
                yield fault_in(name, f"{fault} - at `{place(name)}`")


def _hint(row_type: type[Row], reason: str) -> str:
    """The nearest field, where the row has an unknown one, or the nearest value, where one of a few is wanted."""
    unknown = re.search(r"unknown field `([^`]*)`", reason)
    if unknown:
        return f"; {nearest(unknown[1], row_type.__struct_fields__)}"
    wrong = re.search(r"Invalid enum value '([^']*)' - at `\$\.(\w+)`", reason)
    choices = _choices(row_type, wrong[2]) if wrong else []
    return f"; {nearest(wrong[1], choices)}" if wrong and choices else ""


def _choices(row_type: type[Row], field: str) -> list[str]:
    info = msgspec.inspect.type_info(row_type)
    if not isinstance(info, msgspec.inspect.StructType):
        return []
    kinds = [one.type for one in info.fields if one.encode_name == field]
    found = [part for kind in kinds for part in (kind.types if isinstance(kind, msgspec.inspect.UnionType) else [kind])]
    return [str(value) for kind in found if isinstance(kind, msgspec.inspect.LiteralType) for value in kind.values]
