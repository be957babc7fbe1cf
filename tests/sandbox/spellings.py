"""How JSON can spell a text, and what a reader can make of one: both without the code that is tested."""

import json
import re
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

DEEPEST = 4
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([\"\\/]))")


@st.composite
def spelt(draw: st.DrawFn, text: str, depth: int) -> str:
    """The text as it may stand in JSON, in JSON in JSON and so on."""
    for _ in range(depth):
        text = "".join(draw(st.sampled_from(forms(sign))) for sign in text)
    return text


def forms(sign: str) -> list[str]:
    """All that one sign can be inside a JSON string."""
    code = f"{ord(sign):04x}"
    own = [] if sign in '"\\' else [sign]
    short = [f"\\{sign}"] if sign in '"\\/' else []
    return [*own, *short, f"\\u{code}", f"\\u{code.upper()}"]


def readings(text: str) -> Iterator[str]:
    """The text, and what it is when its escapes are decoded, once and more often."""
    for _ in range(DEEPEST + 1):
        yield text
        text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else found[2], text)


def is_in(key: str, text: str) -> bool:
    """Whether a reader can find the key in a text, which may be JSON with JSON in it."""
    return any(key in reading for one in (text, *_strings(text)) for reading in readings(one))


def _strings(text: str) -> Iterator[str]:
    try:
        value = json.loads(text)
    except ValueError:
        return
    for one in _leaves(value):
        yield one
        if one != text:
            yield from _strings(one)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield name
            yield from _leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part)
    elif isinstance(value, str):
        yield value
