"""Trials of a store as recordings: all their records, a fork's with its parent's."""

from collections.abc import Iterator

from msgspec import Struct

from judges.court import ensure_ended, ensure_has_end
from judges.naming import key_named
from judges.record import KIND, Judgement
from judges.record import decoded as judgement_of
from sandbox.archive import Archive, attempts_of
from sandbox.fold import end_of
from sandbox.lineage import Fork, forks, spliced
from sandbox.records import Record, TrialKey, TrialOpened, decoded
from sandbox.refusals import UserFault
from sandbox.store_file import StreamFault
from sandbox.stream import Store


class Recording(Struct, frozen=True):
    """A trial as it is read: a fork with its parent's records."""

    key: TrialKey
    records: list[Record]
    fork: Fork | None = None

    @property
    def agent(self) -> str:
        """Who worked, at the end."""
        if self.fork is not None:
            return self.fork.agent
        opened = decoded(self.records[0])
        if not isinstance(opened, TrialOpened):
            raise StreamFault(f"trial {self.key.id} does not begin as a trial does; restore a copy of the file")
        return opened.agent


def key_of(archive: Archive, name: str) -> TrialKey:
    """
    The trial or fork that goes by a name, as `key_named` takes it.

    Raises:
        UserFault: none, or several, go by that name.
        StreamFault: it was judged, and its last records, or all of them, are gone.
    """
    try:
        key = key_named(archive, name)
    except UserFault:
        ensure_ended(archive.store)
        raise
    judged = {name.partition("/")[0] for name in archive.store.names(KIND)}
    for attempt in attempts_of(key):
        if attempt.id.hex not in judged:
            return key
        ensure_has_end(archive.store, attempt.id)
    raise AssertionError("attempts are without end")


def trial_named(archive: Archive, name: str) -> Recording:
    """A trial of the store, whether it has ended or not; raises what `key_of` raises."""
    key = key_of(archive, name)
    fork = next((fork for fork in forks(archive.store) if fork.key == key), None)
    return Recording(key, spliced(archive.store.read, key.id), fork)


def closed_forks(archive: Archive) -> Iterator[Recording]:
    """Every fork that has ended, in the order in which they were made."""
    for fork in forks(archive.store):
        records = spliced(archive.store.read, fork.key.id)
        if end_of(records) is not None:
            yield Recording(fork.key, records, fork)


def content_of(store: Store, kind: str, name: str) -> bytes:
    """What a store lists under a name; StreamFault if it is gone."""
    content = store.kept(kind, name)
    if content is None:
        raise StreamFault(f"{store.name}: {kind} {name} is listed, but not there; restore a copy of the file")
    return content


def judgement_on(store: Store, trial: TrialKey) -> Judgement | None:
    """The judgement on a trial that was given last; None if there is none, StreamFault if it is gone."""
    names = [name for name in store.names(KIND) if name.startswith(f"{trial.id.hex}/")]
    return judgement_named(store, names[-1]) if names else None


def judgement_named(store: Store, name: str) -> Judgement:
    """A judgement that a store lists; StreamFault if it is gone."""
    return judgement_of(content_of(store, KIND, name))
