"""The recorded tasks written out as a checkout of the public benchmark's repository would have them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from domains.importers.checkout import BUSINESSES, RELEASE
from tests.conformance.records import BENCH

SCENARIOS = {
    "retail": "sandbox_external_retail",
    "insurance": "sandbox_auto_insurance",
    "travel": "external_booking_v1",
    "neobank": "sandbox_neobank_support_v1",
    "consulting": "sandbox_consulting",
}
HEAD = '''"""Test cases."""
from validators import validate_database, validate_rubrics_yesno

"""!
scenario: {scenario}
max_user_sim_turns: 10
"""


def not_a_case(x):
    return x
'''


def tasks_of(business: str) -> list[dict[str, Any]]:
    """The recorded tasks of one business."""
    lines = (BENCH / "tasks" / f"{business}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def scenario_of(business: str) -> dict[str, Any]:
    """The recorded scenario of one business."""
    return json.loads((BENCH / "scenarios" / f"{business}.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def seed_of(business: str) -> dict[str, list[dict[str, Any]]]:
    """The recorded seed rows of one business, by table."""
    interface = json.loads((BENCH / "interface" / f"{business}.json").read_text(encoding="utf-8"))
    return {table["table"]: table["seed_rows"] for table in interface["tables"]}


def write_checkout(home: Path, businesses: Iterable[str]) -> Path:
    """A checkout with the recorded tasks of some businesses, all of them in the release's list."""
    put(home / "LICENSE.txt", (BENCH / "LICENSE.txt").read_text(encoding="utf-8"))
    uids = []
    for business in businesses:
        tasks = tasks_of(business)
        uids += [task["uid"] for task in tasks]
        write_business(home, SCENARIOS[business], scenario_of(business), tasks, seed_of(business))
    put(home / RELEASE, yaml.safe_dump(uids))
    return home


def write_business(
    home: Path,
    scenario: str,
    content: Mapping[str, Any],
    tasks: Iterable[Mapping[str, Any]],
    seed: Mapping[str, list[dict[str, Any]]],
) -> None:
    """One scenario with its test files and seed rows."""
    state = {"sources": content["sources"], **content["world_state_other"]}
    tools = [{"name": name} for name in content["tools"]]
    about = {"world_state": {scenario: state}, "tools": tools, "bot_instructions": content["bot_instructions"]}
    put(home / f"dataset/scenario/{scenario}.yaml", yaml.safe_dump(about, allow_unicode=True))
    files: dict[str, str] = {}
    for task in tasks:
        head = HEAD.format(scenario=scenario)
        files[task["file"]] = files.get(task["file"], head) + function(task, scenario)
    for file, text in files.items():
        put(home / f"dataset/test_case/{scenario}/{file}", text)
    for toolset, prefix in BUSINESSES[scenario].toolsets.items():
        folder = home / f"servers/company/company/toolslib/{toolset}/initial_data"
        for table, rows in seed.items():
            if table.startswith(f"{prefix}_"):
                put(folder / f"{table.removeprefix(f'{prefix}_')}.json", json.dumps(rows))


def function(task: Mapping[str, Any], scenario: str) -> str:
    """A test case: its settings as YAML in a literal, and the validators that it calls."""
    golden = {"tool_interactions": task["golden"]}
    config = {"data_patch": task["data_patch"], "golden_test_case": golden, "rubrics": task["rubrics"]}
    if task["rubrics_yesno"]:
        config["rubrics_yesno"] = task["rubrics_yesno"]
    settings = {"query": task["query"], "user_context": task["user_context"], "init": {scenario: config}}
    text = "!\n" + yaml.safe_dump(settings, allow_unicode=True, width=10_000, sort_keys=False)
    literal = '"""' + text.replace("\\", "\\\\").replace('"', '\\"') + '"""'
    calls = {"validate_database": "validate_database(x)", "validate_rubrics_yesno": "validate_rubrics_yesno(x, judge)"}
    body = "".join(f"    {calls[name]}\n" for name in task["validators"])
    return f"\n\ndef {task['name']}(x, judge):\n    {literal}\n{body}"


def put(path: Path, text: str) -> None:
    """Write a file, its folders made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
