"""A person at the terminal: as the user whom an agent talks to, and as the one who approves its calls."""

import os
import sys
import termios
from collections.abc import Sequence
from typing import Any, TextIO

import anyio

from sandbox.gate import Approval, Approver, GatedCall, told_effects
from sandbox.records import Said, UserFaulted
from sandbox.task import Task
from sandbox.user import Conversation, Note, UserTurn
from sandbox.user_faults import asked_in
from sandbox.values import canonical

LEAVES = "/end"
LONGEST_SHOWN = 8_000
YES = ("y", "yes")


class Terminal:
    """
    Lines from and to a person, one question at a time.

    Args:
        source: where lines are typed; read as it comes, so that a wait can be given up and no thread is left behind.
        shown: where texts go.
    """

    def __init__(self, source: TextIO = sys.stdin, shown: TextIO = sys.stdout) -> None:
        self._source = source
        self._shown = shown
        self._typed = b""
        self._is_over = False
        self.lock = anyio.Lock()

    def show(self, text: str) -> None:
        """Print a text, made harmless."""
        print(printable(text), file=self._shown, flush=True)

    async def line(self, prompt: str) -> str | None:
        """The next line that is typed, without its end; None when there are no more."""
        self._shown.write(prompt)
        self._shown.flush()
        while b"\n" not in self._typed and not self._is_over:
            piece = await self._piece()
            self._typed += piece
            self._is_over = not piece
        if not self._typed:
            return None
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode(errors="replace").rstrip("\r")

    def forget(self) -> None:
        """Drop what a person typed before a question was there; what a pipe holds is meant for what comes."""
        if self._source.isatty():
            self._typed = b""
            termios.tcflush(self._source.fileno(), termios.TCIFLUSH)

    async def _piece(self) -> bytes:
        """What is there to read; a file never waits, and cannot be waited for."""
        try:
            await anyio.wait_readable(self._source.fileno())
        except (PermissionError, ValueError):
            await anyio.lowlevel.checkpoint()
        return os.read(self._source.fileno(), 4096)


class PersonAsUser:
    """A person who plays the user. `/end`, or the end of the input, leaves the conversation."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    @property
    def told(self) -> dict[str, Any]:
        """That it is a person."""
        return {"person": True}

    def joins(self, task: Task, occasion: str, note: Note) -> Conversation:
        """The same person in every trial; they are asked one after the other."""
        return _Person(self._terminal)


class _Person:
    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    async def reply(self, dialogue: Sequence[Said], deadline: float) -> UserTurn:
        """What is typed; who types nothing is asked again."""
        with anyio.CancelScope(deadline=deadline):
            async with self._terminal.lock:
                self._terminal.show(f"agent: {asked_in(dialogue)}")
                while (typed := await self._terminal.line("you: ")) is not None and not typed.strip():
                    pass
                if typed is None or typed.strip() == LEAVES:
                    return UserTurn(ended=True)
                return UserTurn(typed)
        return UserTurn(faults=(UserFaulted("late", "nobody had answered when time was over"),))


class PersonAsApprover:
    """A person who is shown a call and what it would change, and says yes or no."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    async def approve(self, call: GatedCall, timeout_s: float) -> Approval | None:
        """Yes only for `y` or `yes`; any other words are a no, and the reason. None without an answer in time."""
        async with self._terminal.lock:
            self._terminal.forget()
            arguments = canonical(dict(call.arguments)).decode()
            self._terminal.show(f"The agent wants {call.tool} {arguments}")
            self._terminal.show(told_effects(call.effects))
            with anyio.move_on_after(timeout_s):
                typed = await self._terminal.line(f"Allow it? yes, or why not ({timeout_s:g} s): ")
                words = (typed or "").strip()
                if words.casefold() in YES:
                    return Approval(True)
                return Approval(False, "" if words.casefold() in ("", "n", "no") else words)
            self._terminal.show("\nNo answer in time: refused.")
            return None


def approver_at_terminal() -> Approver | None:
    """Whoever sits at the terminal; None where the input is none."""
    return PersonAsApprover(Terminal()) if sys.stdin is not None and sys.stdin.isatty() else None


def printable(text: str) -> str:
    """Lines that a terminal shows and does nothing else with: what an agent wrote is data."""
    more = len(text) - LONGEST_SHOWN
    cut = text if more <= 0 else f"{text[:LONGEST_SHOWN]}… ({more} more characters)"
    return "\n".join("".join(c if c.isprintable() else "·" for c in line) for line in cut.split("\n"))
