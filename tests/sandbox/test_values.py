"""What a record may hold, and the one encoding that equal values share."""

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from sandbox import ValueFault, later, moment, plain, written
from sandbox.values import OutOfRange, canonical, digest, digest_of, ensure_storable


class Box(Struct, frozen=True):
    content: Any


UNFIT = [float("nan"), float("inf"), float("-inf"), 2**64, -(2**63) - 1, "half \ud800"]


@pytest.mark.parametrize("value", UNFIT)
@pytest.mark.parametrize(
    "inside", [lambda v: v, lambda v: [1, (v,)], lambda v: {"a": {"b": v}}, Box, lambda v: [Box(v)]]
)
def test_what_no_record_may_hold_is_found_however_deep(value: Any, inside: Any) -> None:
    with pytest.raises(OutOfRange):
        ensure_storable(inside(value))


def test_the_fault_names_the_place() -> None:
    with pytest.raises(OutOfRange, match=r"inf is no number that can be recorded - at `\$\.rows\[1\]\.price`"):
        ensure_storable({"rows": [{"price": 1.0}, {"price": float("inf")}]})


@pytest.mark.parametrize("value", [{"\ud800": 1}, {"a": {"b\udfff": 1}}, {2**70}, {"a": {"half \ud800"}}])
def test_a_key_or_a_set_is_no_way_around(value: Any) -> None:
    with pytest.raises(OutOfRange):
        ensure_storable(value)


def test_nesting_without_end_is_refused() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(OutOfRange, match="nested too deeply"):
        ensure_storable(value)


@pytest.mark.parametrize(
    "value", [2**64 - 1, -(2**63), 0.0, -0.0, 5e-324, 1.7976931348623157e308, "日本 \0", None, True, []]
)
def test_what_is_at_the_edge_may_be_held(value: Any) -> None:
    ensure_storable(value)
    assert repr(msgspec.msgpack.decode(msgspec.msgpack.encode(value))) == repr(value)


@given(st.integers(-(2**63), 2**64 - 1))
def test_an_integer_that_looks_like_infinity_in_bytes_is_let_through(number: int) -> None:
    value = [number, 0xCB7FF00000000000, "\u02ff"]
    ensure_storable(value)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(value)) == value


@given(st.dictionaries(st.text(), st.integers(-(2**63), 2**64 - 1) | st.text() | st.none()))
def test_equal_values_have_one_encoding_whatever_the_order_of_their_keys(value: dict[str, Any]) -> None:
    turned = dict(reversed(value.items()))
    assert canonical(value) == canonical(turned)
    assert digest_of(value) == digest_of(turned)


def test_parts_of_a_digest_cannot_be_moved_into_each_other() -> None:
    digests = [digest(b"ab", b"c"), digest(b"a", b"bc"), digest(b"abc"), digest(b"abc", b""), digest()]
    assert len(set(digests)) == 5
    assert digest(b"a").hex() == digest(b"a").hex()


def test_null_absent_zero_and_empty_are_four_things() -> None:
    assert len({digest_of(value) for value in ({"a": None}, {}, {"a": 0}, {"a": ""}, {"a": False})}) == 5


def test_the_plain_form_has_lists_and_keeps_scales_and_fractions() -> None:
    assert plain(Box((1, 2.0, Decimal("1.50"), Box(None)))) == {"content": [1, 2.0, "1.50", {"content": None}]}
    assert plain(Decimal("1200.50")) == "1200.50"
    assert repr(plain((25, 25.0, -0.0))) == "[25, 25.0, -0.0]"


@pytest.mark.parametrize(
    ("start", "seconds", "end"),
    [
        ("2025-10-01T13:00:00Z", 1, "2025-10-01T13:00:01Z"),
        ("2025-10-01T13:00:00", 60, "2025-10-01T13:01:00Z"),
        ("2025-10-01", 0, "2025-10-01T00:00:00Z"),
        ("2025-12-31T23:59:59+02:00", 1, "2026-01-01T00:00:00+02:00"),
        ("2025-10-01T13:00:00.25Z", 1, "2025-10-01T13:00:01.250000Z"),
    ],
)
def test_later_keeps_the_zone(start: str, seconds: float, end: str) -> None:
    assert later(start, seconds) == end


def test_instants_of_different_zones_are_compared_by_what_they_mean() -> None:
    assert moment("2025-10-01T15:00:00+02:00") == moment("2025-10-01T13:00:00Z") == moment("2025-10-01T13:00:00")
    assert written(moment("2025-10-01T15:00:00+02:00")) == "2025-10-01T15:00:00+02:00"


@pytest.mark.parametrize("text", ["", "soon", "2025-13-01", "2025-10-01T25:00:00Z", "1759323600"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueFault, match="write it like 2025-10-01T13:00:00Z"):
        moment(text)
