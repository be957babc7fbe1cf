"""Trials of the probe domain, played for real: a store, a writer, a trial, an MCP client in this process."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec import Struct

from domains.probe import domain as probe
from sandbox import Answer, Domain, Effects
from sandbox.campaign import StoreJournal
from sandbox.effects import effects_digest
from sandbox.mcp_session import Session, connected
from sandbox.records import OWN_TOPICS, Record, ToolCalled, TrialEnded, TrialKey, decoded
from sandbox.snapshot import Overlay
from sandbox.stream import Store
from sandbox.task import Task, snapshot_of
from sandbox.trial import Journal, Trial
from sandbox.writer import Writer

NOW = "2023-05-18T09:00:00Z"
TASK = Task("probing", "probe", NOW, "Please see to my order.")
KEY = TrialKey("hard-cases", TASK.id, 0, 1)


class Asked(Struct, frozen=True):
    """A call of a script."""

    tool: str
    arguments: str | Mapping[str, Any] = {}
    call_id: str = ""
    key: str = ""


def ask(tool: str, /, **arguments: Any) -> Asked:
    """A call with these arguments."""
    return Asked(tool, arguments)


class Played(Struct, frozen=True):
    """An ended trial."""

    answers: Sequence[Answer]
    records: Sequence[Record]
    effects: Effects
    end: TrialEnded

    @property
    def digest(self) -> str:
        """Of the state that the trial left."""
        return effects_digest(self.effects)

    @property
    def bodies(self) -> list[tuple[int, str, str, int, bytes]]:
        """The stream without what the host saw."""
        return [record.body for record in self.records]


@asynccontextmanager
async def journal_of(store: Store) -> AsyncIterator[StoreJournal]:
    """A store as a journal, while its writer is open."""
    async with Writer(store) as writer:
        yield StoreJournal(store, writer)


async def opened(journal: Journal, *, key: TrialKey = KEY, task: Task = TASK, domain: Domain = probe) -> Trial:
    """A new trial."""
    return await Trial.open(key, task, domain, snapshot_of(domain, task), journal, agent="script")


async def follow(session: Session, script: Iterable[Asked]) -> list[Answer]:
    """What the calls of a script are answered."""
    return [await session.call(a.tool, a.arguments, call_id=a.call_id, key=a.key) for a in script]


async def played(*script: Asked, task: Task = TASK, domain: Domain = probe) -> Played:
    """A trial in which the script is followed to its end."""
    store = Store.in_memory()
    async with journal_of(store) as journal:
        trial = await opened(journal, task=task, domain=domain)
        async with connected(trial) as session:
            answers = await follow(session, script)
        ended = await trial.end("done")
    return Played(answers, store.read(trial.id), ended.effects, ended.record)


def events_in(records: Iterable[Record]) -> list[str]:
    """The topics of the domain events, in order."""
    return [record.topic for record in records if record.topic not in OWN_TOPICS]


def calls_in(records: Iterable[Record]) -> list[ToolCalled]:
    """The calls, in order."""
    return [payload for record in records if isinstance(payload := decoded(record), ToolCalled)]


def told(answer: Answer) -> Any:
    """The result that an answer holds."""
    assert not answer.refusal, answer.text
    return msgspec.json.decode(answer.text)


def content(overlay: Overlay) -> dict[str, list[tuple[str, Any]]]:
    """Keys and rows of every table, in order."""
    return {name: list(overlay.items(name)) for name in probe.tables}


def inserted(effects: Effects, *left_out: str) -> Counter[tuple[str, bytes]]:
    """New rows with their tables, how often each is there; without their ids and the fields that are left out."""
    rows = [(effect.table, effect.row or {}) for effect in effects if effect.op == "inserted"]
    kept = [(table, {name: row[name] for name in row if name not in ("id", *left_out)}) for table, row in rows]
    return Counter((table, msgspec.json.encode(row)) for table, row in kept)
