"""What the public help desk does where no recorded call says so: rules of shapes, nulls, ids, names and patches."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from domains.shared.helpdesk import PUBLIC, helpdesk, public_helpdesk
from sandbox import Conflict, Domain, Invalid, NotFound, Precondition, Refused, Request, Snapshot, Unsupported, World

START = "2025-10-01T13:00:00Z"
TIMES = {"created_at": "a", "updated_at": "b"}
SEED: dict[str, list[dict[str, Any]]] = {
    "zendesk_tickets": [
        {"id": str(n), "subject": f"S{n}", "status": "open", "tags": ["t"], "priority": "low", **TIMES}
        for n in (1, 2, 3)
    ],
    "zendesk_users": [{"id": "1", "name": "Ann", "email": "a@b", "phone": "1", **TIMES}],
    "zendesk_organizations": [{"id": "1", "name": "Acme", "domain_names": ["a"], **TIMES}],
    "zendesk_comments": [{"id": "1", "ticket_id": "1", "author_id": "1", "body": "hello", **TIMES}],
    "zendesk_ticket_comments": [
        {"id": 23118465221916, "ticket_id": 1, "author_id": 1, "body": "hi", "public": False, **TIMES}
    ],
}
DESK = Domain("desk", public_helpdesk(), seed=SEED)


@pytest.fixture
def world() -> World:
    return World(DESK, DESK.snapshot, START)


def created(world: World, table: str, **item: Any) -> dict[str, Any]:
    row: dict[str, Any] = world.call("zendesk_create_item", table=table, item=item)["item"]
    return row


def updated(world: World, table: str, **item: Any) -> dict[str, Any]:
    row: dict[str, Any] = world.call("zendesk_update_item", table=table, id="1", item=item)["item"]
    return row


def ids(world: World, table: str = "tickets", **options: Any) -> list[Any]:
    return [row["id"] for row in world.call("zendesk_get_items", table=table, **options)["items"]]


@pytest.mark.parametrize(
    ("table", "item", "applied"),
    [
        # Of two shapes with as many fields: no repair wins over repair, then tickets, users, organizations, comments.
        ("tickets", {"status": "solved", "name": "x"}, {"status": "open"}),
        ("tickets", {"subject": "new", "name": "x"}, {"subject": "new"}),
        ("organizations", {"subject": "new", "name": "x"}, {"name": "Acme"}),
        ("organizations", {"name": "x"}, {"name": "x"}),
        ("users", {"phone": "2", "details": "x"}, {"phone": "2"}),
        ("organizations", {"phone": "2", "details": "x"}, {"details": None}),
        ("comments", {"body": "b", "details": "d"}, {"body": "hello"}),
        ("comments", {"body": "b", "public": False}, {"body": "b", "public": False}),
        # A null counts as a field, and needs no repair.
        ("tickets", {"status": "solved", "phone": None}, {"status": "open"}),
        ("tickets", {"status": None, "priority": None, "name": "x"}, {"status": "open", "priority": "low"}),
        ("users", {"verified": None, "active": False, "subject": "x"}, {"verified": False, "active": False}),
        # Only text of an enumeration, and text or numbers for booleans, are repaired; lists and real booleans are not.
        ("users", {"active": False, "subject": "x"}, {"active": True}),
        ("users", {"active": 0, "details": "x"}, {"active": True}),
        ("users", {"active": "No", "phone": "2"}, {"active": False, "phone": "2"}),
        ("users", {"active": 0.0}, {"active": False}),
        ("tickets", {"tags": ["n"], "name": "x"}, {"tags": ["n"]}),
        # A wrong field makes its shape lose; what another shape has too is applied.
        ("tickets", {"status": "bogus", "priority": "high"}, {"status": "open", "priority": "low"}),
        ("tickets", {"status": "bogus", "organization_id": "9"}, {"organization_id": "9", "status": "open"}),
        ("users", {"active": "maybe", "name": "x"}, {"name": "x", "active": True}),
        ("tickets", {"assignee_id": 5, "tags": "x", "subject": ""}, {"subject": "S1", "tags": ["t"]}),
        ("comments", {"ticket_id": 2, "body": "b"}, {"ticket_id": "1", "body": "hello"}),
    ],
)
def test_an_update_applies_the_shape_that_fits_the_item_best(
    world: World, table: str, item: dict[str, Any], applied: dict[str, Any]
) -> None:
    row = updated(world, table, **item)
    assert {name: row[name] for name in applied} == applied
    assert row.get("updated_at") == {"tickets": "2025-10-01T13:00:10Z", "comments": None}.get(
        table, "2025-10-01T13:00:05Z"
    )


def test_an_update_that_no_shape_takes_is_refused_even_for_an_unusable_table(world: World) -> None:
    item = {"subject": "", "name": "", "body": ""}
    for table in ("tickets", "views", "ticket_comments"):
        with pytest.raises(Invalid, match="fits no kind of row"):
            world.call("zendesk_update_item", table=table, id="1", item=item)


def test_the_table_is_checked_before_the_id_and_ticket_comments_are_final_even_when_missing(world: World) -> None:
    cases: list[tuple[str, dict[str, Any]]] = [("update_item", {"item": {}}), ("delete_item", {})]
    for tool, item in cases:
        with pytest.raises(Unsupported, match="cannot be worked on"):
            world.call(f"zendesk_{tool}", table="articles", id="nope", **item)
        with pytest.raises(Unsupported, match="ticket comments cannot be"):
            world.call(f"zendesk_{tool}", table="ticket_comments", id="nope", **item)
        with pytest.raises(NotFound):
            world.call(f"zendesk_{tool}", table="tickets", id="nope", **item)


def test_null_on_update_empties_a_list_and_keeps_all_else(world: World) -> None:
    assert updated(world, "tickets", tags=None, priority=None, subject=None)["tags"] == []
    assert updated(world, "tickets")["priority"] == "low"
    assert updated(world, "organizations", domain_names=None, details=None)["domain_names"] == []


@pytest.mark.parametrize(
    ("table", "item", "stored"),
    [
        ("tickets", {"subject": "x", "tags": None, "priority": None}, {"tags": [], "priority": None, "status": "new"}),
        ("tickets", {"subject": "x", "id": "77", "created_at": "z", "nonsense": 1}, {"id": "4", "due_at": None}),
        ("organizations", {"name": "x", "email": "e", "role": "bogus"}, {"name": "x", "domain_names": []}),
        ("users", {"name": "x", "email": "", "verified": "T"}, {"verified": True, "active": True, "role": "end-user"}),
        (
            "tickets",
            {"subject": "x", "due_at": "some day", "tags": ["a", "a"]},
            {"due_at": "some day", "tags": ["a", "a"]},
        ),
        ("ticket_comments", {"ticket_id": "7", "author_id": " 1_0.0 ", "body": "b"}, {"ticket_id": 7, "author_id": 10}),
        ("ticket_comments", {"ticket_id": 7.0, "author_id": True, "body": "b"}, {"ticket_id": 7, "author_id": 1}),
        (
            "ticket_comments",
            {"ticket_id": 7, "author_id": 1, "body": "<b>"},
            {"html_body": '<div class="zd-comment" dir="auto"><p dir="auto"><b></p></div>', "key": "23118465221917"},
        ),
        ("ticket_comments", {"ticket_id": 7, "author_id": 1, "body": "b", "html_body": None}, {"html_body": None}),
        ("ticket_comments", {"ticket_id": 7, "author_id": 1, "body": "b", "public": "off"}, {"public": False}),
    ],
)
def test_a_created_row_has_what_the_best_shape_read_and_the_rest_by_default(
    world: World, table: str, item: dict[str, Any], stored: dict[str, Any]
) -> None:
    row = created(world, table, **item)
    assert {name: row[name] for name in stored} == stored
    assert row["created_at"] == "2025-10-01T13:00:05Z"


@pytest.mark.parametrize(
    ("table", "item"),
    [
        ("tickets", {"subject": "x", "status": None}),
        ("users", {"name": "x", "email": "e", "role": None}),
        ("users", {"name": "x", "email": "e", "active": None}),
        ("comments", {"ticket_id": "1", "author_id": "1", "body": "b", "public": None}),
        ("tickets", {"subject": "x", "status": "bogus"}),
        ("tickets", {"name": "x", "email": "e"}),
        ("users", {"name": "x", "details": "d"}),
        ("comments", {"ticket_id": 1, "author_id": 1, "body": "b"}),
        ("comments", {"ticket_id": "1", "author_id": "1", "body": "b", "html_body": "h"}),
        ("ticket_comments", {"ticket_id": "a", "author_id": "1", "body": "b"}),
        ("ticket_comments", {"ticket_id": 1.5, "author_id": 1, "body": "b"}),
        ("ticket_comments", {"ticket_id": str(2**80), "author_id": 1, "body": "b"}),
        ("views", {"subject": ""}),
    ],
)
def test_a_row_that_cannot_be_made_of_the_item_is_refused(world: World, table: str, item: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        created(world, table, **item)
    assert world.effects == ()


def test_an_id_counts_the_rows_and_is_refused_for_ever_once_it_is_taken(world: World) -> None:
    assert created(world, "tickets", subject="x")["id"] == "4"
    world.call("zendesk_delete_item", table="tickets", id="1")
    for _ in range(2):
        with pytest.raises(Conflict, match="'4' already exists"):
            created(world, "tickets", subject="x")
    with pytest.raises(Invalid):
        created(world, "tickets", subject="")
    assert created(world, "ticket_comments", ticket_id=1, author_id=1, body="b")["id"] == 23118465221917


def test_a_patch_row_replaces_a_seed_row_in_its_place_without_its_old_fields() -> None:
    patch: dict[str, list[dict[str, Any]]] = {
        "zendesk_tickets": [{"id": "2", "subject": "P", "extra": 1, **TIMES}, {"id": "9", "subject": "Q", **TIMES}]
    }
    world = World(DESK, Snapshot([DESK.seed, DESK.layer(patch)]), START)
    row = world.call("zendesk_get_item", table="tickets", id="2")["item"]
    assert ids(world) == ["1", "2", "3", "9"]
    assert (row["status"], row["priority"], row["tags"], "extra" in row) == ("new", None, [], False)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"$filter": "id eq '1'", "filter": "id eq '2'"}, ["1"]),
        ({"$filter": None, "filter": "id eq '2'"}, ["1", "2", "3"]),
        ({"filter": "id eq '2'", "nonsense": 1}, ["2"]),
        ({"$top": None, "top": 1}, ["1", "2", "3"]),
        ({"top": "2", "skip": 1.0}, ["2", "3"]),
        ({"$filter": "", "$orderby": " ", "$select": ""}, ["1", "2", "3"]),
        ({"$orderby": "id DESC"}, ["3", "2", "1"]),
        ({"$orderby": "id desc, subject"}, ["1", "2", "3"]),
        ({"$orderby": "due_at desc"}, ["1", "2", "3"]),
        ({"$filter": "status le 'a'"}, ["1", "2", "3"]),
        ({"$filter": "status eq 'x' and due_at gt 'a'"}, []),
        ({"$filter": "status eq 'open' or due_at gt 'a'"}, ["1", "2", "3"]),
        ({"$filter": "some.space.id eq '2'"}, ["2"]),
        ({"$filter": "status gt false and status lt true"}, ["1", "2", "3"]),
        ({"$filter": "status"}, ["1", "2", "3"]),
    ],
)
def test_a_query_follows_the_public_rules(world: World, options: dict[str, Any], found: list[str]) -> None:
    assert ids(world, **options) == found


def test_rows_stay_as_they_are_where_some_have_no_value_to_order_by(world: World) -> None:
    created(world, "tickets", subject="x", due_at="2025-10-01")
    assert ids(world, **{"$orderby": "due_at"}) == ids(world, **{"$orderby": "due_at desc"}) == ["1", "2", "3", "4"]


def test_the_tables_that_are_told_are_18_without_comments(world: World) -> None:
    told = world.call("zendesk_get_tables")["value"]
    assert (len(told), told[0]) == (18, {"Name": "activities", "DisplayName": "Activities"})
    assert {"Name": "group_memberships", "DisplayName": "Group Memberships"} in told
    assert "comments" not in [table["Name"] for table in told]


@pytest.mark.parametrize("options", [{"$skip": ""}, {"$top": ""}, {"$top": 0}, {"$top": 1001}, {"$skip": -1}])
def test_a_page_out_of_range_is_invalid(world: World, options: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        ids(world, **options)


@pytest.mark.parametrize("where", ['id eq "1"', "due_at gt 'a'", "id gt 1", " id eq '1'", "not(id eq '1')"])
def test_a_query_that_cannot_be_read_or_ordered_is_a_precondition(world: World, where: str) -> None:
    with pytest.raises(Precondition):
        ids(world, **{"$filter": where})


def test_512_rows_are_given_by_default() -> None:
    rows = [{"id": str(n), "subject": "x", **TIMES} for n in range(1100)]
    desk = Domain("desk", public_helpdesk(), seed={"zendesk_tickets": rows})
    world = World(desk, desk.snapshot, START)
    pages: list[dict[str, Any]] = [{}, {"$top": 1000}, {"$skip": 1000}]
    assert [len(ids(world, **page)) for page in pages] == [512, 1000, 100]


@pytest.mark.parametrize("id", [1, True, None, 1.0, ["1"], {}])
def test_an_id_that_is_no_text_is_refused(world: World, id: Any) -> None:
    for tool in ("get_item", "delete_item"):
        with pytest.raises(Invalid):
            world.call(f"zendesk_{tool}", table="tickets", id=id)


def test_each_oddity_can_be_switched_off_alone() -> None:
    mount = helpdesk.mount("zendesk", quirks=replace(PUBLIC, null_keeps_value=False))
    desk = Domain("desk", mount, seed=SEED)
    world = World(desk, desk.snapshot, START)
    assert updated(world, "tickets", priority=None, nonsense=1)["priority"] is None


ITEMS = st.dictionaries(
    st.sampled_from(["subject", "status", "tags", "name", "email", "verified", "body", "ticket_id", "author_id", "id"]),
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.lists(st.text(max_size=2)),
)


@given(st.sampled_from(["tickets", "users", "organizations", "comments", "ticket_comments", "views"]), ITEMS)
def test_any_item_is_taken_or_refused_and_a_refusal_changes_nothing(table: str, item: dict[str, Any]) -> None:
    world = World(DESK, DESK.snapshot, START)
    for tool, id in (("create_item", {}), ("update_item", {"id": "1"})):
        before = world.rows
        try:
            world.ask(Request(f"zendesk_{tool}", json.dumps({"table": table, "item": item, **id})))
        except Refused:
            assert world.rows == before
