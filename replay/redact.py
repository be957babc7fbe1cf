"""Redaction: what agents and users said and wrote, replaced by digests, while every chain can still be verified."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from replay.calls import free_fields
from replay.sealed_store import SealedRecord
from sandbox.domain import Domain
from sandbox.records import (
    OWN_TOPICS,
    Edited,
    FailedAttempt,
    Forked,
    Gated,
    Record,
    Replied,
    Said,
    Told,
    ToolCalled,
    ToolRefused,
    ToolReturned,
    TrialEnded,
    TrialOpened,
    TurnEnded,
    Unanswered,
    UserFaulted,
    decoded,
    encode_payload,
    payload_digest,
)
from sandbox.snapshot import Snapshot
from sandbox.values import digest

TEXTS: Mapping[type[Struct], tuple[str, ...]] = {
    TrialOpened: (),
    Said: ("text",),
    ToolCalled: ("arguments",),
    ToolReturned: ("result",),
    ToolRefused: ("message",),
    Replied: ("reply",),
    Unanswered: ("message",),
    Gated: ("reason",),
    Told: ("text",),
    TurnEnded: ("arguments",),
    UserFaulted: ("detail",),
    TrialEnded: ("detail",),
    Forked: (),
    Edited: ("result",),
}
"""The fields of each kind of record that hold texts; a `result` holds JSON, and does so afterwards."""
LEAST = 8
"""Characters from which a redacted text is looked for inside other texts too."""


class Redaction:
    """
    One trial's texts replaced.

    Replaced are lines of the dialogue, replies of models, arguments and answers of calls, details of an end, and prose
    in events.
    Everything else stays: seed rows, tasks and expectations are the benchmark's, and values that are no prose are
    what verdicts are made of. So does prose that a row had from the start: writing it again must stay no change.

    Args:
        snapshot: the rows that the trial started from.
    """

    def __init__(self, domain: Domain, snapshot: Snapshot) -> None:
        self.domain = domain
        self._known = frozenset(_prose_of(domain, snapshot))
        self.marks: dict[str, str] = {}
        """What stands for each text that was replaced."""
        specs = [spec for table in domain.tables.values() for spec in table.shape.fields]
        self._prose = free_fields(domain) & {spec.name for spec in specs if spec.kind == "prose"}

    def redacted(self, record: Record) -> SealedRecord:
        """A record without its texts."""
        payload = self._event(record) if record.topic not in OWN_TOPICS else self._own(record)
        r, original = record, b"" if payload == record.payload else payload_digest(record.payload)
        return SealedRecord(r.position, r.topic, r.time, r.cause, payload, r.telemetry, r.digest, original)

    def in_json(self, content: bytes) -> bytes:
        """JSON with the texts that were replaced so far replaced in it too."""
        return msgspec.json.Encoder(order="sorted").encode(self._inside(msgspec.json.decode(content)))

    def _own(self, record: Record) -> bytes:
        payload = decoded(record)
        changed: dict[str, Any] = {name: self._mark(getattr(payload, name)) for name in TEXTS[type(payload)]}
        if "result" in changed:
            changed["result"] = msgspec.json.encode(changed["result"]).decode()
        if isinstance(payload, Replied | Unanswered):
            changed["failed"] = self._failed(payload.failed)
        return encode_payload(msgspec.structs.replace(payload, **changed)) if changed else record.payload

    def _failed(self, attempts: tuple[FailedAttempt, ...]) -> tuple[FailedAttempt, ...]:
        return tuple(msgspec.structs.replace(one, message=self._mark(one.message)) for one in attempts)

    def _event(self, record: Record) -> bytes:
        handling = self.domain.handlings.get(record.topic)
        fields = handling.shape.fields if handling else ()
        own = {spec.name for spec in fields if spec.kind == "prose"}
        given = msgspec.msgpack.decode(record.payload)
        changed = self._without_prose(given, own)
        return record.payload if changed == given else encode_payload(changed)

    def _without_prose(self, value: Any, names: set[str]) -> Any:
        if isinstance(value, Mapping):
            return {
                name: self._worded(item)
                if name in names and isinstance(item, str)
                else self._without_prose(item, set(self._prose))
                for name, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._without_prose(item, names) for item in value]
        return value

    def _worded(self, text: str) -> str:
        return text if text in self._known else self._mark(text)

    def _mark(self, text: str) -> str:
        if not text:
            return text
        return self.marks.setdefault(text, f"redacted:{digest(text.encode()).hex()[:32]}")

    def _inside(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._inside(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._inside(item) for item in value]
        if not isinstance(value, str):
            return value
        if value in self.marks:
            return self.marks[value]
        for text, mark in self.marks.items():
            if len(text) >= LEAST and text in value:
                value = value.replace(text, mark)
        return value


def _prose_of(domain: Domain, snapshot: Snapshot) -> Iterator[str]:
    for name, table in domain.tables.items():
        fields = [spec.name for spec in table.shape.fields if spec.kind == "prose"]
        for key in snapshot.table(name) if fields else ():
            row = snapshot.get(name, key)
            yield from (text for text in (getattr(row, field) for field in fields) if isinstance(text, str))
