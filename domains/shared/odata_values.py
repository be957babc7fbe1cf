"""Values of OData expressions: how they compare, and what the functions and the arithmetic make of them."""

import math
import operator
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

from domains.shared.odata_syntax import QueryFault

_INSTANT: Final = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?", re.IGNORECASE | re.ASCII
)
_ORDERINGS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}
_KINDS: Final = {bool: "a boolean", int: "a number", float: "a number", str: "text", datetime: "a date", time: "a time"}


def instant(value: object) -> datetime | None:
    """The instant that a date or date-time text (or a datetime) means, UTC where no zone stands; None for the rest."""
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str) or _INSTANT.fullmatch(value) is None:
        return None
    try:
        read = datetime.fromisoformat(value.upper())
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def clock(text: str) -> time:
    """The time of day that a time literal means."""
    return time.fromisoformat(text)


def kind(value: object) -> str:
    """What a value is, in words for the one who asked; the value itself stays hidden."""
    if value is None:
        return "null"
    return _KINDS.get(type(value), "a list" if isinstance(value, list | tuple) else "an expression")


def equal(left: object, right: object) -> bool:
    """Equality of OData: null equals null, numbers by value, dates by instant, other different kinds never."""
    if isinstance(left, datetime) or isinstance(right, datetime):
        instants = instant(left), instant(right)
        return None not in instants and instants[0] == instants[1]
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(equal, left, right))
    return kind(left) == kind(right) and left == right


def compared(op: str, left: object, right: object) -> bool:
    """
    Truth of `left op right`; `op` is one of eq, ne, gt, ge, lt, le.

    Against null `ge` and `le` hold for null alone, `gt` and `lt` never. False is less than true.

    Raises:
        QueryFault: an order between kinds that have none, text and numbers say.
    """
    if op in ("eq", "ne"):
        return equal(left, right) is (op == "eq")
    if left is None or right is None:
        return left is right and op in ("ge", "le")
    if isinstance(left, datetime) or isinstance(right, datetime):
        instants = instant(left), instant(right)
        if None not in instants:
            return _ORDERINGS[op](*instants)
    elif kind(left) == kind(right):
        return in_order(op, left, right)
    raise _incomparable(op, left, right)


def in_order(op: str, left: object, right: object) -> bool:
    """Truth of `left op right` for gt, ge, lt, le by Python's own order: booleans are numbers, null has no place."""
    try:
        return _ORDERINGS[op](left, right)
    except TypeError:
        raise _incomparable(op, left, right) from None


def _incomparable(op: str, left: object, right: object) -> QueryFault:
    return QueryFault(
        f"$filter compares {kind(left)} with {kind(right)} by '{op}', which have no order; "
        "text stands in single quotes, numbers, dates, true, false and null without"
    )


def calculated(op: str, left: object, right: object) -> object:
    """Result of add, sub, mul, div, mod over two numbers; null if one of them is null."""
    if left is None or right is None:
        return None
    numbers = _number(op, left), _number(op, right)
    try:
        return _arithmetic(op, *numbers)
    except (ArithmeticError, ValueError):
        raise QueryFault(f"$filter cannot calculate '{op}': a division by zero or a number too large") from None


def negated(value: object) -> object:
    """The number with its other sign; null stays null."""
    return None if value is None else -_number("-", value)


def _arithmetic(op: str, left: int | float, right: int | float) -> int | float:
    if op == "add":
        return left + right
    if op == "sub":
        return left - right
    if op == "mul":
        return left * right
    if not (isinstance(left, int) and isinstance(right, int)):
        return left / right if op == "div" else math.fmod(left, right)
    whole = abs(left) // abs(right) * (1 if (left < 0) is (right < 0) else -1)
    return whole if op == "div" else left - right * whole


def applied(function: str, arguments: Sequence[object]) -> object:
    """
    Result of a function; null if any argument is null.

    Raises:
        QueryFault: an argument of the wrong kind, or a function that is known but not offered.
    """
    offered = _FUNCTIONS.get(function)
    if offered is None:
        raise QueryFault(f"$filter function {function} is not offered; there are: {', '.join(sorted(_FUNCTIONS))}")
    if any(argument is None for argument in arguments):
        return None
    return offered(function, *arguments)


def _text(function: str, value: object) -> str:
    if isinstance(value, str):
        return value
    raise _misused(function, "text", value)


def _number(function: str, value: object) -> int | float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise _misused(function, "a number", value)


def _whole(function: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise _misused(function, "a whole number", value)


def _date(function: str, value: object) -> datetime:
    read = instant(value)
    if read is None:
        raise _misused(function, "a date", value)
    return read


def _misused(function: str, wanted: str, value: object) -> QueryFault:
    return QueryFault(f"$filter: {function} takes {wanted}, got {kind(value)}{' that is none' * (wanted == 'a date')}")


def _concat(name: str, left: object, right: object) -> object:
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return [*left, *right]
    return _text(name, left) + _text(name, right)


def _length(name: str, value: object) -> int:
    return len(value) if isinstance(value, list | tuple) else len(_text(name, value))


def _substring(name: str, text: object, start: object, count: object = None) -> str:
    first = max(_whole(name, start), 0)
    last = None if count is None else first + max(_whole(name, count), 0)
    return _text(name, text)[first:last]


def _rounded(value: int | float) -> int | float:
    """Nearest whole number, halves away from zero."""
    return value if isinstance(value, int) else float(Decimal(value).to_integral_value(ROUND_HALF_UP))


def _time(name: str, value: object) -> datetime | time:
    """What has the parts hour, minute and second."""
    return value if isinstance(value, time) else _date(name, value)


def _offset_minutes(name: str, value: object) -> int:
    offset = _date(name, value).utcoffset()
    return 0 if offset is None else int(offset.total_seconds() // 60)


def _date_only(name: str, value: object) -> datetime:
    return _date(name, value).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=UTC)


_FUNCTIONS: Final[dict[str, Callable[..., object]]] = {
    "concat": _concat,
    "contains": lambda name, text, part: _text(name, part) in _text(name, text),
    "startswith": lambda name, text, part: _text(name, text).startswith(_text(name, part)),
    "endswith": lambda name, text, part: _text(name, text).endswith(_text(name, part)),
    "indexof": lambda name, text, part: _text(name, text).find(_text(name, part)),
    "length": _length,
    "substring": _substring,
    "tolower": lambda name, text: _text(name, text).lower(),
    "toupper": lambda name, text: _text(name, text).upper(),
    "trim": lambda name, text: _text(name, text).strip(),
    "year": lambda name, value: _date(name, value).year,
    "month": lambda name, value: _date(name, value).month,
    "day": lambda name, value: _date(name, value).day,
    "hour": lambda name, value: _time(name, value).hour,
    "minute": lambda name, value: _time(name, value).minute,
    "second": lambda name, value: _time(name, value).second,
    "fractionalseconds": lambda name, value: _time(name, value).microsecond / 1_000_000,
    "totaloffsetminutes": _offset_minutes,
    "date": _date_only,
    "time": lambda name, value: _date(name, value).time(),
    "round": lambda name, value: _rounded(_number(name, value)),
    "floor": lambda name, value: _number(name, value) // 1,
    "ceiling": lambda name, value: -(-_number(name, value) // 1),
}
