"""Stored trials as the result rows of another benchmark, for tools that read those."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judges.court import judgements
from judges.lines import lines
from judges.record import Judgement
from judges.spending import calls_among
from sandbox.archive import Archive, Seal
from sandbox.records import (
    End,
    Record,
    Replied,
    Said,
    ToolCalled,
    ToolRefused,
    ToolReturned,
    TrialEnded,
    TrialKey,
    decoded,
)
from sandbox.stream import Store

FINISHES: Mapping[End, str] = {"context_overflow": "agent_error", "deadline": "agent_error", "cancelled": "agent_error"}
"""Ends that the other benchmark has no name for; the end itself is in the row's metadata."""


def thinkingbox_rows(store: Store, archive: Archive) -> Iterator[dict[str, Any]]:
    """
    A row for each repetition with a trial that counts, task by task.

    One without a verdict has a `test_result` that says so as a system error, never as a failure.
    """
    given = {judgement.trial: judgement for judgement in judgements(store)}
    for key, records in archive.closed():
        end = decoded(records[-1])
        if isinstance(end, TrialEnded) and end.end != "infrastructure":
            yield _row(archive.seal, key, records, end, given.get(key.id.hex))


def _row(
    seal: Seal, key: TrialKey, records: Sequence[Record], end: TrialEnded, judgement: Judgement | None
) -> dict[str, Any]:
    finish = "no_user_llm" if "no_user" in end.flags else FINISHES.get(end.end, end.end)
    return {
        "uid": key.task,
        "messages": list(_messages(records)),
        "test_result": _result(judgement),
        "test_tags": {},
        "usage": [_usage(call) for call in calls_among(records) if _is_agents(call)],
        "metadata": {
            "repetition": key.repetition,
            "attempt": key.attempt,
            "end": end.end,
            "flags": list(end.flags),
            "trial": str(key.id),
            "campaign": key.campaign,
            "domain": seal.domain,
            "agent": seal.agent,
        },
        "is_system_error": False,
        "finish_reason": finish,
    }


def _messages(records: Sequence[Record]) -> Iterator[dict[str, Any]]:
    name = call_id = ""
    for record in records:
        payload = decoded(record)
        if isinstance(payload, Said):
            yield {"T": "Text", "role": payload.role, "content": payload.text, "metadata": {"tag": "text"}}
        elif isinstance(payload, ToolCalled):
            name, call_id = payload.tool, payload.call_id or f"call_{payload.number}"
            yield {"T": "ToolCall", "name": name, "arguments": _arguments(payload.arguments), "id": call_id}
        elif isinstance(payload, ToolReturned):
            yield {"T": "ToolResponse", "name": name, "content": payload.result, "id": call_id, "metadata": {}}
        elif isinstance(payload, ToolRefused):
            refused = {"error": payload.refusal}
            yield {"T": "ToolResponse", "name": name, "content": payload.message, "id": call_id, "metadata": refused}


def _arguments(text: str) -> Any:
    """The arguments of a call, as an object if they are one."""
    try:
        given = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text
    return given if isinstance(given, dict) else text


def _result(judgement: Judgement | None) -> dict[str, Any]:
    result = "ungradeable" if judgement is None else judgement.verdict.result
    told = "" if judgement is None or result == "pass" else "\n".join(lines(judgement.verdict))
    passed = result == "pass"
    return {
        "result": passed,
        "reward": 1.0 if passed else 0.0,
        "is_system_error": result == "ungradeable",
        "tb": told,
        "prints": "",
        "lineno": None,
        "line_content": None,
        "metadata": {},
    }


def _is_agents(call: Any) -> bool:
    return isinstance(call, Replied) and call.party == "agent"


def _usage(call: Any) -> dict[str, Any]:
    """Of one completion, as far as it is known."""
    used = call.usage
    total = None if used.input is None or used.output is None else used.input + used.output
    return {
        "input_tokens": used.input,
        "input_tokens_details": {"cached_tokens": used.cache_read},
        "output_tokens": used.output,
        "output_tokens_details": {"reasoning_tokens": used.reasoning},
        "total_tokens": total,
    }
