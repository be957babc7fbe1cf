"""A mistake in a declaration stops the program at import, at mounting or when the domain is made, and says where."""

from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import pytest
from msgspec import Struct, StructMeta, UnsetType, field

from sandbox import (
    Call,
    Domain,
    Event,
    Named,
    Pinned,
    Row,
    RowFault,
    Rows,
    Toolset,
    ValueFault,
    World,
    refers,
    smallest_free,
)
from sandbox.declarations import Shape
from sandbox.records import RESERVED_MOUNTS
from sandbox.refusals import UserFault
from tests.sandbox.desk import Ticket, desk, domain

HERE = __name__


class Thing(Row):
    id: str
    name: str = ""


class Other(Row):
    id: str


class Made(Event, tag="made", version=1):
    id: str


class MadeAgain(Event, tag="made", version=2):
    id: str


class Untold(Event, tag="untold", version=1):
    id: str


def made(rows: Rows, e: Made) -> Thing:
    return Thing(e.id)


def made_too(rows: Rows, e: Made) -> Thing:
    return Thing(e.id)


def make(call: Call, id: str) -> None:
    """Make a thing."""
    call.emit(Made(id))


def with_handler(name: str = "shop") -> Toolset:
    shop = Toolset(name)
    shop.table("things")(Thing)
    shop.on(Made)(made)
    return shop


def test_a_second_handler_of_one_event_is_refused_and_both_are_named() -> None:
    shop = with_handler()
    with pytest.raises(TypeError, match=rf"Made already has a handler, made\(\) in {HERE}:\d+.*made_too\(\) in {HERE}"):
        shop.on(Made)(made_too)


def test_an_emitted_event_without_a_handler_is_refused_and_both_are_named() -> None:
    shop = Toolset("shop")
    shop.tool(emits=[Made])(make)
    with pytest.raises(TypeError, match=rf"make\(\) in {HERE}:\d+ emits {HERE}.Made.*no handler.*@shop.on\(Made\)"):
        shop.mount()


def test_an_event_that_a_tool_makes_without_declaring_it_is_refused_at_import() -> None:
    shop = with_handler()
    with pytest.raises(TypeError, match=rf"make\(\) in {HERE}:\d+ makes {HERE}.Made.*emits=\[…, Made\]"):
        shop.tool()(make)


def test_an_event_that_slips_through_undeclared_is_refused_when_it_is_emitted() -> None:
    shop = with_handler()
    hidden = {"event": Made}

    def sneak(call: Call) -> None:
        """Make a thing in secret."""
        call.emit(hidden["event"]("1"))

    shop.tool()(sneak)
    world_domain = Domain("shop", shop, seed={})
    world = World(world_domain, world_domain.snapshot, "2025-10-01T13:00:00Z")
    with pytest.raises(TypeError, match="shop_sneak emits Made without declaring it"):
        world.call("shop_sneak")
    assert world.calls == 0


def test_a_tool_without_docstring_is_refused() -> None:
    def silent(call: Call) -> None: ...

    with pytest.raises(TypeError, match=rf"silent\(\) in {HERE}:\d+ has no docstring"):
        Toolset("shop").tool()(silent)


def test_two_tables_of_one_name_are_refused_and_both_are_named() -> None:
    shop = Toolset("shop")
    shop.table("things")(Thing)
    with pytest.raises(TypeError, match=rf"table things is already {HERE}.Thing, and again {HERE}.Other"):
        shop.table("things")(Other)


def test_two_tools_of_one_name_are_refused_and_both_are_named() -> None:
    shop = with_handler()
    shop.tool(emits=[Made])(make)

    def again(call: Call) -> None:
        """Make it again."""

    with pytest.raises(TypeError, match=rf"tool make is make\(\) in {HERE}:\d+ and .*again\(\) in {HERE}:\d+"):
        shop.tool(name="make")(again)


def test_two_events_of_one_tag_are_refused_and_both_are_named() -> None:
    shop = with_handler()
    with pytest.raises(TypeError, match=rf"'made' is {HERE}.Made and {HERE}.MadeAgain"):
        shop.on(MadeAgain)(made)


@pytest.mark.parametrize(
    ("collision", "second"),
    [
        ("two tables shop_things", with_handler("other").mount("shop", prefix="second_")),
        ("two events shop.made.1", with_handler("other").mount("shop", prefix="x_", table_names={"things": "other"})),
    ],
)
def test_two_mounts_that_collide_are_refused(collision: str, second: Any) -> None:
    with pytest.raises(TypeError, match=f"domain trade has {collision}; mount one toolset under another name"):
        Domain("trade", with_handler(), second, seed={})


def test_two_mounts_with_the_same_tools_are_refused() -> None:
    with pytest.raises(TypeError, match="two tools desk_open_ticket; give one mount another prefix"):
        Domain("trade", desk, desk.mount("annex", prefix="desk_"), seed={})


@pytest.mark.parametrize("name", RESERVED_MOUNTS)
def test_a_mount_named_like_own_records_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=f"domain trade mounts toolset shop as '{name}'.*under another name"):
        Domain("trade", with_handler().mount(name), seed={})


class Frozen(Struct, frozen=True):
    parts: list[str]


class Loose(Struct):
    part: str


@pytest.mark.parametrize(
    "annotation",
    [list[str], dict[str, str], set[str], bytearray, list[str] | None, tuple[list[str], ...], Loose, Frozen],
)
def test_a_row_field_that_can_be_changed_in_place_is_refused_however_deep(annotation: Any) -> None:
    row_type: Any = StructMeta(
        "Basket", (Row,), {"__annotations__": {"id": str, "items": annotation}, "__module__": HERE}
    )
    with pytest.raises(TypeError, match=rf"{HERE}.Basket.items can be changed in place; declare tuple"):
        Toolset("shop").table("baskets")(row_type)


class Mail(Row):
    id: str
    sender: str = field(name="from", default="")


def test_a_row_field_with_another_name_in_records_is_refused() -> None:
    with pytest.raises(TypeError, match=rf"{HERE}.Mail.sender is recorded as 'from'; call it the same in both"):
        Toolset("shop").table("mails")(Mail)


def test_a_parameter_without_annotation_is_refused() -> None:
    def take(call, id):  # type: ignore[no-untyped-def]
        """Take a thing."""

    with pytest.raises(TypeError, match="tool take: parameter `id` has no annotation"):
        Toolset("shop").tool()(take)


def no_parameter() -> None:
    """Tell."""


def many(call: Call, *ids: str) -> None:
    """Tell."""


def anything(call: Call, **fields: str) -> None:
    """Tell."""


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (no_parameter, "tool no_parameter: the first parameter must be the call"),
        (many, "tool many: parameter `ids` cannot be given by name"),
        (anything, "tool anything: parameter `fields` cannot be given by name"),
    ],
)
def test_a_parameter_that_no_json_object_can_give_is_refused(function: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        Toolset("shop").tool()(function)


def test_two_parameters_with_one_name_for_the_agent_are_refused() -> None:
    def find(call: Call, filter: str = "", other: Annotated[str, Named("$filter", also=("filter",))] = "") -> None:
        """Find things."""

    with pytest.raises(TypeError, match="parameters `filter` and `other` are both named `filter`"):
        Toolset("shop").tool()(find)


@pytest.mark.parametrize(
    ("key", "search", "named"), [("sku", (), "sku"), (("id", "no"), (), "no"), ("id", ("x",), "x")]
)
def test_a_key_or_search_field_that_the_row_has_not_is_refused(key: Any, search: Any, named: str) -> None:
    with pytest.raises(TypeError, match=rf"table things: {HERE}.Thing has no field `{named}`"):
        Toolset("shop").table("things", key=key, search=search)(Thing)


class Third(Event, tag="third", version=3):
    id: str


def upcast(payload: dict[str, Any]) -> dict[str, Any]:
    return payload


def test_a_gap_between_upcasters_is_refused() -> None:
    shop = Toolset("shop")
    shop.on(Third)(made)
    shop.upcast("third", 1)(upcast)
    with pytest.raises(TypeError, match=rf"{HERE}.Third: version 2 cannot be upcast; declare @upcast"):
        shop.mount()


@pytest.mark.parametrize(("tag", "version"), [("third", 3), ("fourth", 1)])
def test_an_upcaster_that_leads_nowhere_is_refused(tag: str, version: int) -> None:
    shop = Toolset("shop")
    shop.on(Third)(made)
    shop.upcast(tag, version)(upcast)
    with pytest.raises(TypeError, match=rf"upcast\(\) in {HERE}:\d+ upcasts {tag}.{version}.*version={version + 1}"):
        shop.mount()


def test_two_upcasters_of_one_version_are_refused_and_both_are_named() -> None:
    shop = Toolset("shop")
    shop.upcast("third", 1)(upcast)
    with pytest.raises(
        TypeError, match=rf"third.1 is upcast by upcast\(\) in {HERE}:\d+ and by made\(\) in {HERE}:\d+"
    ):
        shop.upcast("third", 1)(made)


class Nameless(Event, tag="", version=1):
    id: str


class Unversioned(Event, tag="unversioned", version=0):
    id: str


class Heir(Made, tag="", version=0):
    """An event's heir has no name of its own."""


@pytest.mark.parametrize("event_type", [Nameless, Unversioned, Heir])
def test_an_event_without_tag_or_version_is_refused(event_type: type[Event]) -> None:
    with pytest.raises(TypeError, match=rf"{HERE}.{event_type.__name__} has no tag and version"):
        Toolset("shop").on(event_type)(made)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"is_open": {"mak": True}}, "mounted with is_open for 'mak'; it has make"),
        ({"table_names": {"thing": "T"}}, "mounted with table_names for 'thing'; it has things"),
        ({"ids": {Other: str}}, "mounted with ids for 'Other'; it has Thing"),
    ],
)
def test_a_setting_for_something_unknown_is_refused_at_mounting(settings: Any, told: str) -> None:
    shop = with_handler()
    shop.tool(emits=[Made])(make)
    with pytest.raises(TypeError, match=told):
        shop.mount(**settings)


@pytest.mark.parametrize("clock", [Pinned("soon"), Pinned("2025-10-01T13:00:00Z", {"closing": "late"})])
def test_a_clock_pinned_at_no_instant_is_refused_at_mounting(clock: Pinned) -> None:
    with pytest.raises(ValueFault, match="is no ISO 8601 time"):
        with_handler().mount(clock=clock)


def test_a_table_mounted_twice_is_seen_by_each_mount_as_its_own() -> None:
    assert domain.tools["desk_list_tickets"].tables[Ticket].name == "desk_tickets"
    assert domain.tools["annex_list_tickets"].tables[Ticket].name == "annex_tickets"


def test_what_fields_are_is_known_from_their_types() -> None:
    kinds = {spec.name: (spec.kind, spec.volatile, spec.unordered) for spec in Shape(Ticket).fields}
    assert kinds["body"] == ("prose", False, False)
    assert kinds["hours"] == ("float", False, False)
    assert kinds["due"] == ("instant", False, False)
    assert kinds["tags"] == ("other", False, True)
    assert kinds["etag"] == ("text", True, False)
    assert kinds["requester"] == ("text", False, False)
    assert kinds["status"] == ("other", False, False)


def test_what_may_be_a_number_or_something_else_is_no_number_field() -> None:
    class Declared(Struct, frozen=True):
        both: int | float
        nullable: float | None
        absent: float | UnsetType | None
        text: float | str | None
        flag: int | bool

    kinds = {spec.name: spec.kind for spec in Shape(Declared).fields}
    assert kinds == {"both": "float", "nullable": "float", "absent": "float", "text": "other", "flag": "other"}
    with pytest.raises(ValueFault, match="inf"):
        Shape(Declared).encoded(Declared(1, 1.0, 1.0, float("inf"), 1))


def test_a_domain_digest_changes_with_the_settings_of_a_mount() -> None:
    def digest_with(**settings: Any) -> str:
        return Domain("shop", with_handler().mount(**settings), seed={}).digest

    digests = [
        digest_with(),
        digest_with(prefix="x_"),
        digest_with(arguments="lax"),
        digest_with(table_names={"things": "T"}),
        digest_with(clock=Pinned("2025-10-01")),
        digest_with(ids={Thing: smallest_free("A")}),
        digest_with(ids={Thing: smallest_free("B")}),
    ]
    assert len(set(digests)) == len(digests)
    assert digest_with() == digests[0]


def test_a_field_may_refer_only_to_a_table_of_its_own_toolset() -> None:
    shop = Toolset("shop")

    @shop.table("orders")
    class Order(Row):
        id: str
        customer_id: Annotated[str, refers("customers")]

    with pytest.raises(TypeError, match=r"shop_orders\.customer_id refers to table 'customers', which toolset shop"):
        Domain("d", shop, seed={})


async def wait(call: Call, id: str) -> str:
    """Wait."""
    return id


async def wait_often(rows: Rows, e: Made) -> AsyncIterator[Thing]:
    yield Thing(e.id)


def yield_answer(call: Call, id: str) -> Iterator[str]:
    """Answer by and by."""
    yield id


def test_a_tool_or_handler_that_is_async_is_refused() -> None:
    shop = Toolset("shop")
    with pytest.raises(TypeError, match=rf"tool wait\(\) in {HERE}:\d+ is `async`; nothing in a domain waits"):
        shop.tool()(wait)
    with pytest.raises(TypeError, match=rf"handler wait_often\(\) in {HERE}:\d+ is `async`"):
        shop.on(Made)(wait_often)
    with pytest.raises(TypeError, match=rf"upcaster wait\(\) in {HERE}:\d+ is `async`"):
        shop.upcast("made", 1)(wait)
    assert (shop.tools, shop.handlers, shop.upcasters) == ({}, {}, {})


def test_a_tool_that_is_a_generator_is_refused() -> None:
    shop = Toolset("shop")
    with pytest.raises(TypeError, match=rf"tool yield_answer\(\) in {HERE}:\d+ is a generator, which gives no result"):
        shop.tool()(yield_answer)
    assert not shop.tools


@pytest.mark.parametrize("name", ["", "a b", "a/b", "../a", "-a", "a\n", "bäckerei", "a:b"])
def test_a_name_that_is_no_plain_word_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=r"cannot name a domain; use letters, digits, `_`, `-` and `\.`"):
        Domain(name, with_handler(), seed={})
    assert Domain("a-b_c.2", with_handler(), seed={}).name == "a-b_c.2"


def test_two_rows_with_one_key_are_refused_and_both_are_named_but_a_lax_mount_keeps_the_last() -> None:
    rows = {"shop_things": [{"id": "a", "name": "x"}, {"id": "b"}, {"id": "a", "name": "y"}]}
    with pytest.raises(
        RowFault, match=r"^shop_things\[2\]: shop_things\[0\] has the key 'a' already; give one of them"
    ):
        _ = Domain("shop", with_handler(), seed=rows).seed
    lax = Domain("shop", with_handler().mount(arguments="lax"), seed=rows)
    assert list(lax.seed.tables["shop_things"].values()) == [Thing("a", "y"), Thing("b")]
    assert isinstance(RowFault("x"), UserFault)
