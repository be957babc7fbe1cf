"""Tickets that wait in queues: moved, and taken one after the other."""

from typing import Literal

from msgspec.structs import replace

from domains.probe.desk import probe
from sandbox import Call, Event, Instant, Precondition, Row, Rows, moment

Queue = Literal["general", "billing", "complaints"]


@probe.table("tickets", ids="TIC")
class Ticket(Row):
    id: str
    queue: Queue
    subject: str
    customer_id: str
    opened: Instant
    status: Literal["waiting", "taken"] = "waiting"


class TicketMoved(Event, tag="ticket-moved", version=1):
    id: str
    queue: Queue


class TicketTaken(Event, tag="ticket-taken", version=1):
    id: str


@probe.on(TicketMoved)
def moved(rows: Rows, e: TicketMoved) -> Ticket:
    return replace(rows.get(Ticket, e.id), queue=e.queue)


@probe.on(TicketTaken)
def taken(rows: Rows, e: TicketTaken) -> Ticket:
    return replace(rows.get(Ticket, e.id), status="taken")


@probe.tool()
def list_tickets(call: Call, queue: Queue) -> list[Ticket]:
    """
    List the waiting tickets of a queue, the oldest first; of two that were opened together the first recorded.

    Args:
        queue: the queue.
    """
    return _waiting(call, queue)


@probe.tool(emits=[TicketMoved])
def move(call: Call, ticket_id: str, queue: Queue) -> Ticket:
    """
    Move a waiting ticket to another queue, where it waits according to its age.

    Args:
        ticket_id: the ticket.
        queue: where it waits from now on.
    """
    ticket = call.get(Ticket, ticket_id)
    if ticket.status != "waiting":
        raise Precondition(f"ticket {ticket_id} is taken; only waiting tickets are moved")
    if ticket.queue == queue:
        raise Precondition(f"ticket {ticket_id} waits in {queue} already")
    call.emit(TicketMoved(ticket_id, queue))
    return call.get(Ticket, ticket_id)


@probe.tool(emits=[TicketTaken])
def pop_next_ticket(call: Call, queue: Queue = "general") -> Ticket:
    """
    Take the oldest waiting ticket of a queue. The same call again takes the next one.

    Args:
        queue: the queue.
    """
    waiting = _waiting(call, queue)
    if not waiting:
        raise Precondition(f"no ticket waits in {queue}")
    call.emit(TicketTaken(waiting[0].id))
    return call.get(Ticket, waiting[0].id)


def _waiting(call: Call, queue: Queue) -> list[Ticket]:
    tickets = call.all(Ticket, queue=queue, status="waiting")
    return sorted(tickets, key=lambda ticket: moment(ticket.opened))
