"""
The strict comparison: whole states, equal to the last byte, as the public benchmark compares them.

It forgives nothing that the state shows: instants and decimals count as they are written, 0.0 and -0.0 are two values,
and every row counts, also one that no call has touched. Only what the benchmark itself leaves out is left out.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any

from msgspec import Struct

from judges.profile import Canon, Profile, TablePolicy, exact, text
from sandbox import Row, plain
from sandbox.domain import Domain, Table


class StrictProfile(Struct, frozen=True):
    """What a strict comparison leaves out."""

    unstable: Mapping[str, frozenset[str]] = {}
    """Fields by table."""
    uncompared: frozenset[str] = frozenset()
    """Whole tables."""


_STAMPS = frozenset({"created_at", "updated_at"})

THINKINGBOX = StrictProfile(
    unstable={
        "zendesk_tickets": frozenset({"subject", "description", "access_expiry_date", "business_justification"}),
        "zendesk_users": _STAMPS,
        "zendesk_organizations": _STAMPS,
        "zendesk_articles": _STAMPS,
        "zendesk_comments": frozenset({"created_at"}),
        "zendesk_ticket_comments": frozenset({"created_at"}),
        "booking_api_bookings": frozenset({"special_requests"}),
        "crm_api_customer_profiles": frozenset({"preferences", "special_notes"}),
        "payment_api_transactions": frozenset({"reason"}),
        "sandbox_neobank_support_main_models_approval_requests": frozenset({"details"}),
        "sandbox_neobank_support_main_models_email_notifications": frozenset({"subject", "body"}),
    },
    uncompared=frozenset({"knowledge_policies"}),
)
"""
As the public benchmark compares its five businesses. When a ticket was made and changed is compared there. Policy
documents are no table there.
"""


def strict_policies(domain: Domain, *, aligned: bool) -> Profile:
    """
    The strict comparison field by field, to find and to explain differences of effects.

    Args:
        aligned: whether new rows whose ids come from a rule are paired by content, where the states count their ids.
    """
    return Profile({name: _table_policies(table, aligned) for name, table in domain.tables.items()})


def comparison_form(
    rows: Mapping[str, Iterable[Row | Mapping[str, Any]]], profile: StrictProfile
) -> dict[str, list[dict[str, Any]]]:
    """
    What is compared of a state: every table, also an empty one, with its rows as JSON values.

    Rows stand in the order of their ids as text ("10" before "2"); those of a table without the column `id` stand in
    the state's order, which so counts. Lists of text inside a row are sorted, duplicates kept.

    Args:
        rows: the rows of each table, in order, as `World.rows` or `state_from` has them.
        profile: what is left out.
    """
    return {
        table: _in_order([_compared(row, profile.unstable.get(table, frozenset())) for row in items])
        for table, items in rows.items()
        if table not in profile.uncompared
    }


def state_hash(form: Mapping[str, Any]) -> str:
    """SHA-256 of a comparison form, hexadecimal: of its JSON as Python writes it, compact, keys sorted, ASCII only."""
    return sha256(json.dumps(form, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _compared(row: Row | Mapping[str, Any], unstable: frozenset[str]) -> dict[str, Any]:
    fields = plain(row) if isinstance(row, Row) else row
    return {name: _unordered(value) for name, value in fields.items() if name not in unstable}


def _unordered(value: Any) -> Any:
    is_texts = isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
    return sorted(value) if is_texts else value


def _in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: str(row["id"])) if rows and "id" in rows[0] else rows


def _table_policies(table: Table, aligned: bool) -> TablePolicy:
    left_out = THINKINGBOX.unstable.get(table.name, frozenset())
    kinds = {spec.name: spec.kind for spec in table.shape.fields}
    is_ignored = table.name in THINKINGBOX.uncompared
    names = {name: "ignore" if is_ignored or name in left_out else "exact" for name in kinds}
    forms = {name: None if policy == "ignore" else _form(kinds[name], aligned) for name, policy in names.items()}
    key = table.spec.key[0]
    is_paired = aligned and table.ids is not None and len(table.spec.key) == 1 and kinds[key] == "text"
    return TablePolicy(names, forms, forms, key if is_paired else "")


def _form(kind: str, aligned: bool) -> Callable[[Any], Canon]:
    """Texts as written, ids of new rows followed where these are paired; anything else as recorded."""
    return text if aligned and kind in ("text", "prose") else _recorded


def _recorded(value: Any) -> Canon:
    return exact(_unordered(value))
