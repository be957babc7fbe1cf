"""What the panels of `trialbox step` hold: lines with styles, in which everything that was recorded is data."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct
from rich.text import Text

from judges.explain import record_line
from judges.lines import cut, printable, shown
from replay.keyframes import CALL, EVENT, REFUSAL, SAID, kind_of
from replay.look import Head
from replay.timeline import CallSeen, Line
from sandbox.domain import Domain
from sandbox.effects import Effect, Effects
from sandbox.records import Record

STYLES = {EVENT: "bold green", CALL: "cyan", REFUSAL: "bold red", SAID: "yellow"}
CURRENT = "reverse"
LONGEST = 2_000
"""Characters of one text that a panel shows; more would not fit."""
VERDICTS = {"pass": "bold green", "fail": "bold red"}


class Field(Struct, frozen=True):
    """One field of a changed row."""

    table: str
    key: str
    op: Literal["inserted", "updated", "deleted"]
    name: str
    before: Any
    after: Any


def fields_of(effects: Effects) -> list[Field]:
    """Every changed field, and of new or deleted rows every field."""
    return [field for effect in effects for field in _fields(effect)]


def _fields(effect: Effect) -> Iterator[Field]:
    before, after = effect.before or {}, effect.row or {}
    changed = [change.name for change in effect.changes]
    for name in changed if effect.op == "updated" else {**before, **after}:
        yield Field(effect.table, effect.key, effect.op, name, before.get(name, UNSET), after.get(name, UNSET))


def head_text(head: Head, position: int, time: str, distance: str) -> Text:
    """One line: where in which trial."""
    text = Text(no_wrap=True)
    text.append(f"{cut(head.task)}/{head.repetition} ", "bold")
    text.append(head.verdict or "not judged", VERDICTS.get(head.verdict, "bold yellow"))
    text.append(f"  {position}/{head.records}", "bold")
    text.append(f"  {time}  {distance}")
    return text


def records_text(records: Sequence[Record], current: int, marked: frozenset[int], domain: Domain) -> Text:
    """Records, a line each: `►` at the events that findings point at, the current one reversed."""
    width = len(str(records[-1].position)) if records else 1
    lines = []
    for record in records:
        mark = "►" if record.position in marked else " "
        line = Text(f"{mark}{record.position:{width}} {printable(record_line(record, domain)).lstrip()}")
        line.stylize(STYLES.get(kind_of(record), "dim"))
        if record.position == current:
            line.stylize(CURRENT)
        lines.append(line)
    return Text("\n").join(lines)


def dialogue_text(lines: Sequence[Line], position: int) -> Text:
    """What was said last, and what comes next, dimmed."""
    told = []
    for line in lines:
        text = Text()
        text.append(f"{line.position} {line.role}: ", "bold yellow")
        text.append(cut(line.text, LONGEST), "dim" if line.position > position else "")
        told.append(text)
    return Text("\n").join(told)


def call_text(call: CallSeen | None) -> Text:
    """The call at, or before, the current record, and its answer."""
    if call is None:
        return Text("no call yet", "dim")
    text = Text()
    text.append(f"{call.position} {call.number}. {cut(call.tool)} ", "bold cyan")
    text.append(cut(call.arguments, LONGEST))
    if not call.answer_position:
        return text.append("\nno answer is recorded", "dim")
    if call.edited:
        text.append(f"\n{call.answer_position} = ", "bold").append(cut(call.edited, LONGEST))
        text.append("\nedited: this is what the agent saw; recorded before:", "yellow")
    sign = f"! {call.refusal}: " if call.refusal else "= "
    text.append(f"\n{call.answer_position} {sign}", "bold red" if call.refusal else "bold")
    return text.append(cut(call.answer, LONGEST))


def event_text(topic: str, payload: dict[str, Any]) -> Text:
    """A record's topic and its payload, a line for each field."""
    text = Text()
    text.append(cut(topic), "bold")
    for name, value in payload.items():
        short = shown(value)
        text.append(f"\n{cut(name)}: ", "dim")
        text.append(cut(msgspec.json.encode(value).decode(), LONGEST) if short.endswith("…") else short)
    return text


def changes_text(fields: Sequence[Field], selected: int, height: int) -> Text:
    """Changed rows and their fields; as many lines as fit, the selected one among them."""
    if not fields:
        return Text("nothing", "dim")
    lines: list[Text] = []
    at, row = 0, ("", "")
    for place, field in enumerate(fields):
        if (field.table, field.key) != row:
            row = (field.table, field.key)
            lines.append(Text(f"{cut(field.table)} {cut(field.key, 60)} {field.op}", "bold green"))
        if place == selected:
            at = len(lines)
        lines.append(_field_text(field, is_selected=place == selected))
    first = max(0, min(at - height // 2, len(lines) - height))
    return Text("\n").join(lines[first : first + max(height, 1)])


def _field_text(field: Field, *, is_selected: bool) -> Text:
    text = Text("› " if is_selected else "  ")
    text.append(f"{cut(field.name)}: ", "bold")
    if field.op == "updated":
        text.append(f"{shown(field.before)} → ")
    text.append(shown(field.before if field.op == "deleted" else field.after))
    if is_selected:
        text.stylize(CURRENT)
    return text
