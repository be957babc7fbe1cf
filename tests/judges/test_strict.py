"""What the strict comparison of states sees, and what it leaves out."""

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.strict import StrictProfile, comparison_form, state_hash
from sandbox import Instant, Prose, Row, Unordered

PLAIN = StrictProfile()


class Ticket(Row):
    id: str
    subject: Prose = "Printer"
    tags: Unordered[str] = ()
    due_at: Instant | None = None


class Parcel(Row):
    number: str
    weight: float = 0.0


class Numbered(Row):
    id: int


def test_the_hash_is_of_compact_sorted_ascii_json() -> None:
    form = comparison_form({"tickets": [Ticket("é", due_at="2025-10-01T13:00:05Z")], "parcels": []}, PLAIN)
    text = '{"parcels":[],"tickets":[{"due_at":"2025-10-01T13:00:05Z","id":"\\u00e9","subject":"Printer","tags":[]}]}'
    assert state_hash(form) == hashlib.sha256(text.encode("ascii")).hexdigest()


def test_an_empty_table_counts() -> None:
    assert state_hash(comparison_form({"parcels": []}, PLAIN)) != state_hash(comparison_form({}, PLAIN))


@pytest.mark.parametrize(("made", "ids"), [(Ticket, ["10", "2", "9"]), (Numbered, [10, 2, 9])])
def test_rows_stand_in_the_order_of_their_ids_as_text(made: Any, ids: list[Any]) -> None:
    rows = [made(id=key) for key in reversed(ids)]
    assert [row["id"] for row in comparison_form({"all": rows}, PLAIN)["all"]] == ids


def test_rows_without_an_id_keep_their_order() -> None:
    form = comparison_form({"parcels": [Parcel("P-2"), Parcel("P-1")]}, PLAIN)
    assert [row["number"] for row in form["parcels"]] == ["P-2", "P-1"]


@given(st.lists(st.sampled_from("abc")).flatmap(lambda tags: st.tuples(st.just(tags), st.permutations(tags))))
def test_the_order_of_a_list_means_nothing(tags: tuple[list[str], list[str]]) -> None:
    one, other = (comparison_form({"tickets": [Ticket("1", tags=tuple(given))]}, PLAIN) for given in tags)
    assert state_hash(one) == state_hash(other)


def test_duplicates_in_a_list_count() -> None:
    one, other = (comparison_form({"tickets": [Ticket("1", tags=tags)]}, PLAIN) for tags in (("a",), ("a", "a")))
    assert one != other


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Parcel("1", 0.0), Parcel("1", -0.0)),
        (Ticket("1", due_at="2025-10-01T13:00:00Z"), Ticket("1", due_at="2025-10-01T13:00:00+00:00")),
        (Ticket("1", due_at="2025-10-01T13:00:00Z"), Ticket("1", due_at="2025-10-01T15:00:00+02:00")),
        (Ticket("1"), Ticket("1", subject="printer")),
    ],
)
def test_what_is_written_differently_differs(one: Row, other: Row) -> None:
    hashes = {state_hash(comparison_form({"all": [row]}, PLAIN)) for row in (one, other)}
    assert len(hashes) == 2


def test_what_a_profile_leaves_out_is_left_out_of_that_table_only() -> None:
    profile = StrictProfile(unstable={"tickets": frozenset({"subject"})}, uncompared=frozenset({"policies"}))
    rows = {name: [Ticket("1")] for name in ("tickets", "archive", "policies")}
    form = comparison_form(rows, profile)
    assert set(form) == {"tickets", "archive"}
    assert ("subject" in form["tickets"][0], "subject" in form["archive"][0]) == (False, True)
