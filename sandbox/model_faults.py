"""Why a model call brought no reply: a class for each, and who may be asked again."""

import json
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar

from msgspec import Struct

from sandbox.records import FailedAttempt, Unanswered
from sandbox.refusals import SandboxFault
from sandbox.usage import ABSENT, Usage, usage_of
from sandbox.world import recordable

LONGEST_MESSAGE = 500


class ModelFault(SandboxFault):
    """A model call was given up. `kind` names the class; the text never holds the key."""

    kind: ClassVar[str] = "model"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, status: int = 0, lost: bool = False, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.lost = lost
        self.usage = usage
        self.wait_s: float | None = None
        """What the server asked to wait."""
        self.model = ""
        self.request = ""
        """Digest of what was sent, without the key."""
        self.failed: tuple[FailedAttempt, ...] = ()
        """Every attempt, the last one too."""

    @property
    def attempts(self) -> int:
        """How often the call was tried."""
        return len(self.failed)

    @property
    def attempt(self) -> FailedAttempt:
        """This fault as one attempt of a call."""
        return FailedAttempt(self.kind, self.status, self.lost, self.usage, self.message)

    def unanswered(self, party: str, number: int) -> Unanswered:
        """For the trial's stream."""
        return Unanswered(party, number, self.model, self.request, self.kind, self.message, self.failed)


class RateLimited(ModelFault):
    """429."""

    kind = "rate_limited"
    retryable = True


class ServerFault(ModelFault):
    """5xx, and what else a server says of itself."""

    kind = "server"
    retryable = True


class Unreachable(ModelFault):
    """No connection: nothing was sent."""

    kind = "unreachable"
    retryable = True


class CutOff(ModelFault):
    """The connection broke before the reply was there."""

    kind = "cut_off"
    retryable = True


class TimedOut(ModelFault):
    """The reply took longer than one attempt may."""

    kind = "timed_out"
    retryable = True


class Malformed(ModelFault):
    """The reply is no JSON, or holds no message."""

    kind = "malformed"
    retryable = True


class DeadlinePassed(ModelFault):
    """The caller's time was over before the model had answered."""

    kind = "deadline"

    def hung(self, why: str) -> TimedOut:
        """The same as a fault of the endpoint."""
        fault = TimedOut(why)
        fault.model, fault.request, fault.failed = self.model, self.request, self.failed
        return fault


class ContextOverflow(ModelFault):
    """The dialogue is longer than the model can read."""

    kind = "context_overflow"


class InvalidRequest(ModelFault):
    """The provider refuses what was sent: 400, 413, 422."""

    kind = "invalid_request"


class NotServed(ModelFault):
    """The endpoint is not what was meant: a wrong address, or a model that it does not have."""

    kind = "not_served"


class Stopped(ModelFault):
    """The process that asked was stopped before the model had answered."""

    kind = "stopped"


class Unauthorized(ModelFault):
    """No such key, no right, or no money left."""

    kind = "unauthorized"


class Answered(Struct, frozen=True):
    """An HTTP answer that is no reply."""

    status: int
    text: str
    """The key taken out."""
    headers: Mapping[str, str]


_OVERFLOW = re.compile(
    r"context[_ ]length|context[_ ]window|context[_ ]size|context limit|maximum context"
    r"|maximum (model|prompt) length|maximum number of tokens allowed|prompt is too long|input is too long"
    r"|too many (input )?tokens|(prompt|input) (contains|has) \d+ tokens|reduce the length of (the|your)"
    r"|inputs? tokens .{0,40}must be <=|exceed_context",
    re.IGNORECASE,
)
"""How OpenAI, Anthropic, Gemini, vLLM, llama.cpp, Mistral, xAI, Cohere, Bedrock and TGI say it."""
_NO_MONEY = re.compile(
    r"insufficient[_ ](quota|balance|credit|funds)|billing|exceeded your current quota", re.IGNORECASE
)
_MAY_OVERFLOW = (400, 413, 422, *range(500, 600))
_DENIED = (401, 402, 403)
_REFUSED = (400, 413, 422)
_NEVER = (501, 505)
"""What a server says of itself, and will say again."""
LASTING = ("unauthorized", "not_served", "invalid_request")
"""Classes that stay until somebody mends the endpoint or what is sent to it."""


def fault_of(answer: Answered) -> ModelFault:
    """The fault that an HTTP answer means."""
    body = _json(answer.text)
    words = error_words(body) or answer.text
    told = f"{answer.status}: {shortened(words)}" if words.strip() else f"{answer.status}, without a word"
    kind = _kind(answer.status, _codes(body) + " " + words)
    fault = kind(told, status=answer.status, usage=_usage(body))
    fault.wait_s = retry_after_s(answer.headers)
    return fault


def _kind(status: int, words: str) -> type[ModelFault]:
    if status in _MAY_OVERFLOW and _OVERFLOW.search(words):
        return ContextOverflow
    if status in _DENIED or (status == 429 and _NO_MONEY.search(words)):
        return Unauthorized
    if status == 429:
        return RateLimited
    if status == 408:
        return TimedOut
    if status in _REFUSED:
        return InvalidRequest
    return ServerFault if status in (409, 425) or (status >= 500 and status not in _NEVER) else NotServed


def fault_in(body: Mapping[str, Any], text: str, headers: Mapping[str, str]) -> ModelFault | None:
    """The fault that a reply with status 200 holds in place of a message; None if it names none."""
    error = body.get("error") or _choice_error(body)
    if not error:
        return None
    is_begun = not body.get("error")
    if is_begun:
        body = {**body, "error": error}
        text = json.dumps(body)
    status = error.get("code") if isinstance(error, Mapping) else None
    known = isinstance(status, int) and not isinstance(status, bool) and 400 <= status < 600
    if known:
        fault = fault_of(Answered(int(str(status)), text, headers))
    else:
        kind = ContextOverflow if _OVERFLOW.search(_codes(body) + " " + error_words(body)) else ServerFault
        told = f"200 with an error: {shortened(error_words(body) or text)}"
        fault = kind(told, status=200, usage=_usage(body))
    # A choice that broke was begun, and may be on the bill.
    fault.lost = is_begun and fault.usage is None
    return fault


def _choice_error(body: Mapping[str, Any]) -> Any:
    """What broke while a reply was made, as some gateways tell it."""
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first.get("error") if isinstance(first, Mapping) else None


def error_words(body: Any) -> str:
    """What an error body says, wherever the provider puts it."""
    error = body.get("error", body) if isinstance(body, Mapping) else body[0] if isinstance(body, list) and body else ""
    if isinstance(error, Mapping) and isinstance(error.get("error"), Mapping):
        error = error["error"]
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("detail") or ""
    return error if isinstance(error, str) else json.dumps(error)


def _codes(body: Any) -> str:
    error = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return ""
    return " ".join(str(error[name]) for name in ("code", "type", "status") if isinstance(error.get(name), str))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _usage(body: Any) -> Usage | None:
    usage = usage_of(body.get("usage")) if isinstance(body, Mapping) else Usage(fault=ABSENT)
    return None if usage.fault == ABSENT else usage


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """
    Seconds that a server asks to wait; None if it does not, or not legibly.

    A date is taken relative to the answer's own `Date`, so that this host's clock decides nothing.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,9}(\.\d+)?", text):
            return float(text) * unit
    try:
        wait = parsedate_to_datetime(headers.get("retry-after", "")) - parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, TypeError):
        return None
    return max(0.0, wait.total_seconds())


def shortened(text: str) -> str:
    """A provider's words on one printable line."""
    line = " ".join(recordable(text[: 4 * LONGEST_MESSAGE]).split())
    line = "".join(sign if sign.isprintable() else "?" for sign in line)
    return line if len(line) <= LONGEST_MESSAGE else line[:LONGEST_MESSAGE] + "…"


def is_lasting(detail: str) -> bool:
    """
    Whether a trial that is infrastructure for this reason will be so again, until somebody mends the endpoint.

    Args:
        detail: of its end, the class of the fault in front.
    """
    return detail.partition(":")[0] in LASTING


def is_retryable(name: str) -> bool:
    """Whether a call that ended with a fault of this class may succeed when it is made again as it was."""
    return any(kind.kind == name and kind.retryable for kind in ModelFault.__subclasses__())
