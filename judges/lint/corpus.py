"""A corpus: all that can be read somewhere, to ask whether a value stands in it."""

import re
from collections.abc import Iterable
from datetime import date
from typing import Any

from judges.lint.case import scalars

_NUMBER = re.compile(r"(?<![\w.-])-?\d[\d,]*(?:\.\d+)?")
_INSIDE_WORD = frozenset("_-")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")  # fmt: skip


class Corpus:
    """Texts without regard to case and to how they are broken into lines; numbers by value."""

    def __init__(self, values: Iterable[Any] = (), *, under: "Corpus | None" = None) -> None:
        self._under = under
        self._atoms: set[str] = set()
        self._texts: list[str] = []
        self._numbers: set[float] = set()
        for value in values:
            self.add(value)

    def add(self, value: Any) -> None:
        """Every text and number inside a JSON value."""
        for item in scalars(value):
            if isinstance(item, str):
                self._add_text(item)
            elif isinstance(item, int | float) and not isinstance(item, bool):
                self._numbers.add(float(item))

    def _add_text(self, text: str) -> None:
        folded = _folded(text)
        if folded in self._atoms:
            return
        self._atoms.add(folded)
        if " " in folded or len(folded) > 40:
            self._texts.append(folded)
        for found in _NUMBER.findall(text):
            self._numbers.add(float(found.replace(",", "")))

    def holds(self, text: str) -> bool:
        """Whether a text stands somewhere, whole or as whole words of a longer one."""
        folded = _folded(text)
        if folded in self._atoms or any(_holds_words(longer, folded) for longer in self._texts):
            return True
        return self._under is not None and self._under.holds(text)

    def holds_number(self, number: float) -> bool:
        """Whether a number stands somewhere, as a value or written in a text."""
        return float(number) in self._numbers or (self._under is not None and self._under.holds_number(number))

    def holds_date(self, day: date) -> bool:
        """Whether a date stands somewhere, as 2026-03-17, March 17 or 17 March."""
        month, number = MONTHS[day.month - 1], day.day
        words = [f"{form} {number}{end}" for form in (month, month[:3]) for end in ("", "st", "nd", "rd", "th")]
        words += [f"{number} {form}" for form in (month, month[:3])]
        return self._holds_start(day.isoformat()) or any(self.holds(form) for form in words)

    def _holds_start(self, text: str) -> bool:
        """Whether a text begins with it, or holds it."""
        if any(atom.startswith(text) for atom in self._atoms) or any(text in longer for longer in self._texts):
            return True
        return self._under is not None and self._under._holds_start(text)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _holds_words(text: str, words: str) -> bool:
    start = text.find(words) if words else -1
    while start >= 0:
        end = start + len(words)
        if not _is_inside(text, start - 1, words[0]) and not _is_inside(text, end, words[-1]):
            return True
        start = text.find(words, start + 1)
    return False


def _is_inside(text: str, place: int, edge: str) -> bool:
    """Whether the sign at a place goes on with the word that ends in `edge`."""
    if not 0 <= place < len(text) or not edge.isalnum():
        return False
    return text[place].isalnum() or text[place] in _INSIDE_WORD
