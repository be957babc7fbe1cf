"""A small library, and whole trials in it: scripts of calls and other records, judged against a golden script."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from judges.blame import with_blame
from judges.compare import Required
from judges.metrics.failures import Note, facts_of
from judges.metrics.invented import known_text
from judges.metrics.signatures import NORMAL_ENDS, Signature, signature_of
from judges.outcome import Outcome
from judges.profile import profile_of
from judges.verdict import Check, Verdict
from sandbox import Call, Conflict, Domain, Event, Precondition, Row, Rows, Toolset, World
from sandbox.fold import end_of
from sandbox.records import Chain, End, Record, Said, TrialEnded, TrialKey, TrialOpened, draft
from sandbox.task import Task
from sandbox.world import request

START = "2025-10-01T13:00:00Z"
books = Toolset("books")


@books.table("books", ids="BK")
class Book(Row):
    id: str
    shelf: int = 1
    lent_to: str = ""


class BookLent(Event, tag="book-lent", version=1):
    id: str
    reader: str


class BookMoved(Event, tag="book-moved", version=1):
    id: str
    shelf: int


@books.on(BookLent)
def lent(rows: Rows, e: BookLent) -> Book:
    return replace(rows.get(Book, e.id), lent_to=e.reader)


@books.on(BookMoved)
def moved(rows: Rows, e: BookMoved) -> Book:
    return replace(rows.get(Book, e.id), shelf=e.shelf)


@books.tool()
def get_book(call: Call, id: str) -> Book:
    """A book."""
    return call.get(Book, id)


@books.tool()
def lent_books(call: Call, reader: str) -> list[Book]:
    """The books that a reader has."""
    return call.all(Book, lent_to=reader)


@books.tool()
def renew(call: Call, id: str, error: str | None = "nothing is renewed here") -> dict[str, str | None]:
    """Answer with an error, if any, instead of refusing."""
    return {"error": error}


@books.tool()
def next_reader(call: Call) -> str:
    """Who comes next; no row tells."""
    return "RD-55"


@books.tool(emits=[BookLent])
def lend_first(call: Call, id: str, reader: str) -> str:
    """Lend a book to somebody who has none."""
    if call.all(Book, lent_to=reader):
        raise Precondition(f"{reader} has a book")
    call.emit(BookLent(id, reader))
    return "lent"


@books.tool(emits=[BookLent])
def lend(call: Call, id: str, reader: str) -> Book:
    """Lend a book."""
    if call.get(Book, id).lent_to:
        raise Precondition(f"{id} is lent; take it back first")
    call.emit(BookLent(id, reader))
    return call.get(Book, id)


@books.tool(emits=[BookLent])
def take_back(call: Call, id: str) -> Book:
    """Take a book back from its reader."""
    call.get(Book, id)
    call.emit(BookLent(id, ""))
    return call.get(Book, id)


@books.tool(emits=[BookMoved])
def move(call: Call, id: str, shelf: int) -> Book:
    """Put a book on another shelf."""
    if call.get(Book, id).shelf == shelf:
        raise Conflict(f"{id} is on shelf {shelf}")
    call.emit(BookMoved(id, shelf))
    return call.get(Book, id)


SEED = {"books_books": [{"id": "BK-1"}, {"id": "BK-2", "lent_to": "RD-7"}, {"id": "BK-3"}]}
domain = Domain("library", books, seed=SEED)
task = Task("t", "library", START, "Please lend BK-1 to RD-8.")
KNOWN = known_text(domain, domain.snapshot, task)

Step = tuple[str, dict[str, Any]] | Struct
"""A call, or another record."""


def asked(tool: str, **arguments: Any) -> Step:
    """A call as a step."""
    return tool, arguments


GOLDEN: tuple[Step, ...] = (asked("lend", id="BK-1", reader="RD-8"),)
LOOK = asked("get_book", id="BK-1")
WRONG = asked("move", id="BK-3", shelf=9)
"""Nobody asks for it."""


def noted(agent: str, records: Sequence[Record], verdict: Verdict | None, known: str = "") -> Note:
    """
    A closed trial as a note.

    Args:
        verdict: None if nobody has judged it, which is ungradeable.
        known: as for `signature_of`.
    """
    facts, end = facts_of(records), end_of(records)
    result = "ungradeable" if verdict is None else verdict.result
    signature = signature_of(records, verdict, known) if verdict is not None and result == "fail" else None
    return Note(
        agent=agent,
        result=result,
        signature=signature.name if signature else "",
        group=signature.group if signature else "",
        ended_normally=end is not None and end.end in NORMAL_ENDS,
        wrote=facts.wrote,
        last_is_good=facts.last_is_good,
        findings=frozenset(finding.kind for finding in (verdict.findings if verdict else ())),
        declined=facts.declined,
    )


class Tried(Struct, frozen=True):
    """A closed and judged trial."""

    records: Sequence[Record]
    verdict: Verdict

    @property
    def signature(self) -> Signature:
        """What it shows."""
        return signature_of(self.records, self.verdict, KNOWN)

    @property
    def name(self) -> str:
        """Of what it shows."""
        return self.signature.name

    def noted(self, agent: str = "ada") -> Note:
        """As a note."""
        return noted(agent, self.records, self.verdict, KNOWN)


def tried(
    *steps: Step,
    end: End = "done",
    flags: tuple[str, ...] = (),
    golden: Sequence[Step] = GOLDEN,
    checks: Sequence[Check] = (),
) -> Tried:
    """
    A trial in which these steps were made; the first one stands at position 3.

    Args:
        golden: what is required.
        checks: answered besides.
    """
    world = World(domain, domain.snapshot, START)
    key = TrialKey("c", "t", 1, 1)
    chain = Chain(key.id)
    opened = TrialOpened(key, "library", "script", START, task.digest, (), "", "", "0")
    records = chain.sealed([draft(opened, START), draft(Said("user", task.goal), START)], b"")
    chain.advance(records)
    for step in (*steps, TrialEnded(end, "", flags)):
        batch = chain.sealed(_drafts(world, step), b"")
        chain.advance(batch)
        records += batch
    return Tried(records, with_blame(_verdict(world, golden, checks), domain, domain.snapshot, records))


def _drafts(world: World, step: Step) -> Sequence[Any]:
    if isinstance(step, Struct):
        return [draft(step, world.now)]
    tool, arguments = step
    decision = world.decide(request(f"books_{tool}", msgspec.json.encode(arguments).decode()))
    world.apply(decision)
    return decision.drafts


def _verdict(world: World, golden: Sequence[Step], checks: Sequence[Check]) -> Verdict:
    """As the judges of a task would give it."""
    ideal = World(domain, domain.snapshot, START)
    for step in golden:
        _drafts(ideal, step)
    required = Required(Outcome("golden", ideal.effects), domain, domain.snapshot, profile_of(domain, {}, "t"))
    compared = required.compare(world.effects)
    every = (Check("outcome", "golden", compared.equal), *checks)
    is_failed = any(check.result == "no" for check in every)
    return Verdict("fail" if is_failed else "pass", "", every, "golden", compared.findings)
