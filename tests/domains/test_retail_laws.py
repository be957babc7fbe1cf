"""What holds for every tool of retail, whatever an agent sends."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domains.retail import domain
from sandbox import Domain, Refused, Request, World
from tests.domains.shop_rows import MOUNTS, SHOP, own, public

DOMAINS = {"own": own().domain, "public": public().domain}
KEYS = {"order_id": "orders", "customer_id": "customer_profiles", "job_id": "installation_jobs", "sku": "products"}
ODD: st.SearchStrategy[Any] = st.sampled_from([None, "", "no such", 0, -1, 2.5, "2", True, [], {}, 2**70, "2025-10-04"])


def known(name: str) -> list[str]:
    """Texts that an argument of this name may well have: keys of rows, or whatever a field of this name holds."""
    table = next((table for part, table in KEYS.items() if name.endswith(part)), None)
    keys = [row.get("id", row.get("sku")) for row in SHOP[table]] if table else []
    held = [row[name] for rows in SHOP.values() for row in rows if isinstance(row.get(name), str)]
    return sorted({*keys, *held}) or ["W-1", "2025-10-04T09:00:00Z", "plus"]


def fitting(name: str, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of an argument's kind."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of([fitting(name, part) for part in schema["anyOf"]])
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "string": st.sampled_from(known(name)),
        "integer": st.integers(-1, 4),
        "number": st.floats(-100, 100, width=16),
        "boolean": st.booleans(),
        "object": st.fixed_dictionaries({"subject": st.just("Late parcel")}, optional={"status": st.just("open")}),
    }
    return kinds.get(schema.get("type", ""), st.none())


def calls(shop: Domain) -> st.SearchStrategy[Request]:
    """Calls of any tool: arguments that fit, in some calls with one that is odd or unknown."""

    def arguments(name: str) -> st.SearchStrategy[Request]:
        schema = shop.tools[name].schema
        values = {key: fitting(key, part) for key, part in schema["properties"].items()}
        needed = {key: value for key, value in values.items() if key in schema["required"]}
        optional = {key: value for key, value in values.items() if key not in needed}
        spoilt = st.dictionaries(st.sampled_from([*values, "unheard_of"]), ODD, min_size=1, max_size=1)
        fits = st.fixed_dictionaries(needed, optional=optional)
        made = st.tuples(fits, st.one_of(*[st.just({})] * 4, spoilt))
        return made.map(lambda parts: Request(name, json.dumps(parts[0] | parts[1])))

    return st.sampled_from(sorted(shop.tools)).flatmap(arguments)


@pytest.mark.parametrize("name", MOUNTS)
@settings(max_examples=80)
@given(data=st.data())
def test_a_refused_call_and_a_read_change_nothing(name: str, data: st.DataObject) -> None:
    world: World = MOUNTS[name]()
    for request in data.draw(st.lists(calls(world.domain), min_size=1, max_size=8)):
        before, effects = world.rows, world.effects
        try:
            world.ask(request)
        except Refused:
            assert (world.rows, world.effects) == (before, effects)
        if world.domain.tools[request.tool].is_read:
            assert (world.rows, world.effects) == (before, effects)


@settings(max_examples=60)
@given(requests=st.lists(calls(DOMAINS["own"]), max_size=12))
def test_the_same_calls_give_the_same_answers_and_rows(requests: list[Request]) -> None:
    seen = []
    for world in (own(), own()):
        answers = []
        for request in requests:
            decision = world.decide(request)
            world.apply(decision)
            answers.append(decision.answer)
        seen.append((answers, world.rows, world.effects))
    assert seen[0] == seen[1]


@settings(max_examples=60)
@given(data=st.data())
def test_own_ids_never_collide(data: st.DataObject) -> None:
    taken = data.draw(st.sets(st.integers(0, 6)), label="numbers of payments that are there")
    payments = [{**SHOP["payment_transactions"][0], "id": f"TXN-2{number:07d}"} for number in sorted(taken)]
    world = own(payment_transactions=payments)
    charge = {"order_id": "O-1", "customer_id": "C-1", "amount": 1.0, "charge_reason": "reship_fee"}
    made = {world.call("charge_customer", **charge)["transaction_id"] for _ in range(4)}
    assert len(made) == 4
    assert len(world.rows["shop_payment_transactions"]) == len(taken) + 4


@pytest.mark.parametrize("name", sorted(domain.tools))
def test_every_argument_of_every_tool_is_described(name: str) -> None:
    tool = domain.tools[name]
    silent = [shown for shown, part in tool.schema["properties"].items() if len(part.get("description", "")) < 5]
    assert silent == []
    assert len(tool.spec.description) > 40
