"""A world whose calls are put down as the records of a stream, in memory."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from hypothesis import strategies as st

from sandbox import World
from sandbox.effects import effects_digest
from sandbox.records import Chain, Draft, Record, Said, TrialEnded, TrialKey, TrialOpened, draft
from sandbox.snapshot import Overlay
from sandbox.world import Decision, Request, request
from tests.sandbox.desk import START, domain

KEY = TrialKey("c", "t", 1, 1)


def fresh() -> World:
    return World(domain, domain.snapshot, START)


class Taped:
    """A trial on the desk: what it is asked is decided, put down and applied."""

    def __init__(self, world: World | None = None) -> None:
        self.world = world or fresh()
        self.chain = Chain(KEY.id)
        self.records: list[Record] = []
        opened = TrialOpened(KEY, "desk", "script", START, "", (domain.snapshot.digest,), domain.digest, "", "0")
        self.put([draft(opened, START)])

    def put(self, drafts: Iterable[Draft]) -> list[Record]:
        """Seal drafts and put them at the end of the stream."""
        sealed = self.chain.sealed(tuple(drafts), b"")
        self.records += sealed
        self.chain.advance(sealed)
        return sealed

    def ask(self, asked: Request) -> Decision:
        """One call."""
        decision = self.world.decide(asked)
        sealed = self.put(decision.drafts)
        self.world.apply(decision, sealed[0].position)
        return decision

    def call(self, tool: str, /, **arguments: Any) -> Decision:
        """One call with good arguments."""
        return self.ask(request(tool, msgspec.json.encode(arguments).decode()))

    def say(self, text: str) -> None:
        """A line of the agent's."""
        self.put([draft(Said("assistant", text), self.world.now)])

    def end(self) -> None:
        """The last record."""
        self.put([draft(TrialEnded("done", effects_digest(self.world.effects)), self.world.now)])


def content(rows: Overlay | World) -> dict[str, list[tuple[str, Any]]]:
    """Keys and rows of every table, in order."""
    overlay = rows.overlay if isinstance(rows, World) else rows
    return {name: list(overlay.items(name)) for name in domain.tables}


TICKETS = st.sampled_from(["TK-1", "TK-2", "TK-3", "TK-4", "TK-5", "TK-9"])
TEXTS = st.sampled_from(["", "a", "déjà vu", "x" * 50, "\0"])
NUMBERS = st.sampled_from([0, 1, 2, 2.0, 2.5, -1])
FACTORS = st.sampled_from([1, 3, 2**31, 2**62, -(2**62)])
ARGUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "open_ticket": st.fixed_dictionaries(
        {"subject": TEXTS},
        optional={
            "hours": NUMBERS,
            "tags": st.lists(TEXTS, max_size=2),
            "loads": st.lists(NUMBERS, max_size=2),
            "due": st.sampled_from([None, "2025-10-05", "2025-10-05T10:00:00+02:00", "soon"]),
            "place": st.sampled_from([None, {"room": "hall", "weight": 1}, {"shelf": 1}]),
        },
    ),
    "change_ticket": st.fixed_dictionaries(
        {"id": TICKETS}, optional={"subject": TEXTS, "requester": st.none() | TEXTS, "hours": NUMBERS}
    ),
    "solve_ticket": st.fixed_dictionaries({"id": TICKETS, "note": TEXTS}),
    "solve_all": st.fixed_dictionaries({"ids": st.lists(TICKETS, max_size=3), "note": TEXTS}),
    "remove_ticket": st.fixed_dictionaries({"id": TICKETS}),
    "renew_ticket": st.fixed_dictionaries({"id": TICKETS}),
    "score_ticket": st.fixed_dictionaries({"id": TICKETS, "factor": FACTORS}),
    "score_or_keep": st.fixed_dictionaries({"id": st.sampled_from(["TK-1", "TK-2"]), "factor": FACTORS}),
    "count_stock": st.fixed_dictionaries(
        {"room": st.sampled_from(["hall", "attic"]), "item": st.sampled_from(["lamp", "bulb"]), "count": NUMBERS}
    ),
    "list_tickets": st.sampled_from([{}, {"status": "open"}, {"$status": "solved"}]),
    "divide": st.fixed_dictionaries({"a": NUMBERS, "b": NUMBERS}),
}


def _good(name: str) -> st.SearchStrategy[Request]:
    return st.builds(
        lambda mount, given, key: request(f"{mount}_{name}", msgspec.json.encode(given).decode(), key=key),
        st.sampled_from(["desk", "annex"]),
        ARGUMENTS[name],
        st.sampled_from(["", "", "", "k1", "k2"]),
    )


NEEDS_ITS_ROW = {"score_or_keep"}
REQUESTS: st.SearchStrategy[Request] = st.one_of(
    *[_good(name) for name in sorted(ARGUMENTS.keys() - NEEDS_ITS_ROW)],
    st.builds(
        request, st.sampled_from(["", "desk_tell_time", "desk_solve_ticket", "desk"]), st.sampled_from(["", "{", "[]"])
    ),
)
SCRIPTS = st.lists(REQUESTS, max_size=12)

SCRIPT: tuple[tuple[str, dict[str, Any]], ...] = (
    ("desk_open_ticket", {"subject": "x", "tags": ["b", "a"], "hours": 3, "place": {"room": "hall"}, "loads": [1]}),
    ("desk_change_ticket", {"id": "TK-4", "requester": "bob@example.com", "hours": 2.5}),
    ("desk_solve_all", {"ids": ["TK-1", "TK-2"], "note": "done"}),
    ("desk_solve_all", {"ids": ["TK-4", "TK-3"], "note": "refused half way"}),
    ("desk_renew_ticket", {"id": "TK-1"}),
    ("desk_remove_ticket", {"id": "TK-3"}),
    ("annex_open_ticket", {"subject": "y", "hours": "4", "colour": "red"}),
    ("annex_tell_time", {}),
    ("desk_find_tickets", {"query": "paper light"}),
    ("desk_score_ticket", {"id": "TK-1", "factor": 2**62}),
    ("desk_score_ticket", {"id": "TK-1", "factor": 2**62}),
    ("desk_divide", {"a": 1, "b": 0}),
    ("desk_no_such_tool", {}),
    ("desk_open_ticket", {"subjekt": "z"}),
    ("desk_list_tickets", {}),
)


def played(script: Callable[[Taped], None] | None = None) -> Taped:
    """A trial of the whole script, ended."""
    taped = Taped()
    taped.say("I begin.")
    for tool, arguments in SCRIPT:
        taped.call(tool, **arguments)
    if script is not None:
        script(taped)
    taped.end()
    return taped
