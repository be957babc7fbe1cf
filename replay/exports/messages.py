"""A trial's dialogue and calls as chat messages, as its stream tells them."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from sandbox.records import (
    Record,
    Replied,
    Said,
    Told,
    ToolCalled,
    ToolRefused,
    ToolReturned,
    TurnEnded,
    decoded,
)


class AskedCall(Struct, frozen=True):
    """A tool call that a message asks for."""

    id: str
    """The provider's, or where that is empty or was there before, one that no other call of the trial has."""
    tool: str
    arguments: str
    """The raw text, also when it is no JSON."""


class Message(Struct):
    """One message; each answer of a tool is one too."""

    role: str
    """user, assistant or tool."""
    content: str
    position: int
    """Of its first record in the stream."""
    calls: tuple[AskedCall, ...] = ()
    call_id: str = ""
    """Of the call that is answered."""
    tool: str = ""
    """That call's tool."""
    refusal: str = ""
    """Class of the refusal, of an answer that is one."""
    told: str = ""
    """What the agent was told about, of a message that nobody said to it in the dialogue."""
    reply: int = 0
    """Position of the model's reply that it is from; 0 where no model is known."""


def messages_of(records: Iterable[Record]) -> Sequence[Message]:
    """
    The messages of a trial, in order.

    Text and calls of one reply of a model are one message, and the answers follow it. A scripted agent's calls are a
    message each.
    """
    dialogue = _Dialogue()
    for record in records:
        dialogue.take(record)
    return dialogue.messages


def last_words(messages: Sequence[Message]) -> str:
    """What the agent said last; empty if it said nothing."""
    said = (message.content for message in reversed(messages) if message.role == "assistant" and message.content)
    return next(said, "")


class _Dialogue:
    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._ids: set[str] = set()
        self._reply = 0
        self._open: Message | None = None
        """The message of the reply, which its further calls belong to."""
        self._asked = AskedCall("", "", "")

    def take(self, record: Record) -> None:
        position = record.position
        match decoded(record):
            case Replied(party="agent"):
                self._reply, self._open = position, None
            case Said(role="user", text=text):
                self._put(Message("user", text, position))
            case Told(about=about, text=text):
                self._put(Message("user", text, position, told=about))
            case Said(text=text):
                message = Message("assistant", text, position, reply=self._reply)
                self.messages.append(message)
                self._open = message if self._reply else None
            case ToolCalled(tool=tool, arguments=arguments, call_id=call_id, number=number):
                self._ask(AskedCall(self._fresh(call_id, f"call_{number}"), tool, arguments), position)
            case TurnEnded(tool=tool, arguments=arguments, call_id=call_id):
                self._ask(AskedCall(self._fresh(call_id, "call_end"), tool, arguments), position)
            case ToolReturned(result=result):
                self._answer(result, position)
            case ToolRefused(refusal=refusal, message=message):
                self._answer(message, position, refusal)

    def _put(self, message: Message) -> None:
        self.messages.append(message)
        self._reply, self._open = 0, None

    def _ask(self, call: AskedCall, position: int) -> None:
        self._asked = call
        if self._open is None:
            made = Message("assistant", "", position, (call,), reply=self._reply)
            self.messages.append(made)
            self._open = made if self._reply else None
        else:
            self._open.calls = (*self._open.calls, call)

    def _answer(self, text: str, position: int, refusal: str = "") -> None:
        asked = self._asked
        self.messages.append(Message("tool", text, position, (), asked.id, asked.tool, refusal))

    def _fresh(self, given: str, name: str) -> str:
        """The id given if no call has had it, else a made one."""
        made, tries = given or name, 1
        while made in self._ids:
            tries += 1
            made = name if tries == 2 else f"{name}_{tries}"
        self._ids.add(made)
        return made
