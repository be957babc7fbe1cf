"""What each comparison policy takes for equal, and what a task may not ask of it."""

from typing import Any

import pytest

from judges.expectation import TaskInvalid
from judges.profile import POLICIES, is_misfit, profile_of
from sandbox.registry import domain_named
from tests.judges.conftest import compare_scripts
from tests.judges.shop import domain, edit, new

ADDRESS = "Suite 641, Elm Street"
SPELLINGS = {
    "Suite 641, Elm Street": "as it is",
    "suite 641, elm street": "case",
    "SUITE 641, ELM STREET": "case",
    "Suite 641, Elm Street ": "blanks at an end",
    "\tsuite 641, Elm Street\n": "blanks at an end",
    "Suite  641, Elm Street": "another text",
    "Suite 641 Elm Street": "another text",
    "Suite 64l, Elm Street": "another text",
}
EQUAL = {
    "text": {"as it is"},
    "exact": {"as it is"},
    "value": {"as it is"},
    "casefold_trim": {"as it is", "case", "blanks at an end"},
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("policy", [*EQUAL, "prose", "ignore"])
def test_eight_spellings_of_one_address(policy: str, spelling: str) -> None:
    golden = [new("customers", id="C-9", address=ADDRESS)]
    trial = [new("customers", id="C-9", address=spelling)]
    result = compare_scripts(golden, trial, {"shop_customers": {"address": policy}})
    equal = policy not in EQUAL or SPELLINGS[spelling] in EQUAL[policy]
    assert result.equal == ("yes" if equal else "no")
    assert [f.field for f in result.findings] == ([] if equal else ["address"])


def test_another_spelling_of_an_old_value_is_no_change() -> None:
    golden, trial = [edit("orders", "ORD-1", status="hold")], edit("customers", "C-1", address=ADDRESS.upper())
    folded = {"shop_customers": {"address": "casefold_trim"}}
    assert compare_scripts(golden, [*golden, trial], folded).equal == "yes"
    assert compare_scripts(golden, [*golden, trial]).equal == "no"


DISTINCT: dict[str, list[Any]] = {
    "number": [None, 0, 5, -5, 11, 711, "0", "", True, 0.5, 2**53, 2**53 + 1],
    "decimal": [None, "0", "5", "-5", "11", "711", "0.1", "", "x", 5],
    "value": [None, 0, "", "0", False, True, 1, "1", [], {}, [0], [[0]], ["0"], {"a": 0}, {"a": None}],
    "exact": [None, 0, 0.0, -0.0, "", "0", False, 25, 25.0, [], {}],
    "text": [None, "", "0", " ", "x", "X", 0],
    "casefold_trim": [None, "", "0", "x", "x x", 0],
    "instant": [None, "2025-10-01T13:00:00Z", "2025-10-01T13:00:00.0000001Z", "2025-10-01T13:00:01Z", "soon", ""],
    "unordered": [None, [], ["a"], ["a", "a"], ["a", "b"], ["b", "b"], [["a"]], "a"],
}


@pytest.mark.parametrize("policy", DISTINCT)
def test_different_values_stay_apart(policy: str) -> None:
    form = POLICIES[policy]
    assert form is not None
    forms = [form(value) for value in DISTINCT[policy]]
    assert len(set(forms)) == len(forms)


SAME: dict[str, list[Any]] = {
    "number": [25, 25.0],
    "decimal": ["890", "890.0", "890.00", "8.9E+2"],
    "instant": ["2025-10-01T13:00:00Z", "2025-10-01T13:00:00.0000000", "2025-10-01T15:00:00+02:00"],
    "casefold_trim": ["Straße", "STRASSE", " strasse "],
    "unordered": [[1, 2, 2.0], [2, 1.0, 2], [2, 2, 1]],
    "value": [{"a": 1, "b": [2.0]}, {"b": [2], "a": 1.0}],
}  # fmt: skip


@pytest.mark.parametrize("policy", SAME)
def test_equal_values_are_one(policy: str) -> None:
    form = POLICIES[policy]
    assert form is not None
    assert len({form(value) for value in SAME[policy]}) == 1


def test_what_is_nested_too_deeply_is_compared_as_recorded() -> None:
    nested: list[Any] = []
    for _ in range(500):
        nested = [nested]
    form = POLICIES["value"]
    assert form is not None
    assert form(nested) == form([*nested]) != form([nested])


def test_composed_and_decomposed_accents_are_one_when_case_does_not_count() -> None:
    form = POLICIES["casefold_trim"]
    assert form is not None
    assert form("Caf\u00e9") == form("CAFE\u0301")


@pytest.mark.parametrize(
    ("policy", "value"), [("number", "5"), ("decimal", "x"), ("instant", "soon"), ("unordered", "a"), ("text", 5)]
)
def test_a_value_of_the_wrong_kind_is_marked(policy: str, value: Any) -> None:
    form = POLICIES[policy]
    assert form is not None
    assert is_misfit(form(value))
    assert not is_misfit(form(None))


@pytest.mark.parametrize(
    ("compare", "message"),
    [
        ({"shop_order": {}}, "no table 'shop_order'; did you mean 'shop_orders'"),
        ({"shop_orders": {"stat": "exact"}}, "shop_orders.stat is no field; did you mean"),
        ({"shop_orders": {"status": "exakt"}}, "no policy 'exakt'; did you mean 'exact'"),
        ({"shop_orders": {"customer": "refers shop_customer"}}, "did you mean 'shop_customers'"),
        ({"shop_orders": {"status": "number"}}, "kind text, which 'number' cannot compare"),
        ({"shop_orders": {"total": "casefold_trim"}}, "kind float, which 'casefold_trim' cannot compare"),
    ],
)
def test_an_override_that_cannot_work_is_refused(compare: dict[str, dict[str, str]], message: str) -> None:
    with pytest.raises(TaskInvalid, match=message):
        profile_of(domain, compare, "t")


def test_an_override_of_the_key_decides_whether_new_rows_are_aligned() -> None:
    one, other = new("orders", customer="C-1"), new("orders", customer="C-2")
    assert compare_scripts([one, other], [other, one]).equal == "yes"
    assert compare_scripts([one, other], [other, one], {"shop_orders": {"id": "exact"}}).equal == "no"
    customers = [new("customers", id=key, address="a") for key in ("C-7", "C-8")]
    assert compare_scripts(customers[:1], customers[1:]).equal == "no"
    assert compare_scripts(customers[:1], customers[1:], {"shop_customers": {"id": "ignore"}}).equal == "yes"


def test_a_field_that_refers_to_a_table_of_its_toolset_is_read_as_ids_of_that_table_alone() -> None:
    names = profile_of(domain_named("retail"), {}, "t").names
    assert names["zendesk_comments"]["ticket_id"] == "refers zendesk_tickets"
    assert names["zendesk_tickets"]["requester_id"] == "refers zendesk_users"
    assert names["shop_orders"]["customer_id"] == "text"
