"""Seal: a whole campaign as one file, from which anybody can compute its score again; and back into a store."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from uuid import UUID

from msgspec import Struct

from judges.court import ensure_ended
from judges.verdict import code_digest
from replay.redact import Redaction
from replay.sealed_file import About, Part, SealBroken, SealedFile, Versions, open_sealed, write_sealed
from replay.sealed_store import (
    KINDS,
    SealedRecord,
    SealedStore,
    content_part,
    encode_records,
    index_part,
    trial_part,
)
from replay.trials import content_of
from sandbox.archive import Archive, Seal, attempts_of, domain_of, keys_of, recorded_in, sealed_in
from sandbox.contents import content_records, content_stream, index_records, index_stream
from sandbox.continuity import Tail
from sandbox.drafts import draft_beside
from sandbox.fold import end_of
from sandbox.lineage import forks
from sandbox.records import Record, TrialKey
from sandbox.refusals import UserFault
from sandbox.stream import Batch, Store
from sandbox.values import canonical

BATCH = 500
"""Streams that are imported in one commit."""


class Sealed(Struct, frozen=True):
    """A file that was sealed."""

    root: str
    """The root digest; who knows it from elsewhere can tell a file that was rewritten as a whole."""
    trials: int
    """Streams, forks among them."""
    missing: tuple[str, ...]
    """Repetitions without a trial that counts."""


def seal(store: Store, path: Path, *, redact_texts: bool = False) -> Sealed:
    """
    Seal a campaign: streams with forks, snapshot layers, tasks, expectations, outcomes, judgements, and its own seal.

    The same store gives the same bytes.

    Raises:
        UserFault: the file is there already, or a closed trial has not been judged.
        StreamFault: a judged trial lost its last records, or something is listed that is not there.
    """
    if path.exists():
        raise UserFault(f"{path} is there already; what is sealed is not overwritten, so choose another name")
    ensure_ended(store)
    campaign = recorded_in(store)
    keys = _keys(store, campaign)
    _ensure_judged(store, keys)
    versions = Versions(campaign.version, campaign.domain_digest, code_digest())
    missing = tuple(missing_in(store, campaign))
    about = About(campaign.name, versions, ("texts",) if redact_texts else (), missing)
    return Sealed(write_sealed(path, about, _parts(store, keys, redact_texts)), len(keys), missing)


def started(store: Store, campaign: Seal) -> Iterator[TrialKey]:
    """Every attempt that has records, also one that has not ended."""
    for first in keys_of(campaign):
        for key in attempts_of(first):
            if not store.has(key.id):
                break
            yield key


def _keys(store: Store, campaign: Seal) -> list[TrialKey]:
    """All trials that have records, forks last."""
    return [*started(store, campaign), *(fork.key for fork in forks(store) if store.has(fork.key.id))]


def missing_in(store: Store, campaign: Seal) -> Iterator[str]:
    """The repetitions without a trial that counts, as TASK/REPETITION."""
    for first in keys_of(campaign):
        last = None
        for key in attempts_of(first):
            record = store.last(key.id)
            if record is None:
                break
            last = record
        end = None if last is None else end_of([last])
        if end is None or end.end == "infrastructure":
            yield f"{first.task}/{first.repetition}"


def _ensure_judged(store: Store, keys: Sequence[TrialKey]) -> None:
    judged = {name.partition("/")[0] for name in store.names("judgement")}
    for key in keys:
        last = store.last(key.id)
        if last is not None and end_of([last]) is not None and key.id.hex not in judged:
            raise UserFault(
                f"trial {key.id} ({key.task}/{key.repetition}) has not been judged, so nothing could be compared "
                f"with its score; judge it first, with: trialbox run"
            )


def _parts(store: Store, keys: Sequence[TrialKey], redact_texts: bool) -> Iterator[Part]:
    """All parts in the order of their names."""
    redactions: dict[str, Redaction] = {}
    if redact_texts:
        archive = Archive(store, domain_of(store))
        redactions = {key.id.hex: Redaction(archive.domain, archive.snapshots[key.task]) for key in keys}
        for key in keys:
            for record in store.records(key.id):
                redactions[key.id.hex].redacted(record)
    names = {kind: store.names(kind) for kind in KINDS}
    made = {trial_part(key.id): ("", key.id.hex) for key in keys}
    made |= {index_part(kind): ("index", kind) for kind in KINDS if names[kind]}
    made |= {content_part(kind, name): (kind, name) for kind in KINDS for name in names[kind]}
    for part in sorted(made):
        kind, name = made[part]
        if not kind:
            yield part, _stream(store, UUID(name), redactions.get(name))
        elif kind == "index":
            yield part, canonical(names[name])
        else:
            content = content_of(store, kind, name)
            redaction = redactions.get(name.partition("/")[0]) if kind in ("judgement", "rubric") else None
            yield part, redaction.in_json(content) if redaction else content


def _stream(store: Store, stream: UUID, redaction: Redaction | None) -> bytes:
    records = store.records(stream)
    if redaction is not None:
        return encode_records([redaction.redacted(record) for record in records])
    return encode_records([_whole(record) for record in records])


def _whole(r: Record) -> SealedRecord:
    return SealedRecord(r.position, r.topic, r.time, r.cause, r.payload, r.telemetry, r.digest)


def unseal(path: Path, output: Path) -> int:
    """
    Make a store from a sealed file, without loss; how many streams it holds.

    Raises:
        SealBroken: the file is not as it was sealed, or its texts were redacted, so that the store would not be whole.
        UserFault: the store is there already.
    """
    if output.exists():
        raise UserFault(f"{output} is there already; choose another name")
    with open_sealed(path) as file:
        for fault in file.faults():
            raise SealBroken(f"{path}: {fault}; nothing is imported")
        if file.manifest.about.redacted:
            raise SealBroken(f"{path}: its texts were redacted, so no whole store can be made; use trialbox verify")
        draft = draft_beside(output)
        try:
            count = _imported(file, draft)
            draft.rename(output)
        finally:
            draft.unlink(missing_ok=True)
    return count


def _imported(file: SealedFile, output: Path) -> int:
    source = SealedStore.over(file)
    streams = [key.id for key in _keys(source, sealed_in(source))]
    strangers = {name for name in file.names if name.startswith("trials/")} - {trial_part(id) for id in streams}
    for name in sorted(strangers):
        raise SealBroken(f"{file.path}: {name} belongs to nothing in this campaign; nothing is imported")
    with closing(Store.open(output, create=True)) as store:
        for start in range(0, len(streams), BATCH):
            _append(store, [(stream, source.read(stream)) for stream in streams[start : start + BATCH]])
        for kind in KINDS:
            _append(store, _kept_batches(source, kind))
    return len(streams)


def _kept_batches(source: SealedStore, kind: str) -> list[Batch]:
    """Contents and their index, with the records that a store makes of them."""
    names = source.names(kind)
    batches: list[Batch] = []
    for name in dict.fromkeys(names):
        content = source.kept(kind, name)
        if content is None:
            raise SealBroken(f"{source.name}: {content_part(kind, name)} is listed and missing; nothing is imported")
        batches.append((content_stream(kind, name), content_records(kind, name, content)))
    index = index_stream(kind)
    return [*batches, (index, index_records(kind, names, Tail.after(index, None)))] if names else []


def _append(store: Store, batches: Sequence[Batch]) -> None:
    for fault in store.append(batches):
        if fault is not None:
            raise fault
