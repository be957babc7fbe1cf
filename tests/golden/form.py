"""
A recorded trial as text: a line for what was tried, a line for each record, a line for the verdict.

Payloads are written out, so that a diff can be read, and come back byte for byte; the digest chain shows if not.
Telemetry is left out.
"""

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from judges.expectation import Expectation
from judges.verdict import Verdict
from sandbox.continuity import Stream, Tail
from sandbox.records import Chain, Draft, Record, TrialOpened, decoded, encode_payload
from sandbox.task import Task

FOLDER = Path(__file__).parent / "recorded"
TEXTS = ("arguments", "result")
"""Fields that hold JSON as text; it is written out where it comes back as it was."""


class Head(Struct, frozen=True):
    """What was tried."""

    domain: str
    task: Task
    expectation: Expectation
    is_old: bool = False
    """Whether it holds old versions of events, so that no code makes it anew."""


class Golden(Struct, frozen=True):
    """One file."""

    name: str
    head: Head
    records: tuple[Record, ...]
    verdict: dict[str, Any]
    """Without the digest of the judge bundle, which changes with every line of a judge."""

    @property
    def opened(self) -> TrialOpened:
        """The first record."""
        payload = decoded(self.records[0])
        assert isinstance(payload, TrialOpened)
        return payload


def names() -> list[str]:
    """Of all files."""
    return sorted(path.stem for path in FOLDER.glob("*.jsonl"))


def read(name: str, folder: Path = FOLDER) -> Golden:
    """A file; StreamFault if its records are not those that were recorded."""
    head, *lines, last = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    records = [_record(msgspec.json.decode(line)) for line in lines]
    golden = Golden(name, msgspec.json.decode(head, type=Head), tuple(records), msgspec.json.decode(last)["verdict"])
    stream = golden.opened.key.id
    assert list(Stream(name, stream).verified(Tail.after(stream, None), records)) == records
    return golden


def write(golden: Golden, folder: Path = FOLDER) -> None:
    """Put the file down; nothing is written if it could not be read back as it is."""
    lines = [msgspec.to_builtins(golden.head), *map(_line, golden.records), {"verdict": golden.verdict}]
    for record, line in zip(golden.records, lines[1:], strict=False):
        assert _record(msgspec.json.decode(msgspec.json.encode(line))) == record, record
    (folder / f"{golden.name}.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


def bare(records: list[Record] | tuple[Record, ...]) -> tuple[Record, ...]:
    """The same records as a host without a clock or a name would have sealed them."""
    payload = decoded(records[0])
    assert isinstance(payload, TrialOpened)
    chain = Chain(payload.key.id)
    made: list[Record] = []
    while len(made) < len(records):
        first = records[len(made)]
        batch = [record for record in records[len(made) :] if record.cause == first.position] or [first]
        drafts = [Draft(record.topic, record.time, record.payload, record.cause > 0) for record in batch]
        made += chain.sealed(drafts, b"")
        chain.advance(made)
    assert [record.body for record in made] == [record.body for record in records]
    return tuple(made)


def told(verdict: Verdict) -> dict[str, Any]:
    """A verdict as it stands in a file."""
    values: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(verdict))
    del values["bundle"]
    return values


def _line(record: Record) -> dict[str, Any]:
    payload = msgspec.msgpack.decode(record.payload)
    written = {name: _opened(value) if name in TEXTS else value for name, value in payload.items()}
    position, topic, time, cause, _ = record.body
    about = {"position": position, "topic": topic, "time": time, "cause": cause}
    return {**about, "payload": written, "digest": record.digest.hex()}


def _record(line: dict[str, Any]) -> Record:
    payload = {name: _closed(value) if name in TEXTS else value for name, value in line["payload"].items()}
    about = (line["position"], line["topic"], line["time"], line["cause"])
    return Record(*about, encode_payload(payload), b"", bytes.fromhex(line["digest"]))


def _opened(text: Any) -> Any:
    try:
        value = {"json": msgspec.json.decode(text)}
    except (msgspec.DecodeError, TypeError):
        return text
    return value if _closed(value) == text else text


def _closed(value: Any) -> Any:
    return msgspec.json.encode(value["json"]).decode() if isinstance(value, dict) and list(value) == ["json"] else value
