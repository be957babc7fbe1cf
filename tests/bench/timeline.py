"""What it costs to look at a trial of 350,000 records: opening it anywhere, jumping, stepping, memory."""

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from replay.timeline import StoredStream, Timeline
from sandbox import Domain, Event, Prose, Row, Rows, Toolset
from sandbox.records import (
    Chain,
    Draft,
    Record,
    Said,
    ToolCalled,
    ToolReturned,
    TrialKey,
    TrialOpened,
    draft,
    encode_payload,
)
from sandbox.stream import Store
from tests.bench import Line

RECORDS = 350_000
SEED_ROWS = 5_000
MOST_S = 1.0
MOST_MB = 300.0
START = "2025-10-01T13:00:00Z"
KEY = TrialKey("bench", "long", 0, 1)
TELEMETRY = msgspec.msgpack.encode({"wall": 1.5e9, "took_ms": 1.5})
PLACES = (175_432, 349_999, 17, 260_500)

desk = Toolset("desk")


@desk.table("tickets")
class Ticket(Row):
    id: str
    subject: Prose
    status: str = "open"


@desk.table("notes")
class Note(Row):
    id: str
    ticket: str
    text: Prose


class StatusSet(Event, tag="status-set", version=1):
    id: str
    status: str


class Noted(Event, tag="noted", version=1):
    id: str
    ticket: str
    text: Prose


@desk.on(StatusSet)
def status_set(rows: Rows, e: StatusSet) -> Ticket:
    return replace(rows.get(Ticket, e.id), status=e.status)


@desk.on(Noted)
def noted(rows: Rows, e: Noted) -> Note:
    return Note(e.id, e.ticket, e.text)


SEED = [{"id": f"TK-{n}", "subject": "printer jams"} for n in range(SEED_ROWS)]
domain = Domain("desk", desk, seed={"desk_tickets": SEED})


class Visit(Struct):
    """What a process measured that looked at the trial."""

    first_s: float
    """Opening it at the first place."""
    slowest_s: float
    """State at any of the other places."""
    step_ms: float
    """One step back and what it changed, far in the trial."""
    effects_s: float
    """All effects there."""
    peak_mb: float


def measure() -> list[Line]:
    """All lines; takes about a minute."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "c.db"
        written(path)
        cold, warm = visited(path), visited(path)
    name = f"trial of {RECORDS:,} records"
    return [
        Line(f"{name}: rows at the middle, never looked at before", f"{cold.first_s:.2f} s", "", None),
        Line(f"{name}: and from there to the end, likewise", f"{cold.slowest_s:.2f} s", "", None),
        _line(f"{name}: opened at the middle", warm.first_s, MOST_S, "s"),
        _line(f"{name}: rows at another position", warm.slowest_s, MOST_S, "s"),
        _line(f"{name}: a step back and what it changed", warm.step_ms, 100.0, "ms"),
        Line(f"{name}: its effects there", f"{warm.effects_s:.2f} s", "", None),
        _line(f"{name}: peak memory of the process, first look", cold.peak_mb, MOST_MB, "MB"),
        _line(f"{name}: peak memory of the process", warm.peak_mb, MOST_MB, "MB"),
    ]


def drafts(count: int) -> Iterator[Draft]:
    """So many records: calls that each write a row, half of them new ones."""
    opened = TrialOpened(KEY, "desk", "script", START, "", (domain.snapshot.digest,), domain.digest, "", "0")
    yield draft(opened, START)
    yield draft(Said("user", "Please tidy up."), START)
    for number in range(1, (count - 2) // 3 + 2):
        ticket, note = f"TK-{number % SEED_ROWS}", number % 2
        event = Noted(f"N-{number}", ticket, "looked at it") if note else StatusSet(ticket, f"seen {number}")
        topic = "desk.noted.1" if note else "desk.status-set.1"
        arguments = msgspec.json.encode({"id": ticket, "number": number}).decode()
        yield draft(ToolCalled(number, "desk_work", arguments), START, from_call=True)
        yield Draft(topic, START, encode_payload(event), True)
        yield draft(ToolReturned(f'{{"id":"{ticket}","ok":true}}'), START, from_call=True)


def written(path: Path, count: int = RECORDS) -> None:
    """A store that holds one long trial; each call is sealed as a batch of its own."""
    chain, made = Chain(KEY.id), drafts(count)
    with Store.open(path, create=True) as store:
        store.append([(KEY.id, _sealed(chain, [next(made)]) + _sealed(chain, [next(made)]))])
        while calls := list(islice(made, 3_000)):
            records = [r for at in range(0, len(calls), 3) for r in _sealed(chain, calls[at : at + 3])]
            store.append([(KEY.id, [record for record in records if record.position <= count])])


def looked_at(path: Path) -> Visit:
    """Open the trial and go from place to place."""
    start = time.perf_counter()
    with Store.open(path, read_only=True) as store:
        frames = path.with_name("c.frames.db")
        timeline = Timeline(
            domain, domain.snapshot, StoredStream(store, KEY.id), lambda: Store.open(frames, create=True)
        )
        times = []
        for place in PLACES:
            size = timeline.state(place).size("desk_notes")
            assert size == sum(number % 2 for number in range(1, place // 3 + 1)), (place, size)
            times.append(time.perf_counter() - start)
            start = time.perf_counter()
        timeline.changed_by(PLACES[-1] - 1)
        step = time.perf_counter() - start
        start = time.perf_counter()
        effects = timeline.effects(PLACES[-1])
        took = time.perf_counter() - start
        assert len(effects) > PLACES[-1] // 6
        timeline.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Visit(times[0], max(times[1:]), step * 1000, took, peak)


def visited(path: Path) -> Visit:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.timeline", str(path)]
    run = subprocess.run(command, capture_output=True, check=True, timeout=600)
    return msgspec.json.decode(run.stdout, type=Visit)


def _sealed(chain: Chain, batch: list[Draft]) -> list[Record]:
    records = chain.sealed(batch, TELEMETRY)
    chain.advance(records)
    return records


def _line(name: str, value: float, most: float, unit: str) -> Line:
    return Line(
        name, f"{value:.2f} {unit}" if unit == "s" else f"{value:.0f} {unit}", f"< {most:g} {unit}", value < most
    )


if __name__ == "__main__":
    print(msgspec.json.encode(looked_at(Path(sys.argv[1]))).decode())
