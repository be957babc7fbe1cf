"""
What a user must not do, found by rules that need no model and always say the same.

Seen are: words of the private context that were copied though nobody asked, facts that nobody gave, and an end while
the agent waits for a yes. Not seen are: the context in other words, facts put together wrongly (a known amount for
the wrong order), invented names and single digits, and questions that are put without a question mark. A number that
the user worked out from others is taken for invented.
"""

import re
from collections.abc import Iterable, Sequence

from sandbox.records import Said, UserFaulted

LONG_SENTENCE = 6
"""Words of a sentence of the context from which it is told apart from small talk."""
LONG_RUN = 12
"""Words of one unasked sentence that are a fault by themselves; of shorter ones it takes two."""
TELLING = 4
"""Letters of a word from which it can tie an answer to a question."""

_LONG_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_MONTHS = {name[:3]: number for number, name in enumerate(_LONG_MONTHS, 1)}
_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"[.!?;\n]+(?:\s|$)")
_FACT = re.compile(r"[^\s@]{1,64}@[^\s@]{1,64}|[^\W_](?:[\w-]|\.(?=\d)){0,63}")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_UNIT = re.compile(r"(?<=\d)(st|nd|rd|th|am|pm|x|usd|eur|gbp)$")
_ASKS_FOR_A_YES = re.compile(
    r"\b(confirm|proceed|go ahead|shall i|should i|may i|can i|do you want me to|would you like me to|is (that|this)"
    r" (correct|right|ok|okay|fine|all right)|do you agree|yes or no|yes/no)\b",
)
_IS_SMALL_TALK = re.compile(r"\b(anything|something|what) else\b")
_DECLINES = re.compile(r"\s*(no|nope|don'?t|do not|never ?mind|cancel|stop|please don'?t|leave it|forget it)\b")


def empty() -> UserFaulted:
    """A turn without words."""
    return UserFaulted("empty", "a turn without a word")


def faults_in(text: str, dialogue: Sequence[Said], context: str, known: Iterable[str] = ()) -> tuple[UserFaulted, ...]:
    """
    What is wrong with a line of a user's.

    Args:
        dialogue: what was said before it.
        context: what only the user was told.
        known: other texts whose facts the user was given, such as the date.
    """
    found = (unasked(text, dialogue, context), invented(text, [context, *known, *(line.text for line in dialogue)]))
    return tuple(fault for fault in found if fault is not None)


def unasked(text: str, dialogue: Sequence[Said], context: str) -> UserFaulted | None:
    """Whole sentences of the context, word by word, that share no telling word with what the agent said last."""
    said = f" {' '.join(_words(text))} "
    before = f" {' '.join(_words(' '.join(line.text for line in dialogue)))} "
    asked = {word for word in _words(asked_in(dialogue)) if len(word) >= TELLING}
    copied = []
    for sentence in _SENTENCE.split(context):
        words = _words(sentence)
        run = f" {' '.join(words)} "
        if len(words) >= LONG_SENTENCE and run in said and run not in before and not asked & set(words):
            copied.append((len(words), sentence.strip()))
    if len(copied) < 2 and not any(length >= LONG_RUN for length, _ in copied):
        return None
    return UserFaulted("unasked", f"copied from the context though nobody asked: {copied[0][1][:200]}")


def invented(text: str, given: Iterable[str]) -> UserFaulted | None:
    """Ids, amounts, dates and addresses that stand in none of the given texts."""
    texts = list(given)
    known = {_bare(fact) for one in texts for fact in _facts(one)}
    numbers = {number for one in texts for number in _numbers(one)}
    wrong = [fact for fact in _facts(text) if not _is_known(fact, known, numbers)]
    return UserFaulted("invented", f"in neither context nor dialogue: {', '.join(wrong[:5])}") if wrong else None


def stopped_early(text: str, dialogue: Sequence[Said]) -> UserFaulted | None:
    """An end while the agent waits for a yes; to decline is no fault."""
    question = _last(dialogue).casefold().replace("’", "'")
    waits = "?" in question and _ASKS_FOR_A_YES.search(question) and not _IS_SMALL_TALK.search(question)
    if not waits or _DECLINES.match(text.casefold().replace("’", "'")):
        return None
    return UserFaulted("early_stop", "left while the agent was waiting for a yes")


def _is_known(fact: str, known: set[str], numbers: set[str]) -> bool:
    """A fact that was given, or a date or amount whose numbers all were; single digits are common property."""
    bare = _UNIT.sub("", fact.casefold())
    if _bare(fact) in known or len(bare) == 1:
        return True
    return not any(c.isalpha() or c == "@" for c in bare) and all(number in numbers for number in _numbers(bare))


def _facts(text: str) -> list[str]:
    """Words with a digit, and addresses, as they are written but for signs around them."""
    found = (match.group().strip(".,;:-_") for match in _FACT.finditer(_THOUSANDS.sub("", text)))
    return [fact for fact in found if "@" in fact or any(c.isdigit() for c in fact)]


def _bare(fact: str) -> str:
    """A fact without case and separators: `ORD-9` and `ord9` are one id."""
    return fact.casefold() if "@" in fact else "".join(c for c in fact.casefold() if c.isalnum())


def _numbers(text: str) -> list[str]:
    """Every number of a text in one form: 1,234.50 and 1234.5 are one, and so are 05 and 5; months count as theirs."""
    found = _NUMBER.findall(_THOUSANDS.sub("", text))
    found += [str(_MONTHS[word[:3]]) for word in _words(text) if word in _MONTHS or word in _LONG_MONTHS]
    return [(n.rstrip("0").rstrip(".") if "." in n else n).lstrip("0") or "0" for n in found]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def asked_in(dialogue: Sequence[Said]) -> str:
    """All that the agent said since the user's last line."""
    lines: list[str] = []
    for line in reversed(dialogue):
        if line.role == "user":
            break
        lines.insert(0, line.text)
    return "\n".join(lines)


def _last(dialogue: Sequence[Said]) -> str:
    return next((line.text for line in reversed(dialogue) if line.role == "assistant"), "")
