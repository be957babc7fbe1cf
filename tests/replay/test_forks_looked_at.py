"""Forks looked at as if they were one piece."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.stored import stream_of
from replay.timeline import Timeline
from sandbox.fold import fold
from sandbox.lineage import spliced
from sandbox.records import Chain, Forked, Said, draft
from sandbox.store_file import StreamFault
from sandbox.stream import Store
from sandbox.world import request
from tests.sandbox.desk import START, domain
from tests.sandbox.taped import KEY, content, fresh, played

CHILD, GRANDCHILD = UUID(int=1), UUID(int=2)
RECORDS = played().records


COUNTED = fresh().decide(request("desk_count_stock", '{"room":"hall","item":"lamp","count":9}')).drafts


def forked(store: Store, child: UUID, parent: UUID, position: int) -> None:
    """A fork after a position: a line is said, and a call made that changes a row."""
    digest = spliced(store.read, parent)[position - 1].digest.hex()
    chain = Chain(child)
    drafts = ([draft(Forked(str(parent), position, digest), START)], [draft(Said("user", "And?"), START)], COUNTED)
    for batch in drafts:
        records = chain.sealed(batch, b"")
        chain.advance(records)
        assert store.append([(child, records)]) == [None]


@given(st.integers(1, len(RECORDS) - 1), st.integers(1, len(RECORDS) - 1), st.data())
def test_a_fork_is_read_in_one_piece_from_any_position(one: int, other: int, data: st.DataObject) -> None:
    store = Store.in_memory()
    store.append([(KEY.id, RECORDS)])
    forked(store, CHILD, KEY.id, one)
    forked(store, GRANDCHILD, CHILD, min(other, one + 2))
    for trial in (CHILD, GRANDCHILD):
        whole, stream = spliced(store.read, trial), stream_of(store, trial)
        after = data.draw(st.integers(0, len(whole)))
        upto = data.draw(st.none() | st.integers(0, len(whole) + 2))
        assert list(stream.records(after=after, upto=upto)) == whole[after:upto]
        assert stream.last() == whole[-1]
        timeline = Timeline(domain, domain.snapshot, stream, every=4)
        assert content(timeline.state(after)) == content(fold(domain, domain.snapshot, whole[:after]))


def test_a_fork_whose_parent_is_gone_or_another_is_refused() -> None:
    store = Store.in_memory()
    store.append([(KEY.id, RECORDS)])
    forked(store, CHILD, KEY.id, 5)
    other = Store.in_memory()
    other.append([(CHILD, store.read(CHILD))])
    with pytest.raises(StreamFault, match="goes on after record 5 of trial"):
        stream_of(other, CHILD)
    other.append([(KEY.id, Chain(KEY.id).sealed([draft(Said("user", "x"), START)] * 9, b""))])
    with pytest.raises(StreamFault, match="gone or another one"):
        stream_of(other, CHILD)


def test_a_fork_that_has_no_records_of_its_own_ends_where_it_begins() -> None:
    store = Store.in_memory()
    store.append([(KEY.id, RECORDS)])
    forked_digest = RECORDS[4].digest.hex()
    store.append([(CHILD, Chain(CHILD).sealed([draft(Forked(str(KEY.id), 5, forked_digest), START)], b""))])
    stream = stream_of(store, CHILD)
    assert (stream.last(), list(stream.records())) == (RECORDS[4], RECORDS[:5])
