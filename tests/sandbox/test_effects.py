"""Effects are the net change of each row, in one order and one encoding."""

from typing import Any

import pytest

from sandbox import Row, Snapshot, World
from sandbox.effects import Effect, FieldChange, decode_effects, effects_digest, effects_of, encode_effects, same
from sandbox.snapshot import Layer, Overlay
from tests.sandbox.desk import START, domain


@pytest.fixture
def world() -> World:
    return World(domain, domain.snapshot, START)


def told(world: World) -> list[tuple[str, str, str]]:
    return [(effect.table, effect.key, effect.op) for effect in world.effects]


def test_an_update_names_the_fields_that_changed_and_no_other(world: World) -> None:
    world.call("desk_change_ticket", id="TK-1", subject="quiet", hours=2)
    (effect,) = world.effects
    assert (effect.op, effect.changes) == ("updated", (FieldChange("subject", "printer jams", "quiet"),))
    assert effect.before is not None
    assert effect.row == effect.before | {"subject": "quiet"}


def test_a_row_that_was_changed_back_is_no_effect(world: World) -> None:
    world.call("desk_change_ticket", id="TK-1", subject="quiet")
    world.call("desk_change_ticket", id="TK-1", subject="printer jams")
    assert world.effects == ()


def test_a_row_that_came_and_went_is_no_effect(world: World) -> None:
    made = world.call("desk_open_ticket", subject="x")
    world.call("desk_remove_ticket", id=made["id"])
    assert world.effects == ()


def test_deleting_takes_the_row_and_what_hangs_on_it(world: World) -> None:
    world.call("desk_remove_ticket", id="TK-3")
    assert told(world) == [("desk_notes", "N001", "deleted"), ("desk_tickets", "TK-3", "deleted")]
    assert world.effects[0].before == {"id": "N001", "ticket": "TK-3", "text": "oiled"}
    assert world.effects[0].row is None


def test_a_row_that_was_deleted_and_created_again_has_moved_even_if_it_is_equal(world: World) -> None:
    world.call("desk_renew_ticket", id="TK-1")
    (effect,) = world.effects
    assert (effect.op, effect.changes, effect.moved) == ("updated", (), True)


def test_effects_come_by_table_then_the_snapshots_rows_then_new_ones(world: World) -> None:
    world.call("desk_open_ticket", subject="new")
    world.call("desk_count_stock", room="attic", item="lamp", count=1)
    world.call("annex_change_ticket", id="TK-1", subject="warm")
    world.call("desk_renew_ticket", id="TK-1")
    world.call("desk_solve_ticket", id="TK-2", note="lit")
    assert told(world) == [
        ("annex_tickets", "TK-1", "updated"),
        ("desk_notes", "N002", "inserted"),
        ("desk_stock", "attic:lamp", "inserted"),
        ("desk_tickets", "TK-2", "updated"),
        ("desk_tickets", "TK-4", "inserted"),
        ("desk_tickets", "TK-1", "updated"),
    ]


def test_effects_are_equal_after_their_encoding_and_so_is_their_digest(world: World) -> None:
    world.call("desk_open_ticket", subject="x", tags=["a", "b"], loads=[1, 2.5], place={"room": "hall", "weight": 3})
    world.call("desk_remove_ticket", id="TK-3")
    world.call("desk_change_ticket", id="TK-2", requester=None)
    again = decode_effects(encode_effects(world.effects))
    assert again == world.effects
    assert encode_effects(again) == encode_effects(world.effects)
    assert effects_digest(again) == effects_digest(world.effects)


class Mixed(Row):
    id: str
    value: Any


DIFFERENT = [0, False, None, "", 0.0, -0.0, "0", 1, True, 1.0]


@pytest.mark.parametrize("before", DIFFERENT)
@pytest.mark.parametrize("after", DIFFERENT)
def test_values_of_different_json_types_are_different(before: Any, after: Any) -> None:
    snapshot = Snapshot([Layer({"mixed": {"a": Mixed("a", before)}})])
    overlay = Overlay(snapshot)
    overlay.put("mixed", "a", Mixed("a", after))
    is_same = repr(before) == repr(after)
    assert same(before, after) is is_same
    assert (effects_of(snapshot, overlay) == ()) is is_same


def test_25_in_a_number_field_is_25_0(world: World) -> None:
    world.call("desk_change_ticket", id="TK-1", hours=2)
    assert world.effects == ()
    world.call("desk_change_ticket", id="TK-1", hours=25)
    assert encode_effects(world.effects) == encode_effects(_changed_hours(25.0))


def _changed_hours(hours: float) -> tuple[Effect, ...]:
    world = World(domain, domain.snapshot, START)
    world.call("desk_change_ticket", id="TK-1", hours=hours)
    return world.effects


def test_a_whole_number_deep_inside_a_row_counts_as_the_float_that_it_is() -> None:
    digests = set()
    for weight in (3, 3.0):
        world = World(domain, domain.snapshot, START)
        world.call("desk_open_ticket", subject="x", loads=[weight], place={"room": "hall", "weight": weight})
        digests.add(effects_digest(world.effects))
    assert len(digests) == 1
