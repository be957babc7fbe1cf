"""What holds for every sequence of calls, good or not."""

import hashlib
from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox import Row
from sandbox.call import Rows, apply
from sandbox.domain import rows_of
from sandbox.effects import Effects, decode_effects, encode_effects
from sandbox.fold import event_of, fold, rebuilt
from sandbox.records import OWN_TOPICS, Chain, decoded, encode_payload, genesis
from sandbox.snapshot import Overlay
from sandbox.values import plain
from sandbox.world import Request
from tests.sandbox.desk import domain
from tests.sandbox.taped import KEY, REQUESTS, SCRIPTS, Taped, content, fresh

MANY = settings(max_examples=150)


def taped_script(script: list[Request]) -> Taped:
    taped = Taped()
    for asked in script:
        taped.ask(asked)
    return taped


@MANY
@given(SCRIPTS)
def test_live_rows_are_folded_rows_are_rebuilt_rows(script: list[Request]) -> None:
    taped = taped_script(script)
    live = content(taped.world)
    assert content(fold(domain, domain.snapshot, taped.records)) == live
    assert content(rebuilt(fresh(), taped.records)) == live


@given(SCRIPTS, st.integers(0, 12))
def test_a_world_rebuilt_at_any_call_goes_on_to_the_same_stream(script: list[Request], place: int) -> None:
    whole = taped_script(script)
    part = taped_script(script[:place])
    again = Taped(rebuilt(fresh(), part.records))
    again.chain, again.records = part.chain, list(part.records)
    for asked in script[place:]:
        again.ask(asked)
    assert again.records == whole.records
    assert content(again.world) == content(whole.world)
    assert again.world.effects == whole.world.effects


@given(SCRIPTS)
def test_the_fold_of_a_beginning_is_what_was_live_then(script: list[Request]) -> None:
    taped = Taped()
    states = [(len(taped.records), content(taped.world))]
    for asked in script:
        taped.ask(asked)
        states.append((len(taped.records), content(taped.world)))
    for length, live in states:
        assert content(fold(domain, domain.snapshot, taped.records[:length])) == live


@MANY
@given(SCRIPTS, REQUESTS)
def test_a_refused_call_changes_nothing_but_the_clock(script: list[Request], asked: Request) -> None:
    taped = taped_script(script)
    before, effects, calls = content(taped.world), taped.world.effects, taped.world.calls
    decision = taped.world.decide(asked)
    assert (content(taped.world), taped.world.calls) == (before, calls)
    if decision.answer.refusal:
        assert [draft.topic for draft in decision.drafts] == ["trial.called.1", "trial.refused.1"]
        taped.ask(asked)
        assert content(taped.world) == before
        assert taped.world.effects == effects
        assert taped.world.calls == calls + 1


def with_effects(effects: Effects) -> dict[str, list[tuple[str, Any]]]:
    """The snapshot's rows after an effect set, by its documented meaning alone."""
    tables: dict[str, dict[str, Any]] = {
        name: {key: plain(row) for key, row in domain.snapshot.items(name)} for name in domain.tables
    }
    for effect in effects:
        rows = tables[effect.table]
        if effect.op == "inserted":
            assert effect.key not in rows
        else:
            assert rows[effect.key] == effect.before
        if effect.op == "deleted" or effect.moved:
            del rows[effect.key]
        if effect.op == "updated":
            assert effect.before is not None
            assert effect.before | {change.name: change.after for change in effect.changes} == effect.row
        if effect.op != "deleted":
            rows[effect.key] = effect.row
    return {name: list(rows.items()) for name, rows in tables.items()}


@MANY
@given(SCRIPTS)
def test_the_snapshot_with_its_effects_is_the_end_in_the_same_order(script: list[Request]) -> None:
    taped = taped_script(script)
    effects = decode_effects(encode_effects(taped.world.effects))
    end = {name: [(key, plain(row)) for key, row in rows] for name, rows in content(taped.world).items()}
    assert with_effects(effects) == end
    assert encode_effects(effects) == encode_effects(taped.world.effects)


@given(SCRIPTS, SCRIPTS, st.data())
def test_two_trials_never_see_each_other_and_the_snapshot_stays(
    one: list[Request], other: list[Request], data: st.DataObject
) -> None:
    before = msgspec.msgpack.encode([list(domain.snapshot.items(name)) for name in domain.tables])
    alone = [taped_script(script).records for script in (one, other)]
    together = Taped(), Taped()
    left = [list(one), list(other)]
    while left[0] or left[1]:
        turn = data.draw(st.sampled_from([place for place in (0, 1) if left[place]]))
        together[turn].ask(left[turn].pop(0))
    assert [taped.records for taped in together] == alone
    assert msgspec.msgpack.encode([list(domain.snapshot.items(name)) for name in domain.tables]) == before


@given(SCRIPTS)
def test_handlers_are_pure(script: list[Request]) -> None:
    overlay = Overlay(domain.snapshot)
    for record in taped_script(script).records:
        if record.topic in OWN_TOPICS:
            continue
        handling, event = event_of(domain, record)
        rows = Rows(overlay, handling.tables)
        before = content(overlay), encode_payload(event)
        first = list(rows_of(handling.handler(rows, event)))
        assert list(rows_of(handling.handler(rows, event))) == first
        assert (content(overlay), encode_payload(event)) == before
        overlay = fold_one(overlay, handling.topic, record.payload)


def fold_one(overlay: Overlay, topic: str, payload: bytes) -> Overlay:
    handling = domain.handlings[topic]
    apply(handling, handling.shape.decoded(payload), overlay)
    return overlay


@given(SCRIPTS)
def test_every_payload_and_every_row_survives_its_encoding(script: list[Request]) -> None:
    taped = taped_script(script)
    taped.say("fin")
    taped.end()
    for record in taped.records:
        own = decoded(record)
        event = own if own is not None else event_of(domain, record)[1]
        assert encode_payload(event) == record.payload
        assert type(event)(**{name: getattr(event, name) for name in event.__struct_fields__}) == event
    for name, rows in content(taped.world).items():
        shape = domain.tables[name].shape
        for _, row in rows:
            assert shape.encoded(row) == (row, encode_payload(row))
            assert shape.decoded(encode_payload(row)) == row
            assert isinstance(row, Row)


def hashed(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=32).digest()


@given(SCRIPTS)
def test_positions_are_dense_and_each_digest_is_chained_over_the_one_before(script: list[Request]) -> None:
    records = taped_script(script).records
    assert [record.position for record in records] == list(range(1, len(records) + 1))
    previous = genesis(KEY.id)
    for r in records:
        header = "\x1f".join([str(r.position), r.topic, r.time, str(r.cause)]).encode()
        previous = hashed(previous + hashed(r.telemetry) + hashed(r.payload) + header)
        assert r.digest == previous
        assert len(previous) == 32
    for before, after in pairwise(records):
        assert after.cause in (0, before.cause, after.position)


@given(SCRIPTS)
def test_telemetry_changes_digests_and_nothing_else(script: list[Request]) -> None:
    drafts = [draft for asked in script for draft in fresh().decide(asked).drafts]
    plain_records, timed = (Chain(KEY.id).sealed(drafts, telemetry) for telemetry in (b"", b"\x81"))
    assert [record.body for record in plain_records] == [record.body for record in timed]
    assert all(one.digest != other.digest for one, other in zip(plain_records, timed, strict=True))
