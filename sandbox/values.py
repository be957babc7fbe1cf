"""The values a record may hold, and their one canonical encoding."""

import hashlib
import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

T = TypeVar("T")

Instant = Annotated[str, Meta(extra={"kind": "instant"}, extra_json_schema={"format": "date-time"})]
"""ISO 8601 text, kept as written; compared by value unless a profile compares text."""

Prose = Annotated[str, Meta(extra={"kind": "prose"})]
"""Free text: kept and shown. Its wording is not compared in rows that an outcome writes, unless a profile says so."""

Volatile = Annotated[T, Meta(extra={"volatile": True})]
"""A value that may differ between equal behaviours; not compared unless a profile says so."""

Unordered = Annotated[tuple[T, ...], Meta(extra={"unordered": True})]
"""A list whose order means nothing; duplicates count."""

_json = msgspec.json.Encoder().encode


def refers(table: str) -> Meta:
    """For a text field that holds ids of one table of the same toolset: `Annotated[str, refers("tickets")]`."""
    return Meta(extra={"refers": table})


_sorted_json = msgspec.json.Encoder(order="sorted")


class ValueFault(ValueError):
    """A value that no record may hold; the text names it and says why."""


class OutOfRange(ValueFault):
    """A number or text of the right kind that no record may hold, as an agent's own arguments can make it."""


def canonical(value: object) -> bytes:
    """UTF-8 JSON with sorted keys: equal values give equal bytes. Check floats first; NaN would become null."""
    return _sorted_json.encode(value)


def digest(*parts: bytes) -> bytes:
    """BLAKE2b over the length-prefixed parts, 32 bytes."""
    hasher = new_hasher()
    for part in parts:
        hasher.update(len(part).to_bytes(8, "little"))
        hasher.update(part)
    return hasher.digest()


new_hasher = hashlib.blake2b(digest_size=32).copy
"""BLAKE2b of 32 bytes; a copied hasher is ready sooner than a new one."""


def digest_of(value: object) -> str:
    """Hexadecimal digest of a value's canonical encoding, 64 characters."""
    return digest(canonical(value)).hex()


def ensure_storable(value: Any, at: str = "$") -> None:
    """
    Return if a value (JSON values, structs) can be recorded without loss.

    Raises:
        OutOfRange: not-a-number, infinity, an integer beyond 64 bits, text that is no Unicode, nesting too deep.
    """
    try:
        packed = _msgpack(value)
    except (OverflowError, UnicodeEncodeError, RecursionError):
        packed = b""
    if packed and (b"\xcb" not in packed or not _MAYBE_NOT_FINITE.search(packed)):
        return
    try:
        for leaf, path in _leaves(value, at):
            _ensure_leaf(leaf, path)
    except RecursionError:
        raise OutOfRange(f"{at} is nested too deeply to be recorded") from None
    if not packed:
        raise OutOfRange(f"{at} holds something that cannot be recorded")


_msgpack = msgspec.msgpack.Encoder().encode
_MAYBE_NOT_FINITE = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]")
"""How infinity and not-a-number begin in msgpack. No UTF-8 text holds these bytes; an integer may, so look closer."""


def _leaves(value: Any, path: str) -> Iterable[tuple[Any, str]]:
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    if isinstance(value, dict):
        for name, item in value.items():
            yield name, f"{path} (a key)"
            yield from _leaves(item, f"{path}.{name}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}[{index}]")
    else:
        yield value, path


def _ensure_leaf(value: object, path: str) -> None:
    if isinstance(value, str):
        if not value.isascii():
            _ensure_unicode(value, path)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise OutOfRange(f"{value} is no number that can be recorded - at `{path}`")
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise OutOfRange(f"an integer of {value.bit_length()} bits does not fit into 64 - at `{path}`")


def _ensure_unicode(value: str, path: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise OutOfRange(f"text holds a lone surrogate, which is no Unicode - at `{path}`") from None


@lru_cache(maxsize=8192)
def moment(text: str) -> datetime:
    """
    The time an instant means; one without a zone is taken as UTC.

    Raises:
        ValueFault: `text` is no ISO 8601 date or time.
    """
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise ValueFault(f"{text!r} is no ISO 8601 time; write it like 2025-10-01T13:00:00Z") from None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def written(time: datetime) -> Instant:
    """A time as an instant: `Z` for UTC, other offsets kept, none without a zone."""
    text = time.isoformat()
    return text[:-6] + "Z" if text.endswith("+00:00") else text


@lru_cache(maxsize=8192)
def later(start: Instant, seconds: float) -> Instant:
    """The instant so many seconds after another."""
    return written(moment(start) + timedelta(seconds=seconds))


def plain(value: object) -> Any:
    """Rows, structs and tuples as JSON-ready dicts and lists; decimals as text with their scale."""
    return msgspec.json.decode(_json(value))
