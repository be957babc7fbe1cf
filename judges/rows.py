"""Stored trials as the result rows of another benchmark, for tools that read those."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from judges.court import kept_bundle
from judges.lines import lines
from judges.read_models import is_refusal
from judges.record import KIND, Judgement
from judges.record import decoded as judgement_in
from judges.spending import calls_among
from sandbox.archive import Archive, Seal
from sandbox.drafts import draft_beside
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
from sandbox.refusals import UserFault
from sandbox.store_file import is_store
from sandbox.stream import Store, StreamFault
from sandbox.values import canonical

FINISHES: Mapping[End, str] = {"context_overflow": "agent_error", "deadline": "agent_error", "cancelled": "agent_error"}
"""Ends that the other benchmark has no name for; the end itself is in the row's metadata."""


class RowsNotWritten(UserFault):
    """Rows that cannot be written where they should go; nothing of them is left."""


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """
    Write rows as JSON Lines into a new file, which is there as a whole or not at all; how many there are.

    Raises:
        RowsNotWritten: something is there already, or the disk says no.
    """
    ensure_free(path)
    draft, count = draft_beside(path), 0
    try:
        with draft.open("wb") as file:
            for row in rows:
                file.write(canonical(row) + b"\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        ensure_free(path)
        draft.rename(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise RowsNotWritten(f"{path}: cannot be written: {reason}; check the disk and the path") from error
    finally:
        draft.unlink(missing_ok=True)
    return count


def ensure_free(path: Path) -> None:
    """Return if nothing is at a path; RowsNotWritten if something is."""
    if path.exists() or path.is_symlink():
        what = "is a store" if is_store(path) else "is there already"
        raise RowsNotWritten(f"{path} {what}; write the rows into another file")


def thinkingbox_rows(store: Store, archive: Archive) -> Iterator[dict[str, Any]]:
    """
    A row for each repetition with a trial that counts, task by task.

    One without a verdict has a `test_result` that says so as a system error, never as a failure.
    """
    newest = {name.partition("/")[0]: name for name in store.names(KIND)}
    refusals = Refusals.kept_in(store, archive.seal)
    for key, records in archive.closed():
        end = decoded(records[-1])
        if isinstance(end, TrialEnded) and end.end != "infrastructure":
            name = newest.get(key.id.hex)
            judgement = None if name is None else _judgement(store, name)
            yield _row(archive.seal, key, records, end, judgement, is_refusal=refusals.of(key.task, judgement))


def _judgement(store: Store, name: str) -> Judgement:
    content = store.kept(KIND, name)
    if content is None:
        raise StreamFault(f"{store.name}: judgement {name} is listed, but not there; restore a copy of the file")
    return judgement_in(content)


class Refusals(Struct, frozen=True):
    """Which tasks of a campaign are passed by refusing, or by doing nothing."""

    by_bundle: Mapping[str, bool]
    """As whoever judged a trial saw it."""
    by_task: Mapping[str, bool]
    """By the expectation that was kept last."""

    @classmethod
    def kept_in(cls, store: Store, seal: Seal) -> "Refusals":
        """Those of a store's campaign."""
        kept = {name: kept_bundle(store, name) for name in store.names("expectation")}
        known = {name: bundle for name, bundle in kept.items() if bundle is not None}
        by_digest = {bundle.task: is_refusal(bundle.expectation) for bundle in known.values()}
        return cls(
            {name: is_refusal(bundle.expectation) for name, bundle in known.items()},
            {task.id: by_digest.get(task.digest, False) for task in seal.tasks},
        )

    def of(self, task: str, judgement: Judgement | None) -> bool:
        """Whether a trial's task is one, as its judge saw it."""
        last = self.by_task[task]
        return last if judgement is None else self.by_bundle.get(judgement.bundle, last)


def _row(
    seal: Seal,
    key: TrialKey,
    records: Sequence[Record],
    end: TrialEnded,
    judgement: Judgement | None,
    *,
    is_refusal: bool,
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
            "refusal": is_refusal,
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
