"""
Tasks of the public benchmark, from a checkout of its repository.

Everything there is data: nothing of it is executed or imported. What a task file cannot say is listed, with the reason.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from domains.importers.cases import Case
from domains.importers.checkout import BUSINESSES, RELEASE, Checkout, Scenario
from sandbox import ForeignPack, Imported, ImportFault, LeftOut

START = "2025-10-01T13:00:00Z"
"""When every scenario's instructions say that it begins."""
SOURCE = "ThinkingBox-Bench v1, from a checkout of its repository"
NO_SETTING: Mapping[str, tuple[Any, ...]] = {
    "history": (None,),
    "tags": (None, []),
    "format_query": (None, False),
    "max_agent_sim_turns": (None,),
}
"""Settings that a task has no place for, and the values that need none."""
USER_TURNS = 10
KNOWN_CONFIG = frozenset({"data_patch", "golden_test_case", "rubrics", "rubrics_yesno"})


class _Unrepresentable(Exception):
    """A case that no task can say; the text is the reason."""


def read_checkout(home: Path) -> Imported:
    """
    A pack for each scenario of the release, and every case that is in none, with the reason.

    Raises:
        ImportFault: the folder is no checkout, or a file in it cannot be read.
    """
    checkout = Checkout(home)
    uids, cases = checkout.released(), checkout.cases()
    released = set(uids)
    for uid in uids:
        if uid not in cases:
            raise ImportFault(f"{RELEASE} names {uid!r}, but no such test case is in dataset/test_case")
    scenarios: dict[str, Scenario] = {}
    tasks: dict[str, list[dict[str, Any]]] = {}
    left_out: list[LeftOut] = []
    for uid in [*uids, *(uid for uid in cases if uid not in released)]:
        try:
            scenario = _scenario(cases[uid], checkout, scenarios)
            task = _task(cases[uid], scenario)
            if uid not in released:
                raise _Unrepresentable("it is not in the release's list")
            tasks.setdefault(scenario.name, []).append(task)
        except _Unrepresentable as reason:
            left_out.append(LeftOut(uid, str(reason)))
    licence = checkout.licence
    packs = [_pack(checkout, scenarios[name], found, licence) for name, found in tasks.items()]
    return Imported(tuple(packs), tuple(left_out))


def _pack(checkout: Checkout, scenario: Scenario, tasks: list[dict[str, Any]], licence: str) -> ForeignPack:
    business = BUSINESSES[scenario.name]
    return ForeignPack(
        name=f"thinkingbox-{business.domain}",
        domain=business.domain,
        title=f"ThinkingBox-Bench v1: {business.domain}",
        source=SOURCE,
        licence=licence,
        instructions=scenario.instructions,
        tools=scenario.tools,
        documents=scenario.documents,
        seed=checkout.seed(business),
        tasks=tuple(tasks),
        evaluation_only=True,
    )


def _scenario(case: Case, checkout: Checkout, known: dict[str, Scenario]) -> Scenario:
    name = case.settings.get("scenario")
    if case.custom_line:
        raise _Unrepresentable(f"its body has assertions of its own (line {case.custom_line})")
    if not isinstance(name, str) or name not in BUSINESSES:
        raise _Unrepresentable(f"nothing is known of the tables of scenario {name!r}")
    if name not in known:
        known[name] = checkout.scenario(name)
    if known[name].problem:
        raise _Unrepresentable(known[name].problem)
    return known[name]


def _task(case: Case, scenario: Scenario) -> dict[str, Any]:
    """What the case's task file holds."""
    _ensure_settings(case)
    config = _config(case, scenario)
    calls = _calls(config.get("golden_test_case"))
    rubrics = _rubrics(config, case)
    expect: dict[str, Any] = {"profile": "thinkingbox", "outcomes": [{"name": "golden", "calls": calls}]}
    task = {
        "id": case.uid,
        "instant": START,
        "goal": _text(case, "query"),
        "user": _text(case, "user_context"),
        "policy": _text(case, "bot_instructions"),
        "patch": _patch(config.get("data_patch")),
        "expect": expect | ({"rubrics": rubrics} if rubrics else {}),
    }
    if not task["goal"]:
        raise _Unrepresentable("it has no query")
    return {name: value for name, value in task.items() if value not in ("", {})}


def _ensure_settings(case: Case) -> None:
    if case.unknown:
        raise _Unrepresentable(f"its settings have an unknown key {case.unknown[0]!r}")
    for name, harmless in NO_SETTING.items():
        if case.settings.get(name) not in harmless:
            raise _Unrepresentable(f"a task has no place for its {name}")
    if case.settings.get("max_user_sim_turns", USER_TURNS) != USER_TURNS:
        raise _Unrepresentable(f"a task has no place for its max_user_sim_turns, which is not {USER_TURNS}")
    if "validate_database" not in case.validators:
        raise _Unrepresentable("its body does not check the database")


def _config(case: Case, scenario: Scenario) -> Mapping[str, Any]:
    """The settings of the scenario's server, the case's own merged in."""
    init = case.settings.get("init") or {}
    if not isinstance(init, dict):
        raise _Unrepresentable("its init is no mapping")
    others = [server for server in init if server != scenario.name]
    if others:
        raise _Unrepresentable(f"it starts a further server {others[0]!r}")
    config = merged(scenario.state, init)[scenario.name]
    if not isinstance(config, dict):
        raise _Unrepresentable("its init has no settings for the scenario's server")
    unknown = [name for name, value in config.items() if name not in KNOWN_CONFIG and value]
    if unknown:
        raise _Unrepresentable(f"a task has no place for {unknown[0]!r} in its init")
    if config.get("rubrics"):
        raise _Unrepresentable("its rubrics are no questions to be answered yes or no")
    return config


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings are merged, lists joined (the lower one first), anything else replaced."""
    made = dict(under)
    for name, value in over.items():
        below = made.get(name)
        if isinstance(below, dict) and isinstance(value, dict):
            made[name] = merged(below, value)
        elif isinstance(below, list) and isinstance(value, list):
            made[name] = below + value
        else:
            made[name] = value
    return made


def _calls(golden: Any) -> list[dict[str, Any]]:
    match golden:
        case {"tool_interactions": [*interactions], **rest} if interactions and not rest:
            return [_call(interaction) for interaction in interactions]
    raise _Unrepresentable("it has no golden calls, or more than these")


def _call(given: Any) -> dict[str, Any]:
    match given:
        case {"tool": str(tool), **rest} if not rest.keys() - {"parameters"}:
            arguments = rest.get("parameters")
            if arguments is None or isinstance(arguments, dict):
                return {"tool": tool, "arguments": arguments or {}}
    raise _Unrepresentable("a golden call is more or less than tool and parameters")


def _patch(given: Any) -> dict[str, list[dict[str, Any]]]:
    patch = given or {}
    if not isinstance(patch, dict):
        raise _Unrepresentable("its data_patch is no mapping of tables")
    for table, rows in patch.items():
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise _Unrepresentable(f"its data_patch of {table} is no list of rows")
    return patch


def _rubrics(config: Mapping[str, Any], case: Case) -> list[str]:
    """The questions, where the body asks them."""
    if "validate_rubrics_yesno" not in case.validators:
        return []
    questions = config.get("rubrics_yesno")
    if not isinstance(questions, list) or not questions or not all(isinstance(one, str) for one in questions):
        raise _Unrepresentable("its body asks yes/no questions, but it has none")
    return questions


def _text(case: Case, name: str) -> str:
    value = case.settings.get(name)
    if value is not None and not isinstance(value, str):
        raise _Unrepresentable(f"its {name} is no text")
    return value or ""
