"""Trials as rows of a table: what each column holds, and what of it only the evaluator may know."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from judges.findings import Finding
from judges.parquet import Shape
from replay.exports.messages import Message
from replay.exports.source import ExportedTrial
from replay.exports.spending import Used, used_by
from sandbox.records import ToolCalled, ToolRefused, decoded
from sandbox.spent import BUCKETS

_CALL: Shape = {"id": "string", "type": "string", "function": {"name": "string", "arguments": "string"}}
_MESSAGE: Shape = {
    "role": "string",
    "content": "string",
    "tool_calls": [_CALL],
    "tool_call_id": "string",
    "refusal": "string",
    "told": "string",
    "position": "int64",
}
_USED: Shape = {
    "party": "string",
    "calls": "int64",
    "failed": "int64",
    "unreported": "int64",
    **dict.fromkeys(BUCKETS, "int64"),
    "cost_usd": "string",
    "unpriced": "int64",
}
_FINDING: dict[str, Shape] = {
    "kind": "string",
    "table": "string",
    "key": "string",
    "op": "string",
    "field": "string",
    "found": "string",
    "position": "int64",
    "tool": "string",
}


class Column(Struct, frozen=True):
    """A column: its type, and what it holds."""

    shape: Shape
    told: str
    is_evaluators: bool = False
    """Whether it comes from the judges, so that nobody who is still to be judged may see it."""


COLUMNS: Mapping[str, Column] = {
    "campaign": Column("string", "name of the campaign"),
    "agent": Column("string", "name of the agent"),
    "domain": Column("string", "the business whose records the agent worked on"),
    "task": Column("string", "id of the task"),
    "repetition": Column("int64", "which of the attempts that count at this task, from 0"),
    "attempt": Column("int64", "from 1; above 1 where earlier attempts broke for a reason that was not the agent's"),
    "trial": Column("string", "id of the trial, a UUID"),
    "end": Column("string", "how it stopped: done, end_turn_tool, user_done, agent_limit, user_limit, deadline, …"),
    "flags": Column(["string"], "what was odd about it, such as no_action or suspected_duplicate"),
    "result": Column("string", "pass, fail or ungradeable; what nobody has judged is ungradeable", True),
    "outcome": Column("string", "the accepted outcome that was reached; of a fail the nearest one", True),
    "bundle": Column("string", "digest of the judge bundle that gave the result", True),
    "findings": Column(
        [_FINDING],
        "each difference between what the trial left and that outcome: missing, extra or wrong; `found` is JSON, "
        "`position` that of the event which wrote it, `tool` the call behind it",
        True,
    ),
    "signature": Column("string", "what a failed trial shows first, by fixed rules; no proof of a cause", True),
    "group": Column("string", "the group of that signature", True),
    "calls": Column("int64", "tool calls"),
    "refused": Column("int64", "of these, how many were declined"),
    "usage": Column(
        [_USED],
        "of each party that asked a model (agent, user, judge): calls, attempts that failed, attempts with unreported "
        "usage, tokens in buckets that do not overlap (but reasoning, which is part of output), and the cost in USD "
        "as decimal text: a lower bound where `unpriced` calls are left, null if none of it is known",
    ),
    "messages": Column(
        [_MESSAGE],
        "the dialogue with tool calls and their answers; `refusal` is the class of an answer that declined, `told` "
        "marks what the agent was told outside of the dialogue, `position` is that of the record",
    ),
}
REQUIRED = "required"
"""The field of a finding that tells what had to be there; only written where it is asked for."""


def columns(*, with_required: bool) -> dict[str, Shape]:
    """Name and type of each column."""
    shapes = {name: column.shape for name, column in COLUMNS.items()}
    return {**shapes, "findings": [{**_FINDING, REQUIRED: "string"}]} if with_required else shapes


def row_of(trial: ExportedTrial, *, with_required: bool) -> dict[str, Any]:
    """A trial as a row; what the shapes do not name is left out of it."""
    key, verdict, signature = trial.key, trial.verdict, trial.signature
    payloads = [decoded(record) for record in trial.records]
    return {
        "campaign": key.campaign,
        "agent": trial.seal.agent,
        "domain": trial.seal.domain,
        "task": key.task,
        "repetition": key.repetition,
        "attempt": key.attempt,
        "trial": str(key.id),
        "end": trial.end.end,
        "flags": list(trial.end.flags),
        "result": trial.result,
        "outcome": verdict.outcome or None if verdict else None,
        "bundle": verdict.bundle if verdict else None,
        "findings": [finding_of(one, with_required=with_required) for one in (verdict.findings if verdict else ())],
        "signature": signature.name if signature else None,
        "group": signature.group if signature else None,
        "calls": sum(isinstance(payload, ToolCalled) for payload in payloads),
        "refused": sum(isinstance(payload, ToolRefused) for payload in payloads),
        "usage": [_used(one) for one in used_by(trial.calls, trial.prices)],
        "messages": [chat_of(message) for message in trial.messages],
    }


def finding_of(finding: Finding, *, with_required: bool) -> dict[str, Any]:
    """A finding as plain values, without what was required unless that is asked for."""
    told = {
        "kind": finding.kind,
        "table": finding.table,
        "key": finding.key,
        "op": finding.op,
        "field": finding.field or None,
        "found": _json(finding.found),
        "position": finding.position or None,
        "tool": finding.tool or None,
    }
    return {**told, REQUIRED: _json(finding.required)} if with_required else told


def _json(value: Any) -> str | None:
    return None if value is UNSET else msgspec.json.encode(value).decode()


def _used(used: Used) -> dict[str, Any]:
    counts = {"party": used.party, "calls": used.calls, "failed": used.failed, "unreported": used.unreported}
    return {**counts, **used.tokens, "cost_usd": used.usd, "unpriced": used.cost.unpriced}


def chat_of(message: Message) -> dict[str, Any]:
    """A message in the form that chat templates take."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
        for call in message.calls
    ]
    return {
        "role": message.role,
        "content": message.content,
        "tool_calls": calls or None,
        "tool_call_id": message.call_id or None,
        "refusal": message.refusal or None,
        "told": message.told or None,
        "position": message.position,
    }
