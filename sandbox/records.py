"""What stands in a trial's stream besides the domain's own events, and how each record is sealed."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal
from uuid import UUID, uuid5

import msgspec
from msgspec import Struct

from sandbox.usage import Usage
from sandbox.values import Instant, digest, new_hasher

End = Literal[
    "done", "end_turn_tool", "user_done", "agent_limit", "user_limit", "deadline",
    "context_overflow", "agent_error", "cancelled", "infrastructure",
]  # fmt: skip
"""How a trial stopped."""

_NAMESPACE = UUID("6f0c1f0a-3c0e-5b5e-9d3a-6a2b1f4e8c11")


class TrialKey(Struct, frozen=True, order=True):
    """Which trial this is."""

    campaign: str
    task: str
    repetition: int
    attempt: int

    @property
    def id(self) -> UUID:
        """The same key gives the same id on every machine."""
        return uuid5(_NAMESPACE, "\x1f".join((self.campaign, self.task, str(self.repetition), str(self.attempt))))


class TrialOpened(Struct, frozen=True, omit_defaults=True):
    """The first record: what is being tried, on what, by whom."""

    key: TrialKey
    domain: str
    agent: str
    instant: Instant
    task_digest: str
    layers: tuple[str, ...]
    """Digests of the snapshot's layers, the lowest first."""
    domain_digest: str
    tools_digest: str
    version: str
    """Of Trialbox."""


class Said(Struct, frozen=True, omit_defaults=True):
    """A line of the visible dialogue."""

    role: Literal["user", "assistant"]
    text: str


class ToolCalled(Struct, frozen=True, gc=False, omit_defaults=True):
    """The agent asked for a tool."""

    number: int
    """Of the call within its trial, from 1."""
    tool: str
    arguments: str
    """The raw text, also when it is no JSON."""
    call_id: str = ""
    """The provider's; empty or repeated ones happen."""
    key: str = ""
    """Idempotency key."""


class ToolReturned(Struct, frozen=True, gc=False, omit_defaults=True):
    """The call succeeded."""

    result: str
    """JSON text, as the agent gets it."""
    found: int | None = None
    """Rows that the call's lookups found; None if it looked nothing up."""
    repeats: int = 0
    """The position of the call whose answer an idempotency key brought back."""


class ToolRefused(Struct, frozen=True, gc=False, omit_defaults=True):
    """The call was declined, and nothing changed."""

    refusal: str
    """Invalid, NotFound, Precondition, Conflict or Unsupported."""
    message: str
    found: int | None = None


class Gated(Struct, frozen=True, omit_defaults=True):
    """What the gate decided about a call before it was carried out."""

    ruling: Literal["allow", "refuse", "ask"]
    """What the rules say."""
    allowed: bool
    """What became of it: of `ask`, what was answered."""
    by: Literal["rule", "person", "timeout"] = "rule"
    reason: str = ""


class Told(Struct, frozen=True, omit_defaults=True):
    """The agent was told something that is no part of the dialogue."""

    about: Literal["empty_reply", "end_state"]
    text: str


class TurnEnded(Struct, frozen=True, omit_defaults=True):
    """The agent called a tool that ends its work and is never executed."""

    tool: str
    arguments: str
    """The raw text."""
    call_id: str = ""
    dropped: int = 0
    """Calls of the same reply that were not made."""


class UserFaulted(Struct, frozen=True, omit_defaults=True):
    """The user did what a user must not do; stands before the line that it is about, if there is one."""

    kind: Literal["empty", "unasked", "invented", "early_stop", "malformed", "late"]
    detail: str = ""


class FailedAttempt(Struct, frozen=True, omit_defaults=True):
    """An attempt at a model call that brought no reply."""

    fault: str
    """Its class: rate_limited, server, unreachable, cut_off, timed_out, malformed, …"""
    status: int = 0
    """HTTP; 0 without an answer."""
    lost: bool = False
    """Whether a reply may have been made, and paid for, that never arrived."""
    usage: Usage | None = None
    """What came back with the failure."""
    message: str = ""


class Replied(Struct, frozen=True, omit_defaults=True):
    """A model answered."""

    party: str
    """agent, user or judge."""
    number: int
    """Of the call among the party's in this trial, from 1."""
    model: str
    """Asked for."""
    served: str
    """The one that the provider says it used."""
    request: str
    """Digest of what was sent, without the key."""
    reply: str
    """The provider's whole reply, JSON, tool calls as the model wrote them."""
    finish: str
    usage: Usage
    raw_usage: str = ""
    """JSON."""
    failed: tuple[FailedAttempt, ...] = ()
    """The attempts before."""

    @property
    def attempts(self) -> int:
        """The answered one among them."""
        return len(self.failed) + 1


class Unanswered(Struct, frozen=True, omit_defaults=True):
    """A model call that was given up."""

    party: str
    number: int
    model: str
    request: str
    fault: str
    """The class that ended it."""
    message: str
    failed: tuple[FailedAttempt, ...] = ()

    @property
    def attempts(self) -> int:
        """How often it was tried."""
        return len(self.failed)


class TrialEnded(Struct, frozen=True, omit_defaults=True):
    """The last record."""

    end: End
    effects: str
    """Digest of the net effects."""
    flags: tuple[str, ...] = ()
    detail: str = ""
    """What broke, for an infrastructure end; for others why, where the end alone does not tell."""


class Forked(Struct, frozen=True, omit_defaults=True):
    """The first record of a fork: the parent's records 1…position are its own."""

    parent: str
    """Id of the trial."""
    position: int
    digest: str
    """Of the parent's record at that position."""


class Edited(Struct, frozen=True, omit_defaults=True):
    """In a fork: what the agent sees instead of the answer at a position. Rows do not change by it."""

    position: int
    result: str


OWN_TOPICS: dict[str, type[Struct]] = {
    "trial.opened.1": TrialOpened,
    "trial.said.1": Said,
    "trial.called.1": ToolCalled,
    "trial.returned.1": ToolReturned,
    "trial.refused.1": ToolRefused,
    "trial.replied.1": Replied,
    "trial.unanswered.1": Unanswered,
    "trial.gated.1": Gated,
    "trial.told.1": Told,
    "trial.turn-ended.1": TurnEnded,
    "trial.user-faulted.1": UserFaulted,
    "trial.ended.1": TrialEnded,
    "trial.forked.1": Forked,
    "trial.edited.1": Edited,
}
TOPIC_OF = {payload: topic for topic, payload in OWN_TOPICS.items()}
RESERVED_MOUNTS = ("trial", "store", "judgement")

encode_payload = msgspec.msgpack.Encoder().encode
_decoders: dict[str, Any] = {topic: msgspec.msgpack.Decoder(kind).decode for topic, kind in OWN_TOPICS.items()}


class Telemetry(Struct, frozen=True, omit_defaults=True):
    """What the host saw: inside the digest chain, outside every comparison."""

    wall: float = 0.0
    """Seconds since 1970."""
    took_ms: float = 0.0
    host: str = ""


class Draft(Struct, frozen=True, gc=False):
    """A record that has no place in a stream yet."""

    topic: str
    time: Instant
    payload: bytes
    """msgpack."""
    from_call: bool = False
    """Whether the call at the head of the same batch caused it."""


class Record(Struct, frozen=True, gc=False):
    """One entry of a stream."""

    position: int
    """Dense from 1."""
    topic: str
    """`mount.tag.version`."""
    time: Instant
    """Virtual."""
    cause: int
    """Position of the call that caused it, 0 for none."""
    payload: bytes
    telemetry: bytes
    digest: bytes
    """Chained over the previous record's; the first one's over the trial's id."""

    @property
    def body(self) -> tuple[int, str, Instant, int, bytes]:
        """What two runs of the same script have in common: everything but telemetry and the digests that cover it."""
        return self.position, self.topic, self.time, self.cause, self.payload


def draft(payload: Struct, time: Instant, *, from_call: bool = False) -> Draft:
    """One of this module's payloads as a draft."""
    return Draft(TOPIC_OF[type(payload)], time, encode_payload(payload), from_call)


def decoded(record: Record) -> Any:
    """The payload of one of this module's topics; None for a domain event."""
    decode = _decoders.get(record.topic)
    return decode(record.payload) if decode is not None else None


def genesis(stream: UUID) -> bytes:
    """What the first digest of a stream is chained over, 32 bytes."""
    return digest(stream.bytes)


def chained(
    previous: bytes, position: int, topic: str, time: str, cause: int, payload: bytes, telemetry: bytes
) -> bytes:
    """
    Digest of a record: BLAKE2b, 32 bytes, over three digests and the header.

    Payload and telemetry enter by their own digests, so that a redacted record can still be verified.
    """
    return chained_over(previous, position, topic, time, cause, payload_digest(payload), telemetry)


def chained_over(
    previous: bytes, position: int, topic: str, time: str, cause: int, payload: bytes, telemetry: bytes
) -> bytes:
    """
    The same of a record whose payload is not at hand.

    Args:
        payload: its `payload_digest`.
    """
    header = f"{position}\x1f{topic}\x1f{time}\x1f{cause}".encode()
    return _hashed(previous + _telemetry_digest(telemetry) + payload + header)


def _hashed(content: bytes) -> bytes:
    hasher = new_hasher()
    hasher.update(content)
    return hasher.digest()


payload_digest = _hashed
"""What a record's own digest says of its payload."""
_telemetry_digest = lru_cache(maxsize=1)(_hashed)
"""All records of a batch have one telemetry."""


class Chain:
    """Gives drafts their positions, causes and digests."""

    def __init__(self, stream: UUID, position: int = 0, last: bytes = b"") -> None:
        self.stream = stream
        self.position = position
        self.last = last or genesis(stream)

    def sealed(self, drafts: Sequence[Draft], telemetry: bytes) -> list[Record]:
        """The next records; the chain moves on only by `advance`."""
        first, last, records, told = self.position + 1, self.last, [], _telemetry_digest(telemetry)
        for place, item in enumerate(drafts, first):
            cause = first if item.from_call else 0
            # What `chained` gives, without its calls: every record of every trial comes through here.
            body, whole = new_hasher(), new_hasher()
            body.update(item.payload)
            header = f"{place}\x1f{item.topic}\x1f{item.time}\x1f{cause}"
            whole.update(last + told + body.digest() + header.encode())
            last = whole.digest()
            records.append(Record(place, item.topic, item.time, cause, item.payload, telemetry, last))
        return records

    def advance(self, records: Sequence[Record]) -> None:
        """These records are on disk."""
        if records:
            self.position, self.last = records[-1].position, records[-1].digest
