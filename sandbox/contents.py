"""Named content in a store: each piece is a stream of one record, and each kind has an index stream of names."""

import re
from collections.abc import Sequence
from uuid import UUID, uuid5

import msgspec

from sandbox.continuity import Tail
from sandbox.records import Chain, Draft, Record

_NAMESPACE = UUID("0b6f7a52-5d0e-5c0c-8a4b-2f7f3f0d9a61")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(str).decode


def content_stream(kind: str, name: str) -> UUID:
    """Where a piece of content is kept."""
    return uuid5(_NAMESPACE, f"content\x1f{kind}\x1f{name}")


def index_stream(kind: str) -> UUID:
    """Where the names of a kind are listed."""
    return uuid5(_NAMESPACE, f"index\x1f{kind}")


def kept_records(kind: str, name: str, content: bytes, index: Tail) -> dict[UUID, list[Record]]:
    """
    What is to be stored in one commit.

    Args:
        index: the end of the kind's index.
    """
    return {
        content_stream(kind, name): content_records(kind, name, content),
        index_stream(kind): index_records(kind, [name], index),
    }


def content_records(kind: str, name: str, content: bytes) -> list[Record]:
    """The whole stream of one piece of content."""
    if not re.fullmatch("[a-z][a-z_]*", kind):
        raise ValueError(f"{kind!r} is no kind of content; write it as one lower-case word")
    return Chain(content_stream(kind, name)).sealed([Draft(f"store.{kind}.1", "", content)], b"")


def index_records(kind: str, names: Sequence[str], index: Tail) -> list[Record]:
    """More names for a kind's index, which ends at `index`."""
    drafts = [Draft("store.index.1", "", _encode(name)) for name in names]
    return Chain(index_stream(kind), *index).sealed(drafts, b"")


def listed_name(record: Record) -> str:
    """The name in an index record."""
    return _decode(record.payload)
