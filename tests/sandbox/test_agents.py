"""What the agents without a model do, seen in the streams of their trials."""

import copy
import json
import random
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from anyio import fail_after

from sandbox.agents import (
    GOODBYE,
    LOOKED,
    SLIPS,
    Agent,
    Plan,
    PlannedCall,
    careless,
    null,
    oracle,
    reader,
)
from sandbox.mcp_session import ToolView, connected
from sandbox.records import Said, decoded
from tests.sandbox.journals import calls_of, opened, stored, topics
from tests.sandbox.shopfloor import domain

pytestmark = pytest.mark.anyio

ITEMS = [{"sku": "LAMP", "quantity": 2, "wrapping": "paper"}, {"sku": "SK-07", "quantity": 1}]
PLAN = [
    PlannedCall("shop_list_orders", {}),
    PlannedCall("shop_place_order", {"customer": "C-17", "items": ITEMS}),
    PlannedCall("shop_set_status", {"id": "SO-1", "status": "packed"}),
    PlannedCall("shop_remark", {"id": "SO-1", "text": "thanks"}),
]
PLANS = {"remark": PLAN}
TOOLS = {tool.name: ToolView(tool.name, "", tool.schema, tool.is_read) for tool in domain.tools.values()}


@pytest.fixture(autouse=True)
async def bounded(anyio_backend: str) -> AsyncIterator[None]:
    with fail_after(60):
        yield


async def attempt(agent: Agent, repetition: int = 0) -> tuple[list[tuple[str, Any]], str]:
    """The calls that an agent made and its last words, as its trial's stream has them."""
    async with stored() as journal:
        trial = await opened(journal)
        async with connected(trial) as session:
            assert await agent.attempt(session, repetition) == "done"
        records = await journal.read(trial.id)
    calls = [decoded(call[0]) for call in calls_of(records)]
    last = decoded(records[-1])
    assert isinstance(last, Said)
    return [(call.tool, json.loads(call.arguments)) for call in calls], last.text


def as_made(plan: Plan) -> list[tuple[str, Any]]:
    return [(call.tool, call.arguments) for call in plan]


async def test_the_oracle_makes_the_golden_calls_and_says_goodbye() -> None:
    assert await attempt(oracle(PLANS)) == (as_made(PLAN), GOODBYE)


async def test_the_oracle_only_talks_of_a_task_without_a_plan() -> None:
    assert await attempt(oracle({})) == ([], GOODBYE)


async def test_null_only_talks() -> None:
    assert await attempt(null()) == ([], GOODBYE)


async def test_the_reader_makes_the_reads_alone() -> None:
    assert await attempt(reader(PLANS)) == ([("shop_list_orders", {})], LOOKED)


async def test_a_refused_golden_call_does_not_stop_the_oracle() -> None:
    plan = [PlannedCall("shop_remark", {"id": "SO-2", "text": "x"}), *PLAN]
    assert (await attempt(oracle({"remark": plan})))[0] == as_made(plan)


async def test_careless_does_the_same_for_the_same_seed_task_and_repetition() -> None:
    first = [await attempt(careless(PLANS, seed=3), repetition) for repetition in range(8)]
    again = [await attempt(careless(PLANS, seed=3), repetition) for repetition in range(8)]
    other = [await attempt(careless(PLANS, seed=4), repetition) for repetition in range(8)]
    assert first == again
    assert first != other
    assert len({json.dumps(calls) for calls, _ in first}) > 3


async def test_careless_slips_in_three_attempts_of_four_and_is_as_polite_as_ever() -> None:
    attempts = [await attempt(careless(PLANS), repetition) for repetition in range(120)]
    right = sum(calls == as_made(PLAN) for calls, _ in attempts)
    assert 15 <= right <= 45
    assert {words for _, words in attempts} == {GOODBYE}


async def test_every_kind_of_slip_happens() -> None:
    seen = {slip_in((await attempt(careless(PLANS), repetition))[0]) for repetition in range(120)}
    assert seen == {"none", "repeated", "altered", "dropped or stopped"}


def slip_in(calls: Sequence[tuple[str, Any]]) -> str:
    planned = as_made(PLAN)
    if len(calls) == len(planned):
        return "none" if calls == planned else "altered"
    return "repeated" if len(calls) > len(planned) else "dropped or stopped"


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip.__name__)
@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_slip_changes_the_plan_and_nothing_in_it(slip: Any, place: int) -> None:
    before = copy.deepcopy(PLAN)
    for seed in range(30):
        assert as_made(slip(PLAN, place, TOOLS, random.Random(seed))) != as_made(before)
    assert before == PLAN


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip.__name__)
def test_a_plan_of_one_call_is_changed_too(slip: Any) -> None:
    plan = [PlannedCall("shop_remark", {"id": "SO-1", "text": "thanks"})]
    for seed in range(10):
        assert as_made(slip(plan, 0, TOOLS, random.Random(seed))) != as_made(plan)


def altered(arguments: dict[str, Any], schema: dict[str, Any]) -> list[Any]:
    """All that becomes of the arguments when they are altered, over many throws of the dice."""
    plan, tools = [PlannedCall("t", arguments)], {"t": ToolView("t", "", schema, is_read=False)}
    altering = next(slip for slip in SLIPS if slip.__name__ == "_altered")
    plans = [altering(plan, 0, tools, random.Random(seed)) for seed in range(60)]
    return [dict(plan[0].arguments) for plan in plans if plan]


ENUM = {"enum": ["low", "mid", "high"]}


@pytest.mark.parametrize(
    ("value", "schema", "wrong"),
    [
        pytest.param("low", ENUM, {"mid", "high"}, id="enumeration"),
        pytest.param("low", {"anyOf": [{"type": "null"}, ENUM]}, {"mid", "high"}, id="enumeration or null"),
        pytest.param("low", {"$ref": "#/$defs/Level"}, {"mid", "high"}, id="reference"),
        pytest.param("low", {"anyOf": [{"$ref": "#/$defs/Level"}, {"enum": [None]}]}, {"mid", "high"}, id="both"),
        pytest.param(3, {"type": "integer"}, {8, 6}, id="integer"),
        pytest.param(0.01, {"type": "number"}, {5.01, 0.02}, id="number"),
        pytest.param(0, {"type": "integer"}, {5}, id="zero"),
        pytest.param("SO-1", {"type": "string"}, {"SO-2"}, id="id"),
        pytest.param("SO-099", {"type": "string"}, {"SO-100"}, id="id with zeros"),
        pytest.param("4711", {"type": "string"}, {"4712"}, id="digits"),
        pytest.param("thank you", {"type": "string"}, set(), id="words"),
        pytest.param(True, {"type": "boolean"}, set(), id="truth"),
        pytest.param(None, {"type": "null"}, set(), id="null"),
        pytest.param("low", {"enum": ["low"]}, set(), id="no choice"),
    ],
)
@pytest.mark.parametrize("nested", ["flat", "object", "list"])
def test_altered_values_are_wrong_and_plausible(value: Any, schema: Any, wrong: set[Any], nested: str) -> None:
    given, shown = value, schema
    if nested == "object":
        given, shown = {"inner": value}, {"$ref": "#/$defs/Part"}
    if nested == "list":
        given, shown = [{"inner": value}], {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Part"}}]}
    parts = {"Level": ENUM, "Part": {"type": "object", "properties": {"inner": schema}}}
    made = altered({"x": given}, {"type": "object", "properties": {"x": shown}, "$defs": parts})
    found = [arguments["x"] for arguments in made]
    leaves = [item[0]["inner"] if nested == "list" else item["inner"] if nested == "object" else item for item in found]
    assert set(leaves) == wrong


def test_only_one_value_is_altered_at_a_time() -> None:
    schema = dict(TOOLS["shop_place_order"].schema)
    given = {"customer": "C-17", "items": ITEMS}
    seen = {json.dumps(arguments) for arguments in altered(given, schema)}
    changes = [differences(given, json.loads(text)) for text in seen]
    assert {len(change) for change in changes} == {1}
    assert {path for change in changes for path in change} == {
        "$.customer",
        "$.items[0].quantity",
        "$.items[0].wrapping",
        "$.items[1].sku",
        "$.items[1].quantity",
    }


def differences(one: Any, other: Any, at: str = "$") -> list[str]:
    if isinstance(one, dict) and one.keys() == other.keys():
        return [path for name in one for path in differences(one[name], other[name], f"{at}.{name}")]
    if isinstance(one, list) and len(one) == len(other):
        return [path for n, item in enumerate(one) for path in differences(item, other[n], f"{at}[{n}]")]
    return [] if one == other else [at]


async def test_altered_calls_are_taken_by_the_tools() -> None:
    """A slip that is refused for its form would be no plausible mistake."""
    async with stored() as journal:
        for repetition in range(40):
            trial = await opened(journal, repetition)
            async with connected(trial) as session:
                await careless(PLANS).attempt(session, repetition)
            records = await journal.read(trial.id)
            refused = [decoded(record) for record in records if record.topic == "trial.refused.1"]
            assert {item.refusal for item in refused} <= {"NotFound", "Precondition"}
            assert "ended" not in topics(records)
