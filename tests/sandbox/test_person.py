"""A person at a terminal, typed through a real pipe: as the user, and as the one who approves."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import anyio
import pytest
from anyio import fail_after

from sandbox.gate import Approval, GatedCall
from sandbox.person import PersonAsApprover, PersonAsUser, Terminal, printable
from sandbox.protocols import Plain
from sandbox.records import Said
from tests.sandbox.parties import REMARK, tried
from tests.stub import Turn

pytestmark = pytest.mark.anyio

CALL = GatedCall("refund", {"amount": 25}, ())
HOSTILE = "fine\x1b[2J\r\u202e\x07\nnext"


@pytest.fixture(autouse=True)
async def bounded(anyio_backend: str) -> AsyncIterator[None]:
    with fail_after(30):
        yield


class Typing:
    """A terminal, and the hand that types into it."""

    def __init__(self, terminal: Terminal, into: int, shown: StringIO) -> None:
        self.terminal = terminal
        self._into = into
        self._shown = shown

    def type(self, text: str) -> None:
        os.write(self._into, text.encode())

    @property
    def shown(self) -> str:
        return self._shown.getvalue()


@contextmanager
def typing(*texts: str, is_terminal: bool = False) -> Iterator[Typing]:
    into, out = os.openpty() if is_terminal else os.pipe()[::-1]
    shown = StringIO()
    with os.fdopen(out) as source, os.fdopen(into, "w"):
        made = Typing(Terminal(source, shown), into, shown)
        for text in texts:
            made.type(text)
        yield made


async def test_a_person_plays_the_user_and_leaves() -> None:
    with typing("It is SO-1.\n\n", "thanks\n/end\n") as hand:
        user = PersonAsUser(hand.terminal)
        trial = await tried([Turn("Which?"), Turn(HOSTILE), Turn("Bye")], protocol=Plain(), user=user)
    assert trial.end.end == "user_done"
    assert [text for role, text in trial.dialogue if role == "user"][1:] == ["It is SO-1.", "thanks"]
    assert "fine·[2J···\nnext" in hand.shown
    assert not set("\x1b\r\u202e\x07") & set(hand.shown)


async def test_a_person_sees_all_that_the_agent_said_since_their_last_line() -> None:
    with typing("/end\n") as hand:
        script = [Turn("I look.", [REMARK]), Turn("Which one?")]
        await tried(script, protocol=Plain(), user=PersonAsUser(hand.terminal))
    assert hand.shown.startswith("agent: I look.\nWhich one?\nyou: ")


async def test_lines_are_read_in_pieces_and_the_end_of_the_input_leaves(tmp_path: Path) -> None:
    (tmp_path / "typed").write_text("one\r\ntwo", encoding="utf-8")
    with (tmp_path / "typed").open() as source:
        terminal = Terminal(source, StringIO())
        assert [await terminal.line("") for _ in range(3)] == ["one", "two", None]


async def test_a_person_who_is_too_slow_is_late() -> None:
    with typing() as hand:
        conversation = PersonAsUser(hand.terminal).joins(None, "", None)  # type: ignore[arg-type]
        turn = await conversation.reply([Said("assistant", "Well?")], anyio.current_time() + 0.05)
    assert [fault.kind for fault in turn.faults] == ["late"]


@pytest.mark.parametrize(
    ("typed", "approval"),
    [
        ("yes\n", Approval(True)),
        (" Y \n", Approval(True)),
        ("no\n", Approval(False)),
        ("\n", Approval(False)),
        ("ask the boss first\n", Approval(False, "ask the boss first")),
        ("yes but later\n", Approval(False, "yes but later")),
    ],
)
async def test_only_a_plain_yes_approves(typed: str, approval: Approval) -> None:
    with typing(typed) as hand:
        assert await PersonAsApprover(hand.terminal).approve(CALL, 20) == approval
    assert 'refund {"amount":25}' in hand.shown


async def test_nobody_there_is_no_answer() -> None:
    with typing() as hand:
        assert await PersonAsApprover(hand.terminal).approve(CALL, 0.05) is None
    assert "No answer in time: refused." in hand.shown


async def test_what_was_typed_before_the_question_approves_nothing() -> None:
    with typing(is_terminal=True) as hand:
        hand.type("hello\nyes\n")
        assert await hand.terminal.line("") == "hello"
        hand.type("yes\n")
        assert await PersonAsApprover(hand.terminal).approve(CALL, 0.05) is None


async def test_a_pipe_answers_one_question_after_the_other() -> None:
    with typing("yes\nno\n") as hand:
        person = PersonAsApprover(hand.terminal)
        assert [await person.approve(CALL, 20) for _ in range(2)] == [Approval(True), Approval(False)]


def test_a_long_text_says_how_much_is_missing() -> None:
    assert printable("x" * 9_000).endswith("… (1000 more characters)")
