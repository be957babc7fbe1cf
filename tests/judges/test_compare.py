"""Effects against an outcome: what is equal, what is not, and how the difference is told."""

from typing import Any

import pytest

from judges.compare import Comparison
from tests.judges.conftest import Compare
from tests.judges.shop import Script, drop, edit, new, refunded

ORDER_AND_LINE: Script = [new("orders", customer="C-1"), new("lines", order="ORD-3", sku="mug")]


def told(comparison: Comparison) -> list[tuple[str, str, str, str, Any, Any]]:
    return [(f.kind, f.table, f.key, f.field, f.required, f.found) for f in comparison.findings]


def test_a_wrong_amount_in_a_created_row_is_one_wrong_field(compare: Compare) -> None:
    result = compare([refunded(amount=25)], [refunded(amount=30)])
    assert result.equal == "no"
    assert told(result) == [("wrong", "shop_refunds", "RFD-1", "amount", 25.0, 30.0)]


def test_a_refund_made_twice_is_not_one_refund(compare: Compare) -> None:
    result = compare([refunded()], [refunded(), refunded()])
    assert [(f.kind, f.key, f.field) for f in result.findings] == [("extra", "RFD-2", "")]
    result = compare([refunded(), refunded()], [refunded()])
    assert [(f.kind, f.field) for f in result.findings] == [("missing", "")]
    assert compare([refunded(), refunded()], [refunded(), refunded()]).equal == "yes"


def test_extra_reads_change_nothing(compare: Compare) -> None:
    reads: Script = [("get_order", {"id": "ORD-1"})] * 20
    assert compare([refunded()], [*reads, refunded(), *reads]).equal == "yes"


def test_the_order_of_independent_creations_does_not_count(compare: Compare) -> None:
    one, other = refunded("ORD-1", 10), refunded("ORD-2", 20)
    assert compare([one, other], [other, one]).equal == "yes"


def test_references_follow_renamed_ids(compare: Compare) -> None:
    other: Script = [new("orders", customer="C-2"), *ORDER_AND_LINE]
    golden = [*ORDER_AND_LINE, new("shipments", lines=["LIN-1"]), new("orders", customer="C-2")]
    trial = [*other[:2], new("lines", order="ORD-4", sku="mug"), new("shipments", lines=["LIN-1"])]
    assert compare(golden, trial).equal == "yes"


def test_a_reference_to_the_wrong_new_row_is_one_wrong_field(compare: Compare) -> None:
    orders: Script = [new("orders", customer="C-1"), new("orders", customer="C-2")]
    result = compare(
        [*orders, new("lines", order="ORD-3", sku="mug")], [*orders, new("lines", order="ORD-4", sku="mug")]
    )
    assert told(result) == [("wrong", "shop_lines", "LIN-1", "order", "ORD-3", "ORD-4")]
    swapped: Script = [new("orders", customer="C-2"), new("orders", customer="C-1")]
    result = compare([*orders, new("lines", order="ORD-3", sku="m")], [*swapped, new("lines", order="ORD-3", sku="m")])
    assert told(result) == [("wrong", "shop_lines", "LIN-1", "order", "ORD-4", "ORD-3")]


def test_lines_of_two_equal_orders_may_not_be_mixed(compare: Compare) -> None:
    orders: Script = [new("orders", customer="C-1"), new("orders", customer="C-1")]

    def lines(*pairs: tuple[str, str]) -> Script:
        return [*orders, *(new("lines", order=order, sku=sku) for order, sku in pairs)]

    golden = lines(("ORD-3", "mug"), ("ORD-3", "pen"), ("ORD-4", "mug"), ("ORD-4", "pen"))
    swapped = lines(("ORD-4", "pen"), ("ORD-3", "pen"), ("ORD-4", "mug"), ("ORD-3", "mug"))
    mixed = lines(("ORD-3", "mug"), ("ORD-3", "mug"), ("ORD-4", "pen"), ("ORD-4", "pen"))
    assert compare(golden, swapped).equal == "yes"
    assert compare(golden, mixed).equal == "no"


def test_a_composite_key_follows_the_new_row_that_it_names(compare: Compare) -> None:
    orders: Script = [new("orders", customer="C-1"), new("orders", customer="C-2")]
    golden = [*orders, new("reservations", order="ORD-3", sku="mug", quantity=2)]
    right = [*orders[::-1], new("reservations", order="ORD-4", sku="mug", quantity=2)]
    wrong = [*orders[::-1], new("reservations", order="ORD-3", sku="mug", quantity=2)]
    assert compare(golden, right).equal == "yes"
    assert [(f.kind, f.field) for f in compare(golden, wrong).findings] == [("wrong", "order")]


def test_an_id_inside_a_longer_text_is_not_renamed(compare: Compare) -> None:
    orders: Script = [new("orders", customer="C-1"), new("orders", customer="C-2")]
    golden = [*orders, edit("customers", "C-1", address="see ORD-3")]
    assert compare(golden, [*orders[::-1], edit("customers", "C-1", address="see ORD-4")]).equal == "no"
    assert compare(golden, [*orders[::-1], edit("customers", "C-1", address="see ORD-3")]).equal == "yes"


def test_an_old_row_keeps_its_id_whatever_was_created(compare: Compare) -> None:
    golden: Script = [new("orders", customer="C-1"), edit("orders", "ORD-1", status="hold")]
    result = compare(golden, [new("orders", customer="C-1"), edit("orders", "ORD-2", status="hold")])
    assert told(result) == [
        ("missing", "shop_orders", "ORD-1", "status", "hold", "open"),
        ("extra", "shop_orders", "ORD-2", "status", "open", "hold"),
    ]


def test_a_change_back_to_the_old_value_is_no_effect(compare: Compare) -> None:
    there_and_back: Script = [edit("orders", "ORD-1", status="hold"), edit("orders", "ORD-1", status="open")]
    assert compare([refunded()], [*there_and_back, refunded()]).equal == "yes"


def test_a_row_deleted_and_created_again_with_the_same_content_is_no_effect(compare: Compare) -> None:
    again: Script = [drop("customers", "C-1"), new("customers", id="C-1", address="Suite 641, Elm Street")]
    assert compare([refunded()], [*again, refunded()]).equal == "yes"
    other: Script = [drop("customers", "C-1"), new("customers", id="C-1", address="elsewhere")]
    assert told(compare([refunded()], [*other, refunded()])) == [
        ("extra", "shop_customers", "C-1", "address", "Suite 641, Elm Street", "elsewhere")
    ]
    assert compare([edit("customers", "C-1", address="elsewhere")], other).equal == "yes"


def test_a_new_row_may_get_the_id_of_a_deleted_one(compare: Compare) -> None:
    """Ids count rows here, so a deletion before the creation frees the number that the new ticket gets."""
    golden: Script = [new("tickets", requester="C-1", title="new"), drop("tickets", "1")]
    trial: Script = [drop("tickets", "1"), new("tickets", requester="C-1", title="new")]
    assert compare(golden, trial).equal == "yes"
    assert compare(trial, golden).equal == "yes"
    assert compare(golden, [*trial[:1], new("tickets", requester="C-2", title="new")]).equal == "no"
    assert compare(golden, trial[:1]).equal == "no"
    assert compare(trial[:1], trial).equal == "no"


def test_deleting_something_else_is_missing_and_extra(compare: Compare) -> None:
    result = compare([drop("customers", "C-1")], [drop("customers", "C-2")])
    assert [(f.kind, f.key, f.op) for f in result.findings] == [
        ("missing", "C-1", "deleted"),
        ("extra", "C-2", "deleted"),
    ]


def test_doing_nothing_or_too_much_fails(compare: Compare) -> None:
    assert [f.kind for f in compare([refunded()], []).findings] == ["missing"]
    assert [f.kind for f in compare([], [refunded()]).findings] == ["extra"]


VALUES: list[tuple[str, Any, Any, bool]] = [
    ("total", 25, 25.0, True),
    ("total", 711, 11, False),
    ("total", -5, 5, False),
    ("total", None, 50, False),
    ("extra", None, 0, False),
    ("extra", 0, "", False),
    ("extra", 0, "0", False),
    ("extra", None, "", False),
    ("placed_at", "2025-10-02T10:00:00Z", "2025-10-02T12:00:00+02:00", True),
    ("placed_at", "2025-10-02T10:00:00Z", "2025-10-02T10:00:00.000Z", True),
    ("placed_at", "2025-10-02T10:00:00Z", "2025-10-02T10:00:01Z", False),
    ("tags", ["x", "y"], ["y", "x"], True),
    ("tags", ["x", "x", "y"], ["x", "y", "y"], False),
    ("steps", ["x", "y"], ["y", "x"], False),
    ("status", "hold", "Hold", False),
    ("note", "any words", "other words", True),
    ("touched", 1, 2, True),
]


@pytest.mark.parametrize(("field", "required", "found", "equal"), VALUES)
def test_values_are_compared_as_their_field_is_declared(
    compare: Compare, field: str, required: Any, found: Any, equal: bool
) -> None:
    def created(value: Any) -> Script:
        return [new("orders", **{"customer": "C-1", field: value})]

    def changed(value: Any) -> Script:
        return [edit("orders", "ORD-2", **{"customer": "C-1", field: value})]

    for script in (created, changed):
        expected = "yes" if equal else "no"
        assert compare(script(required), script(found)).equal == expected
        assert compare(script(found), script(required)).equal == expected


def test_null_and_absent_are_told_apart(compare: Compare) -> None:
    hold = edit("orders", "ORD-1", status="hold")
    result = compare([hold], [edit("orders", "ORD-1", status="hold", extra=None)])
    assert [(f.kind, f.field, f.found) for f in result.findings] == [("extra", "extra", None)]
    result = compare([hold, edit("orders", "ORD-1", extra=None)], [hold])
    assert [(f.kind, f.field, f.required) for f in result.findings] == [("missing", "extra", None)]


def test_prose_is_free_in_a_row_that_the_outcome_writes_and_must_stay_in_any_other(compare: Compare) -> None:
    called = edit("orders", "ORD-1", note="called back")
    for golden in ([edit("orders", "ORD-1", status="hold")], [refunded(), edit("orders", "ORD-1", note="told")]):
        assert compare(golden, [*golden, called]).equal == "yes"
    assert told(compare([refunded()], [refunded(), called])) == [
        ("extra", "shop_orders", "ORD-1", "note", "", "called back")
    ]


def test_a_wording_that_the_outcome_asks_for_is_free_unless_the_task_compares_it(compare: Compare) -> None:
    golden: Script = [refunded(), edit("orders", "ORD-1", note="told")]
    other: Script = [refunded(), edit("orders", "ORD-1", note="called back")]
    assert [compare(golden, trial).equal for trial in (golden, other, golden[:1])] == ["yes", "yes", "yes"]
    said = {"shop_orders": {"note": "text"}}
    assert [compare(golden, trial, said).equal for trial in (golden, other, golden[:1])] == ["yes", "no", "no"]


@pytest.mark.parametrize("policy", ["prose", "ignore"])
def test_a_task_may_leave_prose_free_in_every_row(compare: Compare, policy: str) -> None:
    trial: Script = [refunded(), edit("orders", "ORD-1", note="called back", touched=1)]
    assert compare([refunded()], trial, {"shop_orders": {"note": policy}}).equal == "yes"


def test_prose_counts_in_an_old_row_that_is_deleted_and_created_again(compare: Compare) -> None:
    def again(note: str) -> Script:
        return [
            refunded(),
            drop("orders", "ORD-2"),
            new("orders", id="ORD-2", customer="C-2", total=0.0, steps=["picked", "packed"], note=note),
        ]

    assert compare([refunded()], again("")).equal == "yes"
    assert told(compare([refunded()], again("new"))) == [("extra", "shop_orders", "ORD-2", "note", "", "new")]


def test_prose_that_is_the_id_of_a_new_row_is_just_words(compare: Compare) -> None:
    orders: Script = [new("orders", customer="C-1"), new("orders", customer="C-2")]
    result = compare(orders, [*orders[::-1], edit("orders", "ORD-1", note="ORD-3")])
    assert told(result) == [("extra", "shop_orders", "ORD-1", "note", "", "ORD-3")]


def test_an_id_that_two_tables_know_gives_no_answer_until_the_task_says_which(compare: Compare) -> None:
    """Users and tickets are both numbered, so requester "2" may be user 2 or the new ticket 2."""
    tickets: Script = [new("tickets", requester="2", title="a"), new("tickets", requester="1", title="b")]
    result = compare(tickets, tickets[::-1])
    assert result.equal == "could not check"
    assert "refers TABLE" in result.reason
    said = {"shop_tickets": {"requester": "refers shop_users"}}
    assert compare(tickets, tickets[::-1], said).equal == "yes"
    other: Script = [new("tickets", requester="1", title="b"), new("tickets", requester="3", title="a")]
    assert compare(tickets, other, said).equal == "no"


def test_a_search_that_hits_its_bound_gives_no_answer(compare: Compare) -> None:
    """Two rings of three against one ring of six: every row looks alike, so only trying them all tells."""

    def ring(*successors: int) -> Script:
        return [new("lines", order=f"LIN-{successor}", sku="x") for successor in successors]

    six, threes = ring(2, 3, 4, 5, 6, 1), ring(2, 3, 1, 5, 6, 4)
    assert compare(six, threes).equal == "no"
    assert compare(six, ring(3, 1, 5, 2, 6, 4)).equal == "yes"
    assert compare(six, threes, limit=3).equal == "could not check"


def test_what_no_reading_makes_equal_is_a_no_even_where_ids_are_doubtful(compare: Compare) -> None:
    golden: Script = [new("tickets", requester="3", title="a"), new("tickets", requester="3", title="b")]
    trial: Script = [new("tickets", requester="2", title="a"), new("tickets", requester="2", title="b")]
    assert compare(golden, trial).equal == "no"


def test_doubtful_ids_in_an_unordered_list_are_paired_in_every_way(compare: Compare) -> None:
    """ "4" is a new user and a new ticket, "5" a new user; as users both follow, as a ticket "4" stays."""
    tickets: Script = [new("tickets", requester="C-1", title=title) for title in "xyz"]
    users: Script = [new("users", name="a"), new("users", name="b")]
    shipment: Script = [new("shipments", lines=["4", "5"])]
    golden, trial = [*tickets, *users, *shipment], [*tickets, *users[::-1], *shipment]
    assert compare(golden, trial).equal == "could not check"
    assert compare(golden, trial, {"shop_shipments": {"lines": "refers shop_users"}}).equal == "yes"


def test_rows_that_can_be_told_apart_need_no_search(compare: Compare) -> None:
    def ordered(*skus: str) -> Script:
        orders = [new("orders", customer="C-1") for _ in skus]
        return [*orders, *(new("lines", order=f"ORD-{number}", sku=sku) for number, sku in enumerate(skus, 3))]

    assert compare(ordered(*"abcdefgh"), ordered(*"hgfedcba"), limit=0).equal == "yes"


def test_one_wrong_row_among_many_is_one_finding(compare: Compare) -> None:
    many = [refunded(amount=amount) for amount in range(1, 301)]
    result = compare(many, [*many[1:], refunded(amount=999)])
    assert [(f.kind, f.field, f.required, f.found) for f in result.findings] == [("wrong", "amount", 1.0, 999.0)]
    twins = [refunded()] * 300
    assert [f.kind for f in compare(twins, twins[1:]).findings] == ["missing"]


def test_a_missing_row_is_told_with_the_ids_that_the_trial_gave(compare: Compare) -> None:
    orders: Script = [new("orders", customer="C-1"), new("orders", customer="C-2")]
    result = compare([*orders, new("lines", order="ORD-3", sku="mug")], orders[::-1])
    required = {"id": "LIN-1", "order": "ORD-4", "sku": "mug", "quantity": 1}
    assert [(f.kind, f.table, f.required) for f in result.findings] == [("missing", "shop_lines", required)]
