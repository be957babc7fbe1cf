"""What the lax rules take, what they make of it, and what they leave for the strict validation to refuse."""

import copy
import datetime
import enum
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import Meta, Struct
from msgspec.inspect import type_info

from sandbox.coercion import BLANKS, LONGEST_NUMBER, coerced, date, instant, overlooked
from sandbox.values import Instant

Day = Annotated[str, Meta(extra={"kind": "date"})]


class Colour(enum.Enum):
    RED = "red"


class Line(Struct, frozen=True):
    count: int = msgspec.field(default=0, name="Count")
    paid: bool | None = None
    due: Instant | None = None


class Order(Struct, frozen=True):
    lines: tuple[Line, ...] = ()
    first: Line | None = None
    weights: dict[str, float] = {}


class Tree(Struct, frozen=True):
    count: int = 0
    below: "list[Tree]" = []


@dataclass
class Point:
    x: int


def repaired(value: object, annotation: Any) -> object:
    return coerced(value, type_info(annotation))


def taken(value: object, annotation: Any) -> object:
    """What the two passes and the strict validation between them make of a value; refuses with ValidationError."""
    kind = type_info(annotation)
    made = coerced(value, kind)
    converted = msgspec.convert(made, annotation, strict=True)
    reason = overlooked(made, kind)
    if reason:
        raise msgspec.ValidationError(reason)
    return converted


INTEGERS = [
    (5, 5), (5.0, 5), (-0.0, 0), (True, 1), (False, 0), ("5", 5), (" 7 ", 7), ("\u00a07\u2003", 7), ("\t5\n", 5),
    ("+3", 3), ("-3", -3), ("007", 7), ("05", 5), ("1_000", 1000), ("0_1", 1), ("1_0.0", 10), ("5.0", 5), ("5.00", 5),
    ("9223372036854775807", 2**63 - 1), ("-9223372036854775808", -(2**63)), (9223372036854774784.0, 2**63 - 1024),
]  # fmt: skip
NO_INTEGERS = [
    5.5, "5.5", "5.", ".0", "1e3", "5e3", "0x1", "0x10", "", " ", "-", "+ 5", "--5", "1__0", "_1", "1_", "-_1", "1.0_0",
    "1,000", "٣", "５", "−5", "\x1c5", "five", None, [5], {"a": 5}, math.nan, math.inf, 2.0**63, -(2.0**63), 2**63,
    -(2**63) - 1, "9223372036854775808", "-9223372036854775809",
]  # fmt: skip
NUMBERS = [
    (5.5, 5.5), (435, 435.0), (True, 1.0), (False, 0.0), ("5.5", 5.5), ("1e3", 1000.0), ("1E+3", 1000.0), (" 5 ", 5.0),
    (" 2.5 ", 2.5), ("1_000", 1000.0), ("1_e3", 1000.0), ("1e_3", 1000.0), ("-_1", -1.0), (".5", 0.5), ("5.", 5.0),
    ("+5", 5.0), (10**30, 1e30),
]  # fmt: skip
NO_NUMBERS = [
    "abc", "1,000", "", " ", "1__0", "_1", "1_", " 1_0", "1_0 ", "0x1", "1e", "e5", "1f", "٣", "\x1c1", "nan", "NaN",
    "inf", "-Infinity", "1e999", None, [1.5], math.nan, math.inf, 10**400,
]  # fmt: skip
TRUTHS = [
    (True, True), (False, False), (1, True), (0, False), (1.0, True), (0.0, False), (-0.0, False),
    *((text, True) for text in ("true", "TRUE", "t", "T", "Yes", "y", "on", "ON", "1")),
    *((text, False) for text in ("false", "False", "f", "F", "no", "N", "off", "0")),
]  # fmt: skip
NO_TRUTHS = [2, -1, 0.5, "2", "", " true", "true ", "1.0", "maybe", "ＯＮ", None, [True], math.nan, 2**70]
DECIMALS = [
    (457.5, "457.5"), (450.0, "450.0"), (5000, "5000"), (1e20, "1E+20"), (2.675, "2.675"), (-5, "-5"), (0.1, "0.1"),
    ("1200.50", "1200.50"), ("1E+3", "1E+3"), ("10", "10"), ("1e2", "1E+2"), (" 5 ", "5"), ("0.004", "0.004"),
]  # fmt: skip
NO_DECIMALS = [
    True, False, None, "", "12,50", "abc", "nan", "NaN", "Infinity", "-inf", math.nan, math.inf, [1], {"a": 1},
    "1e9999999999999999999",
]  # fmt: skip
INSTANTS = [
    ("2025-10-01T13:00:05Z", "2025-10-01T13:00:05Z"), ("2025-09-13", "2025-09-13T00:00:00"),
    ("2024-02-29", "2024-02-29T00:00:00"), ("2025-10-01t10:00", "2025-10-01T10:00:00"),
    ("2025-10-01 10:00z", "2025-10-01T10:00:00Z"), ("2025-10-01_10:00:05", "2025-10-01T10:00:05"),
    ("2025-10-01T10:00:05.5", "2025-10-01T10:00:05.500000"), ("2025-10-01T10:00:05,5Z", "2025-10-01T10:00:05.500000Z"),
    ("2025-10-01T10:00:05.1234569", "2025-10-01T10:00:05.123456"),
    ("2025-10-01T10:00:05.000000Z", "2025-10-01T10:00:05Z"),
    ("2025-10-01T10:00+00:00", "2025-10-01T10:00:00Z"), ("2025-10-01T10:00-0000", "2025-10-01T10:00:00Z"),
    ("2025-10-01T10:00+02:00", "2025-10-01T10:00:00+02:00"), ("2025-10-01T10:00-0530", "2025-10-01T10:00:00-05:30"),
    ("2025-10-01T10:00\u221202:00", "2025-10-01T10:00:00-02:00"),
    ("0001-01-01T00:00+23:59", "0001-01-01T00:00:00+23:59"),
    ("42", "1970-01-01T00:00:42Z"), (42, "1970-01-01T00:00:42Z"), ("20250913", "1970-08-23T09:15:13Z"),
    (-42.5, "1969-12-31T23:59:17.500000Z"), ("+42", "1970-01-01T00:00:42Z"), ("5.", "1970-01-01T00:00:05Z"),
    (".5", "1970-01-01T00:00:00.500000Z"), ("1.0e9", "2001-09-09T01:46:40Z"),
    (20_000_000_000, "2603-10-11T11:33:20Z"), (20_000_000_001, "1970-08-20T11:33:20.001000Z"),
    ("-20000000001", "1969-05-14T12:26:39.999000Z"), (1759323605123.4, "2025-10-01T13:00:05.123400Z"),
    (1759323605.9999996, "2025-10-01T13:00:06Z"), (253402300799999, "9999-12-31T23:59:59.999000Z"),
]  # fmt: skip
NO_INSTANTS = [
    True, False, None, "", "zzz", "tomorrow", " 2025-10-01", "2025-10-01 ", " 42", "2025-10-01T10", "2025-10-01T24:00",
    "2025-10-01T10:60", "2025-10-01T10:00:60", "2025-10-01T10:00+02", "2025-10-01T10:00+24:00",
    "2025-10-01T10:00+02:60",
    "2025-10-01T10:00 Z", "2025-10-01T10:00:05.", "2025-10-01T1000", "2025-10-01Z", "2025-1-1", "2025-02-29",
    "2025-13-01", "0000-01-01", "２025-10-01", "1e9", "1e-3", "1_0", "\u221242", "nan", "inf", "1.0e400",
    math.nan, math.inf, 2**63, "9223372036854775808", 253402300800000, -62135596800001, [42], {"a": 1},
]  # fmt: skip
DAYS = [
    ("2025-10-01", "2025-10-01"), ("2025-10-01T00:00", "2025-10-01"), ("2025-10-01 00:00:00+05:00", "2025-10-01"),
    (86400, "1970-01-02"), ("86400", "1970-01-02"), (1759276800000, "2025-10-01"), (0, "1970-01-01"),
]  # fmt: skip
NO_DAYS = ["2025-10-01T01:00", "2025-10-01T00:00:00.000001", "20250101", 86401, True, None, "", "2025-02-30", "1e5"]

TAKEN = [
    *((int, value, made) for value, made in INTEGERS),
    *((float, value, made) for value, made in NUMBERS),
    *((bool, value, made) for value, made in TRUTHS),
    *((Instant, value, made) for value, made in INSTANTS),
    *((Day, value, made) for value, made in DAYS),
    *((str, text, text) for text in ("", " x ", "5", "true", "2025-10-01")),
    (Literal["open", "solved"], "open", "open"),
    (list[str], ["a", ""], ["a", ""]),
    (list[str], [], []),
    (tuple[int, str], ["5", "5"], (5, "5")),
    (None, None, None),
    (int | str, "5", "5"),
    (int | str, 5.0, 5),
    (float | int, 5, 5),
    (bool | int, 1, 1),
    (int | bool, "yes", True),
    (int | float, "5.5", 5.5),
    (Instant | int, 5, 5),
    (Literal[1] | float, True, 1.0),
    (Decimal | float, 1.5, 1.5),
    (Any, "5", "5"),
]
REFUSED = [
    *((int, value) for value in NO_INTEGERS),
    *((float, value) for value in NO_NUMBERS),
    *((bool, value) for value in NO_TRUTHS),
    *((Decimal, value) for value in NO_DECIMALS),
    *((Instant, value) for value in NO_INSTANTS),
    *((Day, value) for value in NO_DAYS),
    *((str, value) for value in (5, 5.0, True, None, ["a"], {"a": "b"})),
    *((Literal["open"], value) for value in ("Open", " open", "", None, 1, ["open"])),
    *((Colour, value) for value in ("RED", "Red", "red ", "", None, 0)),
    *((list[str], value) for value in ("a", "a,b", '["a"]', ["a", 1], ["a", None], {"a": "b"}, None, 5)),
    (Instant | None, "zzz"),
    (None, ""),
    (int | None, ""),
    (Literal[1], True),
]


@pytest.mark.parametrize(("annotation", "value", "made"), TAKEN)
def test_lax_values_are_taken_as_their_type(annotation: Any, value: object, made: object) -> None:
    result = taken(value, annotation)
    assert result == made
    assert type(result) is type(made)


@pytest.mark.parametrize(("value", "text"), DECIMALS)
def test_decimals_keep_the_scale_they_were_written_with(value: object, text: str) -> None:
    result = taken(value, Decimal)
    assert isinstance(result, Decimal)
    assert str(result) == text


@pytest.mark.parametrize(("annotation", "value"), REFUSED)
def test_what_cannot_be_repaired_is_left_as_it_is_and_refused(annotation: Any, value: object) -> None:
    assert repaired(value, annotation) is value
    with pytest.raises(msgspec.ValidationError):
        taken(value, annotation)


@pytest.mark.parametrize("annotation", [int, float, bool, str, Instant, Day, Decimal, list[str], Literal["a"]])
def test_null_is_taken_only_where_it_is_declared(annotation: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        taken(None, annotation)
    assert taken(None, annotation | None if annotation is not Literal["a"] else Literal["a", None]) is None


def test_an_enumeration_takes_its_exact_value() -> None:
    assert taken("red", Colour) is Colour.RED


def test_declared_parts_are_repaired_at_every_depth_and_others_left() -> None:
    line = {"Count": "2", "paid": "yes", "due": 42, "count": "3", "note": "1"}
    made = {"Count": 2, "paid": True, "due": "1970-01-01T00:00:42Z", "count": "3", "note": "1"}
    given = {"lines": [line, {"Count": 1}], "first": line, "weights": {"a": "1.5", "b": 2}}
    assert repaired(given, Order) == {"lines": [made, {"Count": 1}], "first": made, "weights": {"a": 1.5, "b": 2.0}}


def test_the_given_value_is_never_changed_in_place() -> None:
    given = {"lines": [{"Count": "2"}], "weights": {"a": "1.5"}}
    before = copy.deepcopy(given)
    assert repaired(given, Order) != before
    assert given == before


def test_a_value_without_need_of_repair_is_the_same_object() -> None:
    given = {"lines": [{"Count": 2, "due": "2025-10-01T13:00:05Z"}], "weights": {"a": 1.5}}
    assert repaired(given, Order) is given


def test_a_part_beyond_repair_stays_beside_repaired_ones_so_that_the_refusal_names_it() -> None:
    assert repaired(["5", "x"], list[int]) == [5, "x"]
    with pytest.raises(msgspec.ValidationError, match=re.escape("$[1]")):
        taken(["5", "x"], list[int])


def test_fields_of_dataclasses_are_repaired() -> None:
    assert taken({"x": "5"}, Point) == Point(5)


def test_the_member_of_a_union_is_chosen_by_its_tag() -> None:
    class Paid(Struct, tag="paid"):
        amount: float

    class Counted(Struct, tag="counted"):
        amount: int

    assert taken({"type": "counted", "amount": "5"}, Paid | Counted) == Counted(5)


def test_what_strict_validation_lets_through_is_named_with_its_place() -> None:
    cases: list[tuple[Any, object, str]] = [
        (
            list[Instant],
            ["2025-10-01T13:00:05Z", "soon"],
            "expected an instant like `2025-10-01T13:00:05Z`, got 'soon'",
        ),
        (list[Day | None], [None, "soon"], "expected a date like `2025-10-01`, got 'soon'"),
        (list[int], [1, 2**63], "expected an integer within 64 bits, got a larger one"),
        (list[float | None], [1.0, math.nan], "expected a finite number, got nan"),
        (list[Decimal], [Decimal(1), "Infinity"], "expected a finite decimal, got 'Infinity'"),
    ]
    for annotation, value, reason in cases:
        assert overlooked(value, type_info(annotation)) == f"{reason} - at `$[1]`"


@pytest.mark.parametrize("annotation", [int, float, Decimal, Instant, Day])
def test_numeric_text_is_read_up_to_a_length(annotation: Any) -> None:
    longest = "0" * LONGEST_NUMBER
    assert repaired(longest, annotation) != longest
    assert repaired(f"0{longest}", annotation) == f"0{longest}"


def test_numbers_of_ten_million_digits_are_refused_unread() -> None:
    digits = "1" * 10_000_000
    for text in (digits, f"0.{digits}", f"{digits}.0", " " * 10_000_000 + "5", f"2025-10-01T10:00:00.{digits}"):
        for annotation in (int, float, Decimal, Instant, Day, bool):
            assert repaired(text, annotation) is text


def test_nesting_of_ten_thousand_levels_is_left_as_it_is_and_refused() -> None:
    value: dict[str, object] = {"count": "5"}
    for _ in range(10_000):
        value = {"below": [value]}
    assert repaired(value, Tree) is value
    assert "levels deep" in (overlooked(value, type_info(Tree)) or "")
    undeclared: list[object] = []
    for _ in range(10_000):
        undeclared = [undeclared]
    assert repaired(undeclared, Any) is undeclared
    assert repaired(undeclared, list[int]) is undeclared


PIECES = st.sampled_from(
    [*"0123456789", *"0123456789", *"+-._eETtZz:, \u00a0\x1c\u2212٣", "2025-10-01", "10:00", "1759"]
)
TEXTS = st.lists(PIECES, max_size=9).map("".join) | st.sampled_from(["true", "Off", "YES", "n", "nan", "inf"])
MOMENTS = st.datetimes(timezones=st.just(datetime.UTC) | st.none()).map(datetime.datetime.isoformat)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | MOMENTS
COUNTERPARTS: list[tuple[Any, Any]] = [
    *((same, same) for same in (int, float, bool, Decimal, int | None, int | str, bool | int)),
    (Instant, datetime.datetime),
    (Day, datetime.date),
]
ANNOTATIONS: list[Any] = [
    int,
    float,
    bool,
    str,
    Decimal,
    Instant,
    Day,
    int | None,
    int | str,
    list[int],
    dict[str, float],
]


@given(SCALARS | st.lists(SCALARS) | st.dictionaries(st.text(max_size=3), SCALARS), st.sampled_from(ANNOTATIONS))
def test_repairing_twice_is_repairing_once(value: object, annotation: Any) -> None:
    once = repaired(value, annotation)
    assert repaired(once, annotation) is once


@given(st.datetimes() | st.datetimes(timezones=st.just(datetime.UTC)))
def test_a_written_instant_is_its_own_repair(moment: datetime.datetime) -> None:
    text = moment.isoformat().replace("+00:00", "Z")
    assert instant(text) == text
    assert date(text[:10]) == text[:10]


@settings(max_examples=3000)
@given(SCALARS, st.sampled_from(COUNTERPARTS))
def test_acceptance_and_value_agree_with_the_validator_that_the_public_servers_use(value: Any, types: Any) -> None:
    ours, theirs = types
    adapter = pytest.importorskip("pydantic").TypeAdapter(theirs)
    if isinstance(value, str):
        # There a zero hides a following sign or second underscore: "0-7" is -7.
        assume(not re.match(r"[+-]?0[0_]*[-+_]", value.strip(BLANKS)))
    try:
        expected = adapter.dump_python(adapter.validate_python(value), mode="json")
    except ValueError:
        expected = None
    if isinstance(expected, float) and not math.isfinite(expected):
        expected = None
    if type(expected) is int and not -(2**63) <= expected < 2**63:
        expected = None
    try:
        result = taken(value, ours)
    except msgspec.ValidationError:
        result = None
    wanted = Decimal(expected) if theirs is Decimal and expected is not None else expected
    assert (type(result), result) == (type(wanted), wanted)
