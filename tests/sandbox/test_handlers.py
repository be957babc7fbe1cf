"""What events, their handlers and id rules may do, and what becomes of those that are wrong."""

from decimal import Decimal
from typing import Any

import msgspec
import pytest

from sandbox import (
    UNSET,
    Call,
    Conflict,
    Domain,
    Event,
    Gone,
    Invalid,
    Row,
    Rows,
    SandboxFault,
    Toolset,
    UnsetType,
    ValueFault,
    World,
    counted,
    smallest_free,
)
from sandbox.world import request
from tests.sandbox.desk import START, Note

shop = Toolset("shop")


@shop.table("things", ids=smallest_free("T"))
class Thing(Row):
    id: str
    size: int = 0
    price: Decimal | None = None


@shop.table("boxes", ids=counted("B", offset=1))
class Box(Row):
    id: str


@shop.table("pairs")
class Pair(Row):
    id: str


class Made(Event, tag="made", version=1):
    id: str
    size: int = 0


class Priced(Event, tag="priced", version=1):
    id: str
    price: Decimal | UnsetType = UNSET
    weights: tuple[float, ...] | UnsetType = UNSET


class Renamed(Event, tag="renamed", version=1):
    id: str
    new: str


class Removed(Event, tag="removed", version=1):
    id: str


class Boxed(Event, tag="boxed", version=1):
    id: str


class Unboxed(Event, tag="unboxed", version=1):
    id: str


class Misused(Event, tag="misused", version=1):
    how: str


@shop.on(Made)
def made(rows: Rows, e: Made) -> Thing:
    return Thing(e.id, e.size)


@shop.on(Priced)
def priced(rows: Rows, e: Priced) -> Thing:
    price = None if e.price is UNSET else e.price
    return msgspec.structs.replace(rows.get(Thing, e.id), price=price)


@shop.on(Renamed)
def renamed(rows: Rows, e: Renamed) -> Thing:
    """Leaves the old key behind: a row of another key is another row."""
    return msgspec.structs.replace(rows.get(Thing, e.id), id=e.new)


@shop.on(Removed)
def removed(rows: Rows, e: Removed) -> Gone:
    return Gone(Thing, e.id)


@shop.on(Boxed)
def boxed(rows: Rows, e: Boxed) -> Box:
    return Box(e.id)


@shop.on(Unboxed)
def unboxed(rows: Rows, e: Unboxed) -> Gone:
    return Gone(Box, e.id)


@shop.on(Misused)
def misused(rows: Rows, e: Misused) -> Any:
    if e.how == "no row":
        return "thing"
    if e.how == "foreign row":
        return Note("N001", "TK-1", "x")
    if e.how == "nothing":
        return None
    if e.how == "wrong type":
        return [Thing("T9"), Thing("T8", "large")]  # type: ignore[arg-type]
    return Gone(Thing, "T99")


@shop.tool(emits=[Made])
def make_two(call: Call) -> list[str]:
    """Make two things, their ids taken first."""
    ids = [call.new_id(Thing), call.new_id(Thing)]
    for id in ids:
        call.emit(Made(id))
    return ids


@shop.tool(emits=[Made])
def make_twice(call: Call) -> int:
    """Tell of one thing twice."""
    event = Made(call.new_id(Thing), 7)
    call.emit(event)
    call.emit(event)
    return len(call.all(Thing))


@shop.tool(emits=[Made])
def make(call: Call, id: str, size: int = 0) -> Thing:
    """Make a thing."""
    call.emit(Made(id, size))
    return call.get(Thing, id)


@shop.tool(emits=[Priced])
def price(call: Call, id: str, price: Decimal | UnsetType = UNSET) -> Thing:
    """Price a thing; its price is dropped if none is given."""
    call.emit(Priced(id, price))
    return call.get(Thing, id)


@shop.tool(emits=[Renamed])
def rename(call: Call, id: str, new: str) -> None:
    """Give a thing another id."""
    call.emit(Renamed(id, new))


@shop.tool(emits=[Removed])
def remove(call: Call, id: str) -> None:
    """Remove a thing."""
    call.emit(Removed(id))


@shop.tool(emits=[Boxed])
def box(call: Call) -> str:
    """Make a box."""
    id = call.new_id(Box)
    call.emit(Boxed(id))
    return id


@shop.tool(emits=[Unboxed])
def unbox(call: Call, id: str) -> None:
    """Remove a box."""
    call.emit(Unboxed(id))


@shop.tool()
def pair(call: Call) -> str:
    """Take an id where there is no rule."""
    return call.new_id(Pair)


@shop.tool(emits=[Misused])
def misuse(call: Call, how: str) -> None:
    """Emit something that its handler gets wrong."""
    call.emit(Misused(how))


@shop.tool(emits=[Made])
def mistype(call: Call) -> None:
    """Emit an event with a wrong type in it."""
    call.emit(Made("T1", "large"))  # type: ignore[arg-type]


@pytest.fixture
def store() -> World:
    made_of = Domain("store", shop, seed={"shop_things": [{"id": "T2"}]})
    return World(made_of, made_of.snapshot, START)


def test_two_new_ids_of_one_call_are_two(store: World) -> None:
    assert store.call("shop_make_two") == ["T1", "T3"]
    assert [row.id for row in store.rows["shop_things"]] == ["T2", "T1", "T3"]


def test_the_same_event_twice_is_two_records_and_one_row(store: World) -> None:
    decision = store.decide(request("shop_make_twice", "{}"))
    assert [item.topic for item in decision.drafts].count("shop.made.1") == 2
    assert decision.answer.text == "2"


def test_a_row_with_another_key_is_another_row(store: World) -> None:
    store.call("shop_rename", id="T2", new="T5")
    assert [row.id for row in store.rows["shop_things"]] == ["T2", "T5"]


def test_a_freed_id_is_the_next_one_and_stands_last(store: World) -> None:
    store.call("shop_make_two")
    store.call("shop_remove", id="T1")
    assert store.call("shop_make_two") == ["T1", "T4"]
    assert [row.id for row in store.rows["shop_things"]] == ["T2", "T3", "T1", "T4"]


def test_an_id_rule_that_meets_a_taken_id_is_a_conflict(store: World) -> None:
    assert [store.call("shop_box") for _ in range(3)] == ["B1", "B2", "B3"]
    store.call("shop_unbox", id="B1")
    with pytest.raises(Conflict, match="box 'B3' already exists"):
        store.call("shop_box")


def test_a_decimal_keeps_its_scale_and_is_always_a_number(store: World) -> None:
    assert store.call("shop_price", id="T2", price="1200.50")["price"] == "1200.50"
    for number in ("NaN", "-Infinity", "sNaN"):
        with pytest.raises(Invalid, match=r"Priced\.price is .*, which no record may hold"):
            store.call("shop_price", id="T2", price=number)
    assert store.call("shop_price", id="T2")["price"] is None


def test_a_table_without_id_rule_says_what_to_write(store: World) -> None:
    with pytest.raises(TypeError, match=r"table shop_pairs declares no ids; write @table\(…, ids=…\)"):
        store.call("shop_pair")


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("shop_rename", {"id": "T9", "new": "T5"}, "an event tells of shop_things 'T9', which is not there"),
        ("shop_remove", {"id": "T9"}, "the handler of shop.removed.1 deleted shop_things 'T9', which is not there"),
        ("shop_misuse", {"how": "no row"}, "the handler of shop.misused.1 returned .* which is no row of this domain"),
        ("shop_misuse", {"how": "foreign row"}, "returned Note.* which is no row of this domain"),
        ("shop_misuse", {"how": "nothing"}, "the handler of shop.misused.1 returned None"),
        ("shop_misuse", {"how": "wrong type"}, "the handler of shop.misused.1 made a row that cannot be kept: Thing"),
        ("shop_misuse", {"how": "gone"}, "deleted shop_things 'T99'"),
    ],
)
def test_a_handler_that_is_wrong_is_a_fault_of_ours(store: World, tool: str, arguments: Any, told: str) -> None:
    with pytest.raises(SandboxFault, match=told):
        store.call(tool, **arguments)
    assert store.effects == ()
    assert store.calls == 0


def test_an_event_with_a_wrong_type_is_a_fault_of_ours(store: World) -> None:
    with pytest.raises(ValueFault, match="Made cannot be recorded: Expected `int`, got `str`"):
        store.call("shop_mistype")
    assert store.effects == ()
