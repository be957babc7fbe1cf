"""What the machine costs: forking a world, one call in memory, a live trial, a fold."""

import gc
import hashlib
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sandbox import Call, Domain, Event, Prose, Row, Rows, Toolset, World
from sandbox.fold import fold
from sandbox.records import Chain, Record, ToolCalled, ToolReturned, TrialKey
from sandbox.world import Request, request
from tests.bench import Line

START = "2025-10-01T13:00:00Z"
SEED_ROWS = 5_000
MOST_FORK_US = 5.0
MOST_CALL_US = 10.0
MOST_TIMES_BY_HAND = 2.0
MOST_STATE_KIB = 5.0
MOST_TRIAL_KIB = 16.0
TRIALS = 1_000
WRITES = 10
FOLDED_RECORDS = 26

desk = Toolset("desk")


@desk.table("tickets", ids="TK")
class Ticket(Row):
    id: str
    subject: Prose
    requester: str
    status: str = "open"


class TicketSolved(Event, tag="ticket-solved", version=1):
    id: str
    note: Prose


@desk.on(TicketSolved)
def solved(rows: Rows, e: TicketSolved) -> Ticket:
    return replace(rows.get(Ticket, e.id), status="solved")


@desk.tool(emits=[TicketSolved])
def solve_ticket(call: Call, id: str, note: str) -> Ticket:
    """Solve a ticket, with a note for its requester."""
    call.get(Ticket, id)
    call.emit(TicketSolved(id, note))
    return call.get(Ticket, id)


SEED = [{"id": f"TK-{n}", "subject": "printer jams", "requester": "ann@example.com"} for n in range(SEED_ROWS)]
domain = Domain("desk", desk, seed={"desk_tickets": SEED})
KEY = TrialKey("bench", "t", 1, 1)


def measure() -> list[Line]:
    """All lines; takes about five seconds."""
    return [fork(), *one_call(), *live_trials(), folded()]


def best_us(times: int, *functions: Callable[[], object]) -> list[float]:
    """
    Microseconds of one run of each, the best of fifteen rounds: what the machine does, not what the host does.

    The rounds are interleaved, so that a host that is busy for a while slows all of them.
    """
    best = [float("inf")] * len(functions)
    for _ in range(15):
        for place, function in enumerate(functions):
            start = time.perf_counter()
            for _ in range(times):
                function()
            best[place] = min(best[place], (time.perf_counter() - start) / times * 1e6)
    return best


def line(name: str, value: float, most: float, unit: str) -> Line:
    """A measured value that should not be larger than `most`."""
    return Line(name, f"{value:.1f} {unit}", f"≤ {most:g} {unit}", value <= most)


def fork() -> Line:
    """Opening a world on a large seed."""
    snapshot = domain.snapshot
    snapshot.get("desk_tickets", "TK-1")
    (took,) = best_us(3_000, lambda: World(domain, snapshot, START))
    return line(f"fork of a seed of {SEED_ROWS:,} rows", took, MOST_FORK_US, "µs")


def taped_call(world: World, chain: Chain, store: dict[int, Record], asked: Request) -> None:
    """One call as a trial makes it: decided, sealed, put down, applied."""
    decision = world.decide(asked)
    records = chain.sealed(decision.drafts, b"")
    for record in records:
        store[record.position] = record
    chain.advance(records)
    world.apply(decision, records[0].position)


class SolveArguments(Struct):
    """What the tool's signature says."""

    id: str
    note: str


def by_hand(asked: Request, store: dict[int, tuple[object, ...]]) -> None:
    """The same records and row without the machine: validate, encode, digest, write."""
    encode, convert = msgspec.msgpack.encode, msgspec.convert
    arguments = convert(msgspec.json.decode(asked.arguments), SolveArguments)
    event = convert({"id": arguments.id, "note": arguments.note}, TicketSolved)
    fields = {"id": arguments.id, "subject": "printer jams", "requester": "ann@example.com", "status": "solved"}
    row = convert(fields, Ticket)
    payloads = [
        encode(ToolCalled(1, asked.tool, asked.arguments)),
        encode(event),
        encode(ToolReturned(msgspec.json.encode(row).decode(), 2)),
    ]
    last = b""
    for position, payload in enumerate(payloads, 1):
        header = f"{position}\x1fdesk.ticket-solved.1\x1f{START}\x1f1".encode()
        body = hashlib.blake2b(payload, digest_size=32).digest()
        last = hashlib.blake2b(last + header + body, digest_size=32).digest()
        store[position] = (position, START, 1, payload, last)
    store[0] = (encode(row),)


def hands(asked: list[Request], store: dict[int, tuple[object, ...]]) -> None:
    """As many calls as a trial has, by hand."""
    for one in asked:
        by_hand(one, store)


def one_call() -> list[Line]:
    """A call that writes a row, beside the tool function alone and beside the same records made by hand."""
    asked = [request("desk_solve_ticket", f'{{"id": "TK-{n}", "note": "cleared the path"}}') for n in range(WRITES)]
    ticket, kept = Ticket("TK-1", "printer jams", "ann@example.com"), dict[int, tuple[object, ...]]()
    trial, hand, function = best_us(
        100, lambda: worked(asked), lambda: hands(asked, kept), lambda: [solved_alone(ticket) for _ in asked]
    )
    around = trial - function
    return [
        line("machine around one tool function", around / WRITES, MOST_CALL_US, "µs"),
        line("the same beside its records made by hand", around / hand, MOST_TIMES_BY_HAND, "×"),
    ]


def solved_alone(ticket: Ticket) -> Ticket:
    """What the tool and its handler do themselves."""
    event = TicketSolved(ticket.id, "cleared the path")
    return replace(ticket, status="solved") if event.id else ticket


def live_trials() -> list[Line]:
    """Memory of one of a thousand live trials, each with ten written rows: its world alone, and with its records."""
    asked = [request("desk_solve_ticket", f'{{"id": "TK-{n}", "note": "done"}}') for n in range(WRITES)]
    state = _kib_each(lambda: worked(asked)[0])
    whole = _kib_each(lambda: worked(asked))
    return [
        line(f"state of a live trial with {WRITES} writes", state, MOST_STATE_KIB, "KiB"),
        line(f"the same with its {WRITES * 3} records", whole, MOST_TRIAL_KIB, "KiB"),
    ]


def worked(asked: list[Request]) -> tuple[World, Chain, dict[int, Record]]:
    """A trial with these calls."""
    world, chain, store = World(domain, domain.snapshot, START), Chain(KEY.id), dict[int, Record]()
    for one in asked:
        taped_call(world, chain, store, one)
    return world, chain, store


def _kib_each(made: Callable[[], Any]) -> float:
    made()
    gc.collect()
    tracemalloc.start()
    try:
        kept = [made() for _ in range(TRIALS)]
        gc.collect()
        current, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return current / len(kept) / 1024


def folded() -> Line:
    """Rows again from the records of a trial."""
    asked = [
        request("desk_solve_ticket", f'{{"id": "TK-{n}", "note": "done"}}') for n in range(FOLDED_RECORDS // 3 + 1)
    ]
    _, _, store = worked(asked)
    records = list(store.values())[:FOLDED_RECORDS]
    (took,) = best_us(100, lambda: fold(domain, domain.snapshot, records))
    return Line(f"fold of {len(records)} records", f"{took:.0f} µs", "", None)
