"""Result rows of the public benchmark: which trials they tell of. Pure; reading files is left to others."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from judges.results.files import Line
from judges.results.foreign import (
    ENDS,
    LONGEST_NAME,
    MOST_REPETITIONS,
    MOST_TRIALS,
    ForeignTrial,
    Read,
    Reading,
    Result,
    ends_normally,
    named,
    rated,
    spent_on,
    told,
    untold,
)
from sandbox.foreign import ImportFault
from sandbox.records import End
from sandbox.spent import Spent
from sandbox.usage import usage_of
from sandbox.values import canonical

FORMAT = "thinkingbox"
FINISHES: Mapping[str, End] = {
    "done": "done",
    "end_turn_tool": "end_turn_tool",
    "user_done": "user_done",
    "user_limit": "user_limit",
    "agent_limit": "agent_limit",
    "no_user_llm": "user_limit",
    "agent_error": "agent_error",
    "skipped": "infrastructure",
}
"""How a row's `finish_reason` is called here. Where the agent was skipped there was no trial."""
BUSINESSES: Mapping[str, str] = {
    "sandbox_external_retail": "retail",
    "sandbox_auto_insurance": "insurance",
    "external_booking": "travel",
    "sandbox_neobank": "neobank",
    "sandbox_consulting": "consulting",
}
"""Domains by how the names of their scenarios and task files begin."""

Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]


class _MessageData(Struct):
    error: Any = None


class _Message(Struct):
    T: str = ""
    tool_calls: list[Any] | None = None
    content: Any = None
    metadata: _MessageData | None = None


class _Tested(Struct):
    result: bool | None = None
    reward: float | None = None
    is_system_error: bool | None = None
    tb: Any = None


class _Metadata(Struct):
    repetition: Annotated[int, Meta(ge=0, lt=MOST_REPETITIONS)] | None = None
    scenario: str | None = None
    domain: Name | None = None
    agent: str | None = None
    end: str | None = None
    flags: list[str] | None = None
    trial: str | None = None
    """Here and below: only in rows that `trialbox rows` wrote."""
    refusal: bool | None = None
    """Whether the task is passed by refusing, or by doing nothing."""
    error: Any = None

    @property
    def is_ours(self) -> bool:
        return self.trial is not None and self.end is not None


class _Row(Struct):
    uid: Name
    test_result: _Tested | None = None
    messages: list[_Message] | None = None
    test_tags: Any = None
    usage: list[Any] | None = None
    metadata: _Metadata | None = None
    is_system_error: bool | None = None
    finish_reason: str | None = None


class _Group(Struct):
    trials: list[Read]
    refusals: dict[str, bool]


def readings(lines: Iterable[Line], file: str, sha256: str, agent: str = "", domain: str = "") -> list[Reading]:
    """
    What the rows of a file say, by agent and domain.

    Args:
        agent: whose rows these are; they do not say it, unless `trialbox rows` wrote them with it.
        domain: what they are about; empty: what each row's scenario or task id tells.

    Raises:
        ImportFault: a row cannot be understood; its line is named.
    """
    groups: dict[tuple[str, str], _Group] = {}
    for place, line in enumerate(lines):
        where = f"{file}, line {line.number}"
        if place >= MOST_TRIALS:
            raise ImportFault(f"{where} is one row too many; import no more than {MOST_TRIALS:,} from a file")
        row = _row(line.value, where)
        whose = (_agent(row, agent, where), _domain(row, domain, where))
        group = groups.setdefault(whose, _Group([], {}))
        number = row.metadata.repetition if row.metadata else None
        group.trials.append(Read(where, number, _trial(row, whose[0], where, f"line {line.number}")))
        if _is_refusal(row):
            group.refusals[row.uid] = True
    return [
        Reading(
            format=FORMAT,
            file=file,
            sha256=sha256,
            agent=name,
            domain=about,
            settings=canonical({"imported": FORMAT, "model": name}).decode(),
            trials=tuple(group.trials),
            refusals=tuple(group.refusals),
        )
        for (name, about), group in groups.items()
    ]


def _row(value: Any, where: str) -> _Row:
    try:
        row = msgspec.convert(value, _Row)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ImportFault(f"{where} is no result row: {told(str(error))}") from None
    named(row.uid, "uid", where)
    return row


def _agent(row: _Row, agent: str, where: str) -> str:
    written = row.metadata.agent if row.metadata and row.metadata.is_ours else None
    if not (agent or written):
        raise ImportFault(f"{where}: result rows do not say which agent they are of; give it with --agent NAME")
    return named(agent or written or "", "agent", where)


def _domain(row: _Row, domain: str, where: str) -> str:
    data = row.metadata or _Metadata()
    file, colon, _ = row.uid.partition(":")
    scenario = data.scenario or (file.removesuffix(".py").removesuffix(".yaml") if colon else "")
    begins = (name for start, name in BUSINESSES.items() if scenario == start or scenario.startswith(f"{start}_"))
    found = domain or data.domain or next(begins, scenario)
    if not found:
        raise ImportFault(f"{where}: nothing tells which domain {row.uid[:40]!r} is of; give it with --domain NAME")
    return named(found, "domain", where)


def _trial(row: _Row, agent: str, where: str, place: str) -> ForeignTrial:
    data, tested = row.metadata or _Metadata(), row.test_result
    end, flags = _end(row, data, where)
    result, detail = _result(tested, where)
    if end == "infrastructure":
        result, detail = "ungradeable", told(_broken(data.error))
    messages = row.messages or []
    answers = [_is_refused(message, data) for message in messages if message.T == "ToolResponse"]
    calls = None if row.messages is None else sum(_calls(message) for message in messages)
    return ForeignTrial(
        task=row.uid,
        end=end,
        result=result,
        flags=flags,
        detail=detail,
        reward=rated(tested.reward, f"{where}: reward") if tested else None,
        calls=calls,
        refused=None if calls is None else sum(answers),
        ended_normally=ends_normally(end),
        last_is_good=None if calls is None else bool(answers) and not answers[-1],
        spent=_spent(row.usage, agent, end),
        place=place,
    )


def _end(row: _Row, data: _Metadata, where: str) -> tuple[End, tuple[str, ...]]:
    if row.is_system_error:
        return "infrastructure", ()
    if data.is_ours and data.end is not None:
        if data.end not in ENDS:
            raise ImportFault(f"{where}: end is {data.end[:40]!r}; it is one of {', '.join(ENDS)}")
        flags = tuple(named(flag, "flag", where) for flag in data.flags or ())
        return ENDS[ENDS.index(data.end)], flags
    reason = row.finish_reason or ""
    if reason not in FINISHES:
        raise ImportFault(f"{where}: finish_reason is {reason[:40]!r}; it is one of {', '.join(FINISHES)}")
    return FINISHES[reason], ("no_user",) if reason == "no_user_llm" else ()


def _result(tested: _Tested | None, where: str) -> tuple[Result, str]:
    """What the row's own test decided, whatever the reward: there a reward is a number beside the decision."""
    if tested is None:
        return "ungradeable", "it was not tested"
    if tested.is_system_error:
        return "ungradeable", told("the test broke", _last_line(tested.tb))
    if tested.result is None:
        raise ImportFault(f"{where}: test_result has no result; it is true or false")
    rest = f"reward {tested.reward:g}" if tested.reward is not None and 0 < tested.reward < 1 else ""
    return ("pass", told(rest)) if tested.result else ("fail", told(rest, _last_line(tested.tb)))


def _broken(error: Any) -> str:
    """What a row says of its error: class and first words."""
    if isinstance(error, dict):
        parts = [error.get(name) for name in ("type", "message")]
        return ": ".join(part[:200] for part in parts if isinstance(part, str) and part)
    return error[:400] if isinstance(error, str) else ""


def _last_line(traceback: Any) -> str:
    lines = traceback[-2000:].strip().splitlines() if isinstance(traceback, str) else []
    return lines[-1].strip() if lines else ""


def _calls(message: _Message) -> int:
    if message.T == "ParallelToolCall":
        return len(message.tool_calls or [])
    return int(message.T == "ToolCall")


def _is_refused(message: _Message, data: _Metadata) -> bool:
    """Whether an answer says that the call was declined; other tools than ours say it in the answer itself."""
    if message.metadata is not None and message.metadata.error:
        return True
    if data.is_ours or not isinstance(message.content, str) or '"error"' not in message.content:
        return False
    try:
        answer = msgspec.json.decode(message.content)
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(answer, dict) and bool(answer.get("error"))


def _spent(usage: list[Any] | None, agent: str, end: End) -> tuple[Spent, ...]:
    """Of the agent alone: rows say nothing of the user's and the judge's models."""
    if usage is None:
        return () if end == "infrastructure" else untold("agent", agent)
    return spent_on("agent", agent, map(usage_of, usage))


def _is_refusal(row: _Row) -> bool:
    if row.metadata and row.metadata.is_ours and row.metadata.refusal is not None:
        return row.metadata.refusal
    tags = row.test_tags
    given = tags.get("category") if isinstance(tags, dict) else None
    categories = given if isinstance(given, list) else [given]
    return any(isinstance(name, str) and name.lower() == "refusal" for name in categories)
