"""Where the agent first saw a value: in an answer, in what the user said, or nowhere."""

import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any, Literal

import msgspec
from msgspec import Struct

from sandbox.effects import same
from sandbox.records import Edited, Record, Said, ToolCalled, ToolRefused, ToolReturned, decoded

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
"""A text that stands for a number. One with leading zeros is a name."""
IN_TEXT = re.compile(r"(?<![\w.])(?<!\w[-/:@+])-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?(?!\w)(?![-./:@+]\w)")
"""Numbers between words, thousands set apart or not."""

SHOWN = 80
"""Characters of a text around a value."""

Search = Callable[[Any], int | None]
"""Where a JSON value or text holds something: an offset in a text, 0 for a whole value, None if it does not."""


class Sight(Struct, frozen=True):
    """Where a value was seen first."""

    answer: Literal["seen", "nowhere", "not searched"]
    position: int = 0
    """0 for what the agent was told before the trial began."""
    where: Literal["", "answer", "briefing", "refusal", "user"] = ""
    path: str = ""
    """In an answer, such as `$.items[0].id`."""
    text: str = ""
    """What holds it; of a long text the part around the value."""


def first_seen(value: Any, records: Iterable[Record], briefing: str = "") -> Sight:
    """
    The first record in which the agent could read a value.

    Args:
        value: a plain JSON value. True, false, null and "" stand everywhere and are not searched; lists and objects are
            found only whole.
        records: those before the call that wrote the value.
        briefing: what the agent was told before them.
    """
    if _is_everywhere(value):
        return Sight("not searched")
    search = searched(value)
    if (at := search(briefing)) is not None:
        return Sight("seen", 0, "briefing", "", _around(briefing, at))
    for record in records:
        match decoded(record):
            case Said(role="user", text=text) if (at := search(text)) is not None:
                return Sight("seen", record.position, "user", "", _around(text, at))
            case ToolRefused(message=text) if (at := search(text)) is not None:
                return Sight("seen", record.position, "refusal", "", _around(text, at))
            case ToolReturned(result=text) | Edited(result=text):
                for path, leaf in leaves(text):
                    if (at := search(leaf)) is not None:
                        return Sight("seen", record.position, "answer", path, _around(leaf, at))
    return Sight("nowhere")


def is_given(value: Any, called: ToolCalled) -> bool:
    """Whether a call's arguments hold a value, so that it is the agent's choice and not the tool's."""
    if _is_everywhere(value):
        return any(same(value, leaf) for _, leaf in leaves(called.arguments))
    search = searched(value)
    return any(search(leaf) is not None for _, leaf in leaves(called.arguments))


def searched(value: Any) -> Search:
    """
    A search for a value in JSON values and texts: as a whole, or as a token of its own.

    Numbers are compared by value, so that 7 is found in "7" and "7.0", and not in "17", "7.5" or "TK-7".
    """
    number = number_in(value)
    if number is not None:
        return lambda given: next((at for at, found in _numbers(given) if found == number), None)
    if not isinstance(value, str):
        return lambda given: 0 if same(given, value) else None
    token = re.compile(rf"(?<!\w)(?<!\w[-./:@+]){re.escape(value)}(?!\w)(?![-/:@+.]\w)")

    def search(given: Any) -> int | None:
        if not isinstance(given, str):
            return None
        found = None if given == value else token.search(given)
        return 0 if given == value else None if found is None else found.start()

    return search


def number_in(value: Any) -> Decimal | None:
    """The number that a JSON number, or a text like one, stands for."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, str) and not NUMBER.fullmatch(value):
        return None
    return Decimal(str(value))


def _numbers(given: Any) -> Iterator[tuple[int, Decimal]]:
    whole = number_in(given)
    if whole is not None:
        yield 0, whole
    elif isinstance(given, str):
        for found in IN_TEXT.finditer(given):
            text = found[0].replace(",", "")
            if NUMBER.fullmatch(text):
                yield found.start(), Decimal(text)


def leaves(text: str) -> Iterator[tuple[str, Any]]:
    """Every value in a JSON text with its path, containers and keys too; the text itself if it is no JSON."""
    try:
        yield from _values(msgspec.json.decode(text), "$")
    except (msgspec.DecodeError, RecursionError):
        yield "", text


def _values(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, value
    if isinstance(value, dict):
        for name, item in value.items():
            yield path, name
            yield from _values(item, f"{path}.{name}")
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _values(item, f"{path}[{place}]")


def _is_everywhere(value: Any) -> bool:
    return value is None or isinstance(value, bool) or value in ("", [], {})


def _around(value: Any, at: int) -> str:
    """So much of a text as a line shows, the offset within."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    start = max(0, at - SHOWN // 2)
    end = start + SHOWN
    return ("…" if start else "") + text[start:end] + ("…" if len(text) > end else "")
