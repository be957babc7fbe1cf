"""Users: who an agent talks to. They see the visible dialogue and what they were told themselves, nothing else."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from sandbox.records import Replied, Said, Unanswered, UserFaulted
from sandbox.task import Task
from sandbox.user_faults import asked_in, empty, stopped_early
from sandbox.values import digest_of

Note = Callable[[Replied | Unanswered, float], Awaitable[None]]
"""Puts a model call of the user into the trial's stream, with its milliseconds."""


class UserTurn(Struct, frozen=True):
    """What a user does when it is its turn."""

    text: str = ""
    ended: bool = False
    """Whether the user leaves; a signal of its own, which no text holds."""
    faults: tuple[UserFaulted, ...] = ()


class Conversation(Protocol):
    """One user in one trial."""

    async def reply(self, dialogue: Sequence[Said], deadline: float) -> UserTurn:
        """
        The next turn.

        Args:
            dialogue: all that was said, the last line by the agent.
            deadline: by `anyio.current_time()`; a turn comes by then, a fault of kind `late` if need be.
        """


class User(Protocol):
    """Everybody that an agent may meet; one that keeps connections is an async context manager too."""

    @property
    def told(self) -> dict[str, Any]:
        """What tells this user from others, as plain values, for a campaign's seal; neither keys nor contexts."""

    def joins(self, task: Task, occasion: str, note: Note) -> Conversation:
        """
        The user of one trial.

        Args:
            occasion: names the trial.
        """


class Line(Struct, frozen=True, forbid_unknown_fields=True):
    """A scripted turn."""

    text: str = ""
    ends: bool = False


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """What a scripted user says to agents that use certain words."""

    words: tuple[str, ...]
    """Phrases that must all stand in what the agent said last; case, punctuation and spacing do not count."""
    line: Line


class Script(Struct, frozen=True, forbid_unknown_fields=True):
    """
    A user without a model: the first answer whose words fit, else the next of the turns, else goodbye.

    Answers are found by phrases, not by patterns, so that no text of an agent's makes the search slow.
    """

    turns: tuple[Line, ...] = ()
    answers: tuple[Answer, ...] = ()
    otherwise: Line = Line("Thank you, that is all.", True)


class ScriptedUser:
    """
    Follows a script for each task.

    Args:
        scripts: by task id; a task without one has a user who says goodbye at once.
    """

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        self._scripts = scripts

    @property
    def told(self) -> dict[str, Any]:
        """The digest of the scripts."""
        return {"scripts": digest_of(msgspec.to_builtins(self._scripts))}

    def joins(self, task: Task, occasion: str, note: Note) -> Conversation:
        """The script of the task, at its beginning."""
        return _Scripted(self._scripts.get(task.id, Script()))


class _Scripted:
    def __init__(self, script: Script) -> None:
        self._script = script
        self._turns = iter(script.turns)

    async def reply(self, dialogue: Sequence[Said], deadline: float) -> UserTurn:
        asked = _words(asked_in(dialogue))
        fitting = (answer.line for answer in self._script.answers if all(_words(w) in asked for w in answer.words))
        line = next(fitting, None) or next(self._turns, self._script.otherwise)
        return UserTurn(line.text, line.ends, faults_of_stop(line, dialogue))


def faults_of_stop(line: Line, dialogue: Sequence[Said]) -> tuple[UserFaulted, ...]:
    """What is wrong with a turn that needs no context to be seen: nothing in it, or an end in the middle of things."""
    if not line.text.strip() and not line.ends:
        return (empty(),)
    stop = stopped_early(line.text, dialogue) if line.ends else None
    return () if stop is None else (stop,)


def _words(text: str) -> str:
    """The words of a text, between blanks, so that one phrase is looked for inside another by whole words."""
    return f" {' '.join(''.join(c if c.isalnum() else ' ' for c in text.casefold()).split())} "
