"""Today's code still reads, re-executes and judges what was recorded."""

from pathlib import Path

import msgspec
import pytest

from judges.pack import tasks_of
from replay.prove import ReplayDiffers, prove
from sandbox import Domain, Event, Toolset
from sandbox.fold import UnknownTopic, fold
from sandbox.projection import folded_effects
from sandbox.records import ToolReturned, decoded
from sandbox.registry import domain_named, domain_names
from sandbox.store_file import StreamFault
from sandbox.task import snapshot_of
from tests.golden.__main__ import moves
from tests.golden.form import FOLDER, Golden, bare, names, read, write
from tests.golden.parcels import ParcelSent, parcels
from tests.golden.recording import domain_of, recorded, script_in, verdict_today

OLD = "parcels-first-version"


@pytest.fixture(params=names())
def golden(request: pytest.FixtureRequest) -> Golden:
    """Each recorded trial."""
    return read(request.param)


def test_a_recorded_trial_is_re_executed_record_by_record(golden: Golden) -> None:
    domain, task = domain_of(golden.head), golden.head.task
    calls = sum(record.topic == "trial.called.1" for record in golden.records)
    snapshot = snapshot_of(domain, task)
    assert tuple(layer.digest for layer in snapshot.layers) == golden.opened.layers, "other seed rows; make golden"
    assert prove(domain, task, snapshot, golden.opened.key, golden.records) == calls


def test_a_recorded_trial_is_judged_as_it_was(golden: Golden) -> None:
    assert verdict_today(golden.head, domain_of(golden.head), golden.records) == golden.verdict


def test_a_recorded_trial_is_read_and_written_byte_for_byte(golden: Golden, tmp_path: Path) -> None:
    write(golden, tmp_path)
    name = f"{golden.name}.jsonl"
    assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


def test_a_changed_record_is_noticed(tmp_path: Path) -> None:
    text = (FOLDER / "probe-odd-calls.jsonl").read_text(encoding="utf-8")
    (tmp_path / "changed.jsonl").write_text(text.replace("ORD-404", "ORD-405", 1), encoding="utf-8")
    with pytest.raises(StreamFault, match="digest chain"):
        read("changed", tmp_path)


def test_every_installed_domain_with_tasks_is_recorded() -> None:
    wanted = {name for name in domain_names() if tasks_of(domain_named(name))}
    missing = wanted - {read(name).head.domain for name in names()}
    assert not missing, f"no recorded trial of {', '.join(missing)}; run: make golden"


def test_three_equal_calls_are_three_answers() -> None:
    answers = [decoded(record) for record in read("probe-odd-calls").records]
    popped = [one.result for one in answers if isinstance(one, ToolReturned)][:3]
    assert len({msgspec.json.decode(result)["id"] for result in popped}) == 3


def test_a_recording_moves_only_with_what_it_holds() -> None:
    before = read("probe-odd-calls")
    again = recorded(before.name, before.head, script_in(before))
    assert list(moves(before, again)) == []
    longer = msgspec.structs.replace(before, records=before.records[:-1], verdict={**before.verdict, "result": "pass"})
    assert list(moves(longer, again)) == [
        f"{len(again.records) - 1} records, now {len(again.records)}",
        "verdict pass, now fail",
    ]


def test_old_events_are_read_as_todays() -> None:
    golden = read(OLD)
    assert [record.topic for record in golden.records if record.topic.startswith("parcels.")] == [
        "parcels.parcel-sent.1",
        "parcels.parcel-sent.1",
    ]
    domain = domain_of(golden.head)
    effects = folded_effects(domain, domain.snapshot, golden.records)
    assert [(effect.row or {})["carrier"] for effect in effects] == ["post", "post"]


class ParcelPosted(ParcelSent, tag="parcel-posted", version=2):
    """The same event under another tag."""


def parcels_with(event: type[Event]) -> Domain:
    """The parcel desk without tools and upcasters, its handler for this event."""
    other = Toolset("parcels")
    other.tables = parcels.tables
    other.on(event)(parcels.handlers[ParcelSent])
    return Domain("parcels", other)


@pytest.mark.parametrize("today", [parcels_with(ParcelSent), parcels_with(ParcelPosted)])
def test_an_old_event_that_nothing_reads_is_named_by_position_and_topic(today: Domain) -> None:
    golden = read(OLD)
    place = next(record.position for record in golden.records if record.topic.startswith("parcels."))
    with pytest.raises(UnknownTopic, match=rf"record {place} has topic 'parcels\.parcel-sent\.1'"):
        fold(today, domain_of(golden.head).snapshot, golden.records)


def test_an_old_event_with_another_content_differs_from_what_today_gives() -> None:
    golden = read(OLD)
    place = next(record.position for record in golden.records if record.topic.startswith("parcels."))
    other = msgspec.msgpack.encode({"id": "PCL-2"})
    records = [msgspec.structs.replace(r, payload=other) if r.position == place else r for r in golden.records]
    domain = domain_of(golden.head)
    with pytest.raises(ReplayDiffers, match=f"record {place}"):
        prove(domain, golden.head.task, domain.snapshot, golden.opened.key, records)


def test_records_are_the_same_without_what_the_host_saw() -> None:
    golden = read("probe-odd-calls")
    assert bare(golden.records) == golden.records
