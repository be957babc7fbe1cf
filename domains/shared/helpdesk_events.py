"""What happens at the help desk, and what each event does to the rows. A field that a change does not mention stays."""

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, replace

from domains.shared.helpdesk_rows import (
    Comment,
    Name,
    Organization,
    Priority,
    Role,
    Status,
    Ticket,
    TicketComment,
    TicketType,
    User,
    Words,
    Written,
    helpdesk,
)
from sandbox import Event, Gone, Prose, Rows, Unordered


class TicketCreated(Event, tag="ticket-created", version=1):
    id: str
    created_at: Written
    subject: Words
    description: Prose | None = None
    status: Status = "new"
    priority: Priority | None = None
    type: TicketType | None = None
    requester_id: str | None = None
    assignee_id: str | None = None
    organization_id: str | None = None
    tags: Unordered[str] = ()
    due_at: str | None = None


class TicketChanged(Event, tag="ticket-changed", version=1):
    id: str
    updated_at: Written
    subject: Words | UnsetType = UNSET
    description: Prose | UnsetType | None = UNSET
    status: Status | UnsetType = UNSET
    priority: Priority | UnsetType | None = UNSET
    type: TicketType | UnsetType | None = UNSET
    requester_id: str | UnsetType | None = UNSET
    assignee_id: str | UnsetType | None = UNSET
    organization_id: str | UnsetType | None = UNSET
    tags: Unordered[str] | UnsetType = UNSET
    due_at: str | UnsetType | None = UNSET


class TicketDeleted(Event, tag="ticket-deleted", version=1):
    id: str


class UserCreated(Event, tag="user-created", version=1):
    id: str
    created_at: Written
    name: Name
    email: str
    role: Role = "end-user"
    organization_id: str | None = None
    phone: str | None = None
    verified: bool = False
    active: bool = True


class UserChanged(Event, tag="user-changed", version=1):
    id: str
    updated_at: Written
    name: Name | UnsetType = UNSET
    email: str | UnsetType = UNSET
    role: Role | UnsetType = UNSET
    organization_id: str | UnsetType | None = UNSET
    phone: str | UnsetType | None = UNSET
    verified: bool | UnsetType = UNSET
    active: bool | UnsetType = UNSET


class UserDeleted(Event, tag="user-deleted", version=1):
    id: str


class OrganizationCreated(Event, tag="organization-created", version=1):
    id: str
    created_at: Written
    name: Name
    domain_names: Unordered[str] = ()
    details: Prose | None = None
    notes: Prose | None = None


class OrganizationChanged(Event, tag="organization-changed", version=1):
    id: str
    updated_at: Written
    name: Name | UnsetType = UNSET
    domain_names: Unordered[str] | UnsetType = UNSET
    details: Prose | UnsetType | None = UNSET
    notes: Prose | UnsetType | None = UNSET


class OrganizationDeleted(Event, tag="organization-deleted", version=1):
    id: str


class CommentCreated(Event, tag="comment-created", version=1):
    id: str
    created_at: Written
    ticket_id: str
    author_id: str
    body: Words
    public: bool = True


class CommentChanged(Event, tag="comment-changed", version=1):
    id: str
    ticket_id: str | UnsetType = UNSET
    author_id: str | UnsetType = UNSET
    body: Words | UnsetType = UNSET
    public: bool | UnsetType = UNSET


class CommentDeleted(Event, tag="comment-deleted", version=1):
    id: str


class TicketCommentCreated(Event, tag="ticket-comment-created", version=1):
    id: int
    created_at: Written
    ticket_id: int
    author_id: int
    body: Words
    html_body: Prose | None = None
    public: bool = True
    ItemInternalId: str | None = None


class TicketCommentChanged(Event, tag="ticket-comment-changed", version=1):
    id: int
    ticket_id: int | UnsetType = UNSET
    author_id: int | UnsetType = UNSET
    body: Words | UnsetType = UNSET
    html_body: Prose | UnsetType | None = UNSET
    public: bool | UnsetType = UNSET
    ItemInternalId: str | UnsetType | None = UNSET


class TicketCommentDeleted(Event, tag="ticket-comment-deleted", version=1):
    id: int


def _mentioned(event: Event) -> dict[str, Any]:
    return {name: value for name, value in asdict(event).items() if value is not UNSET}


@helpdesk.on(TicketCreated)
def ticket_created(rows: Rows, e: TicketCreated) -> Ticket:
    return Ticket(**asdict(e), updated_at=e.created_at)


@helpdesk.on(TicketChanged)
def ticket_changed(rows: Rows, e: TicketChanged) -> Ticket:
    return replace(rows.get(Ticket, e.id), **_mentioned(e))


@helpdesk.on(TicketDeleted)
def ticket_deleted(rows: Rows, e: TicketDeleted) -> Gone:
    return Gone(Ticket, e.id)


@helpdesk.on(UserCreated)
def user_created(rows: Rows, e: UserCreated) -> User:
    return User(**asdict(e), updated_at=e.created_at)


@helpdesk.on(UserChanged)
def user_changed(rows: Rows, e: UserChanged) -> User:
    return replace(rows.get(User, e.id), **_mentioned(e))


@helpdesk.on(UserDeleted)
def user_deleted(rows: Rows, e: UserDeleted) -> Gone:
    return Gone(User, e.id)


@helpdesk.on(OrganizationCreated)
def organization_created(rows: Rows, e: OrganizationCreated) -> Organization:
    return Organization(**asdict(e), updated_at=e.created_at)


@helpdesk.on(OrganizationChanged)
def organization_changed(rows: Rows, e: OrganizationChanged) -> Organization:
    return replace(rows.get(Organization, e.id), **_mentioned(e))


@helpdesk.on(OrganizationDeleted)
def organization_deleted(rows: Rows, e: OrganizationDeleted) -> Gone:
    return Gone(Organization, e.id)


@helpdesk.on(CommentCreated)
def comment_created(rows: Rows, e: CommentCreated) -> Comment:
    return Comment(**asdict(e))


@helpdesk.on(CommentChanged)
def comment_changed(rows: Rows, e: CommentChanged) -> Comment:
    return replace(rows.get(Comment, e.id), **_mentioned(e))


@helpdesk.on(CommentDeleted)
def comment_deleted(rows: Rows, e: CommentDeleted) -> Gone:
    return Gone(Comment, e.id)


@helpdesk.on(TicketCommentCreated)
def ticket_comment_created(rows: Rows, e: TicketCommentCreated) -> TicketComment:
    return TicketComment(**asdict(e), key=str(e.id))


@helpdesk.on(TicketCommentChanged)
def ticket_comment_changed(rows: Rows, e: TicketCommentChanged) -> TicketComment:
    return replace(rows.get(TicketComment, str(e.id)), **_mentioned(e))


@helpdesk.on(TicketCommentDeleted)
def ticket_comment_deleted(rows: Rows, e: TicketCommentDeleted) -> Gone:
    return Gone(TicketComment, str(e.id))
