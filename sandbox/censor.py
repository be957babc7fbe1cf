"""A key, and texts without it: whatever an endpoint repeats of a key, and however it spells it, is taken out."""

import json
import re
from typing import Any

from msgspec.structs import astuple, replace

from sandbox.messages import ModelCall, Reply
from sandbox.model_faults import ModelFault

NO_KEY = "[key]"
"""What stands where a provider repeats the key."""

SHORTEST = 12
"""Characters from which a key is told from other words; backslashes do not count."""

_ESCAPE = re.compile(r"u00([2-7][0-9a-fA-F])")
_JOINS_BEFORE = re.compile(r"(?:(?:(?:0?0)?[2-7])?[0-9a-fA-F])?")
_JOINS_AFTER = re.compile(r"(?:u(?:0(?:0[2-7]?)?)?)?\Z")
"""Where a key begins or ends like a part of an escape, that may become one with what is around it."""

_MOST_PASSES = 16
"""A text that is escaped more often than this counts as one that holds the key."""


class Censor:
    """
    Takes one key out of texts, in every spelling that JSON has for it, also where JSON stands in JSON.

    A key of fewer than `SHORTEST` characters is a placeholder, as local servers take one, and may be a word that a
    model has to use: it is left in what models say, and taken out of messages only.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        core = _unescaped(key) or ""
        self.length = len(core)
        """Characters of the key that tell it from other words."""
        self.is_watching = self.length >= SHORTEST
        """Whether the key is looked for in what models say."""
        self._core = core
        self._inner = _JOINS_AFTER.sub("", _JOINS_BEFORE.sub("", core, count=1))
        self._spellings = _spellings(key)
        self._word = re.compile(rf"(?<![A-Za-z0-9]){re.escape(key)}(?![A-Za-z0-9])")

    def holds(self, text: str) -> bool:
        """Whether the key may be in a text, in some spelling; if this says no, it is not."""
        if not self.is_watching:
            return False
        if self._key in text:
            return True
        if "\\" not in text:
            return False
        bare = _unescaped(text)
        return bare is None or self._core in bare or ("u00" in text and self._inner in bare)

    def text(self, text: str) -> str:
        """
        The text without the key.

        JSON stays JSON, though spelt in another way where it held the key. A text in which the key cannot be told from
        what is around it is left out as a whole.
        """
        if not self.holds(text):
            return text
        made = self._json(text)
        if made is None:
            made = self._spellings.sub(NO_KEY, text.replace(self._key, NO_KEY))
        return NO_KEY if self.holds(made) else made

    def message(self, text: str) -> str:
        """A message for people without the key; a short key is taken out where it stands alone."""
        if self.is_watching or not self._key:
            return self.text(text)
        return self._word.sub(NO_KEY, text)

    def reply(self, reply: Reply) -> Reply:
        """
        A reply without the key, made from a text without it.

        Pieces that hold no key may have made one up when they were joined; the text that they are from is not kept.
        """
        usage = replace(reply.usage, fault=self.message(reply.usage.fault))
        made = replace(
            reply,
            text=self.text(reply.text),
            reasoning=self.text(reply.reasoning),
            calls=tuple(ModelCall(*map(self.text, astuple(call))) for call in reply.calls),
            finish=self.text(reply.finish),
            served=self.text(reply.served),
            raw=self.text(reply.raw),
            raw_usage=self.text(reply.raw_usage),
            native=self._native(reply.native),
        )
        return replace(made if made == reply else replace(made, raw=json.dumps(NO_KEY)), usage=usage)

    def fault(self, fault: ModelFault) -> ModelFault:
        """The fault, its texts without the key."""
        fault.message = self.message(fault.message)
        fault.args = (fault.message,)
        if fault.usage is not None:
            fault.usage = replace(fault.usage, fault=self.message(fault.usage.fault))
        return fault

    def _native(self, native: str) -> str:
        made = self.text(native)
        return "" if made == NO_KEY else made

    def _json(self, text: str) -> str | None:
        """The text as JSON without the key; None if it is none."""
        if text.lstrip()[:1] not in ("{", "[", '"'):
            return None
        try:
            return json.dumps(self._value(json.loads(text)), ensure_ascii=False)
        except (ValueError, RecursionError):
            return None

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value) if "\\" in value or self._key in value else value
        if isinstance(value, dict):
            return {self._value(name): self._value(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self._value(part) for part in value]
        return NO_KEY if self._key in str(value) else value


def _unescaped(text: str) -> str | None:
    """
    The text with whatever may be the escape of a printable sign decoded, at any depth, and no backslash; None if it is
    too deep.

    What stands for one text, in JSON or in JSON in JSON, all becomes the same; so may what does not.
    """
    text = text.replace("\\", "")
    for _ in range(_MOST_PASSES):
        if "u00" not in text:
            return text
        made = _ESCAPE.sub(_sign, text)
        if made == text:
            return text
        text = made
    return None


_SIGNS = {f"{high}{low}": chr(int(f"{high}{low}", 16)) for high in "234567" for low in "0123456789abcdefABCDEF"}
_SIGNS |= {"5c": "", "5C": ""}


def _sign(found: re.Match[str]) -> str:
    return _SIGNS[found[1]]


def _spellings(key: str) -> re.Pattern[str]:
    """Each sign as it is or escaped, once or often, with any number of backslashes where there is one."""
    first, *others = re.findall(r"\\+|[^\\]", key) or [""]
    return re.compile(_first_sign(first) + "".join(map(_next_sign, others)))


_BACKSLASHES = r"\\(?:\\|u005[cC])*+"


def _first_sign(sign: str) -> str:
    if sign.startswith("\\"):
        return rf"(?<!\\){_BACKSLASHES}"
    own = rf"\\?{sign}" if sign in '"/' else re.escape(sign)
    return rf"(?:{own}|\\(?:u005[cC])*+{_code(sign)})" if sign else ""


def _next_sign(sign: str) -> str:
    if sign.startswith("\\"):
        return _BACKSLASHES
    own = rf"(?:{_BACKSLASHES})?{sign}" if sign in '"/' else re.escape(sign)
    return rf"(?:{own}|{_BACKSLASHES}{_code(sign)})"


def _code(sign: str) -> str:
    return "u00" + "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{ord(sign):02x}")
