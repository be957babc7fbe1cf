"""Identifiers that an agent made up: passed in a call, and written nowhere that it could have them from."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from judges.metrics.calls import MadeCall, calls_of, identifiers_in
from sandbox.domain import Domain
from sandbox.records import Edited, Record, Said, Told, decoded
from sandbox.snapshot import Snapshot
from sandbox.task import Task, visible_tools
from sandbox.values import plain

MOST = 1_000
"""Identifiers of one call that are looked up; an agent may pass any number."""


class Invented(Struct, frozen=True):
    """An identifier and a call that passed it."""

    value: str
    """Without regard to case."""
    call: MadeCall
    place: int
    """Of the call among the trial's."""


def known_text(domain: Domain, snapshot: Snapshot, task: Task) -> str:
    """All that stands in the rows, the agent's instructions and the descriptions of its tools, without case."""
    tools = [domain.tools[name] for name in visible_tools(domain, task)]
    told: list[Any] = [domain.instructions, task.policy, task.goal]
    told += [[tool.name, tool.spec.description, dict(tool.schema)] for tool in tools]
    rows = ([key, plain(row)] for table in domain.tables for key, row in snapshot.items(table))
    return "\n".join(_flat(part) for part in (told, *rows)).casefold()


def invented_in(records: Sequence[Record], known: str) -> Iterator[Invented]:
    """
    The invented identifiers of a trial with each call that passed them, in order.

    What counts as known besides: the user's lines, what the agent was told, and the answers to earlier calls, save
    where an answer only gives a made-up identifier back.

    Args:
        known: from `known_text`.
    """
    calls = {call.position: (place, call) for place, call in enumerate(calls_of(records))}
    seen: list[str] = []
    for record in records:
        payload = decoded(record)
        if isinstance(payload, Told) or (isinstance(payload, Said) and payload.role == "user"):
            seen.append(payload.text.casefold())
        elif isinstance(payload, Edited):
            seen.append(payload.result.casefold())
        elif record.position in calls:
            place, call = calls[record.position]
            fresh = [
                value
                for _, value in islice(identifiers_in(call.arguments), MOST)
                if not mentioned(value, known) and not any(mentioned(value, text) for text in seen)
            ]
            yield from (Invented(value, call, place) for value in dict.fromkeys(fresh))
            seen.append(_without(call.answer.casefold(), fresh))


def mentioned(value: str, text: str) -> bool:
    """Whether a text holds a value as a whole word: `tk-1` is not in `tk-12`."""
    place = text.find(value)
    while place >= 0:
        after = place + len(value)
        if not (text[place - 1 : place].isalnum() or text[after : after + 1].isalnum()):
            return True
        place = text.find(value, place + 1)
    return False


def _without(text: str, values: Sequence[str]) -> str:
    for value in values:
        text = text.replace(value, " ")
    return text


def _flat(value: Any) -> str:
    return msgspec.json.encode(value).decode()
