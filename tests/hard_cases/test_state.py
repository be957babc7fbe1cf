"""The records that a trial leaves, and nothing else, are its result: rows 5, 14, 15, 23, 25, 26 and 35."""

from collections.abc import Callable, Sequence

import pytest

from domains.probe import domain
from sandbox.fold import Fold, writes_of
from sandbox.mcp_session import connected
from sandbox.projection import folded_effects
from sandbox.records import OWN_TOPICS, End, Record
from sandbox.snapshot import Overlay
from sandbox.stream import Store
from tests.hard_cases.stage import Asked, ask, calls_in, events_in, follow, inserted, journal_of, opened, played

pytestmark = pytest.mark.anyio

READS = (
    ask("get_order", order_id="ORD-9"),
    ask("find_customers", email="nobody@post.example"),
    ask("list_tickets", queue="billing"),
    ask("get_order", order_id="ORD-33"),
)
REFUND = ask("refund", order_id="ORD-9", amount=25, reason="damaged")
POP = ask("pop_next_ticket")


async def test_row_5_an_agent_that_does_nothing_leaves_no_effect_and_is_flagged() -> None:
    idle, reading = await played(), await played(*READS)
    assert (idle.effects, idle.end.flags) == ((), ("no_action",))
    assert (reading.effects, reading.end.flags) == ((), ("no_action",))


async def test_row_14_twenty_more_reads_leave_the_same_state_and_hash() -> None:
    plain, curious = await played(REFUND, POP), await played(*READS * 3, REFUND, *READS, POP, *READS)
    assert len(calls_in(curious.records)) == 22
    assert curious.end.effects == plain.end.effects
    assert curious.effects == plain.effects


async def test_row_14_refused_calls_leave_the_same_state_and_hash() -> None:
    refused = (ask("refund", order_id="ORD-9", amount=50.01), ask("move", ticket_id="TIC-1", queue="general"))
    assert (await played(*refused, REFUND, *refused)).digest == (await played(REFUND)).digest


async def test_row_14_more_reads_change_only_the_time_of_what_is_written() -> None:
    note = ask("add_note", order_id="ORD-9", text="One vase came in pieces.")
    [early], [late] = (await played(note)).effects, (await played(*READS, note)).effects
    assert early.row is not None
    assert late.row is not None
    assert early.row["written"] != late.row["written"]
    assert {**early.row, "written": ""} == {**late.row, "written": ""}


async def test_row_15_done_twice_is_not_done_once() -> None:
    five = ask("refund", order_id="ORD-9", amount=5)
    once, twice = await played(five), await played(five, five)
    assert once.digest != twice.digest
    assert list(inserted(once.effects).values()) == [1]
    assert list(inserted(twice.effects).values()) == [2]
    assert (once.end.flags, twice.end.flags) == ((), ("suspected_duplicate",))


async def test_row_15_updates_in_another_order_leave_the_same_state_and_hash() -> None:
    moves = [ask("move", ticket_id=id, queue="complaints") for id in ("TIC-5", "TIC-4", "TIC-9")]
    orders = ["ORD-30", "ORD-2", "ORD-17"]
    there = await played(*moves, ask("bulk_update", order_ids=orders, status="cancelled"))
    back = await played(ask("bulk_update", order_ids=orders[::-1], status="cancelled"), *moves[::-1])
    assert there.effects == back.effects


async def test_row_15_new_rows_in_another_order_are_the_same_rows_under_other_ids() -> None:
    refunds = [ask("refund", order_id=id, amount=5) for id in ("ORD-9", "ORD-7", "ORD-12")]
    there, back = await played(*refunds), await played(*refunds[::-1])
    assert inserted(there.effects) == inserted(back.effects)
    assert sum(inserted(there.effects).values()) == 3


async def test_row_15_of_two_equal_rows_each_counts() -> None:
    one, both = await played(ask("pop_next_ticket"), POP), await played(POP, POP, POP)
    taken = [effect.key for effect in both.effects]
    assert taken == ["TIC-4", "TIC-6", "TIC-8"]
    assert [effect.key for effect in one.effects] == taken[:2]


async def test_row_23_where_the_agent_looked_last_does_not_matter() -> None:
    looks: list[tuple[Asked, ...]] = [(), READS[:1], READS[2:3], (ask("get_order", order_id="ORD-404"),)]
    assert len({(await played(REFUND, *look)).digest for look in looks}) == 1


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (ask("transfer", customer_id="CUS-9", department="fraud", summary="An unknown charge."), "transfer"),
        (ask("send_mail", customer_id="CUS-9", subject="Your order", text="It is on its way."), "mail"),
    ],
)
async def test_row_25_what_leaves_the_house_is_an_effect_like_any_other(call: Asked, kind: str) -> None:
    trial, without = await played(call), await played()
    [effect] = trial.effects
    assert (effect.table, effect.op) == ("probe_outbox", "inserted")
    assert effect.row is not None
    assert effect.row["kind"] == kind
    assert trial.digest != without.digest


def first_record(records: Sequence[Record], forbidden: Callable[[Overlay], bool]) -> Record | None:
    """The record after which the state is a forbidden one for the first time."""
    folding = Fold(domain, domain.snapshot)
    for record in records:
        folding.take(record)
        if record.topic not in OWN_TOPICS and forbidden(folding.overlay):
            return record
    return None


def over_200(rows: Overlay) -> bool:
    return any(getattr(row, "amount", 0) > 200 for _, row in rows.items("probe_refunds"))


async def test_row_26_a_forbidden_state_that_was_undone_is_seen_midway() -> None:
    allowed = ask("refund", order_id="ORD-7", amount=80)
    undone = ask("refund", order_id="ORD-7", amount=500), ask("void_refund", refund_id="REF-4")
    good, bad = await played(allowed), await played(*READS, *undone, allowed)
    assert bad.digest == good.digest
    assert first_record(good.records, over_200) is None
    found = first_record(bad.records, over_200)
    assert found is not None
    assert (found.topic, found.cause) == ("probe.refund-issued.1", found.position - 1)
    assert events_in(bad.records)[:2] == [found.topic, "probe.refund-voided.1"]


async def test_row_26_what_was_written_and_taken_back_has_its_writers() -> None:
    trial = await played(ask("refund", order_id="ORD-7", amount=500), ask("void_refund", refund_id="REF-4"))
    assert trial.effects == ()
    writes = writes_of(domain, domain.snapshot, trial.records)
    assert [(write.table, write.key, write.position) for write in writes] == [
        ("probe_payments", "PAY-7", 4),
        ("probe_refunds", "REF-4", 4),
        ("probe_payments", "PAY-7", 7),
        ("probe_refunds", "REF-4", 7),
    ]


@pytest.mark.parametrize("end", ["deadline", "agent_limit", "agent_error", "cancelled"])
async def test_row_35_a_trial_that_is_cut_off_keeps_the_state_it_had_reached(end: End) -> None:
    whole, store = await played(REFUND), Store.in_memory()
    async with journal_of(store) as journal:
        trial = await opened(journal)
        async with connected(trial) as session:
            await follow(session, [REFUND])
        cut = await trial.end(end)
    assert cut.record.end == end
    assert cut.effects == folded_effects(domain, domain.snapshot, store.read(trial.id)) == whole.effects
