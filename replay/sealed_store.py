"""A sealed file read as a store, so that all that reads stores reads it too."""

from collections.abc import Iterator, Sequence
from typing import Self
from uuid import UUID

import msgspec
from msgspec import Struct

from replay.sealed_file import SealBroken, SealedFile
from sandbox.continuity import Stream
from sandbox.records import Record, chained_over, genesis, payload_digest
from sandbox.store_file import StreamFault
from sandbox.stream import Store

KINDS = ("campaign", "task", "layer", "expectation", "outcomes", "judgement", "rubric", "pack", "prices", "fork")
"""The kinds of kept content that are sealed."""


class SealedRecord(Struct, frozen=True, array_like=True, omit_defaults=True):
    """A record as it stands in a sealed file."""

    position: int
    topic: str
    time: str
    cause: int
    payload: bytes
    telemetry: bytes
    digest: bytes
    original: bytes = b""
    """If texts in the payload were replaced: digest of the payload that stood there, which the chain covers."""

    @property
    def record(self) -> Record:
        """As it is read."""
        return Record(self.position, self.topic, self.time, self.cause, self.payload, self.telemetry, self.digest)


def trial_part(trial: UUID) -> str:
    """Where a trial's records are."""
    return f"trials/{trial.hex}"


def content_part(kind: str, name: str) -> str:
    """Where a kept content is."""
    return f"{kind}/{name}"


def index_part(kind: str) -> str:
    """Where the names of a kind are, in the order in which they were kept."""
    return f"index/{kind}.json"


encode_records = msgspec.msgpack.Encoder().encode
decode_records = msgspec.msgpack.Decoder(list[SealedRecord]).decode
decode_names = msgspec.json.Decoder(list[str]).decode


class SealedStore(Store):
    """What a sealed file holds, to be read; its streams are verified as those of any store."""

    file: SealedFile
    _recent: tuple[UUID | None, list[Record]]

    @classmethod
    def over(cls, file: SealedFile) -> Self:
        """The store in a sealed file."""
        made = cls.in_memory()
        made.file = file
        made.name = str(file.path)
        made._recent = (None, [])
        return made

    def records(
        self, stream: UUID, *, after: int = 0, upto: int | None = None, chunk: int | None = None
    ) -> Iterator[Record]:
        if self._recent[0] != stream:
            self._recent = (stream, self._whole(stream))
        return iter(self._recent[1][after:upto])

    def _whole(self, stream: UUID) -> list[Record]:
        if not self.has(stream):
            return []
        place = Stream(self.name, stream)
        try:
            sealed = decode_records(self.file.read(trial_part(stream)))
        except (msgspec.DecodeError, SealBroken) as fault:
            raise place.fault(1, f"cannot be read: {fault}") from None
        return _verified(place, sealed)

    def last(self, stream: UUID) -> Record | None:
        found = self.read(stream)
        return found[-1] if found else None

    def has(self, stream: UUID) -> bool:
        return self.file.has(trial_part(stream))

    def kept(self, kind: str, name: str) -> bytes | None:
        part = content_part(kind, name)
        try:
            return self.file.read(part) if self.file.has(part) else None
        except SealBroken as fault:
            raise StreamFault(f"{self.name}: {fault}") from None

    def names(self, kind: str) -> list[str]:
        if not self.file.has(index_part(kind)):
            return []
        try:
            return decode_names(self.file.read(index_part(kind)))
        except (msgspec.DecodeError, SealBroken) as fault:
            raise StreamFault(f"{self.name}: {index_part(kind)} cannot be read: {fault}") from None


def _verified(place: Stream, sealed: Sequence[SealedRecord]) -> list[Record]:
    """The records, each chained over the one before; of a redacted one the digest of what stood there counts."""
    last = genesis(place.id)
    for position, r in enumerate(sealed, 1):
        if r.position != position:
            raise place.fault(position, f"is missing: {r.position} stands there")
        payload = r.original or payload_digest(r.payload)
        found = chained_over(last, r.position, r.topic, r.time, r.cause, payload, r.telemetry)
        if found != r.digest:
            raise place.fault(position, "breaks the digest chain")
        last = r.digest
    return [r.record for r in sealed]
