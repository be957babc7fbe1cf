"""Which model is asked, where, and how patiently."""

import re
from collections.abc import Mapping
from hmac import compare_digest
from typing import Any, Literal, NoReturn
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from sandbox.dialects import Dialect
from sandbox.refusals import UserFault

NOT_EXTRA = ("model", "messages", "input", "tools", "stream", "n")
"""Parts of a request that `extra_body` cannot replace."""


class Secret:
    """A text that never shows, encodes or pickles itself; `reveal()` is the only way to it."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    def reveal(self) -> str:
        """The text."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return "Secret(…)" if self._text else "Secret()"

    __str__ = __repr__

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a secret is not written anywhere; pass the name of its environment variable instead")


class Budgets(Struct, frozen=True, forbid_unknown_fields=True):
    """How many failures of each class a call survives."""

    rate_limited: int = 10
    server: int = 5
    unreachable: int = 5
    cut_off: int = 5
    timed_out: int = 3
    malformed: int = 2


class Backoff(Struct, frozen=True, forbid_unknown_fields=True):
    """Waits between attempts: the n-th is drawn from 0 to `first_s` × 2ⁿ⁻¹, bounded."""

    first_s: float = 1.0
    longest_s: float = 32.0
    longest_retry_after_s: float = 60.0
    """What a server's own Retry-After is cut to."""


class ModelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """
    A model at an OpenAI-compatible endpoint. None: not sent, the provider's default holds.

    Raises:
        UserFault: `base_url` is no http(s) address or holds credentials, the key cannot be sent, a number is out of its
            range, a seed cannot be sent, or `extra_body` replaces a part of the request that is not its own.
    """

    base_url: str
    model: str
    key: Secret = field(default_factory=Secret)
    api: Literal["chat", "responses"] = "chat"
    dialect: Dialect = "openai"
    temperature: float | None = None
    max_output_tokens: int | None = None
    seed: int | None = None
    parallel_tool_calls: bool | None = None
    effort: str | None = None
    """Of reasoning; the provider's word."""
    returns_reasoning: bool = False
    """Whether readable reasoning goes back to the provider with the next request, as some ask for; chat only."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    connect_timeout_s: float = 10.0
    timeout_s: float = 180.0
    """Of one attempt, from connecting to the last byte."""
    budgets: Budgets = Budgets()
    backoff: Backoff = Backoff()

    def __post_init__(self) -> None:
        for fault in _faults(self):
            raise UserFault(f"model {self.model}: {fault}")

    @property
    def told(self) -> dict[str, Any]:
        """All settings but the key, as plain values."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__ if name != "key"}
        plain: dict[str, Any] = msgspec.to_builtins(fields)
        return plain


def _is_sendable(base_url: str) -> bool:
    """Whether an address with a host can be asked: otherwise the first request would break on it."""
    try:
        address = urlsplit(base_url)
        (address.hostname or "").encode("idna")
        port = address.port
    except ValueError:
        return False
    is_host = not re.search(r"[\s\"<>\\^`{|}%]", address.hostname or "")
    return port != 0 and is_host and base_url.isprintable() and " " not in base_url


def _faults(settings: ModelSettings) -> list[str]:
    faults = []
    try:
        address = urlsplit(settings.base_url)
    except ValueError:
        return ["base_url is no http(s) address; write one like https://host/v1"]
    if address.username or address.password:
        faults.append("base_url holds credentials; give them as the key, which is never written anywhere")
    elif address.scheme not in ("http", "https") or not address.hostname:
        faults.append(f"base_url {settings.base_url!r} is no http(s) address; write one like https://host/v1")
    elif not _is_sendable(settings.base_url):
        faults.append(
            "base_url has a port that is none from 1 to 65535, a host that cannot be one, or a blank; write it like "
            "https://host:8000/v1"
        )
    elif address.query or address.fragment:
        faults.append("base_url has a query; leave it out, and give a secret in it as the key")
    if not re.fullmatch(r"[!-~]*", settings.key.reveal()):
        faults.append("the key holds a blank or a sign that no HTTP header takes; was it copied whole, and alone?")
    if settings.temperature is not None and not 0 <= settings.temperature <= 2:
        faults.append(f"temperature {settings.temperature} is not between 0 and 2")
    if settings.max_output_tokens is not None and settings.max_output_tokens < 1:
        faults.append(f"max_output_tokens {settings.max_output_tokens} leaves no room for an answer")
    if settings.seed is not None and settings.api == "responses":
        faults.append("the Responses API takes no seed; leave it out, or use `api: chat`")
    if not (settings.timeout_s > 0 and settings.connect_timeout_s > 0):
        faults.append("timeouts must be more than 0 seconds")
    if min(getattr(settings.budgets, name) for name in Budgets.__struct_fields__) < 0:
        faults.append("budgets are counts from 0 on")
    if not all(getattr(settings.backoff, name) >= 0 for name in Backoff.__struct_fields__):
        faults.append("waits of a backoff are seconds from 0 on")
    faults += [f"extra_body cannot replace `{name}`" for name in NOT_EXTRA if name in settings.extra_body]
    return faults
