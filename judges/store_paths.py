"""Which of the files that a command was given are stores: a pattern such as `runs/*.db` also names what lies beside."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox.refusals import UserFault
from sandbox.store_file import is_store
from sandbox.views import SUFFIX

BESIDE: Mapping[str, str] = {SUFFIX: "the read models", ".frames.db": "the keyframes"}
"""What is kept beside a store, by how its file's name ends."""


class NotAStore(UserFault):
    """Files beside stores were given, and no store; the text names the store."""


def stores_among(paths: Sequence[Path]) -> list[Path]:
    """
    The paths without those of read models and keyframes.

    Raises:
        NotAStore: there are no others.
    """
    beside = {path: told for path in paths if (told := _told(path)) is not None}
    if beside and len(beside) == len(set(paths)):
        raise NotAStore(next(iter(beside.values())))
    return [path for path in paths if path not in beside]


def _told(path: Path) -> str | None:
    """What a file is that is kept beside a store; None if it is anything else."""
    for ending, what in BESIDE.items():
        if path.name.endswith(ending) and path.is_file() and not is_store(path):
            bare = path.with_name(path.name.removesuffix(ending))
            store = bare if bare.is_file() else bare.with_name(f"{bare.name}.db")
            return f"{path} holds {what} of {store}, and no trials; give {store}"
    return None
