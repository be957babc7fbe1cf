"""The calls of recorded trials, and the form in which two of them can be compared. No tool is run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from judges.changes import Place
from judges.mutation.stage import Written
from sandbox.call import apply
from sandbox.domain import Domain
from sandbox.fold import event_of
from sandbox.records import OWN_TOPICS, Edited, Record, Said, ToolCalled, ToolRefused, ToolReturned, decoded
from sandbox.snapshot import Overlay, Snapshot
from sandbox.values import canonical, plain

TEXT = "‹text›"
"""Stands for free text and volatile values."""


class Made(Struct, frozen=True):
    """One call of a trial: what was asked, answered and written, as recorded and in comparable form."""

    number: int
    """Among the calls of the trial, from 1."""
    position: int
    """Of the call's record."""
    end: int
    """Of its answer."""
    tool: str
    arguments: str
    """As written."""
    key: str
    """Idempotency key."""
    refusal: str
    """The class of the refusal; empty for a success."""
    written: Mapping[Place, Written]
    asked: str
    """Tool and arguments; free text masked, ids of new rows numbered in order of creation."""
    answered: str
    """The answer, likewise."""
    wrote: str
    """What the call did to rows, likewise; empty for nothing."""
    did: str
    """The same with all ids of new rows alike, so that it does not depend on what else was created."""

    @property
    def created(self) -> list[Place]:
        """Rows that were not there before."""
        return [place for place, row in self.written.items() if row.before is None]

    @property
    def likeness(self) -> str:
        """Equal for calls that did the same; of calls that changed nothing, for those that asked the same."""
        return self.did or f"{self.asked} {self.refusal}"


class Line(Struct, frozen=True):
    """Something that was said. Words are not compared, only who spoke."""

    position: int
    role: str
    text: str


Step = Made | Line


def steps_in(domain: Domain, snapshot: Snapshot, records: Iterable[Record]) -> list[Step]:
    """
    What happened in a trial, step by step: lines of the dialogue and whole calls. A call without an answer is left out.

    Raises:
        UnknownTopic: an event that today's domain does not know.
    """
    reading = _Reading(domain, snapshot)
    for record in records:
        reading.take(record)
    return reading.steps


def calls_in(domain: Domain, snapshot: Snapshot, records: Iterable[Record]) -> list[Made]:
    """The calls alone."""
    return [step for step in steps_in(domain, snapshot, records) if isinstance(step, Made)]


class Pair(Struct, frozen=True):
    """A golden call, and the trial's call that did the same; None if none did."""

    golden: Made
    done: Made | None


def paired(golden: Sequence[Made], done: Sequence[Made]) -> list[Pair]:
    """Each golden call with its counterpart, in golden order; each call of the trial is a counterpart once."""
    left: dict[str, list[Made]] = {}
    for call in done:
        left.setdefault(call.likeness, []).append(call)
    return [Pair(call, left[call.likeness].pop(0) if left.get(call.likeness) else None) for call in golden]


def names_now(pairs: Iterable[Pair]) -> dict[str, str]:
    """What the trial called the rows that golden calls created, by what these called them."""
    names: dict[str, str] = {}
    for pair in pairs:
        if pair.done is not None:
            names |= new_names(pair.golden.created, pair.done.created)
    return names


def new_names(then: Sequence[Place], now: Sequence[Place]) -> dict[str, str]:
    """Ids of rows that a call once created, and those that it created when it was made again."""
    names: dict[str, str] = {}
    for table in {table for table, _ in then}:
        keys = [[key for name, key in places if name == table] for places in (then, now)]
        names |= dict(zip(*keys, strict=False))
    return names


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A plain JSON value with some texts in it replaced."""
    if isinstance(value, Mapping):
        return {name: renamed(item, names) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


class _Reading:
    """Folds a trial and notes its steps."""

    def __init__(self, domain: Domain, snapshot: Snapshot) -> None:
        self.domain = domain
        self.steps: list[Step] = []
        self._rows = Overlay(snapshot)
        self._scratch = Overlay(self._rows)
        self._called: tuple[ToolCalled, Record] | None = None
        self._texts: set[str] = set()
        self._numbered: dict[str, str] = {}
        self._alike: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._free = free_fields(domain)

    def take(self, record: Record) -> None:
        payload = decoded(record)
        if record.topic not in OWN_TOPICS:
            handling, event = event_of(self.domain, record)
            apply(handling, event, self._scratch)
            kinds = {spec.name: spec for spec in handling.shape.fields}
            fields = plain(event).items()
            self._texts |= {v for k, v in fields if isinstance(v, str) and v and kinds[k].kind == "prose"}
        elif isinstance(payload, Said):
            self.steps.append(Line(record.position, payload.role, payload.text))
        elif isinstance(payload, ToolCalled):
            self._called, self._scratch, self._texts = (payload, record), Overlay(self._rows), set()
        elif isinstance(payload, ToolReturned | ToolRefused) and self._called is not None:
            self._answered(payload, record)
        elif isinstance(payload, Edited):
            self._edit(payload)

    def _answered(self, payload: ToolReturned | ToolRefused, record: Record) -> None:
        assert self._called is not None
        called, start = self._called
        asked = f"{called.tool} {self._normal(_json(called.arguments), self._numbered)}"
        written = {
            (table, key): Written(_plain(self._rows.get(table, key)), _plain(row))
            for table, key, row, _ in self._scratch.touched()
        }
        written = {place: row for place, row in written.items() if row.before != row.after}
        self._rows.merge(self._scratch)
        self._name(place for place, row in written.items() if row.before is None)
        if isinstance(payload, ToolReturned):
            refusal, text = "", payload.result
        else:
            refusal, text = payload.refusal, payload.message
        answered = text if refusal else self._normal(_json(text), self._numbered)
        made = Made(
            called.number,
            start.position,
            record.position,
            called.tool,
            called.arguments,
            called.key,
            refusal,
            written,
            asked,
            f"{refusal} {answered}",
            self._change(written, self._numbered),
            self._change(written, self._alike),
        )
        self.steps.append(made)
        self._called = None

    def _name(self, created: Iterable[Place]) -> None:
        for table, key in created:
            count = self._counts[table] = self._counts.get(table, 0) + 1
            self._numbered[key] = f"‹{table} {count}›"
            self._alike[key] = f"‹{table}›"

    def _edit(self, edited: Edited) -> None:
        for place, step in enumerate(self.steps):
            if isinstance(step, Made) and step.end == edited.position:
                answered = f" {self._normal(_json(edited.result), self._numbered)}"
                self.steps[place] = msgspec.structs.replace(step, answered=answered)

    def _normal(self, value: Any, names: Mapping[str, str]) -> str:
        return canonical(self._masked(value, names)).decode()

    def _masked(self, value: Any, names: Mapping[str, str]) -> Any:
        if isinstance(value, dict):
            return {k: TEXT if k in self._free and v is not None else self._masked(v, names) for k, v in value.items()}
        if isinstance(value, list):
            return [self._masked(item, names) for item in value]
        if isinstance(value, str):
            return names.get(value) or (TEXT if value in self._texts else value)
        return value

    def _change(self, written: Mapping[Place, Written], names: Mapping[str, str]) -> str:
        """Per row: table, key, and the fields that changed, as far as they are neither prose nor volatile."""
        changes: list[list[Any]] = []
        for (table, key), row in written.items():
            before, after = row.before or {}, row.after
            if after is None:
                changes.append([table, names.get(key, key), None])
                continue
            specs = {spec.name: spec for spec in self.domain.tables[table].shape.fields}
            fields = {
                name: renamed(value, names)
                for name, value in after.items()
                if not (name in before and before[name] == value) and not _is_free(specs.get(name))
            }
            gone = [name for name in before if name not in after]
            if fields or gone or row.before is None:
                changes.append([table, names.get(key, key), fields, gone])
        return canonical(sorted(changes, key=repr)).decode() if changes else ""


def free_fields(domain: Domain) -> frozenset[str]:
    """Names of fields that hold free text or volatile values in every table that has them."""
    specs = [spec for table in domain.tables.values() for spec in table.shape.fields]
    fixed = {spec.name for spec in specs if not _is_free(spec)}
    return frozenset(spec.name for spec in specs if spec.name not in fixed)


def _is_free(spec: Any) -> bool:
    return spec is not None and (spec.volatile or spec.kind == "prose")


def _json(text: str) -> Any:
    """What the text holds; the text itself if that is no JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _plain(row: Any) -> Any:
    return None if row is None else plain(row)
