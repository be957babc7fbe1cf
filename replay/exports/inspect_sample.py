"""A trial as a sample of an Inspect log."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from replay.exports.messages import AskedCall, Message, last_words
from replay.exports.rows import finding_of
from replay.exports.source import ExportedTrial
from replay.exports.spending import Used, used_by
from replay.exports.times import span_of, utc_text
from replay.exports.verdicts import told_verdict
from sandbox.records import Replied

SCORER = "verdict"
NO_MODEL = "none/none"
"""What Inspect calls the model of an evaluation without one."""
UNSCORED = float("nan")
"""The value of a score that metrics leave out."""
LONGEST = 1_000
"""Characters of a text in a summary."""
DEEPEST = 50
"""Nesting of arguments that are still given as values; beyond it readers break."""
_VALUES = {"pass": "C", "fail": "I", "ungradeable": UNSCORED}
_STOPS = {"stop": "stop", "length": "max_tokens", "tool_calls": "tool_calls", "content_filter": "content_filter"}


class Sample(Struct, frozen=True):
    """A sample, and what the log says of it elsewhere."""

    content: Mapping[str, Any]
    summary: Mapping[str, Any]
    model: str
    started: float
    completed: float
    """Seconds since 1970."""


def sample_of(trial: ExportedTrial, *, with_required: bool) -> Sample:
    """A trial as a sample: its task is the sample, its repetition the epoch, from 1."""
    own = [call for call in trial.calls if isinstance(call, Replied) and call.party == "agent"]
    model = own[0].model if own else NO_MODEL
    shared = _shared(trial, with_required)
    messages = [_message(trial, place, message, model) for place, message in enumerate(trial.messages)]
    content = {
        **shared,
        "messages": messages,
        "output": _output(messages, model, own[-1].finish if own else "stop"),
        "metadata": _metadata(trial, with_required),
        "store": {},
        "events": [],
        "attachments": {},
    }
    return Sample(content, _summary(trial, shared), model, *span_of(trial.records))


def _shared(trial: ExportedTrial, with_required: bool) -> dict[str, Any]:
    """What stands in a sample and in its summary."""
    started, completed = span_of(trial.records)
    took = round(completed - started, 3)
    return {
        "id": trial.key.task,
        "epoch": trial.key.repetition + 1,
        "input": trial.messages[0].content,
        "target": "",
        "scores": {SCORER: _score(trial, with_required)},
        "model_usage": usage_of(_by_model(trial)),
        "role_usage": usage_of((one.party, one) for one in used_by(trial.calls, trial.prices)),
        "started_at": utc_text(started),
        "completed_at": utc_text(completed),
        "total_time": took,
        "working_time": took,
        "uuid": str(trial.key.id),
    }


def _summary(trial: ExportedTrial, shared: Mapping[str, Any]) -> dict[str, Any]:
    """A sample as lists show it: texts are cut, messages are counted."""
    score = shared["scores"][SCORER]
    cut = {name: score[name][:LONGEST] for name in ("answer", "explanation")}
    return {
        **shared,
        "input": shared["input"][:LONGEST],
        "scores": {SCORER: {"value": score["value"], **cut, "history": []}},
        "metadata": {"trial": str(trial.key.id), "end": trial.end.end, **_signature(trial)},
        "retries": trial.key.attempt - 1,
        "completed": True,
        "message_count": len(trial.messages),
    }


def _score(trial: ExportedTrial, with_required: bool) -> dict[str, Any]:
    return {
        "value": _VALUES[trial.result],
        "answer": last_words(trial.messages),
        "explanation": told_verdict(trial.verdict, with_required=with_required),
        "metadata": _signature(trial),
        "history": [],
    }


def _signature(trial: ExportedTrial) -> dict[str, Any]:
    return {"signature": trial.signature.name, "group": trial.signature.group} if trial.signature else {}


def _metadata(trial: ExportedTrial, with_required: bool) -> dict[str, Any]:
    verdict = trial.verdict
    costs = {one.party: one for one in used_by(trial.calls, trial.prices)}
    return {
        "trial": str(trial.key.id),
        "campaign": trial.key.campaign,
        "repetition": trial.key.repetition,
        "attempt": trial.key.attempt,
        "end": trial.end.end,
        "flags": list(trial.end.flags),
        "result": trial.result,
        "outcome": verdict.outcome if verdict else "",
        "bundle": verdict.bundle if verdict else "",
        "findings": [finding_of(one, with_required=with_required) for one in (verdict.findings if verdict else ())],
        **_signature(trial),
        "cost_usd": {party: one.usd for party, one in costs.items()},
        "unpriced": {party: one.cost.unpriced for party, one in costs.items()},
        "unreported_usage": {party: one.unreported for party, one in costs.items()},
    }


def _message(trial: ExportedTrial, place: int, message: Message, model: str) -> dict[str, Any]:
    made: dict[str, Any] = {"id": f"{trial.key.id.hex[:12]}-{place}", "role": message.role, "content": message.content}
    made["metadata"] = {"position": message.position}
    if message.role == "assistant":
        made |= {"source": "generate", "model": model}
        if message.calls:
            made["tool_calls"] = [_call(call) for call in message.calls]
    elif message.role == "tool":
        made |= {"tool_call_id": message.call_id, "function": message.tool}
        if message.refusal:
            made["error"] = {"type": "unknown", "message": f"{message.refusal}: {message.content}"}
            made["metadata"]["refusal"] = message.refusal
    elif message.told:
        made["metadata"]["told"] = message.told
    elif place == 0:
        made["source"] = "input"
    return made


def _call(call: AskedCall) -> dict[str, Any]:
    """A call; where its arguments are no JSON object, they stand in the place of what went wrong in parsing them."""
    made: dict[str, Any] = {"id": call.id, "function": call.tool, "type": "function", "arguments": {}}
    given = _object(call.arguments)
    if given is None:
        return {**made, "parse_error": f"no JSON object, or one that is nested too deeply: {call.arguments}"}
    return {**made, "arguments": given}


def _object(text: str) -> dict[str, Any] | None:
    try:
        given = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError):
        return None
    return given if isinstance(given, dict) and not _is_deep(given) else None


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return bool(level)


def _output(messages: Sequence[Mapping[str, Any]], model: str, finish: str) -> dict[str, Any]:
    last = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    if last is None:
        return {"model": model, "choices": [], "completion": ""}
    choice = {"message": last, "stop_reason": _STOPS.get(finish, "unknown")}
    return {"model": model, "choices": [choice], "completion": last["content"]}


def _by_model(trial: ExportedTrial) -> list[tuple[str, Used]]:
    models = dict.fromkeys(call.model for call in trial.calls)
    return [
        (model, used)
        for model in models
        for used in used_by([call for call in trial.calls if call.model == model], trial.prices)
    ]


def usage_of(used: Any) -> dict[str, dict[str, Any]]:
    """
    Usages by name, those of one name added up. Input is without what caches read and wrote.

    What was not reported counts as nothing here; a sample's metadata says of how many attempts that is so.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, one in used:
        found[name] = added(found[name], _usage(one)) if name in found else _usage(one)
    return found


def added(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Two usages together; a cost that one of them does not know is unknown."""
    made = {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other} if name != "total_cost"}
    if "total_cost" in one and "total_cost" in other:
        made["total_cost"] = one["total_cost"] + other["total_cost"]
    return made


def _usage(used: Used) -> dict[str, Any]:
    tokens = {bucket: count or 0 for bucket, count in used.tokens.items()}
    made: dict[str, Any] = {
        "input_tokens": tokens["uncached_input"],
        "output_tokens": tokens["output"],
        "input_tokens_cache_read": tokens["cache_read"],
        "input_tokens_cache_write": tokens["cache_write"] + tokens["cache_write_long"],
        "reasoning_tokens": tokens["reasoning"],
    }
    made["total_tokens"] = sum(count for bucket, count in tokens.items() if bucket != "reasoning")
    return made if used.cost.unpriced else {**made, "total_cost": float(used.cost.usd)}
