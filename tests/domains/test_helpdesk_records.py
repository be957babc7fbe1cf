"""The public help desk answers, refuses and changes rows as the recorded servers of the retail business did."""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from domains.shared.helpdesk import public_helpdesk
from sandbox import Domain, Refused, Request, Snapshot, World, plain

BENCH = Path(__file__).resolve().parents[3] / "shared" / "bench"
START = "2025-10-01T13:00:00Z"
CLASSES = {
    "Input validation failed": "Invalid",
    "validation error": "Invalid",
    "Unsupported table": "Unsupported",
    "not updatable": "Unsupported",
    "Unknown tool": "Unsupported",
    "already exists": "Conflict",
    "Failed to parse": "Precondition",
    "not found": "NotFound",
}

pytestmark = pytest.mark.skipif(not BENCH.exists(), reason="the recorded answers are not here: ../shared/bench")

Step = Mapping[str, Any]
Rows = dict[tuple[str, str], Any]


@pytest.fixture(scope="module")
def desk() -> Domain:
    tables = json.loads((BENCH / "interface" / "retail.json").read_text())["tables"]
    return Domain("desk", public_helpdesk(), seed=of_desk({table["table"]: table["seed_rows"] for table in tables}))


@pytest.fixture(scope="module")
def patches() -> dict[str, Any]:
    return {task["uid"]: task["data_patch"] for task in lines("tasks")}


def of_desk(rows: Mapping[str, Any]) -> dict[str, Any]:
    return {name: table for name, table in rows.items() if name.startswith("zendesk_")}


def lines(kind: str) -> Iterator[dict[str, Any]]:
    path = next((BENCH / kind).glob("retail.jsonl*"))
    content = path.read_bytes()
    yield from map(json.loads, (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines())


def opened(desk: Domain, patch: Mapping[str, Any] | None) -> World:
    return World(desk, Snapshot([desk.seed, desk.layer(of_desk(patch or {}))]), START)


def class_of(error: str) -> str:
    return next((name for words, name in CLASSES.items() if words in error), f"unknown: {error}")


def state(world: World) -> Rows:
    return {(table, str(row.id)): plain(row) for table, rows in world.rows.items() for row in rows}


def changes(before: Rows, after: Rows) -> Rows:
    keys = [*before, *(key for key in after if key not in before)]
    return {key: after.get(key) for key in keys if before.get(key) != after.get(key)}


def alike(found: Rows, recorded: Rows) -> bool:
    return found.keys() == recorded.keys() and all(
        json.dumps(found[key], sort_keys=True) == json.dumps(recorded[key], sort_keys=True) for key in found
    )


def recorded_changes(step: Step) -> Rows:
    real = [change for change in step["changes"] if change["op"] != "reorder_or_delete"]
    return {(change["table"], str(change["pk"])): change["after"] for change in real}


def difference(world: World, step: Step) -> str | None:
    """How our answer to a call differs from the recorded one, or None."""
    before = state(world)
    try:
        answer: Any = ("answered", world.ask(Request(step["tool"], json.dumps(step["arguments"]))))
    except Refused as refused:
        answer = ("refused", refused.kind)
    recorded = ("answered", step["result"]) if "result" in step else ("refused", class_of(step["error"]))
    found = changes(before, state(world))
    if json.dumps(answer) != json.dumps(recorded):  # 1, 1.0 and true differ, and so does the order of fields
        return f"{step['tool']} {step['arguments']}: recorded {recorded}, got {answer}"
    if "changes" in step and not alike(found, recorded_changes(step)):
        return f"{step['tool']} {step['arguments']}: recorded changes {recorded_changes(step)}, got {found}"
    return None


def steps_of(line: Mapping[str, Any]) -> list[Step]:
    """The calls of a record, in order; a probe is one call, perhaps made twice."""
    if "arguments" not in line:
        return list(line["steps"] if "steps" in line else line.get("calls", ()))
    again = line.get("repeat")
    return [line, {"tool": line["tool"], "arguments": line["arguments"], **again}] if again else [line]


def differences(world: World, steps: Iterable[Step]) -> list[str | None]:
    """One item for each call to the help desk; other calls cannot touch its tables."""
    return [difference(world, step) for step in steps if step["tool"].startswith("zendesk_")]


@pytest.mark.parametrize(("kind", "fewest"), [("golden", 80), ("perturbed", 800), ("probes", 350), ("quirks", 100)])
def test_each_recorded_call_to_the_help_desk_is_answered_alike(
    desk: Domain, patches: dict[str, Any], kind: str, fewest: int
) -> None:
    found: list[str | None] = []
    for line in lines(kind):
        patch = line.get("data_patch") or patches.get(line.get("uid", line.get("base_uid", "")))
        if "init_error" not in line:
            found += differences(opened(desk, patch), steps_of(line))
    print(f"{kind}: {len(found)} calls, {sum(each is not None for each in found)} differ")
    assert len(found) >= fewest
    assert [each for each in found if each] == []
