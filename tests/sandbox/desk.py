"""A small ticket desk that shows every kind of table, event and tool; mounted twice, as `desk` and as `annex`."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from sandbox import (
    Call,
    Domain,
    Event,
    Gone,
    Instant,
    Named,
    Pinned,
    Precondition,
    Prose,
    Row,
    Rows,
    Toolset,
    Unordered,
    Volatile,
    smallest_free,
)

START = "2025-10-01T13:00:00Z"

desk = Toolset("desk")


class Place(Struct, frozen=True):
    """Where a thing stands."""

    room: str
    shelf: int = 0
    weight: float = 0.0


@desk.table("tickets", ids="TK", search=("subject", "body", "requester"))
class Ticket(Row):
    id: str
    subject: str
    body: Prose = ""
    requester: str | None = None
    status: Literal["open", "solved"] = "open"
    hours: float = 0.0
    opened: Instant = START
    due: Instant | None = None
    tags: Unordered[str] = ()
    score: int = 0
    place: Place | None = None
    loads: tuple[float, ...] = ()
    etag: Volatile[str] = ""


@desk.table("notes", ids=smallest_free("N", width=3))
class Note(Row):
    id: str
    ticket: str
    text: Prose


@desk.table("stock", key=("room", "item"))
class Stock(Row):
    room: str
    item: str
    count: int = 0


class TicketOpened(Event, tag="ticket-opened", version=1):
    id: str
    subject: str
    body: Prose
    opened: Instant
    due: Instant | None
    hours: float
    tags: tuple[str, ...]
    place: Place | None
    loads: tuple[float, ...]


class TicketChanged(Event, tag="ticket-changed", version=1):
    """Fields that are not mentioned stay."""

    id: str
    subject: str | UnsetType = UNSET
    requester: str | UnsetType | None = UNSET
    hours: float | UnsetType = UNSET


class TicketSolved(Event, tag="ticket-solved", version=1):
    """Writes two rows: the ticket and a note."""

    id: str
    note_id: str
    note: Prose


class TicketRemoved(Event, tag="ticket-removed", version=1):
    id: str


class TicketRenewed(Event, tag="ticket-renewed", version=1):
    """Deletes and creates again."""

    id: str


class Scored(Event, tag="scored", version=1):
    id: str
    factor: int


class StockCounted(Event, tag="stock-counted", version=1):
    room: str
    item: str
    count: int


@desk.on(TicketOpened)
def opened(rows: Rows, e: TicketOpened) -> Ticket:
    return Ticket(
        e.id,
        e.subject,
        e.body,
        hours=e.hours,
        opened=e.opened,
        due=e.due,
        tags=e.tags,
        place=e.place,
        loads=e.loads,
        etag=f"{e.id}-1",
    )


@desk.on(TicketChanged)
def changed(rows: Rows, e: TicketChanged) -> Ticket:
    given = {name: value for name in ("subject", "requester", "hours") if (value := getattr(e, name)) is not UNSET}
    return replace(rows.get(Ticket, e.id), **given)


@desk.on(TicketSolved)
def solved(rows: Rows, e: TicketSolved) -> Iterator[Row]:
    yield replace(rows.get(Ticket, e.id), status="solved")
    yield Note(e.note_id, e.id, e.note)


@desk.on(TicketRemoved)
def removed(rows: Rows, e: TicketRemoved) -> list[Gone]:
    return [Gone(Ticket, e.id), *[Gone(Note, note.id) for note in rows.all(Note, ticket=e.id)]]


@desk.on(TicketRenewed)
def renewed(rows: Rows, e: TicketRenewed) -> list[Row | Gone]:
    ticket = rows.get(Ticket, e.id)
    return [Gone(Ticket, e.id), replace(ticket, status="open")]


@desk.on(Scored)
def scored(rows: Rows, e: Scored) -> list[Row]:
    """The ticket first, so that a number which is too large must take the note back as well."""
    ticket = rows.get(Ticket, e.id)
    note = Note(f"S{e.id}", e.id, "scored")
    return [note, replace(ticket, score=(ticket.score + 1) * e.factor)]


@desk.on(StockCounted)
def counted(rows: Rows, e: StockCounted) -> Stock:
    return Stock(e.room, e.item, e.count)


@desk.tool(emits=[TicketOpened])
def open_ticket(
    call: Call,
    subject: str,
    body: str = "",
    due: Instant | None = None,
    hours: float = 0,
    tags: tuple[str, ...] = (),
    place: Place | None = None,
    loads: tuple[float, ...] = (),
) -> Ticket:
    """
    Open a ticket.

    Args:
        subject: one line that says
            what is wrong.
        due: when it must be solved.
    """
    id = call.new_id(Ticket)
    call.emit(TicketOpened(id, subject, body, call.now, due, hours, tags, place, loads))
    return call.get(Ticket, id)


@desk.tool(emits=[TicketChanged])
def change_ticket(
    call: Call,
    id: str,
    subject: str | UnsetType = UNSET,
    requester: str | UnsetType | None = UNSET,
    hours: float | UnsetType = UNSET,
) -> Ticket:
    """Change the fields that are given; null clears the requester."""
    call.get(Ticket, id)
    call.emit(TicketChanged(id, subject, requester, hours))
    return call.get(Ticket, id)


@desk.tool(emits=[TicketSolved])
def solve_ticket(call: Call, id: str, note: str) -> Ticket:
    """Solve an open ticket, with a note for its requester."""
    if call.get(Ticket, id).status == "solved":
        raise Precondition(f"ticket {id} is already solved; open a new one instead")
    call.emit(TicketSolved(id, call.new_id(Note), note))
    return call.get(Ticket, id)


@desk.tool(emits=[TicketSolved])
def solve_all(call: Call, ids: tuple[str, ...], note: str) -> int:
    """Solve several tickets at once, all or none; each gets its own note."""
    for id in ids:
        if call.get(Ticket, id).status == "solved":
            raise Precondition(f"ticket {id} is already solved; leave it out")
        call.emit(TicketSolved(id, call.new_id(Note), note))
    return len(ids)


@desk.tool(emits=[TicketRemoved])
def remove_ticket(call: Call, id: str) -> None:
    """Delete a ticket and its notes."""
    call.get(Ticket, id)
    call.emit(TicketRemoved(id))


@desk.tool(emits=[TicketRenewed])
def renew_ticket(call: Call, id: str) -> Ticket:
    """Take a ticket out and put it in again, at the end of the queue."""
    call.get(Ticket, id)
    call.emit(TicketRenewed(id))
    return call.get(Ticket, id)


@desk.tool(emits=[Scored])
def score_ticket(call: Call, id: str, factor: int) -> int:
    """Multiply a ticket's score."""
    call.get(Ticket, id)
    call.emit(Scored(id, factor))
    return call.get(Ticket, id).score


@desk.tool(emits=[Scored])
def score_or_keep(call: Call, id: str, factor: int) -> str:
    """Multiply a ticket's score, or say that it was too much."""
    try:
        call.emit(Scored(id, factor))
    except ValueError:
        return "kept"
    return "scored"


@desk.tool(emits=[StockCounted])
def count_stock(call: Call, room: str, item: str, count: int) -> Stock:
    """Put down how many of an item a room holds."""
    call.emit(StockCounted(room, item, count))
    return call.get(Stock, f"{room}:{item}")


@desk.tool()
def list_tickets(
    call: Call,
    status: Annotated[Literal["open", "solved"] | None, Named("$status", also=("status",))] = None,
) -> list[Ticket]:
    """List tickets in order."""
    return call.all(Ticket) if status is None else call.all(Ticket, status=status)


@desk.tool()
def find_tickets(call: Call, query: str, limit: int = 5) -> list[str]:
    """Find tickets by words."""
    return [f"{ticket.id} {hit.score}" for ticket, hit in call.search(Ticket, query, limit)]


@desk.tool()
def tell_time(call: Call) -> str:
    """Tell the time at this desk."""
    return f"{call.now} {call.time('closing')}"


@desk.tool()
def divide(call: Call, a: float, b: float) -> float:
    """Divide, carelessly."""
    return a / b if b else float("inf")


@desk.tool()
def break_down(call: Call) -> str:
    """Always break."""
    raise KeyError("cupboard")


TOOLS = tuple(desk.tools)

SEED: dict[str, list[dict[str, Any]]] = {
    "desk_tickets": [
        {"id": "TK-1", "subject": "printer jams", "body": "paper is stuck", "tags": ["paper", "hall"], "hours": 2},
        {"id": "TK-2", "subject": "no light", "requester": "ann@example.com", "opened": "2025-09-30T09:00:00+02:00"},
        {"id": "TK-3", "subject": "door squeaks", "status": "solved", "due": "2025-10-03"},
    ],
    "desk_notes": [{"id": "N001", "ticket": "TK-3", "text": "oiled"}],
    "desk_stock": [{"room": "hall", "item": "lamp", "count": 3}, {"room": "hall", "item": "bulb"}],
    "annex_tickets": [{"id": "TK-1", "subject": "annex is cold"}],
}

CLOSED = "2025-12-31T18:00:00Z"
annex = desk.mount("annex", clock=Pinned("2025-12-24T08:00:00Z", {"closing": CLOSED}), arguments="lax", is_open=True)
domain = Domain("desk", desk, annex, seed=SEED)
