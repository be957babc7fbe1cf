"""How the ids of new rows come about: from the table and the rows present, never from a host, a trial or chance."""

from collections.abc import Callable
from typing import Protocol


class Taken(Protocol):
    """What an id rule may look at."""

    def size(self) -> int:
        """How many rows the table has."""

    def has(self, key: str) -> bool:
        """Whether a row with this key is there."""


class TakenId(Exception):
    """The only id that the rule allows is taken."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


IdRule = Callable[[Taken], str]


def smallest_free(prefix: str, *, width: int = 0, start: int = 1) -> IdRule:
    """`prefix` and the smallest number from `start` that is not taken, zero-padded to `width` digits."""

    def rule(rows: Taken) -> str:
        return _upwards(rows, prefix, width, start)

    return rule


def counted_free(prefix: str, *, width: int = 0, offset: int = 0) -> IdRule:
    """`prefix` and the first number from (rows present + `offset`) that is not taken."""

    def rule(rows: Taken) -> str:
        return _upwards(rows, prefix, width, rows.size() + offset)

    return rule


def counted(prefix: str = "", *, width: int = 0, offset: int = 0) -> IdRule:
    """
    `prefix` and (rows present + `offset`).

    The rule raises TakenId if that id is taken, as it can be after a deletion.
    """

    def rule(rows: Taken) -> str:
        key = f"{prefix}{rows.size() + offset:0{width}d}"
        if rows.has(key):
            raise TakenId(key)
        return key

    return rule


def _upwards(rows: Taken, prefix: str, width: int, number: int) -> str:
    while rows.has(key := f"{prefix}{number:0{width}d}"):
        number += 1
    return key
