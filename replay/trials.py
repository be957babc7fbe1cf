"""Trials of a store as recordings: all their records, a fork's with its parent's."""

from collections.abc import Iterator

from msgspec import Struct

from judges.naming import key_named
from sandbox.archive import Archive
from sandbox.fold import end_of
from sandbox.lineage import Fork, forks, spliced
from sandbox.records import Record, TrialKey, TrialOpened, decoded


class Recording(Struct, frozen=True):
    """A trial as it is read: a fork with its parent's records."""

    key: TrialKey
    records: list[Record]
    fork: Fork | None = None

    @property
    def agent(self) -> str:
        """Who worked, at the end."""
        opened = decoded(self.records[0])
        assert isinstance(opened, TrialOpened)
        return self.fork.agent if self.fork else opened.agent


def trial_named(archive: Archive, name: str) -> Recording:
    """A trial of the store, whether it has ended or not; UserFault if none, or several, go by that name."""
    key = key_named(archive, name)
    fork = next((fork for fork in forks(archive.store) if fork.key == key), None)
    return Recording(key, spliced(archive.store.read, key.id), fork)


def closed_forks(archive: Archive) -> Iterator[Recording]:
    """Every fork that has ended, in the order in which they were made."""
    for fork in forks(archive.store):
        records = spliced(archive.store.read, fork.key.id)
        if end_of(records) is not None:
            yield Recording(fork.key, records, fork)
