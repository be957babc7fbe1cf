"""Streams to store, and a store's file as somebody with a hex editor sees it."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID, uuid5

from sandbox.records import Chain, Draft, Record

SPACE = UUID("aaaaaaaa-0000-4000-8000-000000000000")


def stream(number: int) -> UUID:
    return uuid5(SPACE, str(number))


def drafts(count: int, size: int = 20) -> list[Draft]:
    return [Draft("desk.noted.1", "2025-10-01T13:00:00Z", bytes([place % 256]) * size) for place in range(count)]


def sealed(chain: Chain, count: int, *, size: int = 20, telemetry: bytes = b"") -> list[Record]:
    """So many records more, and the chain moved on over them."""
    records = chain.sealed(drafts(count, size), telemetry)
    chain.advance(records)
    return records


def batches(of: UUID, sizes: Sequence[int]) -> list[list[Record]]:
    chain = Chain(of)
    return [sealed(chain, size) for size in sizes]


@contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    """The file behind the store's back."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()
