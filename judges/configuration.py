"""Configurations: one YAML file that names the agent, the user, the judge, and what holds for all of their work."""

import math
import os
import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from judges.court import plans_of
from judges.expectation import nearest
from judges.pack import PackTask
from judges.pack_faults import with_value
from judges.rubric import WITHIN_S, RubricJudge
from judges.rubric_calls import OnCall
from sandbox.agents import SCRIPTED, Agent
from sandbox.gate import Approver, Gate, GateSettings, Rule
from sandbox.loop import ModelAgent
from sandbox.model_settings import Backoff, Budgets, ModelSettings, Secret
from sandbox.package_data import yaml_in
from sandbox.prices import NO_PRICES, PriceTable, load_prices, price_table
from sandbox.protocols import EndTurnTool, Limits, Plain, ThinkingBox
from sandbox.refusals import UserFault
from sandbox.simulated_user import SimulatedUser
from sandbox.user import Answer, Line, Script, ScriptedUser, User
from sandbox.values import canonical, digest_of

_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_UNKNOWN = re.compile(r"unknown field `([^`]*)`(?: - at `\$([^`]*)`)?")
PROTOCOLS: Mapping[str, type[ThinkingBox | Plain]] = {"thinkingbox": ThinkingBox, "plain": Plain}


class ConfigurationFault(UserFault):
    """A configuration that cannot be used; the text names its file, the place in it, and what may stand there."""


class AgentPart(Struct, frozen=True, forbid_unknown_fields=True):
    """Who is on trial: a model, or a scripted agent."""

    name: str = ""
    """Stands in every trial; the model's or the script's own if it is left out."""
    model: str | dict[str, Any] | None = None
    """One of `models`, or settings of its own."""
    scripted: str = ""
    seed: int = 0


class UserPart(Struct, frozen=True, forbid_unknown_fields=True):
    """Who the agent talks to: a model, or a file of scripts by task."""

    model: str | dict[str, Any] | None = None
    scripts: str = ""


class JudgePart(Struct, frozen=True, forbid_unknown_fields=True):
    """Who answers rubrics."""

    model: str | dict[str, Any]
    votes: int = 1
    always: bool = False
    within_s: float = WITHIN_S


class Written(Struct, frozen=True, forbid_unknown_fields=True):
    """A configuration as its file has it."""

    agent: AgentPart
    models: dict[str, dict[str, Any]] = {}
    user: UserPart | Literal["none"] | None = None
    judge: JudgePart | None = None
    protocol: ThinkingBox | Plain | Literal["thinkingbox", "plain"] = "thinkingbox"
    limits: Limits = Limits()
    gate: GateSettings | None = None
    prices: str | dict[str, Any] | None = None
    """A file, beside this one, or what would stand in it."""
    retries_user_faults: bool = False


_PARTS: Mapping[str, type[Struct]] = {
    "": Written,
    ".agent": AgentPart,
    ".user": UserPart,
    ".judge": JudgePart,
    ".protocol": ThinkingBox,
    ".protocol.end_turn_tools[...]": EndTurnTool,
    ".limits": Limits,
    ".gate": GateSettings,
    ".gate.rules[...]": Rule,
}
_MODEL_PARTS: Mapping[str, type[Struct]] = {"": ModelSettings, ".budgets": Budgets, ".backoff": Backoff}
_SCRIPT_PARTS: Mapping[str, type[Struct]] = {
    "[...]": Script,
    "[...].turns[...]": Line,
    "[...].otherwise": Line,
    "[...].answers[...]": Answer,
    "[...].answers[...].line": Line,
}


class Endpoint(Struct, frozen=True):
    """A model, and how the file wrote its address."""

    settings: ModelSettings
    address: str
    """May name a variable, whose value is not written anywhere."""

    @property
    def told(self) -> dict[str, Any]:
        """All settings but the key, the address as it was written."""
        return self.settings.told | {"base_url": self.address}


class Configuration(Struct, frozen=True):
    """A configuration, checked and with its secrets at hand."""

    written: Written
    endpoints: Mapping[str, Endpoint]
    """Of agent, user and judge, as far as they are models."""
    scripts: Mapping[str, Script]
    prices: PriceTable

    @property
    def agent_name(self) -> str:
        """Of the agent, as it stands in every trial."""
        part = self.written.agent
        return part.name or part.scripted or self.endpoints["agent"].settings.model

    @property
    def protocol(self) -> ThinkingBox | Plain:
        """When a model is done."""
        given = self.written.protocol
        return PROTOCOLS[given]() if isinstance(given, str) else given

    def user(self, tasks: Sequence[PackTask]) -> User | None:
        """Who the agent talks to about these tasks."""
        if "user" in self.endpoints:
            return SimulatedUser(self.endpoints["user"].settings, {item.task.id: item.user for item in tasks})
        return ScriptedUser(self.scripts) if isinstance(self.written.user, UserPart) else None

    def users(self, tasks: Sequence[PackTask]) -> dict[str, str]:
        """Digest of what a simulated user is told about each task, for a campaign's seal."""
        return {item.task.id: digest_of(item.user) for item in tasks} if "user" in self.endpoints else {}

    def agent(self, tasks: Sequence[PackTask]) -> Agent:
        """Who is on trial."""
        part = self.written.agent
        if part.scripted:
            agent = SCRIPTED[part.scripted](plans_of(tasks), part.seed)
            agent.name = self.agent_name
            return agent
        settings = self.endpoints["agent"].settings
        return ModelAgent(self.agent_name, settings, self.protocol, self.written.limits, self.user(tasks))

    def judge(self, on_call: OnCall = lambda call: None) -> RubricJudge | None:
        """Who answers rubrics, and tells of each call that it makes."""
        part = self.written.judge
        if part is None:
            return None
        settings = self.endpoints["judge"].settings
        return RubricJudge(settings, votes=part.votes, always=part.always, within_s=part.within_s, on_call=on_call)

    def gate(self, approver: Approver | None = None) -> Gate | None:
        """What stands in front of calls; UserFault if it asks, and there is nobody to answer."""
        return None if self.written.gate is None else Gate(self.written.gate, approver)

    def ensure_gate_fits(self, tools: Collection[str]) -> None:
        """Return if every tool that the gate's rules name is among these; UserFault if not: that rule never fits."""
        rules = self.written.gate.rules if self.written.gate else ()
        for place, name in [(place, name) for place, rule in enumerate(rules) for name in rule.tools]:
            if name not in tools:
                told = f"gate.rules.{place} names no tool {name!r} of what is to run"
                raise UserFault(f"{told}; {nearest(name, tools)}")

    def ensure_scripts_fit(self, tasks: Collection[str]) -> None:
        """
        Return if no script is for a task that is spelt almost like one of these which has none; UserFault if one is.

        A file may have scripts for other tasks than those that run now.
        """
        silent = [task for task in tasks if task not in self.scripts]
        for name in self.scripts:
            if name not in tasks and (close := get_close_matches(name, silent, n=1, cutoff=0.8)):
                raise UserFault(f"scripts have one for {name!r}, and none for task {close[0]!r}; did you mean that?")

    @property
    def settings(self) -> str:
        """
        Canonical JSON of all that trials and verdicts depend on, for a campaign's seal.

        Neither keys, nor what variables hold, nor prices are part of it.
        """
        part = self.written.agent
        told: dict[str, Any] = {"agent": {"scripted": part.scripted, "seed": part.seed}}
        if "agent" in self.endpoints:
            made = ModelAgent(self.agent_name, self.endpoints["agent"].settings, self.protocol, self.written.limits)
            told = made.told | {"agent": self._told("agent")}
            del told["model"]
        user, judge = self.user(()), self.judge()
        told["user"] = None if user is None else user.told | self._told("user")
        told["judge"] = None if judge is None else judge.told | {"model": judge.told["model"] | self._address("judge")}
        told["gate"] = msgspec.to_builtins(self.written.gate)
        told["retries_user_faults"] = self.written.retries_user_faults
        return canonical(told).decode()

    def _told(self, party: str) -> dict[str, Any]:
        return {"model": self.endpoints[party].told} if party in self.endpoints else {}

    def _address(self, party: str) -> dict[str, str]:
        return {"base_url": self.endpoints[party].address}


def load_configuration(path: Path, environment: Mapping[str, str] = os.environ) -> Configuration:
    """
    The configuration in a YAML file; paths in it start from its folder.

    Raises:
        ConfigurationFault: it cannot be read or used.
    """
    try:
        content = yaml_in(path.read_text(encoding="utf-8"), path.name)
    except (OSError, ValueError) as error:
        raise ConfigurationFault(f"configuration {path} cannot be read: {error}") from None
    return configuration_in(content, str(path), path.parent, environment)


def configuration_in(content: Any, name: str, folder: Path, environment: Mapping[str, str]) -> Configuration:
    """
    A configuration from plain values.

    Args:
        name: of the file that they are from.
        folder: where paths start.

    Raises:
        ConfigurationFault: a key is unknown, a value is out of range, or a variable is not set.
    """
    where = f"configuration {name}"
    _ensure_plain(content, where)
    written = _converted(content, Written, _PARTS, where)
    _ensure_usable(written, where)
    endpoints = _endpoints(written, where, environment)
    try:
        made = Configuration(written, endpoints, _scripts(written, folder), _prices(written, folder))
        made.judge()
    except ConfigurationFault:
        raise
    except UserFault as fault:
        raise ConfigurationFault(f"{where}: {fault}") from None
    return made


def _endpoints(written: Written, where: str, environment: Mapping[str, str]) -> dict[str, Endpoint]:
    """The model of each party that is one; the same object for all that name the same of `models`."""
    models = {key: _endpoint(one, f"{where}: models.{key}", environment) for key, one in written.models.items()}
    found = {}
    for party in ("agent", "user", "judge"):
        given = getattr(getattr(written, party), "model", None)
        if isinstance(given, str):
            if given not in models:
                raise ConfigurationFault(f"{where}: {party}.model names no model {given!r}; {nearest(given, models)}")
            found[party] = models[given]
        elif given is not None:
            found[party] = _endpoint(given, f"{where}: {party}.model", environment)
    return found


def scripted(name: str, seed: int) -> Configuration:
    """The configuration of a scripted agent alone."""
    return Configuration(Written(AgentPart(scripted=name, seed=seed)), {}, {}, NO_PRICES)


def _ensure_usable(written: Written, where: str) -> None:
    part = written.agent
    if (part.model is None) == (not part.scripted):
        raise ConfigurationFault(f"{where}: agent needs either a model or `scripted`; give one of the two")
    if part.scripted and part.scripted not in SCRIPTED:
        raise ConfigurationFault(f"{where}: no scripted agent {part.scripted!r}; {nearest(part.scripted, SCRIPTED)}")
    if part.seed and not part.scripted:
        raise ConfigurationFault(f"{where}: agent.seed is for scripted agents; a model's own stands in its settings")
    if part.scripted and isinstance(written.user, UserPart):
        raise ConfigurationFault(f"{where}: a scripted agent talks to nobody; leave out user")
    if isinstance(written.user, UserPart) and (written.user.model is None) == (not written.user.scripts):
        raise ConfigurationFault(f"{where}: user needs either a model or `scripts`; or write `user: none`")
    if written.judge is not None and written.judge.within_s <= 0:
        raise ConfigurationFault(f"{where}: judge.within_s is {written.judge.within_s:g}; give more than 0 seconds")
    if written.gate is not None and written.gate.timeout_s <= 0:
        raise ConfigurationFault(f"{where}: gate.timeout_s is {written.gate.timeout_s:g}; give more than 0 seconds")


def _ensure_plain(content: Any, where: str, path: tuple[str, ...] = ()) -> None:
    """Numbers are finite, and only what a model is reached by comes from the environment."""
    pairs = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in pairs:
        _ensure_plain(value, where, (*path, str(key)))
    place = ".".join(path)
    if isinstance(content, float) and not math.isfinite(content):
        raise ConfigurationFault(f"{where}: {place} is {content}; give a finite number")
    if isinstance(content, str) and _VARIABLE.search(content) and not _reaches_a_model(path):
        raise ConfigurationFault(f"{where}: {place} names a variable; only a model's key and base_url may")


def _reaches_a_model(path: tuple[str, ...]) -> bool:
    """Whether this is a model's key or base_url, and not a field of that name in what is sent to it."""
    is_models = len(path) == 3 and (path[0] == "models" or path[1] == "model")
    return is_models and path[2] in ("key", "base_url")


def _converted(content: Any, kind: Any, parts: Mapping[str, type[Struct]], where: str) -> Any:
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        told = with_value(str(error), content)
        found = _UNKNOWN.search(told)
        part = parts.get(re.sub(r"\[\d+\]", "[...]", found[2] or "")) if found else None
        known = part.__struct_fields__ if part else ()
        hint = f"; {nearest(found[1], known)}" if found and part and found[1] not in known else ""
        raise ConfigurationFault(f"{where}: {told}{hint}") from None


def _endpoint(content: Mapping[str, Any], where: str, environment: Mapping[str, str]) -> Endpoint:
    given = dict(content)
    key, address = given.get("key"), given.get("base_url")
    if key is not None and not (isinstance(key, str) and _VARIABLE.fullmatch(key)):
        raise ConfigurationFault(f"{where}: the key stands in the file; write it as ${{NAME}}, and set that variable")
    if isinstance(key, str):
        given["key"] = Secret(_expanded(key, where, environment))
    if isinstance(address, str):
        given["base_url"] = _expanded(address, where, environment)
    try:
        settings = _converted(given, ModelSettings, _MODEL_PARTS, where)
    except ConfigurationFault as fault:
        # What a variable holds may be a secret in the wrong place.
        raise ConfigurationFault(str(fault).replace(str(given.get("base_url")), str(address))) from None
    return Endpoint(settings, str(address))


def _expanded(text: str, where: str, environment: Mapping[str, str]) -> str:
    for name in _VARIABLE.findall(text):
        if not environment.get(name):
            raise ConfigurationFault(f"{where}: the environment has no {name or 'variable without a name'}; set it")
    return _VARIABLE.sub(lambda found: environment[found[1]], text)


def _scripts(written: Written, folder: Path) -> Mapping[str, Script]:
    if not isinstance(written.user, UserPart) or not written.user.scripts:
        return {}
    path = folder / written.user.scripts
    try:
        content = yaml_in(path.read_text(encoding="utf-8"), path.name)
    except (OSError, ValueError) as error:
        raise ConfigurationFault(f"scripts {path} cannot be read: {error}") from None
    scripts: Mapping[str, Script] = _converted(content, dict[str, Script], _SCRIPT_PARTS, f"scripts {path}")
    return scripts


def _prices(written: Written, folder: Path) -> PriceTable:
    if written.prices is None:
        return NO_PRICES
    if isinstance(written.prices, str):
        return load_prices(folder / written.prices)
    return price_table(written.prices, "prices")
