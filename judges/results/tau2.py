"""Results of tau2-bench: which trials a `results.json` tells of. Pure; reading files is left to others."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from judges.results.foreign import (
    MOST_REPETITIONS,
    MOST_TRIALS,
    ForeignTrial,
    Paid,
    Party,
    Read,
    Reading,
    Result,
    ends_normally,
    money,
    named,
    rated,
    spent_on,
    told,
    untold,
)
from sandbox.agents import USER_FAULT
from sandbox.foreign import ImportFault
from sandbox.records import End
from sandbox.usage import ABSENT, Usage, usage_of
from sandbox.values import ValueFault, canonical, ensure_storable

FORMAT = "tau2"
PASSES_FROM = 1 - 1e-6
"""The least reward that passes: a product of checks that is 1 but for rounding."""
ENDS: Mapping[str, tuple[End, tuple[str, ...]]] = {
    "user_stop": ("user_done", ()),
    "agent_stop": ("done", ()),
    "max_steps": ("agent_limit", ()),
    "too_many_errors": ("agent_limit", ("too_many_errors",)),
    "agent_error": ("agent_error", ()),
    "invalid_agent_message": ("agent_error", ()),
    "user_error": ("cancelled", (USER_FAULT,)),
    "invalid_user_message": ("cancelled", (USER_FAULT,)),
    "timeout": ("deadline", ()),
    "context_window_exceeded": ("context_overflow", ()),
    "infrastructure_error": ("infrastructure", ()),
    "unexpected_error": ("infrastructure", ()),
}
"""How a `termination_reason` is called here, and what was odd about the trial."""
UNKNOWN_END = "unknown_end"
"""The flag of a trial that ended for a reason which is not known here; it is left without a verdict."""
LONGEST_SETTINGS = 100_000
"""Characters of what tells two agents apart."""
_NOT_KEPT = re.compile(
    r"key|secret|passw|auth|credential|cookie|header|base_?url|api_?base|(^|_)token$|access_?token", re.IGNORECASE
)
"""Settings that may hold a secret or a machine's name; neither tells one agent from another."""

Name = str | int
Number = Annotated[int, Meta(ge=0, lt=MOST_REPETITIONS)]


class _Party(Struct):
    implementation: str | None = None
    llm: str | None = None
    llm_args: dict[str, Any] | None = None


class _Environment(Struct):
    domain_name: str | None = None


class _Info(Struct):
    num_trials: Number | None = None
    max_steps: int | None = None
    max_errors: int | None = None
    agent_info: _Party | None = None
    user_info: _Party | None = None
    environment_info: _Environment | None = None


class _Criteria(Struct):
    actions: list[Any] | None = None


class _Task(Struct):
    id: Name
    evaluation_criteria: _Criteria | None = None


class _Message(Struct):
    role: str = ""
    tool_calls: list[Any] | None = None
    tool_messages: "list[_Message] | None" = None
    requestor: str | None = None
    error: bool | None = None
    usage: Any = None
    cost: Any = None


class _Matched(Struct):
    db_match: bool | None = None


class _Reward(Struct):
    reward: float | None = None
    db_check: _Matched | None = None


class _Simulation(Struct):
    task_id: Name
    termination_reason: str
    reward_info: _Reward | None = None
    id: Name = ""
    trial: Number | None = None
    agent_cost: float | None = None
    user_cost: float | None = None
    messages: list[_Message] | None = None


class _Results(Struct):
    simulations: list[_Simulation]
    info: _Info | None = None
    tasks: list[_Task] | None = None


def reading(document: Any, file: str, sha256: str, agent: str = "", domain: str = "") -> Reading:
    """
    What a file of results says.

    Args:
        document: the file's JSON, as plain values.
        agent: another name for the agent than its model's.
        domain: another name for the domain than the file's.

    Raises:
        ImportFault: it is no such file, or a simulation in it cannot be understood.
    """
    try:
        results = msgspec.convert(document, _Results)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ImportFault(f"{file} holds no results of {FORMAT}: {told(str(error))}") from None
    if not results.simulations:
        raise ImportFault(f"{file} holds no simulation; there is nothing to import")
    if len(results.simulations) > MOST_TRIALS:
        raise ImportFault(f"{file} holds more than {MOST_TRIALS:,} simulations; split it by tasks and import the parts")
    info = results.info or _Info()
    party, environment = info.agent_info or _Party(), info.environment_info or _Environment()
    tasks = tuple(named(str(task.id), "task id", file) for task in results.tasks or ())
    if len(set(tasks)) < len(tasks):
        times = Counter(tasks)
        twice = next(task for task in tasks if times[task] > 1)
        raise ImportFault(f"{file} lists task {twice[:40]!r} twice; nobody can tell which of the two was tried")
    return Reading(
        format=FORMAT,
        file=file,
        sha256=sha256,
        agent=_name(agent, party.llm or party.implementation, "agent", file),
        domain=_name(domain, environment.domain_name, "domain", file),
        settings=_settings(info, file),
        trials=tuple(_reads(results.simulations, info, file)),
        planned=info.num_trials or 0,
        tasks=tasks,
        refusals=tuple(str(task.id) for task in results.tasks or () if _changes_nothing(task)),
    )


def _name(given: str, found: str | None, what: str, file: str) -> str:
    if not (given or found):
        raise ImportFault(f"{file} does not say which {what} it is about; give it with --{what} NAME")
    return named(given or found or "", what, file)


def _changes_nothing(task: _Task) -> bool:
    """Whether the right way is known to have no action at all."""
    return task.evaluation_criteria is not None and task.evaluation_criteria.actions == []


def _settings(info: _Info, file: str) -> str:
    try:
        settings = {
            "imported": FORMAT,
            "agent": _party_settings(info.agent_info or _Party()),
            "user": _party_settings(info.user_info or _Party()),
            "limits": {"max_steps": info.max_steps, "max_errors": info.max_errors},
        }
        ensure_storable(settings)
        text = canonical(settings).decode()
    except (ValueFault, RecursionError) as fault:
        raise ImportFault(f"{file}: the settings of agent or user cannot be kept: {told(str(fault))}") from None
    if len(text) > LONGEST_SETTINGS:
        raise ImportFault(f"{file}: the settings of agent and user have more than {LONGEST_SETTINGS:,} characters")
    return text


def _party_settings(party: _Party) -> dict[str, Any]:
    return {"implementation": party.implementation, "model": party.llm, "arguments": _public(party.llm_args or {})}


def _public(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _public(item) for name, item in value.items() if not _NOT_KEPT.search(name)}
    return [_public(item) for item in value] if isinstance(value, list) else value


def _reads(simulations: Sequence[_Simulation], info: _Info, file: str) -> Iterator[Read]:
    models = [(party.llm or "") if party else "" for party in (info.agent_info, info.user_info)]
    for place, simulation in enumerate(simulations, 1):
        where = f"{file}, simulation {place}"
        yield Read(where, simulation.trial, _trial(simulation, models, where, f"simulation {place}"))


def _trial(simulation: _Simulation, models: Sequence[str], where: str, place: str) -> ForeignTrial:
    end, flags = ENDS.get(simulation.termination_reason, ("cancelled", (UNKNOWN_END,)))
    reward = rated(simulation.reward_info.reward, f"{where}: reward") if simulation.reward_info else None
    result, detail = _result(simulation, end, flags, reward)
    calls, answers = _tools(simulation.messages)
    return ForeignTrial(
        task=named(str(simulation.task_id), "task_id", where),
        end=end,
        result=result,
        flags=flags,
        detail=detail,
        reward=reward,
        calls=calls,
        refused=None if calls is None else sum(answers),
        ended_normally=ends_normally(end),
        last_is_good=None if calls is None else bool(answers) and not answers[-1],
        spent=tuple(
            spent
            for party, model, usages in _asked(simulation, models)
            for spent in (untold(party, model) if usages is None else spent_on(party, model, usages))
        ),
        paid=_paid(simulation, where),
        place=told(place, str(simulation.id)[:100]),
    )


def _result(
    simulation: _Simulation, end: End, flags: tuple[str, ...], reward: float | None
) -> tuple[Result, str]:  # fmt: skip
    stopped = f"terminated by {simulation.termination_reason[:60]}"
    if end == "infrastructure":
        return "ungradeable", told(stopped)
    if UNKNOWN_END in flags:
        return "ungradeable", told(stopped, "what that means is not known")
    if reward is None:
        return "ungradeable", told(stopped, "no reward was given")
    if reward >= PASSES_FROM:
        return "pass", ""
    checked = simulation.reward_info.db_check if simulation.reward_info else None
    matched = checked.db_match if checked else None
    differs = "" if matched is None else ("the records are right" if matched else "the records differ")
    return "fail", told(stopped, f"reward {reward:g}", differs)


def _flat(messages: Iterable[_Message]) -> Iterator[_Message]:
    """Messages, and those that stand together in one."""
    for message in messages:
        yield from message.tool_messages or [message]


def _tools(messages: Sequence[_Message] | None) -> tuple[int | None, list[bool]]:
    """How many tools the agent called, and of each answer whether it was an error; the user's own tools left out."""
    if messages is None:
        return None, []
    calls = sum(len(message.tool_calls or []) for message in messages if message.role == "assistant")
    answers = [m for m in _flat(messages) if m.role == "tool" and m.requestor in (None, "assistant")]
    return calls, [bool(answer.error) for answer in answers]


def _asked(simulation: _Simulation, models: Sequence[str]) -> Iterator[tuple[Party, str, list[Usage] | None]]:
    """
    Whose models were asked, which, and what each call used; None: nobody says.

    The greeting that begins a dialogue was asked of no model, and a user without a model and tokens of none.
    """
    usages: dict[str, list[Usage]] = {"assistant": [], "user": []}
    for place, message in enumerate(simulation.messages or ()):
        if message.role in usages and (place or message.role == "user" or message.usage):
            usages[message.role].append(usage_of(message.usage))
    is_told = simulation.messages is not None
    yield "agent", models[0], usages["assistant"] if is_told else None
    if models[1] or any(usage.fault != ABSENT for usage in usages["user"]):
        yield "user", models[1], usages["user"] if is_told else None


def _paid(simulation: _Simulation, where: str) -> tuple[Paid, ...]:
    """Costs above nothing: where nothing is written for calls to a model, its price was not known."""
    given: tuple[tuple[Party, float | None], ...] = (("agent", simulation.agent_cost), ("user", simulation.user_cost))
    costs = [(party, money(usd, f"{where}: {party}_cost")) for party, usd in given]
    return tuple(Paid(party, usd) for party, usd in costs if usd is not None and usd != "0")
