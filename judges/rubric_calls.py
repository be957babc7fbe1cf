"""What a rubric judge was asked and said about trials, kept beside their judgements: for its answers and its cost."""

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec
from msgspec import Struct

from sandbox.records import Replied, Unanswered
from sandbox.stream import Store
from sandbox.values import canonical

KIND = "rubric"
"""The kind of content under which a store keeps a call."""


class JudgeCall(Struct, frozen=True, omit_defaults=True):
    """A question that was put to a model once, and what came of it."""

    rubric: str
    """Its name."""
    result: Literal["yes", "no", "unusable", "unanswered"]
    reason: str
    replied: Replied | None = None
    """None if the model could not be asked; then `unanswered` says why."""
    unanswered: Unanswered | None = None

    @property
    def made(self) -> Replied | Unanswered | None:
        """The model call behind it."""
        return self.replied or self.unanswered

    @property
    def is_answer(self) -> bool:
        """Whether it is a yes or a no."""
        return self.result in ("yes", "no")


OnCall = Callable[[JudgeCall], None]
"""Called for each call that was made, not for those that were on file."""


class CallFile:
    """The calls about one trial: each is on disk as soon as it was made, under trial, question and text."""

    def __init__(self, store: Store, trial: str, on_call: OnCall = lambda call: None) -> None:
        self._store = store
        self.trial = trial
        self._on_call = on_call
        self.seen: dict[str, JudgeCall] = {}
        """All calls that were read or kept through this, by name."""

    def calls(self, question: str) -> list[JudgeCall]:
        """
        Those that a question took so far, in order.

        Args:
            question: digest of rubric and text.
        """
        found: list[JudgeCall] = []
        while (content := self._store.kept(KIND, self._name(question, len(found) + 1))) is not None:
            found.append(_decode(content))
            self.seen[self._name(question, len(found))] = found[-1]
        return found

    def keep(self, question: str, place: int, call: JudgeCall) -> None:
        """Keep the call at a place, from 1."""
        self._store.keep(KIND, self._name(question, place), canonical(call))
        self.seen[self._name(question, place)] = call
        self._on_call(call)

    def _name(self, question: str, place: int) -> str:
        return f"{self.trial}/{question}/{place}"


def calls_by_trial(store: Store) -> dict[str, list[JudgeCall]]:
    """Every call that a store keeps, by the trial's id in hexadecimal."""
    found: dict[str, list[JudgeCall]] = {}
    for name in store.names(KIND):
        content = store.kept(KIND, name)
        if content is not None:
            found.setdefault(name.partition("/")[0], []).append(_decode(content))
    return found


def newest_calls(store: Store) -> dict[str, JudgeCall]:
    """The last call about each trial, by the trial's id in hexadecimal."""
    newest = {name.partition("/")[0]: name for name in store.names(KIND)}
    contents = {trial: store.kept(KIND, name) for trial, name in newest.items()}
    return {trial: _decode(content) for trial, content in contents.items() if content is not None}


def calls_in(store: Store) -> Iterator[Replied | Unanswered]:
    """Every call that a store keeps of its rubric judge, for sums by party."""
    for name in store.names(KIND):
        content = store.kept(KIND, name)
        call = None if content is None else _decode(content)
        if call is not None and (made := call.made) is not None:
            yield made


_decode = msgspec.json.Decoder(JudgeCall).decode
