"""
The help desk: people ask, agents answer, tickets get solved; shared by businesses that mount it under a name.

`helpdesk.mount("zendesk")` works rightly; `public_helpdesk("zendesk")` works as public help desks were seen to.
"""

from collections.abc import Mapping
from html import escape
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from domains.shared.articles import ArticleFilter, matching
from domains.shared.helpdesk_events import (
    CommentChanged,
    CommentCreated,
    CommentDeleted,
    OrganizationChanged,
    OrganizationCreated,
    OrganizationDeleted,
    TicketChanged,
    TicketCommentChanged,
    TicketCommentCreated,
    TicketCommentDeleted,
    TicketCreated,
    TicketDeleted,
    UserChanged,
    UserCreated,
    UserDeleted,
)
from domains.shared.helpdesk_payloads import (
    ALL_CHANGE_SHAPES,
    CHANGE_SHAPES,
    CREATION_SHAPES,
    event_of,
    guessed,
    item_schema,
    kinds_of,
    lists_of,
    named,
    repaired,
)
from domains.shared.helpdesk_quirks import PUBLIC, PUBLIC_CLOCK, PUBLIC_IDS, TICKET_UPDATE, HelpdeskQuirks
from domains.shared.helpdesk_rows import Article, Comment, Organization, Ticket, TicketComment, User, helpdesk
from domains.shared.odata import QueryFault, select_rows
from sandbox import Call, Event, Invalid, Mount, Named, NotFound, Precondition, Row, Unsupported, ValueFault, moment

__all__ = ["PUBLIC", "PUBLIC_CLOCK", "PUBLIC_IDS", "HelpdeskQuirks", "helpdesk", "public_helpdesk"]

TableName = Literal[
    "activities",
    "articles",
    "groups",
    "group_memberships",
    "organizations",
    "requests",
    "satisfaction_ratings",
    "sessions",
    "tags",
    "targets",
    "tickets",
    "ticket_audits",
    "ticket_comments",
    "ticket_fields",
    "ticket_metrics",
    "triggers",
    "users",
    "views",
    "comments",
]
NewItem = Annotated[dict[str, Any], Meta(extra_json_schema=item_schema(CREATION_SHAPES))]
ChangedItem = Annotated[dict[str, Any], Meta(extra_json_schema=item_schema(ALL_CHANGE_SHAPES))]
MOST_ROWS: Final = 1000
ROWS_BY_DEFAULT: Final = 512


class Kind(Struct, frozen=True):
    """A table that the tools work on, and the events of its rows."""

    table: str
    row_type: type[Row]
    created: type[Event]
    changed: type[Event]
    deleted: type[Event]
    id_type: type[str] | type[int] = str


KINDS: Final = {
    kind.table: kind
    for kind in (
        Kind("tickets", Ticket, TicketCreated, TicketChanged, TicketDeleted),
        Kind("users", User, UserCreated, UserChanged, UserDeleted),
        Kind("organizations", Organization, OrganizationCreated, OrganizationChanged, OrganizationDeleted),
        Kind("comments", Comment, CommentCreated, CommentChanged, CommentDeleted),
        Kind("ticket_comments", TicketComment, TicketCommentCreated, TicketCommentChanged, TicketCommentDeleted, int),
    )
}


class TableTitle(Struct, frozen=True):
    """A table's name, and how people call it."""

    Name: str
    DisplayName: str


class Tables(Struct, frozen=True):
    value: list[TableTitle]


class Item(Struct, frozen=True):
    item: Row


class Items(Struct, frozen=True):
    items: list[dict[str, object]]


class Articles(Struct, frozen=True):
    results: list[Article]


class Deleted(Struct, frozen=True):
    success: bool = True


def public_helpdesk(name: str = "zendesk") -> Mount:
    """The plain public help desk under a name: its oddities, its standing clock, its ids, its leniency."""
    return helpdesk.mount(name, clock=PUBLIC_CLOCK, quirks=PUBLIC, arguments="lax", is_open=True, ids=PUBLIC_IDS)


@helpdesk.tool(emits=[kind.created for kind in KINDS.values()])
def create_item(call: Call, table: TableName, item: NewItem) -> Item:
    """
    Create a row in a help-desk table. Returns it whole as `item`, with the id that it got.

    Fields of `item` (* must be given; what is left out gets the value behind =, or null):
    tickets: subject*, description, status (new, open, pending, hold, solved, closed) = new,
        priority (low, normal, high, urgent), type (problem, incident, question, task),
        requester_id, assignee_id, organization_id, tags (list of texts) = [], due_at (ISO 8601 text)
    users: name*, email*, role (end-user, agent, admin) = end-user, organization_id, phone,
        verified (boolean) = false, active (boolean) = true
    organizations: name*, domain_names (list of texts) = [], details, notes
    comments: ticket_id*, author_id*, body*, public (boolean) = true; the ids are texts
    ticket_comments: ticket_id*, author_id*, body*, html_body (made from body if left out),
        public (boolean) = true, ItemInternalId; the ids are integers

    Ids of other rows are taken as they are, without checking that such a row exists. The help desk itself
    sets id, created_at, updated_at and key.

    Args:
        table: tickets, users, organizations, comments or ticket_comments; the others cannot be used.
        item: the fields of the new row, as an object.
    """
    quirks = call.quirks(HelpdeskQuirks)
    read = guessed(item, CREATION_SHAPES) if quirks.guesses_shape else None
    kind = _kind(table)
    given = _fields(kind.table, kind.created, item, read)
    if quirks.null_creates_empty_list:
        given.update({name: () for name in lists_of(kind.created) if name in given and given[name] is None})
    made = event_of(kind.created, {**given, "id": kind.id_type("0"), "created_at": call.now})
    if isinstance(made, TicketCommentCreated) and "html_body" not in given:
        made = replace(made, html_body=_html(made.body, quirks))
    _check_times(quirks, given)
    row_id = call.new_id(kind.row_type)
    call.emit(replace(made, id=kind.id_type(row_id)))
    return Item(_row(call, kind, row_id))


@helpdesk.tool(emits=[kind.changed for kind in KINDS.values()])
def update_item(call: Call, table: TableName, id: str, item: ChangedItem) -> Item:
    """
    Change some fields of a help-desk row. Returns the whole row after the change as `item`.

    Give only the fields that change: a field that is left out keeps its value; null is for clearing a field that may
    be empty, and [] for a list. A list (tags, domain_names) replaces the old list: to add a tag, give the old tags
    too. The fields of each table and their values are those of create_item; id, created_at, updated_at and key
    cannot be changed. Look at the answer for what is stored now.

    Args:
        table: tickets, users, organizations, comments or ticket_comments; the others cannot be used.
        id: the row's id, as text.
        item: the fields to change with their new values, as an object.
    """
    quirks = call.quirks(HelpdeskQuirks)
    read = guessed(item, CHANGE_SHAPES) if quirks.guesses_shape else None
    kind = _kind(table)
    _check_final(quirks, kind, "changed")
    _row(call, kind, id)
    given = _nulls_treated(_fields(kind.table, kind.changed, item, read), kind.changed, quirks)
    if not given and not quirks.empty_update_counts:
        raise Invalid("the item mentions no field; name those that change, with their new values")
    facts = {**given, "id": kind.id_type(id)}
    if "updated_at" in kind.changed.__struct_fields__:
        facts["updated_at"] = call.time(TICKET_UPDATE if kind.row_type is Ticket else "")
    made = event_of(kind.changed, facts)
    if isinstance(made, TicketCommentChanged) and isinstance(made.body, str) and "html_body" not in given:
        made = replace(made, html_body=_html(made.body, quirks))
    _check_times(quirks, given)
    call.emit(made)
    return Item(_row(call, kind, id))


@helpdesk.tool(emits=[kind.deleted for kind in KINDS.values()])
def delete_item(call: Call, table: TableName, id: str) -> Deleted:
    """
    Delete a row of a help-desk table for good. Rows that refer to it stay. Returns `success`.

    Args:
        table: tickets, users, organizations, comments or ticket_comments; the others cannot be used.
        id: the row's id, as text.
    """
    kind = _kind(table)
    _check_final(call.quirks(HelpdeskQuirks), kind, "deleted")
    _row(call, kind, id)
    call.emit(event_of(kind.deleted, {"id": kind.id_type(id)}))
    return Deleted()


@helpdesk.tool()
def get_item(call: Call, table: TableName, id: str) -> Item:
    """
    One row of a help-desk table, whole, as `item`.

    Args:
        table: tickets, users, organizations, comments or ticket_comments; the others cannot be used.
        id: the row's id, as text; for ticket_comments the digits of its id, which stand in `key` too.
    """
    return Item(_row(call, _kind(table), id))


@helpdesk.tool()
def get_items(
    call: Call,
    table: TableName,
    where: Annotated[str | None, Named("$filter", also=("filter",))] = None,
    order: Annotated[str | None, Named("$orderby", also=("orderby",))] = None,
    skip: Annotated[Annotated[int, Meta(ge=0)] | None, Named("$skip", also=("skip",))] = None,
    top: Annotated[Annotated[int, Meta(ge=1, le=MOST_ROWS)] | None, Named("$top", also=("top",))] = None,
    fields: Annotated[str | None, Named("$select", also=("select",))] = None,
) -> Items:
    """
    Rows of a help-desk table as `items`: filtered, then ordered, then paged, in the order of storage by default.

    Fields to filter, order and select by:
    tickets: id, subject, description, status, priority, type, requester_id, assignee_id, organization_id, tags,
        created_at, updated_at, due_at
    users: id, name, email, role, organization_id, phone, verified, active, created_at, updated_at
    organizations: id, name, domain_names, details, notes, created_at, updated_at
    comments: id, ticket_id, author_id, body, public, created_at; ids are texts: ticket_id eq '7'
    ticket_comments: id, ticket_id, author_id, body, html_body, public, created_at, ItemInternalId, key;
        ids are integers: ticket_id eq 7

    Args:
        table: tickets, users, organizations, comments or ticket_comments; the others cannot be used.
        where: an OData condition, with texts in single quotes: status eq 'open' and requester_id eq '3'.
        order: an OData order: a field, and `desc` for the largest first: created_at desc.
        skip: how many rows to leave out at the start; 0 by default.
        top: how many rows to give at most, 1 to 1000; 512 by default.
        fields: names of the fields to give, with commas between them; all by default.
    """
    quirks, kind = call.quirks(HelpdeskQuirks), _kind(table)
    try:
        found = select_rows(
            [msgspec.to_builtins(row) for row in call.all(kind.row_type)],
            where=where,
            order=order,
            skip=skip or 0,
            top=ROWS_BY_DEFAULT if top is None else top,
            fields=fields,
            columns=kind.row_type.__struct_fields__,
            quirks=quirks.filters,
            table=table,
        )
    except QueryFault as fault:
        refusal = Precondition if quirks.unreadable_query_is_precondition else Invalid
        raise refusal(str(fault)) from None
    call.found = len(found)
    return Items(found)


@helpdesk.tool()
def get_tables(call: Call) -> Tables:
    """The help desk's tables as `value`: `Name`, to be used in calls, and `DisplayName`."""
    every = TableName.__args__  # type: ignore[attr-defined]
    names = every[:-1] if call.quirks(HelpdeskQuirks).lists_all_tables else tuple(KINDS)
    return Tables([TableTitle(name, name.replace("_", " ").title()) for name in names])


@helpdesk.tool()
def search_articles(
    call: Call,
    query: str,
    locale: str | None = None,
    brand_id: int | None = None,
    category: int | None = None,
    section: int | None = None,
    label_names: str | None = None,
    multibrand: bool | None = None,
) -> Articles:
    """
    Help-center articles about something, whole, as `results`, at most 1000. An empty query finds all.

    Args:
        query: words to look for in title and body.
        locale: only articles in this language, such as en-us.
        brand_id: only articles of this brand, unless multibrand is true.
        category: only articles of the category with this id.
        section: only articles of the section with this id.
        label_names: only articles with one of these labels; commas between them.
        multibrand: whether to look at all brands in spite of brand_id.
    """
    quirks = call.quirks(HelpdeskQuirks)
    brand = None if multibrand else brand_id
    asked = ArticleFilter(locale, brand, category, section, label_names)
    if quirks.zero_filters_are_off:
        asked = ArticleFilter(locale or None, brand or None, category or None, section or None, label_names or None)
    if quirks.articles_by_substring:
        found = list(matching(call.all(Article), query, asked))
    else:
        found = [article for article in _nearest(call, query) if asked.holds(article)]
    call.found = len(found[:MOST_ROWS])
    return Articles(found[:MOST_ROWS])


def _nearest(call: Call, query: str) -> list[Article]:
    everything = call.all(Article)
    if not query.strip():
        return everything
    return [article for article, _ in call.search(Article, query, len(everything))]


def _kind(table: str) -> Kind:
    kind = KINDS.get(table)
    if kind is None:
        raise Unsupported(f"rows of {table} cannot be worked on; use one of {', '.join(KINDS)}")
    return kind


def _row(call: Call, kind: Kind, id: str) -> Row:
    row = call.peek(kind.row_type, id)
    if row is None:
        raise NotFound(f"no row {id[:80]!r} in {kind.table}; list the rows to find its id")
    return row


def _check_final(quirks: HelpdeskQuirks, kind: Kind, deed: str) -> None:
    if quirks.thread_is_final and kind.row_type is TicketComment:
        raise Unsupported(f"ticket comments cannot be {deed}; write another one")


def _check_times(quirks: HelpdeskQuirks, given: Mapping[str, Any]) -> None:
    due_at = given.get("due_at")
    if isinstance(due_at, str) and not quirks.unchecked_times:
        try:
            moment(due_at)
        except ValueFault as fault:
            raise Invalid(f"{str(fault)[:200]} - at `$.item.due_at`") from None


def _fields(table: str, event: type[Event], item: Mapping[str, Any], read: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the item says of the table's row: every field of it, or those of a guessed shape that the table has."""
    if read is None:
        return named(table, item, event)
    return repaired({name: read[name] for name in event.__struct_fields__ if name in read}, kinds_of(event))


def _nulls_treated(given: Mapping[str, Any], event: type[Event], quirks: HelpdeskQuirks) -> dict[str, Any]:
    treated = dict(given)
    if quirks.null_empties_list:
        treated.update({name: () for name in lists_of(event) if name in given and given[name] is None})
    if quirks.null_keeps_value:
        treated = {name: value for name, value in treated.items() if value is not None}
    return treated


def _html(body: str, quirks: HelpdeskQuirks) -> str:
    shown = body if quirks.html_unescaped else escape(body)
    return f'<div class="zd-comment" dir="auto"><p dir="auto">{shown}</p></div>'
