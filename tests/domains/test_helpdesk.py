"""The help desk as a business of our own mounts it: what it does, what it declines, and what it never does."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domains.shared.helpdesk import KINDS, helpdesk
from domains.shared.helpdesk_payloads import SET_BY_DESK
from sandbox import Domain, Invalid, NotFound, Request, Unsupported, World, plain
from sandbox.call import apply
from sandbox.records import ToolReturned
from sandbox.snapshot import Overlay

START = "2025-10-01T13:00:00Z"
TIMES = {"created_at": "2025-01-01T00:00:00Z", "updated_at": "2025-01-01T00:00:00Z"}
SEED: dict[str, list[dict[str, Any]]] = {
    "zendesk_tickets": [
        {"id": "1", "subject": "Printer", "status": "open", "priority": "low", "tags": ["hw"], **TIMES},
        {"id": "2", "subject": "Network", "status": "open", "priority": "high", "requester_id": "1", **TIMES},
        {"id": "3", "subject": "Screen", "status": "solved", "due_at": "2025-10-09", **TIMES},
    ],
    "zendesk_users": [{"id": "1", "name": "Ann", "email": "ann@example.com", "phone": "1", **TIMES}],
    "zendesk_organizations": [{"id": "1", "name": "Acme", "domain_names": ["acme.example"], **TIMES}],
    "zendesk_comments": [{"id": "1", "ticket_id": "1", "author_id": "1", "body": "hello", **TIMES}],
    "zendesk_ticket_comments": [
        {"id": 23118465221916, "ticket_id": 1, "author_id": 1, "body": "hi", "key": "23118465221916", **TIMES}
    ],
}
DESK = Domain("desk", helpdesk.mount("zendesk"), seed=SEED)
NEW: dict[str, dict[str, Any]] = {
    "tickets": {"subject": "Mouse", "tags": ["b", "a"]},
    "users": {"name": "Bo", "email": "bo@example.com"},
    "organizations": {"name": "Bolt"},
    "comments": {"ticket_id": "2", "author_id": "1", "body": "fixed"},
    "ticket_comments": {"ticket_id": 2, "author_id": 1, "body": "a < b"},
}


@pytest.fixture
def world() -> World:
    return World(DESK, DESK.snapshot, START)


def ids(world: World, table: str, **options: Any) -> list[Any]:
    return [row["id"] for row in world.call("zendesk_get_items", table=table, **options)["items"]]


@pytest.mark.parametrize("table", KINDS)
def test_a_row_can_be_created_read_changed_and_deleted_in_every_usable_table(world: World, table: str) -> None:
    made = world.call("zendesk_create_item", table=table, item=NEW[table])["item"]
    key = str(made["id"])
    assert NEW[table].items() <= made.items()
    assert made["created_at"] == "2025-10-01T13:00:01Z"
    field, value = list(NEW[table].items())[-1]
    changed = [*value, "c"] if isinstance(value, list) else f"{value}!"
    after = world.call("zendesk_update_item", table=table, id=key, item={field: changed})["item"]
    assert after[field] == changed
    assert world.call("zendesk_get_item", table=table, id=key) == {"item": after}
    assert world.call("zendesk_delete_item", table=table, id=key) == {"success": True}
    assert world.effects == ()


def test_an_update_with_a_wrong_field_is_refused_and_changes_nothing(world: World) -> None:
    before = world.rows
    with pytest.raises(Invalid, match=r"'sovled' - at `\$\.item\.status`; it is one of closed, hold, new"):
        world.call("zendesk_update_item", table="tickets", id="1", item={"status": "sovled", "priority": "high"})
    assert world.rows == before


@pytest.mark.parametrize(
    ("table", "item", "words"),
    [
        ("tickets", {"statuss": "open"}, "did you mean `status`"),
        ("tickets", {"name": "x"}, "have no field `name`"),
        ("tickets", {"id": "9"}, "`id` is set by the help desk"),
        ("ticket_comments", {"key": "9"}, "`key` is set by the help desk"),
        ("tickets", {"subject": ""}, "length >= 1"),
        ("tickets", {"tags": "a"}, r"\$\.item\.tags"),
        ("tickets", {"tags": ["a", 1]}, r"\$\.item\.tags\[1\]"),
        ("tickets", {"tags": None}, r"\$\.item\.tags"),
        ("tickets", {"status": None}, r"\$\.item\.status"),
        ("tickets", {"due_at": "tomorrow"}, "ISO 8601"),
        ("tickets", {"assignee_id": 2}, "expected `str"),
        ("tickets", {"assignee_id": True}, "expected `str"),
        ("users", {"verified": "yes"}, "expected `bool`"),
        ("tickets", {}, "mentions no field"),
    ],
)
def test_what_an_update_cannot_do_is_refused_with_what_to_do(
    world: World, table: str, item: dict[str, Any], words: str
) -> None:
    before, key = world.rows, str(SEED[f"zendesk_{table}"][0]["id"])
    with pytest.raises(Invalid, match=words):
        world.call("zendesk_update_item", table=table, id=key, item=item)
    assert world.rows == before


def test_null_clears_and_what_is_left_out_stays(world: World) -> None:
    world.call("zendesk_update_item", table="tickets", id="1", item={"priority": None, "tags": []})
    (effect,) = world.effects
    assert {change.name: change.after for change in effect.changes} == {
        "priority": None,
        "tags": [],
        "updated_at": "2025-10-01T13:00:01Z",
    }


def test_a_change_is_recorded_with_only_the_fields_that_were_mentioned(world: World) -> None:
    request = Request("zendesk_update_item", json.dumps({"table": "users", "id": "1", "item": {"phone": None}}))
    event = world.decide(request).drafts[1]
    shape = DESK.handlings[event.topic].shape
    assert event.topic == "zendesk.user-changed.1"
    assert plain(shape.decoded(event.payload)) == {"id": "1", "updated_at": "2025-10-01T13:00:01Z", "phone": None}


@pytest.mark.parametrize(
    ("table", "item", "words"),
    [
        ("tickets", {"status": "open"}, "required field `subject`"),
        ("tickets", {"name": "Bo", "email": "bo@example.com"}, "have no field `name`"),
        ("organizations", {"name": "Bo", "email": "bo@example.com", "role": "bogus"}, "have no field `email`"),
        ("comments", {"ticket_id": 2, "author_id": 1, "body": "x"}, r"\$\.item\.ticket_id"),
        ("ticket_comments", {"ticket_id": "2", "author_id": 1, "body": "x"}, r"\$\.item\.ticket_id"),
        ("ticket_comments", {"ticket_id": True, "author_id": 1, "body": "x"}, r"\$\.item\.ticket_id"),
        ("ticket_comments", {"ticket_id": 2**64, "author_id": 1, "body": "x"}, "64"),
        ("tickets", {"subject": "x", "status": ["open"]}, r"\$\.item\.status"),
        ("tickets", {"subject": {"a": []}}, r"\$\.item\.subject"),
        ("tickets", {"subject": "\ud800"}, "arguments are not JSON"),
    ],
)
def test_an_item_is_read_by_its_table_and_never_by_another(
    world: World, table: str, item: dict[str, Any], words: str
) -> None:
    before = world.rows
    arguments = json.dumps({"table": table, "item": item})
    with pytest.raises(Invalid, match=words):
        world.ask(Request("zendesk_create_item", arguments))
    assert world.rows == before


def test_ids_never_collide_after_a_deletion(world: World) -> None:
    world.call("zendesk_delete_item", table="tickets", id="2")
    made = [world.call("zendesk_create_item", table="tickets", item={"subject": "x"})["item"]["id"] for _ in range(3)]
    assert ids(world, "tickets") == ["1", "3", *made]
    assert len({"1", "3", *made}) == 5


def test_the_html_of_a_ticket_comment_shows_its_body_and_no_markup_of_it(world: World) -> None:
    item = {"ticket_id": 1, "author_id": 1, "body": "<b>1</b>"}
    made = world.call("zendesk_create_item", table="ticket_comments", item=item)["item"]
    shown = '<div class="zd-comment" dir="auto"><p dir="auto">{}</p></div>'
    assert made["html_body"] == shown.format("&lt;b&gt;1&lt;/b&gt;")
    changed = world.call("zendesk_update_item", table="ticket_comments", id=made["key"], item={"body": "2"})["item"]
    assert changed["html_body"] == shown.format("2")


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, ["1", "2", "3"]),
        ({"$filter": "status ne 'open'"}, ["3"]),
        ({"$filter": "priority in ('low', 'urgent')"}, ["1"]),
        ({"$filter": "not (status eq 'open')"}, ["3"]),
        ({"$filter": "contains(subject, 'ter') or tags/any(t: t eq 'hw')"}, ["1"]),
        ({"$filter": "priority eq null"}, ["3"]),
        ({"filter": "requester_id eq '1'"}, ["2"]),
        ({"$orderby": "status desc, id desc"}, ["3", "2", "1"]),
        ({"$orderby": "priority"}, ["3", "2", "1"]),
        ({"$skip": 1, "$top": 1}, ["2"]),
        ({"$filter": "", "$orderby": None, "$top": None, "$skip": None}, ["1", "2", "3"]),
        ({"$filter": None, "filter": "id eq '3'"}, ["1", "2", "3"]),
    ],
)
def test_a_query_gives_the_rows_that_it_asks_for(world: World, options: dict[str, Any], found: list[str]) -> None:
    assert ids(world, "tickets", **options) == found


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"$filter": "statuss eq 'open'"}, "did you mean 'status'"),
        ({"$filter": "status eq"}, "filter"),
        ({"$orderby": "nothing"}, "no field"),
        ({"$select": "subjct"}, "did you mean 'subject'"),
        ({"$top": 0}, ">= 1"),
        ({"$top": 1001}, "<= 1000"),
        ({"$skip": -1}, ">= 0"),
        ({"$top": True}, "got `bool`"),
        ({"$flter": "x"}, r"did you mean `\$filter`"),
    ],
)
def test_a_query_that_cannot_be_answered_is_refused(world: World, options: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        world.call("zendesk_get_items", table="tickets", **options)


def test_the_number_of_rows_found_is_recorded_after_the_filter(world: World) -> None:
    arguments = json.dumps({"table": "tickets", "$filter": "status eq 'closed'"})
    returned = world.decide(Request("zendesk_get_items", arguments)).drafts[-1]
    assert msgspec.msgpack.decode(returned.payload, type=ToolReturned).found == 0


def test_the_tables_that_are_told_are_those_that_can_be_used(world: World) -> None:
    told = [table["Name"] for table in world.call("zendesk_get_tables")["value"]]
    assert told == list(KINDS)
    for table in told:
        world.call("zendesk_get_items", table=table)
    with pytest.raises(Unsupported, match="rows of views cannot be worked on; use one of tickets, users"):
        world.call("zendesk_get_items", table="views")


@pytest.mark.parametrize("tool", ["get_item", "update_item", "delete_item"])
def test_a_row_that_is_not_there_is_not_found(world: World, tool: str) -> None:
    item = {"item": {"subject": "x"}} if tool == "update_item" else {}
    with pytest.raises(NotFound, match="no row '9' in tickets"):
        world.call(f"zendesk_{tool}", table="tickets", id="9", **item)


def test_the_description_alone_tells_every_field_that_can_be_set_or_read() -> None:
    setting = DESK.tools["zendesk_create_item"].spec.description
    reading = DESK.tools["zendesk_get_items"].spec.description
    for kind in KINDS.values():
        settable = [name for name in kind.created.__struct_fields__ if name not in SET_BY_DESK]
        assert [name for name in settable if name not in setting] == []
        assert [name for name in kind.row_type.__struct_fields__ if name not in reading] == []


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("open"),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=3), part, max_size=3),
    max_leaves=5,
)
ITEMS = st.dictionaries(
    st.sampled_from(["subject", "status", "tags", "name", "email", "body", "ticket_id", "author_id", "public", "id"]),
    ANYTHING,
    max_size=4,
)
CALLS = st.tuples(
    st.sampled_from(["create_item", "update_item", "delete_item", "get_item", "get_items", "search_articles"]),
    st.fixed_dictionaries(
        {"table": st.sampled_from([*KINDS, "views"])},
        optional={"id": st.sampled_from(["1", "2", "4", True, 7, None]), "item": ITEMS | ANYTHING, "query": ANYTHING},
    ),
)


@given(st.lists(CALLS, max_size=8))
def test_any_calls_are_answered_or_refused_and_their_events_alone_give_the_same_rows(
    calls: list[tuple[str, dict[str, Any]]],
) -> None:
    world, folded = World(DESK, DESK.snapshot, START), Overlay(DESK.snapshot)
    for tool, arguments in calls:
        before = world.rows
        decision = world.decide(Request(f"zendesk_{tool}", json.dumps(arguments)))
        world.apply(decision)
        for draft in decision.drafts[1:-1]:
            handling = DESK.handlings[draft.topic]
            apply(handling, handling.shape.decoded(draft.payload), folded)
        if decision.answer.refusal:
            assert world.rows == before
    assert {name: [row for _, row in folded.items(name)] for name in DESK.tables} == world.rows


def test_an_item_of_almost_a_megabyte_is_stored(world: World) -> None:
    text = "x" * 1_000_000
    made = world.call("zendesk_create_item", table="tickets", item={"subject": text})
    assert made["item"]["subject"] == text


def test_a_larger_item_is_refused(world: World) -> None:
    with pytest.raises(Invalid, match="at most"):
        world.call("zendesk_create_item", table="tickets", item={"subject": "x" * 1_100_000})
    assert world.effects == ()


def test_the_text_of_a_refusal_stays_short_however_long_the_wrong_value(world: World) -> None:
    for item in ({"status": "x" * 100_000}, {"x" * 100_000: 1}, {f"f{n}": n for n in range(20_000)}):
        with pytest.raises(Invalid) as refused:
            world.call("zendesk_update_item", table="tickets", id="1", item=item)
        assert len(refused.value.message) < 5_000
