"""Oddities that public help desks were seen to have, each a switch, and a clock and ids as odd as theirs."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from domains.shared.helpdesk_rows import FIRST_TICKET_COMMENT, Comment, Organization, Ticket, TicketComment, User
from domains.shared.odata import NO_QUIRKS, FilterQuirks
from sandbox import Pinned, Row, counted

TICKET_UPDATE: Final = "ticket update"
"""The occasion for which a pinned clock may have an instant of its own."""


class HelpdeskQuirks(Struct, frozen=True):
    """How a help desk differs from one that works rightly; by default it does not."""

    filters: FilterQuirks = NO_QUIRKS
    """Oddities of `$filter`, `$orderby` and `$select`."""
    unreadable_query_is_precondition: bool = False
    """A query that cannot be read or answered is refused as Precondition, not as Invalid."""
    guesses_shape: bool = False
    """
    An item is read by the shape that fits it best, whatever the table (see `helpdesk_payloads`): unknown fields, and
    fields that the table has not, are dropped; a wrong field on update makes its shape lose, so that all fields which
    only this shape has are dropped, and the call succeeds. Booleans and integers may be text.
    """
    null_creates_empty_list: bool = False
    """A null list on creation is an empty one, not Invalid."""
    null_keeps_value: bool = False
    """Null on update leaves the field as it is, so that nothing can be cleared."""
    null_empties_list: bool = False
    """Null on update makes a list empty; before `null_keeps_value`."""
    empty_update_counts: bool = False
    """An update that mentions no field succeeds and moves `updated_at`."""
    unchecked_times: bool = False
    """`due_at` may be any text."""
    thread_is_final: bool = False
    """Ticket comments can be neither updated nor deleted."""
    html_unescaped: bool = False
    """The HTML of a ticket comment holds the body as it is, markup and all."""
    lists_all_tables: bool = False
    """The list of tables names 18, of which four can be used, and misses `comments`, which can."""
    articles_by_substring: bool = False
    """Articles are matched as in `articles.SubstringQuery` and come in the table's order; else the search engine's."""
    zero_filters_are_off: bool = False
    """A filter on articles that is 0 or empty text asks for nothing."""


PUBLIC: Final = HelpdeskQuirks(
    filters=FilterQuirks(
        prefix_keywords=True,
        ne_ge_le_always_hold=True,
        only_comparisons_evaluated=True,
        literals_not_values=True,
        python_comparison=True,
        unknown_names_pass=True,
        first_order_key_only=True,
        mixed_values_unordered=True,
    ),
    unreadable_query_is_precondition=True,
    guesses_shape=True,
    null_creates_empty_list=True,
    null_keeps_value=True,
    null_empties_list=True,
    empty_update_counts=True,
    unchecked_times=True,
    thread_is_final=True,
    html_unescaped=True,
    lists_all_tables=True,
    articles_by_substring=True,
    zero_filters_are_off=True,
)
"""The plain public help desk."""

PUBLIC_CLOCK: Final = Pinned("2025-10-01T13:00:05Z", {TICKET_UPDATE: "2025-10-01T13:00:10Z"})

PUBLIC_IDS: Final[Mapping[type[Row], Callable[..., str]]] = {
    **{row_type: counted(offset=1) for row_type in (Ticket, User, Organization, Comment)},
    TicketComment: counted(offset=FIRST_TICKET_COMMENT),
}
"""Rows present plus an offset, refused if taken: after a deletion an id may be taken for ever."""
