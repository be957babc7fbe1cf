"""The calls of a trial as its stream tells them: what was asked, whether it was declined, whether it changed rows."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from sandbox.records import OWN_TOPICS, Record, ToolCalled, ToolRefused, ToolReturned, decoded

ERROR = "Error"
"""Stands for the class where a tool answered with an `error` of its own instead of being refused."""


class MadeCall(Struct, frozen=True, gc=False):
    """A call that was answered."""

    position: int
    tool: str
    arguments: Any
    """Decoded; the text itself where it is no JSON."""
    request: str
    """Tool and arguments in one way of writing: equal for equal calls."""
    answer: str
    refusal: str
    """The class of the refusal, `Error` for an answer that is an error, empty for a success."""
    found: int | None
    """Rows that its lookups found; None if it looked nothing up."""
    wrote: bool
    """Whether it caused an event."""

    @property
    def is_empty(self) -> bool:
        """Whether it looked for something, found nothing and changed nothing."""
        return self.refusal == "NotFound" or (not self.refusal and self.found == 0 and not self.wrote)

    @property
    def is_good(self) -> bool:
        """Whether it brought what was asked for."""
        return not self.refusal and not self.is_empty


def calls_of(records: Iterable[Record]) -> tuple[MadeCall, ...]:
    """The answered calls of a trial, in order."""
    made: list[MadeCall] = []
    called: ToolCalled | None = None
    position, wrote = 0, False
    for record in records:
        payload = decoded(record)
        if isinstance(payload, ToolCalled):
            called, position, wrote = payload, record.position, False
        elif record.topic not in OWN_TOPICS:
            wrote = wrote or record.cause == position
        elif called is not None and isinstance(payload, ToolReturned | ToolRefused):
            made.append(_made(called, position, payload, wrote))
            called = None
    return tuple(made)


def _made(called: ToolCalled, position: int, answer: ToolReturned | ToolRefused, wrote: bool) -> MadeCall:
    arguments, normal = _read(called.arguments)
    if isinstance(answer, ToolRefused):
        text, refusal = answer.message, answer.refusal
    else:
        text, refusal = answer.result, ERROR if _is_error(answer.result) else ""
    request = f"{called.tool}\x1f{normal}"
    return MadeCall(position, called.tool, arguments, request, text, refusal, answer.found, wrote)


def _read(arguments: str) -> tuple[Any, str]:
    try:
        values = msgspec.json.decode(arguments)
        return values, msgspec.json.encode(values, order="sorted").decode()
    except (msgspec.DecodeError, RecursionError):
        return arguments, arguments


def _is_error(result: str) -> bool:
    """Whether an answer is an object with something under `error`."""
    if '"error"' not in result:
        return False
    try:
        answer = msgspec.json.decode(result)
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(answer, dict) and bool(answer.get("error"))


def made_good(calls: Sequence[MadeCall], place: int) -> MadeCall | None:
    """
    The later call that got what the declined or empty call at a place asked for; None if none did.

    That is a success of the same tool. After a refusal that is about more than whether a row exists, no identifier may
    differ that both calls name; a tool that does not exist is made good by any other.
    """
    declined = calls[place]
    for later in calls[place + 1 :]:
        if later.is_good and (later.tool == declined.tool or declined.refusal == "Unsupported"):
            if declined.is_empty or _same_target(declined, later):
                return later
    return None


def _same_target(one: MadeCall, other: MadeCall) -> bool:
    first, second = dict(identifiers_in(one.arguments)), dict(identifiers_in(other.arguments))
    return all(first[name] == second[name] for name in first.keys() & second.keys())


def identifiers_in(arguments: Any) -> Iterator[tuple[str, str]]:
    """
    Name and value of each identifier among arguments: whole values under `id` or a name that ends in it, and under any
    name e-mail addresses and words of letters and digits. No dates, no quantities, nothing inside longer text.
    """
    for name, value in leaves(arguments):
        if not name or not isinstance(value, str | int) or isinstance(value, bool):
            continue
        text = str(value).strip()
        if text and (is_id_name(name) or (isinstance(value, str) and is_id_word(text))):
            yield name, text.casefold()


def leaves(arguments: Any) -> Iterator[tuple[str, Any]]:
    """Each value that holds no others, with the dotted names that lead to it, in order; as deep as it may go."""
    waiting: list[tuple[str, Any]] = [("", arguments)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict | list):
            inner = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
            waiting += [(f"{name}.{part}" if name else str(part), item) for part, item in reversed(inner)]
        else:
            yield name, value


def is_id_name(path: str) -> bool:
    """Whether an argument is called `id`, `…_id`, `…Id` or the like, in the plural too, also as an item of a list."""
    name = next((part for part in reversed(path.split(".")) if not part.isdecimal()), "")
    return name in ("id", "ids") or name.endswith(("_id", "_ids", "Id", "Ids"))


def is_id_word(text: str) -> bool:
    """Whether a text looks like an identifier: an e-mail address, or a word of letters and then digits too."""
    if 0 < text.find("@") < len(text) - 1:
        return not any(c.isspace() for c in text)
    if len(text) < 3 or any(c.isspace() for c in text) or not any(c.isalpha() for c in text):
        return False
    return any(c.isdigit() for c in text) and not text[0].isdigit()
