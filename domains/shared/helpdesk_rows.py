"""The help desk's tables: tickets, users, organizations, comments, ticket comments and articles."""

from typing import Annotated, Literal

from msgspec import Meta

from sandbox import Prose, Row, Toolset, Unordered, Volatile, counted_free, refers

helpdesk = Toolset("helpdesk")

Status = Literal["new", "open", "pending", "hold", "solved", "closed"]
Priority = Literal["low", "normal", "high", "urgent"]
TicketType = Literal["problem", "incident", "question", "task"]
Role = Literal["end-user", "agent", "admin"]

Name = Annotated[str, Meta(min_length=1)]
Words = Annotated[Prose, Meta(min_length=1)]
Written = Volatile[str]
"""When a row was written: ISO 8601 as the desk writes it, but unchecked text in rows that are loaded."""

UserId = Annotated[str, refers("users")]
OrganizationId = Annotated[str, refers("organizations")]

FIRST_TICKET_COMMENT = 23118465221916


@helpdesk.table("tickets", ids=counted_free("", offset=1), drops_unknown=True)
class Ticket(Row, kw_only=True):
    """What somebody asked, who works on it, and how far it is."""

    id: str
    subject: Words
    description: Prose | None = None
    status: Status = "new"
    priority: Priority | None = None
    type: TicketType | None = None
    requester_id: UserId | None = None
    assignee_id: UserId | None = None
    organization_id: OrganizationId | None = None
    tags: Unordered[str] = ()
    created_at: Written
    updated_at: Written
    due_at: str | None = None


@helpdesk.table("users", ids=counted_free("", offset=1), drops_unknown=True)
class User(Row, kw_only=True):
    """Somebody who asks (end-user) or answers (agent, admin)."""

    id: str
    name: Name
    email: str
    role: Role = "end-user"
    organization_id: OrganizationId | None = None
    phone: str | None = None
    verified: bool = False
    active: bool = True
    created_at: Written
    updated_at: Written


@helpdesk.table("organizations", ids=counted_free("", offset=1), drops_unknown=True)
class Organization(Row, kw_only=True):
    """A company that users belong to."""

    id: str
    name: Name
    domain_names: Unordered[str] = ()
    details: Prose | None = None
    notes: Prose | None = None
    created_at: Written
    updated_at: Written


@helpdesk.table("comments", ids=counted_free("", offset=1), drops_unknown=True)
class Comment(Row, kw_only=True):
    """What somebody said on a ticket, public or internal."""

    id: str
    ticket_id: Annotated[str, refers("tickets")]
    author_id: UserId
    body: Words
    public: bool = True
    created_at: Written


@helpdesk.table("ticket_comments", ids=counted_free("", offset=FIRST_TICKET_COMMENT), drops_unknown=True)
class TicketComment(Row, kw_only=True):
    """A comment as the ticket's own thread keeps it: numbers for ids, and the body as HTML too."""

    id: int
    ticket_id: int
    author_id: int
    body: Words
    html_body: Prose | None = None
    public: bool = True
    created_at: Written
    ItemInternalId: str | None = None
    key: str | None = None


@helpdesk.table("articles", search=("title", "body"), drops_unknown=True)
class Article(Row, kw_only=True):
    """A page of the help center. No tool writes articles."""

    id: int
    url: str
    html_url: str
    title: str
    body: Prose
    snippet: Prose | None = None
    author_id: int
    section_id: int
    category_id: int | None = None
    brand_id: int | None = None
    locale: str
    source_locale: str
    draft: bool = False
    promoted: bool = False
    position: int = 0
    vote_sum: int = 0
    vote_count: int = 0
    comments_disabled: bool = False
    outdated: bool = False
    outdated_locales: Unordered[str] = ()
    label_names: Unordered[str] = ()
    content_tag_ids: Unordered[str] = ()
    user_segment_id: int | None = None
    permission_group_id: int | None = None
    created_at: Written
    updated_at: Written
    edited_at: str | None = None
    result_type: str = "article"
