"""Usage in every provider's shape falls into the same disjoint buckets, and nonsense into none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.usage import Usage, usage_of

SAME = Usage(uncached_input=50, cache_read=40, cache_write=10, output=20, reasoning=5)
SHAPES: dict[str, tuple[dict[str, Any], Usage]] = {
    "openai chat": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 10, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
        SAME,
    ),
    "responses": (
        {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 10},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 5},
        },
        SAME,
    ),
    "anthropic": (
        {
            "input_tokens": 50,
            "cache_read_input_tokens": 40,
            "cache_creation_input_tokens": 10,
            "output_tokens": 20,
            "output_tokens_details": {"thinking_tokens": 5},
        },
        SAME,
    ),
    "a proxy before anthropic": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "cache_read_input_tokens": 40,
            "cache_creation_input_tokens": 10,
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
        SAME,
    ),
    "openrouter": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "cost": 0.01,
            "prompt_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 10},
            "completion_tokens_details": {"reasoning_tokens": 5},
            "cost_details": {"upstream_inference_cost": None},
        },
        SAME,
    ),
    "deepseek": (
        {
            "prompt_tokens": 100,
            "prompt_cache_hit_tokens": 40,
            "prompt_cache_miss_tokens": 60,
            "completion_tokens": 20,
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
        Usage(uncached_input=60, cache_read=40, output=20, reasoning=5),
    ),
    "gemini": (
        {
            "promptTokenCount": 100,
            "cachedContentTokenCount": 40,
            "candidatesTokenCount": 15,
            "thoughtsTokenCount": 5,
            "totalTokenCount": 120,
        },
        Usage(uncached_input=60, cache_read=40, output=20, reasoning=5),
    ),
    "gemini in chat's form, thoughts in the total only": (
        {"prompt_tokens": 100, "completion_tokens": 15, "total_tokens": 120},
        Usage(uncached_input=100, output=20, reasoning=5),
    ),
    "reasoning beside the completion": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 15,
            "total_tokens": 120,
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
        Usage(uncached_input=100, output=20, reasoning=5),
    ),
    "a plain server": ({"prompt_tokens": 100, "completion_tokens": 20}, Usage(uncached_input=100, output=20)),
    "details that are null": (
        {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": None},
        Usage(uncached_input=100, output=20),
    ),
    "output unknown": ({"prompt_tokens": 100}, Usage(uncached_input=100)),
    "whole floats": ({"prompt_tokens": 100.0, "completion_tokens": 2.0}, Usage(uncached_input=100, output=2)),
    "cache writes of an hour": (
        {
            "input_tokens": 50,
            "cache_creation_input_tokens": 30,
            "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
            "output_tokens": 1,
        },
        Usage(uncached_input=50, cache_write=10, cache_write_long=20, output=1),
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_falls_into_the_same_buckets(shape: str) -> None:
    raw, buckets = SHAPES[shape]
    assert usage_of(raw) == buckets


def test_input_is_whole_again_when_the_buckets_are_added() -> None:
    assert SAME.input == 100
    assert Usage(output=3).input is None


@pytest.mark.parametrize("raw", [None, {}])
def test_no_usage_is_absent(raw: Any) -> None:
    assert usage_of(raw) == Usage(fault="absent")


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        ("12", "usage is no object"),
        ({"tokens": 3}, "names no token counts"),
        ({"prompt_tokens": "12", "completion_tokens": 3}, "prompt_tokens is '12'"),
        ({"prompt_tokens": 12, "completion_tokens": -3}, "completion_tokens is '-3'"),
        ({"prompt_tokens": True, "completion_tokens": 3}, "prompt_tokens is 'True'"),
        ({"prompt_tokens": 1.5, "completion_tokens": 3}, "no count"),
        ({"prompt_tokens": float("inf"), "completion_tokens": 3}, "no count"),
        ({"prompt_tokens": 10**30, "completion_tokens": 3}, "no count"),
        ({"prompt_tokens": 5, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 6}}, "more cached"),
        ({"prompt_tokens": 5, "completion_tokens": 3, "prompt_tokens_details": [6]}, "details is no object"),
        (
            {"prompt_tokens": 5, "completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 4}},
            "more reasoning",
        ),
        ({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 7}, "less than its parts"),
    ],
)
def test_what_cannot_be_true_is_flagged_and_fills_no_bucket(raw: Any, fault: str) -> None:
    usage = usage_of(raw)
    assert fault in usage.fault
    assert usage == Usage(fault=usage.fault)


NAMES = ["prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "input_tokens", "output_tokens"]
NUMBERS = st.none() | st.integers(-5, 200) | st.floats() | st.text(max_size=3)
PARTS = st.dictionaries(st.sampled_from(["cached_tokens", "cache_write_tokens", "reasoning_tokens"]), NUMBERS)


@given(st.dictionaries(st.sampled_from(NAMES), NUMBERS | PARTS))
def test_no_report_breaks_it_and_known_buckets_are_never_negative(raw: dict[str, Any]) -> None:
    usage = usage_of(raw)
    counts = (usage.uncached_input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning)
    assert all(count is None or count >= 0 for count in counts)
    assert usage.fault == "" or set(counts) == {None}
