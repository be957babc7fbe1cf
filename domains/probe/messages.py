"""What is written down and sent out: notes on orders, mail, and hand-offs to a person."""

from typing import Any, Literal

from domains.probe.desk import Stamp, probe
from domains.probe.orders import Customer, Note, Order
from sandbox import Call, Event, Instant, Prose, Row, Rows

Department = Literal["billing", "fraud", "returns"]


@probe.table("outbox", ids="OUT")
class Message(Row):
    """Something that left the house: a mail, or a case that a person takes over."""

    id: str
    kind: Literal["mail", "transfer"]
    customer_id: str
    to: str
    """An e-mail address or a department."""
    subject: str
    text: Prose
    sent: Stamp


class NoteAdded(Event, tag="note-added", version=2):
    id: str
    order_id: str
    text: Prose
    author: Literal["agent", "system"]
    written: Instant


class MailSent(Event, tag="mail-sent", version=1):
    id: str
    customer_id: str
    to: str
    subject: str
    text: Prose
    sent: Instant


class HandedOver(Event, tag="handed-over", version=1):
    id: str
    customer_id: str
    department: Department
    summary: Prose
    sent: Instant


@probe.upcast("note-added", 1)
def authored(note: dict[str, Any]) -> dict[str, Any]:
    """The first version had no author: only agents wrote notes then."""
    return {**note, "author": "agent"}


@probe.on(NoteAdded)
def added(rows: Rows, e: NoteAdded) -> Note:
    return Note(e.id, e.order_id, e.text, e.author, e.written)


@probe.on(MailSent)
def sent(rows: Rows, e: MailSent) -> Message:
    return Message(e.id, "mail", e.customer_id, e.to, e.subject, e.text, e.sent)


@probe.on(HandedOver)
def handed_over(rows: Rows, e: HandedOver) -> Message:
    return Message(e.id, "transfer", e.customer_id, e.department, "hand-off", e.summary, e.sent)


@probe.tool(emits=[NoteAdded])
def add_note(call: Call, order_id: str, text: str) -> Note:
    """
    Put a note on an order.

    Args:
        order_id: the order.
        text: the note, kept word for word.
    """
    return _noted(call, order_id, text)


@probe.tool(emits=[NoteAdded])
def slow_write(call: Call, order_id: str, text: str) -> Note:
    """
    Put a note on an order over the slow line, where an answer may come late or get lost. The note is kept all the same.

    Args:
        order_id: the order.
        text: the note, kept word for word.
    """
    # Nothing here waits: it is for whoever serves the call to hold back or lose this tool's answer.
    return _noted(call, order_id, text)


def _noted(call: Call, order_id: str, text: str) -> Note:
    call.get(Order, order_id)
    id = call.new_id(Note)
    call.emit(NoteAdded(id, order_id, text, "agent", call.now))
    return call.get(Note, id)


@probe.tool(emits=[MailSent])
def send_mail(call: Call, customer_id: str, subject: str, text: str) -> Message:
    """
    Send a mail to a customer's own address.

    Args:
        customer_id: the customer.
        subject: one line.
        text: the mail.
    """
    to = call.get(Customer, customer_id).email
    id = call.new_id(Message)
    call.emit(MailSent(id, customer_id, to, subject, text, call.now))
    return call.get(Message, id)


@probe.tool(emits=[HandedOver])
def transfer(call: Call, customer_id: str, department: Department, summary: str) -> Message:
    """
    Hand a customer's case over to a person, who goes on from your summary.

    Args:
        customer_id: the customer.
        department: whose case it is.
        summary: what happened, and what is still to be done.
    """
    call.get(Customer, customer_id)
    id = call.new_id(Message)
    call.emit(HandedOver(id, customer_id, department, summary, call.now))
    return call.get(Message, id)
