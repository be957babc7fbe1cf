"""What is said to a model and what it says, in no provider's form."""

from msgspec import Struct

from sandbox.records import FailedAttempt, Replied
from sandbox.usage import Usage


class System(Struct, frozen=True):
    """Instructions."""

    text: str


class User(Struct, frozen=True):
    """The other side of the dialogue."""

    text: str


class ModelCall(Struct, frozen=True):
    """A tool call that a model asked for."""

    name: str
    """The tool's own name, or whatever the model wrote."""
    arguments: str
    """Under the tool's own argument names; the model's text, unless its dialect has other names or forms."""
    call_id: str
    """The provider's; empty and repeated ones happen."""
    written_name: str
    written: str
    """The arguments as the model wrote them."""


class Assistant(Struct, frozen=True):
    """What the model said before."""

    text: str
    calls: tuple[ModelCall, ...] = ()
    native: str = ""
    """JSON of what the provider wants back with it: calls with their signatures, reasoning that only it can read."""


class ToolResult(Struct, frozen=True):
    """The answer to the first call with this id that has none yet, among those of the last `Assistant`."""

    call_id: str
    text: str


Message = System | User | Assistant | ToolResult


class Reply(Struct, frozen=True):
    """One answered call."""

    text: str
    """The visible part."""
    reasoning: str
    calls: tuple[ModelCall, ...]
    """In the model's order."""
    finish: str
    """In chat's words: stop, length, tool_calls, content_filter, …; empty if none was given."""
    model: str
    """Asked for."""
    served: str
    """The one that the provider says it used."""
    request: str
    """Digest of what was sent, without the key."""
    raw: str
    """The provider's whole reply, JSON."""
    usage: Usage
    raw_usage: str
    """JSON, as the provider gave it; empty if it gave none."""
    native: str
    failed: tuple[FailedAttempt, ...]
    took_ms: float
    """Of the attempt that was answered; for telemetry."""

    @property
    def message(self) -> Assistant:
        """As part of the next request."""
        return Assistant(self.text, self.calls, self.native)

    def replied(self, party: str, number: int) -> Replied:
        """For the trial's stream."""
        return Replied(
            party,
            number,
            self.model,
            self.served,
            self.request,
            self.raw,
            self.finish,
            self.usage,
            self.raw_usage,
            self.failed,
        )
