"""
From an agent's `item` to the fields of a row: as the table declares them, or as the shape that fits the item best.

The second way is a quirk. It reads an item without regard to its table, so a field that is wrong makes its shape lose,
and the fields that only this shape has are lost with it, silently.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final, TypeVar, get_type_hints

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.inspect import (
    BoolType,
    IntType,
    LiteralType,
    Metadata,
    NoneType,
    StructType,
    Type,
    UnionType,
    VarTupleType,
    type_info,
)

from domains.shared.helpdesk_events import (
    CommentCreated,
    OrganizationCreated,
    TicketCommentCreated,
    TicketCreated,
    UserCreated,
)
from sandbox import Event, Invalid, coerced

E = TypeVar("E", bound=Event)

SET_BY_DESK: Final = frozenset({"id", "created_at", "updated_at", "key"})

_AT: Final = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")


class Shape(Struct, frozen=True):
    """Fields that belong together in an item, and the kind of each."""

    kinds: Mapping[str, Type]
    model: type[Struct]
    """Ignores fields that it does not know."""


@lru_cache
def kinds_of(event: type[Event]) -> Mapping[str, Type]:
    """The kind of each fact of an event."""
    info = type_info(event)
    assert isinstance(info, StructType)
    return {field.name: field.type for field in info.fields}


def shape_of(created: type[Event], *, is_partial: bool) -> Shape:
    """
    The shape that an item for this event has.

    Args:
        created: the event of a row's creation.
        is_partial: for an update: every field may be missing or null. Otherwise only those that have a default may.
    """
    hints = get_type_hints(created, include_extras=True)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for field in msgspec.structs.fields(created):
        if field.name not in SET_BY_DESK:
            optional = is_partial or not field.required
            hint = hints[field.name]
            fields.append((field.name, hint | None | UnsetType, UNSET) if optional else (field.name, hint))
    kinds = {name: kind for name, kind in kinds_of(created).items() if name not in SET_BY_DESK}
    return Shape(kinds, msgspec.defstruct(f"{created.__name__.removesuffix('Created')}Item", fields))


_SHAPED: Final = (TicketCreated, UserCreated, OrganizationCreated, CommentCreated, TicketCommentCreated)
CREATION_SHAPES: Final = tuple(shape_of(event, is_partial=False) for event in _SHAPED)
ALL_CHANGE_SHAPES: Final = tuple(shape_of(event, is_partial=True) for event in _SHAPED)
CHANGE_SHAPES: Final = ALL_CHANGE_SHAPES[:-1]
"""A ticket's thread cannot be changed where shapes are guessed."""


def item_schema(shapes: Sequence[Shape]) -> dict[str, Any]:
    """What an item may look like, as JSON Schema: one alternative for each shape."""
    references, parts = msgspec.json.schema_components([shape.model for shape in shapes], ref_template="{name}")
    return {"anyOf": [parts[reference["$ref"]] for reference in references]}


def guessed(item: Mapping[str, Any], shapes: Sequence[Shape]) -> dict[str, Any]:
    """
    The item's fields as the shape that fits best reads them.

    Of the shapes that take the item, the one with most of its own fields in it; then one that takes every value as it
    is, where a name of an enumeration counts as repaired; then the first.

    Raises:
        Invalid: no shape takes the item.
    """
    best: dict[str, Any] | None = None
    rank = (-1, False)
    for shape in shapes:
        fields = repaired({name: item[name] for name in shape.kinds if name in item}, shape.kinds)
        if _is_taken(fields, shape) and (len(fields), _is_exact(item, shape)) > rank:
            best, rank = fields, (len(fields), _is_exact(item, shape))
    if best is None:
        raise Invalid("the item fits no kind of row; give the fields that the table needs, each of its type")
    return best


def repaired(fields: Mapping[str, Any], kinds: Mapping[str, Type]) -> dict[str, Any]:
    """The fields with what can be read as their kind made one of it; the rest as it is."""
    return {name: coerced(value, kinds[name]) if name in kinds else value for name, value in fields.items()}


def named(table: str, item: Mapping[str, Any], event: type[Event]) -> dict[str, Any]:
    """
    The item's fields, if every one of them is a field that the event can tell of.

    Raises:
        Invalid: a field is unknown, or not for an agent to set.
    """
    known = [name for name in event.__struct_fields__ if name not in SET_BY_DESK]
    unknown = [name for name in item if name not in known]
    if unknown:
        raise Invalid("; ".join(_unknown(table, name, known) for name in unknown[:10]))
    return dict(item)


def event_of(event: type[E], facts: Mapping[str, Any]) -> E:
    """
    The event with these facts.

    Raises:
        Invalid: a fact is missing or not of its type; it is named as a field of `item`.
    """
    try:
        return msgspec.convert(facts, event)
    except msgspec.ValidationError as error:
        raise Invalid(_worded(str(error), event)) from None


def lists_of(event: type[Event]) -> frozenset[str]:
    """The facts of an event that are lists."""
    return frozenset(name for name, kind in kinds_of(event).items() if isinstance(_bare(kind), VarTupleType))


def _is_taken(fields: Mapping[str, Any], shape: Shape) -> bool:
    try:
        msgspec.convert(fields, shape.model)
    except msgspec.ValidationError:
        return False
    return True


def _is_exact(item: Mapping[str, Any], shape: Shape) -> bool:
    given = [(item[name], _bare(kind)) for name, kind in shape.kinds.items() if item.get(name) is not None]
    return not any(
        isinstance(kind, LiteralType)
        or (isinstance(kind, BoolType) and type(value) is not bool)
        or (isinstance(kind, IntType) and type(value) is not int)
        for value, kind in given
    )


def _bare(kind: Type) -> Type:
    """What a field holds if it is not null."""
    if isinstance(kind, Metadata):
        return _bare(kind.type)
    if isinstance(kind, UnionType):
        return next(_bare(part) for part in kind.types if not isinstance(part, NoneType))
    return kind


def _unknown(table: str, name: str, known: Sequence[str]) -> str:
    if name in SET_BY_DESK:
        return f"`{name}` is set by the help desk; leave it out of the item"
    close = get_close_matches(name[:80], known, n=1)
    hint = f"did you mean `{close[0]}`?" if close else f"they are {', '.join(known)}"
    return f"{table} have no field `{name[:80]}` to be set; {hint}"


def _worded(error: str, event: type[Event]) -> str:
    """The decoder's text with the path led by `item`, and the values that an enumeration has."""
    at = _AT.search(error)
    body = (error[: at.start()] if at else error)[:200]
    path = at["path"] if at else ""
    kind = _bare(kinds_of(event)[path]) if path in event.__struct_fields__ else None
    choices = f"; it is one of {', '.join(map(str, kind.values))}" if isinstance(kind, LiteralType) else ""
    return f"{body[0].lower()}{body[1:]} - at `$.item{'.' * bool(path)}{path}`{choices}"
