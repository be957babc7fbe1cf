"""Effects: the net change of each row between snapshot and end."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from sandbox.snapshot import Overlay, State
from sandbox.values import digest, plain

Op = Literal["inserted", "updated", "deleted"]


class FieldChange(Struct, frozen=True, gc=False):
    """One field of an updated row. A field that is absent shows as None here; the rows tell the two apart."""

    name: str
    before: Any
    after: Any


class Effect(Struct, frozen=True, gc=False, omit_defaults=True):
    """One row's net change. Values are in their plain JSON form."""

    table: str
    key: str
    op: Op
    row: dict[str, Any] | None
    """The row at the end; None if it was deleted."""
    changes: tuple[FieldChange, ...] = ()
    """For an update."""
    before: dict[str, Any] | None = None
    """For an update or deletion: the row in the snapshot."""
    moved: bool = False
    """Deleted and created again: it stands last in its table."""


Effects = tuple[Effect, ...]

_encode = msgspec.msgpack.Encoder(order="sorted").encode
_decode = msgspec.msgpack.Decoder(Effects).decode


def effects_of(snapshot: State, overlay: Overlay) -> Effects:
    """
    Every row that is not as it was, by table name; in a table first the snapshot's rows in their order, then new ones.

    A row that was changed back is no effect. A number that changed its type alone (25 to 25.0) is one only where
    the field is no number field, since number fields hold floats.
    """
    found: list[tuple[str, int, Effect]] = []
    for table, key, row, moved in overlay.touched():
        before = snapshot.get(table, key)
        if before is None and row is None:
            continue
        effect = _effect(
            table, key, None if before is None else plain(before), None if row is None else plain(row), moved
        )
        if effect is not None:
            place = overlay.place(table, key) if row is not None else snapshot.place(table, key)
            found.append((table, place, effect))
    found.sort(key=lambda item: item[:2])
    return tuple(effect for _, _, effect in found)


def _effect(table: str, key: str, before: Any, after: Any, moved: bool) -> Effect | None:
    if before is None:
        return Effect(table, key, "inserted", after)
    if after is None:
        return Effect(table, key, "deleted", None, before=before)
    changes = tuple(
        FieldChange(name, before.get(name), after.get(name))
        for name in dict.fromkeys([*before, *after])
        if (name in before) != (name in after) or not same(before.get(name), after.get(name))
    )
    if not changes and not moved:
        return None
    return Effect(table, key, "updated", after, changes, before, moved)


def same(one: Any, other: Any) -> bool:
    """Equal in value and JSON type: 0, false, null and "" are four things; 0.0 and -0.0 are two."""
    return one == other and encode_value(one) == encode_value(other)


encode_value = msgspec.msgpack.Encoder(order="sorted").encode


def encode_effects(effects: Sequence[Effect]) -> bytes:
    """Canonical msgpack of an effect set."""
    return _encode(tuple(effects))


def decode_effects(content: bytes) -> Effects:
    """An effect set again from `encode_effects`."""
    return _decode(content)


def effects_digest(effects: Sequence[Effect]) -> str:
    """Hexadecimal digest of an effect set, 64 characters."""
    return digest(encode_effects(effects)).hex()
