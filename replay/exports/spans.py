"""A trial as OpenTelemetry spans, by the conventions for generative AI, version 0.1.0: their names still move."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from replay.exports.messages import AskedCall, Message, last_words
from replay.exports.source import ExportedTrial
from replay.exports.times import span_of, telemetry_of
from replay.exports.verdicts import told_verdict
from sandbox.records import Record, Replied, ToolCalled, ToolRefused, ToolReturned, Unanswered, decoded
from sandbox.usage import Usage
from sandbox.values import digest

Value: TypeAlias = str | int | float | bool | list[str]
EVALUATION = "gen_ai.evaluation.result"
LONGEST = 50_000
"""Characters of a text in an attribute; more is cut, and says so."""
_SCORES = {"pass": 1.0, "fail": 0.0}


class SpanEvent(Struct, frozen=True):
    """Something that happened during a span."""

    name: str
    time: int
    attributes: Mapping[str, Value]


class Span(Struct, frozen=True):
    """A span as it is written and sent. Times are nanoseconds since 1970."""

    trace: int
    id: int
    parent: int
    """0 for none."""
    name: str
    kind: Literal["internal", "client"]
    start: int
    end: int
    attributes: Mapping[str, Value]
    events: tuple[SpanEvent, ...] = ()
    is_error: bool = False
    message: str = ""
    """Of an error."""


def spans_of(trial: ExportedTrial, *, with_content: bool = True) -> list[Span]:
    """
    The agent's span, then one for each model call of agent and user and one for each tool call.

    Ids are made from the trial's id and positions, so the same trial gives the same trace wherever it is exported.
    What a rubric judge was asked has no time in the records, and no span.

    Args:
        with_content: whether to tell what was said, asked and answered.
    """
    trace = _Trace(trial, with_content)
    return [trace.agent(), *trace.steps()]


class _Trace:
    def __init__(self, trial: ExportedTrial, with_content: bool) -> None:
        self._trial = trial
        self._with_content = with_content
        start, end = span_of(trial.records)
        self._start, self._end = _ns(start), _ns(end)
        self._answers = {message.position: message for message in trial.messages if message.role == "tool"}
        self._replies = {message.reply: message for message in reversed(trial.messages) if message.reply}

    def agent(self) -> Span:
        trial = self._trial
        said = last_words(trial.messages)
        texts = {
            "input.value": trial.messages[0].content,
            "output.value": said,
            "gen_ai.input.messages": _chat([trial.messages[0]]),
            "gen_ai.output.messages": _chat([Message("assistant", said, 0)] if said else []),
        }
        attributes = {**self._operation("invoke_agent"), **self._about(), **self._content(texts)}
        ids = trial.key.id.int, self._id(0), 0
        evaluation = SpanEvent(EVALUATION, self._end, self._evaluation())
        name = f"invoke_agent {trial.seal.agent}"
        return Span(*ids, name, "internal", self._start, self._end, attributes, (evaluation,))

    def _about(self) -> dict[str, Value]:
        trial, key = self._trial, self._trial.key
        return {
            "gen_ai.agent.name": trial.seal.agent,
            "trialbox.campaign": key.campaign,
            "trialbox.domain": trial.seal.domain,
            "trialbox.task": key.task,
            "trialbox.repetition": key.repetition,
            "trialbox.attempt": key.attempt,
            "trialbox.end": trial.end.end,
            "trialbox.flags": list(trial.end.flags),
            "trialbox.result": trial.result,
        }

    def _evaluation(self) -> dict[str, Value]:
        trial = self._trial
        told: dict[str, Value] = {
            "gen_ai.evaluation.name": "trialbox.verdict",
            "gen_ai.evaluation.score.label": trial.result,
            "gen_ai.evaluation.explanation": _cut(told_verdict(trial.verdict, with_values=self._with_content)),
        }
        if trial.result in _SCORES:
            told["gen_ai.evaluation.score.value"] = _SCORES[trial.result]
        if trial.signature is not None:
            told |= {"trialbox.signature": trial.signature.name, "trialbox.group": trial.signature.group}
        return told

    def steps(self) -> Iterator[Span]:
        called: tuple[Record, ToolCalled] | None = None
        for record in self._trial.records:
            payload = decoded(record)
            if isinstance(payload, Replied | Unanswered):
                yield self._chat_span(record, payload)
            elif isinstance(payload, ToolCalled):
                called = (record, payload)
            elif isinstance(payload, ToolReturned | ToolRefused) and called is not None:
                yield self._tool_span(*called, self._answers[record.position])
                called = None

    def _chat_span(self, record: Record, call: Replied | Unanswered) -> Span:
        attributes: dict[str, Value] = {
            **self._operation("chat"),
            "gen_ai.request.model": call.model,
            "trialbox.party": call.party,
            "trialbox.attempts": call.attempts,
        }
        if isinstance(call, Replied):
            attributes |= {"gen_ai.response.model": call.served or call.model, **_usage(call.usage)}
            if call.finish:
                attributes["gen_ai.response.finish_reasons"] = [call.finish]
            message = self._replies.get(record.position)
            if message is not None:
                attributes |= self._content({"gen_ai.output.messages": _chat([message], call.finish)})
            return self._step(record, f"chat {call.model}", "client", attributes)
        attributes["error.type"] = call.fault
        fault = call.message if self._with_content else call.fault
        return self._step(record, f"chat {call.model}", "client", attributes, fault)

    def _tool_span(self, record: Record, call: ToolCalled, answer: Message) -> Span:
        attributes: dict[str, Value] = {
            **self._operation("execute_tool"),
            "gen_ai.tool.name": call.tool,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": answer.call_id,
            **self._content(
                {
                    "gen_ai.tool.call.arguments": call.arguments,
                    "gen_ai.tool.call.result": answer.content,
                    "input.value": call.arguments,
                    "output.value": answer.content,
                }
            ),
        }
        if not answer.refusal:
            return self._step(record, f"execute_tool {call.tool}", "internal", attributes)
        attributes["error.type"] = answer.refusal
        fault = answer.content if self._with_content else answer.refusal
        return self._step(record, f"execute_tool {call.tool}", "internal", attributes, fault)

    def _step(
        self,
        record: Record,
        name: str,
        kind: Literal["internal", "client"],
        attributes: Mapping[str, Value],
        fault: str | None = None,
    ) -> Span:
        """A span below the agent's, and within its time."""
        seen = telemetry_of(record)
        end = min(max(_ns(seen.wall), self._start), self._end)
        start = min(max(_ns(seen.wall - seen.took_ms / 1000), self._start), end)
        ids = self._trial.key.id.int, self._id(record.position), self._id(0)
        message = _cut(fault) if fault else ""
        return Span(*ids, name, kind, start, end, attributes, (), fault is not None, message)

    def _operation(self, name: str) -> dict[str, Value]:
        has_model = name == "chat" or any(call.party == "agent" for call in self._trial.calls)
        return {
            "gen_ai.operation.name": name,
            "gen_ai.provider.name": "openai" if has_model else "trialbox",
            "gen_ai.conversation.id": str(self._trial.key.id),
        }

    def _content(self, texts: Mapping[str, str]) -> dict[str, Value]:
        return {name: _cut(text) for name, text in texts.items()} if self._with_content else {}

    def _id(self, position: int) -> int:
        """Eight bytes, and never nothing but zeros."""
        return int.from_bytes(digest(self._trial.key.id.bytes, str(position).encode())[:8], "big") or 1


def _usage(usage: Usage) -> dict[str, Value]:
    """Tokens as far as they are known; input is whole, with what caches read and wrote."""
    written = [count for count in (usage.cache_write, usage.cache_write_long) if count is not None]
    counts = {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read.input_tokens": usage.cache_read,
        "cache_creation.input_tokens": sum(written) if written else None,
        "reasoning.output_tokens": usage.reasoning,
    }
    return {f"gen_ai.usage.{name}": count for name, count in counts.items() if count is not None}


def _chat(messages: Sequence[Message], finish: str = "") -> str:
    """Messages in the JSON of the conventions: a role and parts."""
    made: list[dict[str, Any]] = []
    for message in messages:
        parts = [{"type": "text", "content": _cut(message.content)}] if message.content else []
        one: dict[str, Any] = {"role": message.role, "parts": [*parts, *(_part(call) for call in message.calls)]}
        made.append({**one, "finish_reason": finish or "stop"} if message.role == "assistant" else one)
    return json.dumps(made, ensure_ascii=False)


def _part(call: AskedCall) -> dict[str, str]:
    return {"type": "tool_call", "id": call.id, "name": call.tool, "arguments": call.arguments}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def _ns(wall: float) -> int:
    """Whole microseconds in nanoseconds: what telemetry tells."""
    return round(wall * 1_000_000) * 1000
