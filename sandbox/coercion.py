"""
Lax values repaired for their types: "5" for an integer, 1 for a boolean, seconds since 1970 for an instant.

`coerced` runs before the strict validation, which refuses and words what could not be repaired; `overlooked` names the
few things that strict validation lets through and the rules do not. The public benchmark's five companies agree on
these rules wherever they use the same type: consulting has no fractional numbers, insurance no instants, only travel
has decimals, only neobank has dates, so nothing here is switched per company.

Texts stay texts, enumerations and literals are matched exactly, lists must be lists; null is never anything else.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from math import floor, isfinite

from msgspec.inspect import (
    AnyType,
    BoolType,
    CollectionType,
    DataclassType,
    DecimalType,
    DictType,
    EnumType,
    FloatType,
    IntType,
    LiteralType,
    Metadata,
    NoneType,
    StrType,
    StructType,
    TupleType,
    Type,
    TypedDictType,
    UnionType,
)

from sandbox.values import written

INSTANT = "instant"
DATE = "date"
SMALLEST, LARGEST = -(2**63), 2**63 - 1

# Longer numeric text is refused unread: reading integers takes quadratic time, and int() stops here by itself.
LONGEST_NUMBER = 4300
DEEPEST = 64
# Magnitudes of Unix time above this are milliseconds.
LARGEST_SECONDS = 20_000_000_000

# Unicode white space; str.strip() alone would also take the separators U+001C to U+001F.
BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

INTEGER = re.compile(r"([+-]?[0-9]+(?:_[0-9]+)*)(?:\.0+)?")
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
UNIX_SECONDS = re.compile(r"[+-]?[0-9]+")
# An exponent counts only behind a dot: "1.0e9" is a time, "1e9" is not.
UNIX_FRACTION = re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
ISO = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[Tt _](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]+))?)?"
    r"(?:(?P<utc>[Zz])|(?P<sign>[+\u2212-])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2}))?)?"
)
TRUTHS = dict.fromkeys(("true", "t", "yes", "y", "on", "1"), True)
TRUTHS.update(dict.fromkeys(("false", "f", "no", "n", "off", "0"), False))


def coerced(value: object, kind: Type) -> object:
    """
    The value repaired for its type; unchanged where it needs no repair or cannot be repaired.

    Never changes the value in place: containers with a repaired part are copied. Keys of objects are never repaired.
    What lies more than `DEEPEST` containers deep is left as it is.

    Args:
        value: decoded JSON.
        kind: as `msgspec.inspect.type_info` gives it. Text that is an instant or a date is annotated with
            `Meta(extra={"kind": "instant"})` or `"date"`.
    """
    return _coerced(value, kind, 0)


def overlooked(value: object, kind: Type) -> str | None:
    """
    Why a coerced value must be refused although strict validation would take it; None if there is no such reason.

    That is text which is no instant, date or decimal, a number that is not finite, an integer beyond 64 bits, and
    nesting too deep to be looked at. Values of undeclared type are not looked into.
    """
    return _overlooked(value, kind, "$", 0)


def instant(value: object) -> str | None:
    """The instant as state writes it (`2025-10-01T13:00:05Z`), from ISO text or Unix time; None if it is neither."""
    moment = _moment(value)
    return None if moment is None else written(moment)


def date(value: object) -> str | None:
    """The day as state writes it (`2025-10-01`), from whatever is an instant at midnight; None for anything else."""
    moment = _moment(value)
    if moment is None or (moment.hour, moment.minute, moment.second, moment.microsecond) != (0, 0, 0, 0):
        return None
    return moment.date().isoformat()


def _coerced(value: object, kind: Type, depth: int) -> object:
    if isinstance(kind, UnionType):
        return _coerced_in_union(value, kind, depth)
    if isinstance(kind, Metadata):
        reader = _text_reader(kind)
        if reader is None:
            return _coerced(value, kind.type, depth)
        text = reader(value)
        return value if text is None or text == value else text
    repair = REPAIRS.get(type(kind))
    if repair is not None:
        return repair(value)
    if depth == DEEPEST or not isinstance(value, (dict, list)):
        return value
    return _coerced_parts(value, kind, depth)


def _coerced_in_union(value: object, kind: UnionType, depth: int) -> object:
    """A member that takes the value as it is wins over one that must repair it; then the order written decides."""
    for member in kind.types:
        if _fits(value, member):
            return _coerced(value, member, depth)
    for member in kind.types:
        repaired = _coerced(value, member, depth)
        if _fits(repaired, member):
            return repaired
    return value


def _coerced_parts(value: dict[str, object] | list[object], kind: Type, depth: int) -> dict[str, object] | list[object]:
    repairs: dict[object, object] = {}
    for key, part, part_kind in _parts(value, kind):
        repaired = _coerced(part, part_kind, depth + 1)
        if repaired is not part:
            repairs[key] = repaired
    if not repairs:
        return value
    if isinstance(value, dict):
        return {key: repairs.get(key, part) for key, part in value.items()}
    return [repairs.get(place, part) for place, part in enumerate(value)]


def _parts(value: object, kind: Type) -> Iterator[tuple[str | int, object, Type]]:
    """Key or place, value and type of each declared part that is there; nothing where value and type disagree."""
    if isinstance(value, list):
        if isinstance(kind, CollectionType):
            yield from ((place, part, kind.item_type) for place, part in enumerate(value))
        elif isinstance(kind, TupleType):
            pairs = zip(value, kind.item_types, strict=False)
            yield from ((place, part, part_kind) for place, (part, part_kind) in enumerate(pairs))
    elif isinstance(value, dict):
        if isinstance(kind, DictType):
            yield from ((key, part, kind.value_type) for key, part in value.items())
        elif isinstance(kind, (StructType, DataclassType, TypedDictType)):
            names = ((field.encode_name, field.type) for field in kind.fields)
            yield from ((name, value[name], part_kind) for name, part_kind in names if name in value)


def _fits(value: object, kind: Type) -> bool:
    """Whether the value has this type without repair; parts of containers are not looked at."""
    if isinstance(kind, UnionType):
        return any(_fits(value, member) for member in kind.types)
    if isinstance(kind, Metadata):
        reader = _text_reader(kind)
        return _fits(value, kind.type) if reader is None else isinstance(value, str) and reader(value) == value
    if isinstance(kind, LiteralType):
        return any(type(value) is type(choice) and value == choice for choice in kind.values)
    if isinstance(kind, EnumType):
        return any(type(value) is type(choice.value) and value == choice.value for choice in kind.cls)
    if isinstance(kind, StructType):
        tags = (None, kind.tag)
        return isinstance(value, dict) and (kind.tag_field is None or value.get(kind.tag_field) in tags)
    check = CHECKS.get(type(kind))
    if check is not None:
        return check(value)
    if isinstance(kind, (DictType, DataclassType, TypedDictType)):
        return isinstance(value, dict)
    return isinstance(kind, (CollectionType, TupleType)) and isinstance(value, list)


def _overlooked(value: object, kind: Type, path: str, depth: int) -> str | None:
    if isinstance(kind, UnionType):
        fitting = [member for member in kind.types if _fits(value, member)]
        reasons = (_overlooked(value, member, path, depth) for member in fitting[:1] or kind.types)
        return next((reason for reason in reasons if reason), None)
    reason = _misfit(value, kind)
    if reason:
        return f"{reason} - at `{path}`"
    if isinstance(kind, Metadata):
        return _overlooked(value, kind.type, path, depth)
    for key, part, part_kind in _parts(value, kind):
        if depth == DEEPEST:
            return f"nested more than {DEEPEST} levels deep; send a flatter value - at `{path}`"
        below = f"{path}.{key}" if isinstance(key, str) else f"{path}[{key}]"
        reason = _overlooked(part, part_kind, below, depth + 1)
        if reason:
            return reason
    return None


def _misfit(value: object, kind: Type) -> str | None:
    """What is wrong with a single value that has a type which strict validation takes."""
    if isinstance(kind, Metadata) and isinstance(value, str):
        reader = _text_reader(kind)
        if reader is not None and reader(value) != value:
            example = "an instant like `2025-10-01T13:00:05Z`" if reader is instant else "a date like `2025-10-01`"
            return f"expected {example}, got {value[:40]!r}"
    if isinstance(kind, IntType) and type(value) is int and not _fits(value, kind):
        return "expected an integer within 64 bits, got a larger one"
    if isinstance(kind, FloatType) and isinstance(value, float) and not isfinite(value):
        return f"expected a finite number, got {value}"
    if isinstance(kind, DecimalType) and isinstance(value, (str, float, Decimal)) and not _fits(value, kind):
        return f"expected a finite decimal, got {str(value)[:40]!r}"
    return None


def _text_reader(kind: Metadata) -> Callable[[object], str | None] | None:
    name = (kind.extra or {}).get("kind")
    return {INSTANT: instant, DATE: date}.get(name) if isinstance(name, str) else None


def _integer(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        # Both bounds are exclusive, as floats: -2.0**63 is refused there too.
        return int(value) if abs(value) < 2.0**63 and value.is_integer() else value
    if not isinstance(value, str) or len(value) > LONGEST_NUMBER:
        return value
    match = INTEGER.fullmatch(value.strip(BLANKS))
    number = int(match[1]) if match else None
    return value if number is None or not SMALLEST <= number <= LARGEST else number


def _number(value: object) -> object:
    if isinstance(value, int):
        try:
            return float(value)
        except OverflowError:
            return value
    if not isinstance(value, str) or len(value) > LONGEST_NUMBER:
        return value
    text = value.strip(BLANKS)
    if "_" in value:
        # Single underscores may stand anywhere inside, also beside a dot or sign ("1_e3"); blanks then may not.
        if value.startswith("_") or value.endswith("_") or "__" in value:
            return value
        text = value.replace("_", "")
    if not NUMBER.fullmatch(text):
        return value
    number = float(text)
    return number if isfinite(number) else value


def _truth(value: object) -> object:
    if isinstance(value, str):
        return TRUTHS.get(value.lower(), value) if len(value) <= len("false") else value
    return bool(value) if isinstance(value, (int, float)) and value in (0, 1) else value


def _decimal(value: object) -> object:
    """The decimal of a number's shortest text, or of a text with its scale kept: `1200.50` stays `1200.50`."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return value
    if isinstance(value, str) and len(value) > LONGEST_NUMBER:
        return value
    try:
        number = Decimal(repr(value) if isinstance(value, float) else value)
    except InvalidOperation:
        return value
    return number if number.is_finite() else value


def _moment(value: object) -> datetime | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return _unix_moment(value)
    if not isinstance(value, str) or len(value) > LONGEST_NUMBER:
        return None
    match = ISO.fullmatch(value)
    if match:
        return _iso_moment(match)
    if UNIX_SECONDS.fullmatch(value):
        return _unix_moment(int(value))
    return _unix_moment(float(value)) if UNIX_FRACTION.fullmatch(value) else None


def _iso_moment(match: re.Match[str]) -> datetime | None:
    parts = match.groupdict(default="0")
    microseconds = parts["fraction"][:6].ljust(6, "0")
    names = ("year", "month", "day", "hour", "minute", "second")
    year, month, day, hour, minute, second = (int(parts[name]) for name in names)
    zone = None
    if match["utc"]:
        zone = UTC
    elif match["sign"]:
        hours, minutes = int(parts["hours"]), int(parts["minutes"])
        if hours > 23 or minutes > 59:
            return None
        offset = timedelta(hours=hours, minutes=minutes)
        zone = timezone(offset if match["sign"] == "+" else -offset)
    try:
        return datetime(year, month, day, hour, minute, second, int(microseconds), zone)
    except ValueError:
        return None


def _unix_moment(number: int | float) -> datetime | None:
    """Seconds since 1970, or milliseconds where seconds would lie centuries away; rounded half up to microseconds."""
    if isinstance(number, float) and not isfinite(number):
        return None
    per_unit = 1_000 if abs(number) > LARGEST_SECONDS else 1_000_000
    whole = floor(number)
    microseconds = whole * per_unit + floor((number - whole) * per_unit + 0.5)
    try:
        return EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return None


REPAIRS: dict[type[Type], Callable[[object], object]] = {
    IntType: _integer,
    FloatType: _number,
    BoolType: _truth,
    DecimalType: _decimal,
}
CHECKS: dict[type[Type], Callable[[object], bool]] = {
    AnyType: lambda value: True,
    NoneType: lambda value: value is None,
    StrType: lambda value: isinstance(value, str),
    BoolType: lambda value: isinstance(value, bool),
    IntType: lambda value: type(value) is int and SMALLEST <= value <= LARGEST,
    FloatType: lambda value: isinstance(value, float) and isfinite(value),
    DecimalType: lambda value: isinstance(value, Decimal) and value.is_finite(),
}
