"""Effects and the snapshot are the whole state: every row, in its place."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from judges.state import state_from
from sandbox import Snapshot, World, plain
from sandbox.effects import decode_effects, effects_of, encode_effects
from sandbox.snapshot import Overlay
from tests.judges.shop import START, User, after, domain, drop, edit, new, refunded

KEYS = [str(number) for number in range(1, 7)]
writes = st.tuples(st.sampled_from(KEYS), st.sampled_from(["ann", "bob", None]))


def rows_of(overlay: Overlay) -> dict[str, list[dict[str, Any]]]:
    return {name: [plain(row) for _, row in overlay.items(name)] for name in domain.tables}


@given(st.lists(writes, max_size=12))
def test_the_state_from_effects_is_the_final_rows_in_order(script: list[tuple[str, str | None]]) -> None:
    overlay = Overlay(domain.snapshot)
    for key, name in script:
        if name is None:
            overlay.drop("shop_users", key)
        else:
            overlay.put("shop_users", key, User(key, name))
    effects = decode_effects(encode_effects(effects_of(domain.snapshot, overlay)))
    assert state_from(domain.tables, domain.snapshot, effects) == rows_of(overlay)


def test_a_row_that_was_deleted_and_created_again_stands_last() -> None:
    world = after([drop("users", "1"), new("users", id="1", name="user 1"), new("users", name="new")])
    state = state_from(domain.tables, domain.snapshot, world.effects)
    assert [row["id"] for row in state["shop_users"]] == ["2", "3", "1", "4"]


def test_every_table_is_there_and_every_value_as_it_was_recorded() -> None:
    world = after([refunded(amount=-0.0), edit("orders", "ORD-1", total=None), drop("tickets", "1")])
    state = state_from(domain.tables, domain.snapshot, world.effects)
    assert state == rows_of(world.overlay)
    assert (set(state), state["shop_tickets"]) == (set(domain.tables), [])
    assert str(state["shop_refunds"][0]["amount"]) == "-0.0"


def test_a_snapshot_of_layers_keeps_the_order_of_its_layers() -> None:
    patch: dict[str, list[dict[str, Any]]] = {"shop_users": [{"id": "9", "name": "i"}, {"id": "2", "name": "b"}]}
    snapshot = Snapshot([domain.seed, domain.layer(patch)])
    world = World(domain, snapshot, START)
    world.call("shop_change", table="users", key="9", fields={"name": "j"})
    users = [row.name for row in world.rows["shop_users"]]
    state = state_from(domain.tables, snapshot, world.effects)
    assert [row["name"] for row in state["shop_users"]] == users == ["user 1", "b", "user 3", "j"]
