"""What is rebuilt from a log is what was live, and a log that cannot be read is never half read: rows 57 and 59."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domains.probe import domain, probe
from domains.probe.orders import Note
from domains.probe.refunds import RefundIssued, RefundVoided
from sandbox import Domain, Event, Snapshot, Toolset, World, plain
from sandbox.effects import effects_of
from sandbox.fold import UnknownTopic, fold, rebuilt
from sandbox.mcp_session import connected
from sandbox.projection import folded_effects
from sandbox.records import Chain, Draft, Record, encode_payload
from sandbox.snapshot import Overlay
from sandbox.stream import Store
from sandbox.trial import Trial
from sandbox.world import request
from tests.hard_cases.stage import (
    KEY,
    NOW,
    TASK,
    Asked,
    ask,
    content,
    events_in,
    follow,
    journal_of,
    opened,
    played,
)

pytestmark = pytest.mark.anyio

ORDERS = st.sampled_from(["ORD-4", "ORD-7", "ORD-9", "ORD-14", "ORD-404"])
TEXTS = st.sampled_from(["", "a", "déjà vu", "\0", "0"])
TICKETS = st.sampled_from(["TIC-1", "TIC-5", "TIC-8", "TIC-99"])
QUEUES = st.sampled_from(["general", "billing", "complaints", "nowhere"])
CALLS: st.SearchStrategy[Asked] = st.one_of(
    st.builds(lambda o, a: ask("refund", order_id=o, amount=a), ORDERS, st.sampled_from([1, 2.5, 20.0, 500, -1])),
    st.builds(lambda n: ask("void_refund", refund_id=f"REF-{n}"), st.integers(1, 7)),
    st.builds(lambda t, q: ask("move", ticket_id=t, queue=q), TICKETS, QUEUES),
    st.builds(lambda q: ask("pop_next_ticket", queue=q), QUEUES),
    st.builds(lambda o, t: ask("add_note", order_id=o, text=t), ORDERS, TEXTS),
    st.builds(lambda t: ask("send_mail", customer_id="CUS-3", subject=t, text=t), TEXTS),
    st.builds(
        lambda o, d, n: ask("bulk_update", order_ids=o, declared_amount=d, fail_after=n),
        st.lists(ORDERS, max_size=3),
        st.none() | TEXTS | st.sampled_from([0, 0.0, 7]),
        st.sampled_from([None, None, 1]),
    ),
    st.builds(lambda o: ask("get_order", order_id=o), ORDERS),
)
SCRIPTS = st.lists(CALLS, max_size=12)


def as_snapshot(rows: Overlay) -> Snapshot:
    """The rows of a moment as a snapshot of their own."""
    return Snapshot([domain.layer({name: [plain(row) for _, row in rows.items(name)] for name in domain.tables})])


@settings(max_examples=40)
@given(script=SCRIPTS, cut=st.integers(0, 50))
async def test_row_57_live_fold_and_rebuilt_are_one_from_any_moment_on(script: list[Asked], cut: int) -> None:
    trial = await played(*script)
    live = World(domain, domain.snapshot, NOW)
    for asked in script:
        live.apply(live.decide(request(asked.tool, msgspec.json.encode(asked.arguments).decode())))
    whole = fold(domain, domain.snapshot, trial.records)
    assert content(whole) == content(live.overlay)
    assert content(fold(domain, domain.snapshot, trial.records)) == content(whole)
    assert content(rebuilt(World(domain, domain.snapshot, NOW), trial.records).overlay) == content(whole)
    middle = as_snapshot(fold(domain, domain.snapshot, trial.records[:cut]))
    assert content(fold(domain, middle, trial.records[cut:])) == content(whole)
    assert folded_effects(domain, domain.snapshot, trial.records) == trial.effects


async def test_row_57_a_deleted_row_stays_deleted_and_a_created_one_is_there_once() -> None:
    five, strike = ask("refund", order_id="ORD-9", amount=5), ask("void_refund", refund_id="REF-4")
    trial = await played(five, strike, five, strike, five)
    rows = fold(domain, domain.snapshot, trial.records)
    assert [key for key, _ in rows.items("probe_refunds")] == ["REF-1", "REF-2", "REF-3", "REF-4"]
    assert trial.effects == (await played(five)).effects
    gone = await played(five, strike)
    assert rows.size("probe_refunds") == 1 + fold(domain, domain.snapshot, gone.records).size("probe_refunds")


async def test_row_57_a_trial_taken_up_by_another_process_goes_on_from_the_same_rows() -> None:
    script = [ask("refund", order_id="ORD-9", amount=5), ask("void_refund", refund_id="REF-4"), ask("pop_next_ticket")]
    store = Store.in_memory()
    async with journal_of(store) as journal:
        first = await opened(journal)
        async with connected(first) as session:
            await follow(session, script)
        second = Trial(KEY, TASK, domain, domain.snapshot, journal)
        await second.resume()
        async with connected(second) as session:
            await follow(session, script)
        ended = await second.end("done")
    unbroken = await played(*script, *script)
    assert ended.effects == unbroken.effects
    assert [record.body for record in store.read(KEY.id)] == unbroken.bodies


def of_version_1(record: Record) -> Draft:
    """A note as the first version of its event put it down: without an author."""
    fields = {k: v for k, v in msgspec.msgpack.decode(record.payload).items() if k != "author"}
    return Draft("probe.note-added.1", record.time, encode_payload(fields), record.cause > 0)


async def old_log() -> tuple[list[Record], list[Record]]:
    """A trial with two notes, of today and as it would have been put down before notes had authors."""
    trial = await played(*[ask("add_note", order_id="ORD-9", text=text) for text in ("one", "two")])
    drafts = [
        of_version_1(record)
        if record.topic == "probe.note-added.2"
        else Draft(record.topic, record.time, record.payload, record.cause > 0)
        for record in trial.records
    ]
    return list(trial.records), Chain(KEY.id).sealed(drafts, b"")


async def test_row_57_events_of_an_old_version_give_the_rows_of_todays() -> None:
    today, old = await old_log()
    assert events_in(old) == ["probe.note-added.1"] * 2
    assert content(fold(domain, domain.snapshot, old)) == content(fold(domain, domain.snapshot, today))
    assert folded_effects(domain, domain.snapshot, old) == folded_effects(domain, domain.snapshot, today)
    again = rebuilt(World(domain, domain.snapshot, NOW), old)
    assert [row.author for row in again.rows["probe_notes"] if isinstance(row, Note)][-2:] == ["agent", "agent"]


def without(*missing: type[Event], upcasters: bool = True, mount: str = "probe") -> Domain:
    """The probe's tables and handlers as they would be if some events had been forgotten."""
    forgetful = Toolset("probe")
    forgetful.tables = probe.tables
    forgetful.handlers = {event: handler for event, handler in probe.handlers.items() if event not in missing}
    forgetful.upcasters = dict(probe.upcasters) if upcasters else {}
    names = {spec.name: f"probe_{spec.name}" for spec in probe.tables.values()}
    return Domain("probe", forgetful.mount(mount, table_names=names), package="domains.probe")


async def test_row_57_without_its_upcaster_an_old_event_is_refused_not_skipped() -> None:
    _, old = await old_log()
    forgetful = without(upcasters=False)
    with pytest.raises(UnknownTopic, match=r"record 4 has topic 'probe\.note-added\.1'.*declare an upcaster"):
        fold(forgetful, forgetful.snapshot, old)


REFUNDED = [ask("pop_next_ticket"), ask("refund", order_id="ORD-9", amount=5), ask("void_refund", refund_id="REF-4")]


@pytest.mark.parametrize(
    ("forgetful", "place", "topic"),
    [
        (without(RefundIssued), 7, "probe.refund-issued.1"),
        (without(RefundVoided), 10, "probe.refund-voided.1"),
        (without(mount="shop"), 4, "probe.ticket-taken.1"),
    ],
)
async def test_row_59_an_event_that_lost_its_handler_is_refused_by_position_and_name(
    forgetful: Domain, place: int, topic: str
) -> None:
    trial = await played(*REFUNDED)
    for read in (fold, folded_effects):
        with pytest.raises(UnknownTopic, match=f"record {place} has topic '{topic}'"):
            read(forgetful, forgetful.snapshot, trial.records)


async def test_row_59_a_trial_with_an_unknown_event_is_not_taken_up() -> None:
    store, forgetful = Store.in_memory(), without(RefundIssued)
    async with journal_of(store) as journal:
        trial = await opened(journal)
        async with connected(trial) as session:
            await follow(session, REFUNDED)
        with pytest.raises(UnknownTopic, match=r"probe\.refund-issued\.1"):
            await Trial(KEY, TASK, forgetful, forgetful.snapshot, journal).resume()


async def test_row_59_a_renamed_event_is_another_event_even_if_its_fields_fit() -> None:
    renamed = Toolset("probe")
    renamed.tables = probe.tables
    renamed.handlers = {event: handler for event, handler in probe.handlers.items() if event is not RefundIssued}

    class RefundPaid(RefundIssued, tag="refund-paid", version=1):
        pass

    renamed.on(RefundPaid)(probe.handlers[RefundIssued])
    today = Domain("probe", renamed, package="domains.probe")
    trial = await played(*REFUNDED)
    assert "probe.refund-paid.1" in today.handlings
    with pytest.raises(UnknownTopic, match=r"'probe\.refund-issued\.1'"):
        fold(today, today.snapshot, trial.records)


async def test_row_59_a_handler_function_may_be_called_anything() -> None:
    renamed = Toolset("probe")
    renamed.tables = probe.tables
    renamed.handlers = {event: called_otherwise(handler) for event, handler in probe.handlers.items()}
    today = Domain("probe", renamed, package="domains.probe")
    trial = await played(*REFUNDED)
    assert effects_of(today.snapshot, fold(today, today.snapshot, trial.records)) == trial.effects


def called_otherwise(handler: Any) -> Any:
    return lambda rows, event: handler(rows, event)
