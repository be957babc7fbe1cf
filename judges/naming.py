"""Which stored trial a person means."""

from collections.abc import Iterator

from sandbox.archive import Archive, attempts_of, keys_of
from sandbox.fold import end_of
from sandbox.lineage import forks
from sandbox.records import TrialKey
from sandbox.refusals import UserFault
from sandbox.stream import Store


def key_named(archive: Archive, name: str, *, closed: bool = False) -> TrialKey:
    """
    The trial or fork that goes by a name.

    Args:
        name: its id or the beginning of it; or `TASK/REPETITION`, which is the last attempt at it.
        closed: whether only trials that have ended count.

    Raises:
        UserFault: no trial, or several, go by that name.
    """
    digits = name.replace("-", "").lower()
    found = [
        key
        for key in _started(archive)
        if (digits and key.id.hex.startswith(digits)) or f"{key.task}/{key.repetition}" == name
    ]
    found += [
        fork.key
        for fork in forks(archive.store)
        if digits and fork.key.id.hex.startswith(digits) and archive.store.has(fork.key.id)
    ]
    if closed:
        found = [key for key in found if has_ended(archive.store, key)]
    if not found:
        raise UserFault(f"no trial {name!r}; name it by the beginning of its id, or as TASK/REPETITION")
    if len({(key.campaign, key.task, key.repetition) for key in found}) > 1:
        raise UserFault(f"{len(found)} trials go by {name!r}; write more of the id")
    return found[-1]


def has_ended(store: Store, key: TrialKey) -> bool:
    """Whether a trial is closed; only its last record is read."""
    last = store.last(key.id)
    return last is not None and end_of([last]) is not None


def _started(archive: Archive) -> Iterator[TrialKey]:
    """Every attempt of the campaign that has records, task by task; no forks."""
    for first in keys_of(archive.seal):
        for key in attempts_of(first):
            if not archive.store.has(key.id):
                break
            yield key
