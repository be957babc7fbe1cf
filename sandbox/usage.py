"""Tokens of a model call in disjoint buckets, whatever shape a provider reports them in."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

ABSENT = "absent"
"""The fault of a usage that was not reported at all."""

_MOST = 2**40
"""A larger count is no count; sums of millions of smaller ones fit into 64 bits."""


class Usage(Struct, frozen=True, omit_defaults=True):
    """
    Tokens of one attempt. None: the provider did not say.

    What it does not say of its caches lies in `uncached_input`, so that input and output are whole when they are known.
    """

    uncached_input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    """Reasoning included."""
    reasoning: int | None = None
    """Part of `output`."""
    cache_write_long: int | None = None
    """Written with the longer, dearer retention; no part of `cache_write`."""
    fault: str = ""
    """Why the buckets are empty: `absent`, or what about the report cannot be true."""

    @property
    def input(self) -> int | None:
        """All input tokens."""
        if self.uncached_input is None:
            return None
        return self.uncached_input + (self.cache_read or 0) + (self.cache_write or 0) + (self.cache_write_long or 0)


class _Distorted(ValueError):
    pass


def usage_of(raw: object) -> Usage:
    """
    What a provider reported, normalised; never raises.

    Cached tokens are part of `prompt_tokens` and of `input_tokens` with details (OpenAI and its kin), but stand beside
    `input_tokens` in Anthropic's shape. Gemini's thoughts stand beside its candidates.
    """
    if raw is None or raw == {}:
        return Usage(fault=ABSENT)
    if not isinstance(raw, Mapping):
        return Usage(fault="usage is no object")
    try:
        return _normalised(raw)
    except _Distorted as distorted:
        return Usage(fault=str(distorted))


def _normalised(raw: Mapping[str, Any]) -> Usage:
    if "prompt_tokens" in raw or "completion_tokens" in raw:
        return _chat(raw)
    if "promptTokenCount" in raw or "candidatesTokenCount" in raw:
        return _gemini(raw)
    if "input_tokens" in raw or "output_tokens" in raw:
        return _anthropic(raw) if _is_anthropic(raw) else _responses(raw)
    raise _Distorted("usage names no token counts")


def _chat(raw: Mapping[str, Any]) -> Usage:
    whole, written = _count(raw, "prompt_tokens"), _count(raw, "completion_tokens")
    inner, outer = _part(raw, "prompt_tokens_details"), _part(raw, "completion_tokens_details")
    read = _first(
        _count(inner, "cached_tokens"),
        _count(raw, "prompt_cache_hit_tokens"),
        _count(raw, "cached_tokens"),
        _count(raw, "cache_read_input_tokens"),
    )
    write = _first(_count(inner, "cache_write_tokens"), _count(raw, "cache_creation_input_tokens"))
    long = _count(_part(inner, "cache_write_tokens_details"), "ttl_12h_tokens")
    output, reasoning = _with_reasoning(whole, written, _count(outer, "reasoning_tokens"), _count(raw, "total_tokens"))
    return _inclusive(whole, read, write, long, output, reasoning)


def _responses(raw: Mapping[str, Any]) -> Usage:
    inner, outer = _part(raw, "input_tokens_details"), _part(raw, "output_tokens_details")
    write = _count(inner, "cache_write_tokens")
    long = _count(_part(inner, "cache_write_tokens_details"), "ttl_12h_tokens")
    whole, read = _count(raw, "input_tokens"), _count(inner, "cached_tokens")
    return _inclusive(whole, read, write, long, _count(raw, "output_tokens"), _count(outer, "reasoning_tokens"))


def _is_anthropic(raw: Mapping[str, Any]) -> bool:
    return "input_tokens_details" not in raw and any(name.startswith("cache_") for name in raw)


def _anthropic(raw: Mapping[str, Any]) -> Usage:
    long = _count(_part(raw, "cache_creation"), "ephemeral_1h_input_tokens")
    write, output = _count(raw, "cache_creation_input_tokens"), _count(raw, "output_tokens")
    reasoning = _count(_part(raw, "output_tokens_details"), "thinking_tokens")
    write = _less(write, long, "cache writes of an hour than cache writes")
    _ensure_part(reasoning, output)
    return Usage(
        _count(raw, "input_tokens"), _count(raw, "cache_read_input_tokens"), write, output, reasoning, long
    )  # fmt: skip


def _gemini(raw: Mapping[str, Any]) -> Usage:
    candidates, thoughts = _count(raw, "candidatesTokenCount"), _count(raw, "thoughtsTokenCount")
    output = candidates if candidates is None else candidates + (thoughts or 0)
    whole, read = _count(raw, "promptTokenCount"), _count(raw, "cachedContentTokenCount")
    return _inclusive(whole, read, None, None, output, thoughts)


def _inclusive(
    whole: int | None,
    read: int | None,
    write: int | None,
    long: int | None,
    output: int | None,
    reasoning: int | None,
) -> Usage:
    """Buckets of a report whose input holds what was read from and written to caches."""
    uncached = _less(whole, (read or 0) + (write or 0), "cached tokens than input tokens")
    _ensure_part(reasoning, output)
    short = _less(write, long, "long-lived cache writes than cache writes")
    return Usage(uncached, read, short, output, reasoning, long)


def _with_reasoning(
    whole: int | None, output: int | None, reasoning: int | None, total: int | None
) -> tuple[int | None, int | None]:
    """Some count reasoning only in the total: output with it, and reasoning."""
    if whole is None or output is None or total is None:
        return output, reasoning
    beside = total - whole - output
    if beside < 0:
        raise _Distorted(f"total_tokens {total} is less than its parts")
    if beside == 0:
        return output, reasoning
    return output + beside, beside if reasoning is None else reasoning


def _count(raw: Mapping[str, Any], name: str) -> int | None:
    value = raw.get(name)
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST:
        raise _Distorted(f"{name} is {str(value)[:40]!r}, no count of tokens")
    return value


def _part(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = raw.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _Distorted(f"{name} is no object")
    return value


def _first(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)


def _less(whole: int | None, part: int | None, what: str) -> int | None:
    if whole is None or not part:
        return whole
    if part > whole:
        raise _Distorted(f"more {what}: {part} of {whole}")
    return whole - part


def _ensure_part(reasoning: int | None, output: int | None) -> None:
    _less(output, reasoning, "reasoning than output tokens")
