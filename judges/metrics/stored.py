"""The trials of a store as notes."""

from pathlib import Path

from judges.court import ensure_whole
from judges.metrics.failures import Note, noted
from judges.metrics.invented import known_text
from judges.record import KIND, decoded
from judges.verdict import Verdict
from sandbox.archive import Archive, domain_of
from sandbox.fold import end_of
from sandbox.stream import Store


def notes_of(path: Path) -> list[Note]:
    """
    Every trial that counts, task by task: what broke on our side does not. The newest verdict on each counts.

    Raises:
        StreamFault: a trial that was judged has lost its end.
    """
    with Store.open(path, read_only=True) as store:
        ensure_whole(store)
        archive = Archive(store, domain_of(store))
        newest = {name.partition("/")[0]: name for name in store.names(KIND)}
        known: dict[str, str] = {}
        notes: list[Note] = []
        for key, records in archive.closed():
            end = end_of(records)
            if end is not None and end.end == "infrastructure":
                continue
            if key.task not in known:
                known = {key.task: known_text(archive.domain, archive.snapshots[key.task], archive.tasks[key.task])}
            verdict = _verdict(store, newest.get(key.id.hex))
            notes.append(noted(archive.seal.agent, key, records, verdict, known[key.task]))
        return notes


def _verdict(store: Store, name: str | None) -> Verdict | None:
    content = None if name is None else store.kept(KIND, name)
    return None if content is None else decoded(content).verdict
