"""What `show`, `blame` and `step` print: plain lines in which everything that was recorded is data."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from judges.lines import WIDEST, cut, printable, shown
from judges.lines import line as finding_line
from replay.look import Blamed, DistanceShown, Head, RowShown, Shown
from replay.origin import FieldWrite
from replay.sight import Sight
from replay.timeline import CallSeen, Line
from sandbox.effects import Effect

DIFFERS = "today's domain code does not give the effects that were recorded at the end"
MOST_EFFECTS = 20
"""Effects that `show` prints; JSON has all of them."""


def shown_lines(told: Shown) -> Iterator[str]:
    """A trial at a position."""
    yield from head_lines(told.trial)
    yield ""
    if told.record is None:
        yield f"position 0 of {told.trial.records}: the snapshot, before the first record"
    else:
        r = told.record
        yield f"position {told.position} of {told.trial.records}  {r.time}  {cut(r.topic)}"
        yield f"  {cut(_json(r.payload))}"
    if told.changes:
        yield "changed"
        yield from (f"  {text}" for effect in told.changes for text in effect_lines(effect))
    if told.call is not None:
        yield "call"
        yield from (f"  {text}" for text in call_lines(told.call))
    if told.dialogue:
        yield "dialogue"
        yield from (f"  {dialogue_line(line)}" for line in told.dialogue)
    if told.table:
        yield f"{told.table}: rows {len(told.rows)}"
        yield from (f"  {row_line(row)}" for row in told.rows)
    else:
        yield f"effects so far: {len(told.effects)} (calls {told.calls}, refused {told.refused}, events {told.events})"
        for effect in told.effects[:MOST_EFFECTS]:
            yield from (f"  {text}" for text in effect_lines(effect))
        if len(told.effects) > MOST_EFFECTS:
            yield f"  … {len(told.effects) - MOST_EFFECTS} more; all of them with --json"
    yield from distance_lines(told.distances)


def head_lines(head: Head) -> Iterator[str]:
    """Which trial it is, and how it went."""
    yield f"task {cut(head.task)}, repetition {head.repetition}, attempt {head.attempt}, trial {head.id}"
    end = head.end or "not ended"
    flags = f" ({cut(', '.join(head.flags))})" if head.flags else ""
    if head.parent:
        yield f"fork of {head.parent}"
    yield f"agent {cut(head.agent)}, domain {cut(head.domain)}, records {head.records}, end {end}{flags}"
    nearest = f" (nearest accepted outcome: {cut(head.outcome)})" if head.verdict == "fail" and head.outcome else ""
    yield f"verdict: {head.verdict or 'none'}{nearest}"
    yield from (f"  {finding.kind}: {printable(finding_line(finding))}" for finding in head.findings)
    if head.fold == "differs":
        yield f"warning: {DIFFERS}"


def effect_lines(effect: Effect) -> Iterator[str]:
    """A row's change: a line for each field, or one for a new or deleted row."""
    at = f"{cut(effect.table)} {cut(effect.key, 40)}"
    if effect.op == "inserted":
        yield f"{at} + {cut(_json(effect.row))}"
    elif effect.op == "deleted":
        yield f"{at} - {cut(_json(effect.before))}"
    for change in effect.changes:
        name = change.name
        yield f"{at} · {cut(name)}: {value_in(effect.before, name)} → {value_in(effect.row, name)}"
    if effect.moved:
        yield f"{at}: deleted and created again"


def call_lines(call: CallSeen) -> Iterator[str]:
    """A call and its answer."""
    yield f"{call.position}  {call.number}. {cut(call.tool)} {cut(call.arguments)}"
    if not call.answer_position:
        yield "no answer is recorded"
        return
    answer = f"! {call.refusal}: {cut(call.answer)}" if call.refusal else f"= {cut(call.answer)}"
    if call.edited:
        yield f"{call.answer_position}  = {cut(call.edited)} (edited: this is what the agent saw)"
        yield f"    recorded before: {answer}"
    else:
        yield f"{call.answer_position}  {answer}"


def dialogue_line(line: Line, widest: int = WIDEST) -> str:
    """Something that was said."""
    return f"{line.position}  {line.role}: {cut(line.text, widest)}"


def row_line(row: RowShown) -> str:
    """A row of a table."""
    return f"{cut(row.key, 40)}  {cut(_json(row.row))}"


def distance_lines(distances: tuple[DistanceShown, ...] | None) -> Iterator[str]:
    """How far the rows are from each accepted outcome, the nearest first."""
    if distances is None:
        yield "distance: the store keeps no outcomes of this task"
    elif not distances:
        yield "distance: the task names no outcomes"
    for one in distances or ():
        told = {"yes": "reached", "no": f"findings {one.findings}", "could not check": f"not known, {cut(one.reason)}"}
        yield f"distance to {cut(one.outcome, 60)}: {told[one.equal]}"


def blamed_lines(told: Blamed) -> Iterator[str]:
    """Where a field's value comes from."""
    head = told.trial
    yield f"task {cut(head.task)}, repetition {head.repetition}, trial {head.id}, position {told.position}"
    yield f"{cut(told.table)} {cut(told.key, 40)} · {cut(told.field)}: {shown(told.value)}"
    yield from origin_lines(told)


def origin_lines(told: Blamed) -> Iterator[str]:
    """Each write, the call and words behind the last one, and where the agent saw the value."""
    if not told.writes:
        yield "no event of the trial wrote it; it is as it was in the snapshot"
        return
    for write in told.writes:
        mark = "►" if write is told.writes[-1] else " "
        yield f"{mark} {write_line(write)}"
    if told.call is not None:
        yield from call_lines(told.call)
    if told.line is not None:
        yield f"before it  {dialogue_line(told.line)}"
    if told.sight is not None:
        yield sight_line(told.sight, told.is_given)


def write_line(write: FieldWrite) -> str:
    """One write of a field."""
    return f"event {write.position} ({cut(write.topic)}): {shown(write.before)} → {shown(write.after)}"


def sight_line(sight: Sight, is_given: bool) -> str:
    """Where the agent first saw a value, and whether it chose it."""
    chosen = "the agent gave it in the call" if is_given else "the tool made it, the call does not hold it"
    if sight.answer == "not searched":
        return f"first seen: not searched, the value stands everywhere; {chosen}"
    if sight.answer == "nowhere":
        return f"first seen: nowhere before the call; {chosen}" + (", so it made it up" if is_given else "")
    where = {"answer": "in an answer", "refusal": "in a refusal", "user": "from the user"}.get(sight.where, "")
    at = f"at {sight.position} {where}" if where else "in the instructions"
    path = f", {cut(sight.path, 60)}" if sight.path else ""
    return f"first seen: {at}{path}: {cut(sight.text)}; {chosen}"


def value_in(row: dict[str, Any] | None, field: str) -> str:
    """A field of a plain row, or that it is not there."""
    return shown(UNSET if row is None else row.get(field, UNSET))


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
