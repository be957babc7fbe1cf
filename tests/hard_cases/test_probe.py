"""The probe domain holds what the hard cases need."""

from collections import Counter

import pytest
from msgspec.structs import asdict

from domains.probe import domain
from domains.probe.orders import Order
from judges.pack import tasks_of
from sandbox import UNSET, Precondition, Row, World
from sandbox.task import snapshot_of
from tests.hard_cases.stage import NOW


def rows_of(table: str) -> list[Row]:
    return list(domain.seed.tables[table].values())


def test_the_seed_has_about_two_hundred_rows_in_eight_tables() -> None:
    assert set(domain.seed.tables) == {
        *("probe_customers", "probe_orders", "probe_order_items", "probe_payments"),
        *("probe_refunds", "probe_notes", "probe_outbox", "probe_tickets"),
    }
    assert 180 <= sum(len(rows) for rows in domain.seed.tables.values()) <= 220


@pytest.mark.parametrize("table", ["probe_order_items", "probe_notes", "probe_tickets"])
def test_the_seed_has_rows_that_differ_in_their_ids_alone(table: str) -> None:
    contents = Counter(tuple({**asdict(row), "id": ""}.items()) for row in rows_of(table))
    assert contents.most_common(1)[0][1] == 2


def test_the_seed_has_a_null_a_zero_an_empty_and_an_absent_amount() -> None:
    declared = [row.declared_amount for row in rows_of("probe_orders") if isinstance(row, Order)]
    kinds = Counter(repr(value) for value in declared if value is not UNSET)
    assert [kinds[kind] for kind in ("None", "0.0", "''", "'0'")] == [1, 1, 1, 1]
    assert UNSET in declared


def test_an_agent_has_three_reads_and_nine_writes() -> None:
    reads = {name for name, tool in domain.tools.items() if tool.is_read}
    assert reads == {"find_customers", "get_order", "list_tickets"}
    assert set(domain.tools) - reads == {
        *("refund", "void_refund", "move", "add_note", "send_mail"),
        *("transfer", "pop_next_ticket", "bulk_update", "slow_write"),
    }


def test_every_golden_call_of_the_pack_succeeds_in_its_place() -> None:
    outcomes = [(pack.task, outcome) for pack in tasks_of(domain) for outcome in pack.expectation.outcomes]
    assert len(outcomes) >= 6
    for task, outcome in outcomes:
        world = World(domain, snapshot_of(domain, task), NOW)
        for call in outcome.calls:
            world.call(call.tool, **call.arguments)
        assert world.effects, f"{task.id}: {outcome.name}"


def test_a_refund_above_what_the_payment_holds_is_declined() -> None:
    world = World(domain, domain.snapshot, NOW)
    with pytest.raises(Precondition, match=r"payment PAY-4 holds 17\.00; 21\.10 cannot be paid from it"):
        world.call("refund", order_id="ORD-4", amount=21.10)
    assert world.effects == ()


def test_two_customers_of_one_address_are_both_found_in_their_order() -> None:
    world = World(domain, domain.snapshot, NOW)
    assert [row["id"] for row in world.call("find_customers", email="vera.vogel@post.example")] == ["CUS-22", "CUS-23"]
