"""A stream is enough: rows at any position, who wrote them, and a world that goes on from there."""

from typing import Any

import msgspec
import pytest

from sandbox import Call, Domain, Event, Row, Rows, SandboxFault, Toolset, World
from sandbox.fold import Fold, UnknownTopic, Write, end_of, event_of, fold, rebuilt, writes_of
from sandbox.records import Chain, Draft, Record, TrialEnded, decoded, encode_payload
from sandbox.world import request
from tests.sandbox.desk import START, domain
from tests.sandbox.taped import KEY, SCRIPT, Taped, content, fresh, played


def test_the_fold_of_a_stream_gives_the_rows_that_were_live() -> None:
    taped = played()
    assert content(fold(domain, domain.snapshot, taped.records)) == content(taped.world)


def test_the_fold_stands_still_between_the_events() -> None:
    taped = played()
    folding = Fold(domain, domain.snapshot)
    for record in taped.records:
        before = content(folding.overlay)
        folding.take(record)
        assert (content(folding.overlay) == before) or not record.topic.startswith("trial.")


def test_every_row_that_is_written_has_its_event_and_its_call() -> None:
    taped = Taped()
    taped.call("desk_solve_ticket", id="TK-1", note="x")
    taped.call("desk_remove_ticket", id="TK-3")
    assert writes_of(domain, domain.snapshot, taped.records) == [
        Write("desk_tickets", "TK-1", 3, 2),
        Write("desk_notes", "N002", 3, 2),
        Write("desk_tickets", "TK-3", 6, 5),
        Write("desk_notes", "N001", 6, 5),
    ]


def test_a_rebuilt_world_goes_on_as_the_first_one_would() -> None:
    taped = Taped()
    for number, (tool, arguments) in enumerate(SCRIPT):
        taped.ask(request(tool, msgspec.json.encode(arguments).decode(), key=f"k{number}"))
    again = rebuilt(fresh(), taped.records)
    assert (again.calls, again.now) == (taped.world.calls, taped.world.now)
    for number, (tool, arguments) in enumerate(SCRIPT):
        for asked in (
            request(tool, msgspec.json.encode(arguments).decode(), key=f"k{number}"),
            request(tool, "{}", key=f"k{number}"),
            request("desk_open_ticket", '{"subject": "next"}'),
        ):
            assert again.decide(asked).drafts == taped.world.decide(asked).drafts


def test_how_a_trial_ended_is_its_last_record() -> None:
    taped = played()
    ended = end_of(taped.records)
    assert isinstance(ended, TrialEnded)
    assert ended.end == "done"
    assert end_of(taped.records[:-1]) is None
    assert end_of([]) is None


def test_an_event_outside_a_call_is_refused_when_a_world_is_rebuilt() -> None:
    taped = Taped()
    taped.call("desk_solve_ticket", id="TK-1", note="x")
    opened, called, event, returned = taped.records
    for records in ([opened, event], [opened, called, returned, event]):
        with pytest.raises(SandboxFault, match=r"record 3 \(desk\.ticket-solved\.1\) is no part of a call"):
            rebuilt(fresh(), records)


def altered(record: Record, **changes: Any) -> Record:
    return msgspec.structs.replace(record, **changes)


@pytest.mark.parametrize("topic", ["desk.ticket-closed.1", "desk.ticket-solved.2", "trial.called.9", "cellar.made.1"])
def test_an_unknown_topic_stops_the_fold_and_names_its_position(topic: str) -> None:
    taped = Taped()
    taped.call("desk_solve_ticket", id="TK-1", note="x")
    records = [*taped.records[:2], altered(taped.records[2], topic=topic), taped.records[3]]
    with pytest.raises(UnknownTopic, match=f"record 3 has topic '{topic}', which domain desk does not know"):
        fold(domain, domain.snapshot, records)
    with pytest.raises(UnknownTopic, match="record 3"):
        rebuilt(fresh(), records)


@pytest.mark.parametrize("payload", [b"", b"\xc1", b"\x80", encode_payload({"id": 1}), encode_payload({"id": "TK-1"})])
def test_a_payload_that_is_not_of_its_topic_stops_the_fold_and_names_its_position(payload: bytes) -> None:
    taped = Taped()
    taped.call("desk_solve_ticket", id="TK-1", note="x")
    with pytest.raises(UnknownTopic, match=r"record 3 is no desk\.ticket-solved\.1 that is known here"):
        fold(domain, domain.snapshot, [altered(taped.records[2], payload=payload)])


class Thing(Row):
    id: str
    name: str


class ThingNamed(Event, tag="thing-named", version=3):
    id: str
    name: str


def named(rows: Rows, e: ThingNamed) -> Thing:
    return Thing(e.id, e.name)


def name_thing(call: Call, id: str, name: str) -> None:
    """Name a thing."""
    call.emit(ThingNamed(id, name))


def from_1(payload: dict[str, Any]) -> dict[str, Any]:
    return {"id": payload["id"], "title": payload["label"]}


def from_2(payload: dict[str, Any]) -> dict[str, Any]:
    return {"id": payload["id"], "name": payload["title"]}


@pytest.fixture
def shop() -> Domain:
    made = Toolset("shop")
    made.table("things")(Thing)
    made.on(ThingNamed)(named)
    made.tool(emits=[ThingNamed])(name_thing)
    made.upcast("thing-named", 1)(from_1)
    made.upcast("thing-named", 2)(from_2)
    return Domain("shop", made, made.mount("annex"), seed={})


OLD = [
    (1, {"id": "a", "label": "first"}),
    (2, {"id": "b", "title": "second"}),
    (3, {"id": "c", "name": "third"}),
]


def test_old_events_are_read_through_every_upcaster_between_in_every_mount(shop: Domain) -> None:
    drafts = [
        Draft(f"{mount}.thing-named.{version}", START, encode_payload(payload))
        for mount in ("shop", "annex")
        for version, payload in OLD
    ]
    records = Chain(KEY.id).sealed(drafts, b"")
    rows = fold(shop, shop.snapshot, records)
    for table in ("shop_things", "annex_things"):
        assert [(key, row.name) for key, row in rows.items(table) if isinstance(row, Thing)] == [
            ("a", "first"),
            ("b", "second"),
            ("c", "third"),
        ]
    assert [type(event_of(shop, record)[1]) for record in records] == [ThingNamed] * 6


def test_an_upcaster_that_gives_a_wrong_shape_stops_the_fold_and_names_the_position(shop: Domain) -> None:
    payload = encode_payload({"id": "a", "title": None})
    (record,) = Chain(KEY.id, 6).sealed([Draft("shop.thing-named.2", START, payload)], b"")
    with pytest.raises(UnknownTopic, match=r"record 7 is no shop\.thing-named\.2 that is known here.*`\$\.name`"):
        fold(shop, shop.snapshot, [record])


def test_the_domain_events_of_a_stream_are_told_from_its_own_records() -> None:
    own = [record.topic for record in played().records if decoded(record) is not None]
    assert own
    assert all(topic.startswith("trial.") for topic in own)


def test_a_world_is_rebuilt_in_place() -> None:
    world: World = fresh()
    assert rebuilt(world, played().records) is world
