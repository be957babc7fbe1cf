"""Rows have one order, whatever happens to them, and a view never changes what lies under it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sandbox import Layer, Row, Snapshot
from sandbox.snapshot import Overlay, State
from tests.sandbox.desk import domain

T = "things"


class Thing(Row):
    id: str
    colour: Any = None
    size: int = 0


def layer(*rows: Thing) -> Layer:
    return Layer({T: {row.id: row for row in rows}})


def keys(state: State, **equal: Any) -> list[str]:
    found = state.found(T, sorted(equal.items())) if equal else state.items(T)
    return [key for key, _ in found]


SEED = layer(Thing("a", "red"), Thing("b", "blue"), Thing("c", "red"), Thing("d", "blue"))


def test_order_is_seed_then_patch_then_creation_and_a_patched_row_keeps_its_place() -> None:
    patched = Snapshot([SEED, layer(Thing("e", "red"), Thing("b", "red"))])
    overlay = Overlay(patched)
    overlay.put(T, "z", Thing("z", "red"))
    overlay.put(T, "y", Thing("y", "red"))
    assert keys(overlay) == ["a", "b", "c", "d", "e", "z", "y"]
    assert keys(overlay, colour="red") == ["a", "b", "c", "e", "z", "y"]


def test_an_update_keeps_its_place_also_in_indexes() -> None:
    overlay = Overlay(Snapshot([SEED]))
    overlay.put(T, "b", Thing("b", "red"))
    overlay.put(T, "z", Thing("z", "red"))
    overlay.put(T, "z", Thing("z", "red", 2))
    overlay.put(T, "y", Thing("y", "red"))
    assert keys(overlay) == ["a", "b", "c", "d", "z", "y"]
    assert keys(overlay, colour="red") == ["a", "b", "c", "z", "y"]


def test_a_row_that_is_deleted_and_created_again_goes_last() -> None:
    overlay = Overlay(Snapshot([SEED]))
    overlay.put(T, "z", Thing("z", "red"))
    for key in ("a", "z"):
        assert overlay.drop(T, key)
        overlay.put(T, key, Thing(key, "red"))
    assert keys(overlay) == ["b", "c", "d", "a", "z"]
    assert keys(overlay, colour="red") == ["c", "a", "z"]
    assert overlay.size(T) == 5


def test_dropping_what_is_not_there_says_so_and_changes_nothing() -> None:
    overlay = Overlay(Snapshot([SEED]))
    assert not overlay.drop(T, "x")
    assert overlay.drop(T, "a")
    assert not overlay.drop(T, "a")
    assert overlay.size(T) == 3
    assert overlay.get(T, "a") is None


def test_two_views_of_one_snapshot_do_not_see_each_other() -> None:
    snapshot = Snapshot([SEED])
    one, other = Overlay(snapshot), Overlay(snapshot)
    one.drop(T, "a")
    one.put(T, "b", Thing("b", "green"))
    assert keys(other, colour="blue") == ["b", "d"]
    assert keys(snapshot) == ["a", "b", "c", "d"]
    assert keys(one, colour="blue") == ["d"]


ODD = [True, 1, 1.0, 25, 25.0, None, "", 0, False, "1", -1]


@pytest.mark.parametrize("wanted", ODD)
@pytest.mark.parametrize("is_written", [False, True])
def test_equality_tells_true_from_one_and_null_from_empty_but_not_25_from_25_0(wanted: Any, is_written: bool) -> None:
    rows = {str(place): Thing(str(place), value) for place, value in enumerate(ODD)}
    state: State = Snapshot([] if is_written else [Layer({T: rows})])
    if is_written:
        state = Overlay(state)
        for key, row in rows.items():
            state.put(T, key, row)
    same = [str(n) for n, v in enumerate(ODD) if v == wanted and isinstance(v, bool) == isinstance(wanted, bool)]
    assert keys(state, colour=wanted) == same


def test_an_index_over_two_fields_needs_both() -> None:
    snapshot = Snapshot([layer(Thing("a", "red", 1), Thing("b", "red", 2), Thing("c", "blue", 1))])
    assert keys(snapshot, colour="red", size=1) == ["a"]
    assert keys(snapshot, size=1) == ["a", "c"]
    assert keys(snapshot, size=3) == []


def test_a_layer_is_named_by_its_content_and_a_snapshot_by_its_layers_in_their_order() -> None:
    same = layer(Thing("a", "red"), Thing("b", "blue"), Thing("c", "red"), Thing("d", "blue"))
    other = layer(Thing("b", "blue"), Thing("a", "red"))
    assert SEED.digest == same.digest
    assert SEED.digest != other.digest
    assert Snapshot([SEED, other]).digest == Snapshot([same, other]).digest != Snapshot([other, SEED]).digest


def test_a_stored_layer_comes_back_with_the_same_digest() -> None:
    again = domain.layer_from(domain.seed.content)
    assert again.digest == domain.seed.digest
    assert again.tables == domain.seed.tables


KEYS = st.sampled_from("abcdefg")
COLOURS = st.sampled_from(["red", "blue", None, 1, True])


class Views(RuleBasedStateMachine):
    """An overlay on an overlay on a snapshot, against lists of rows that are simply kept in order."""

    def __init__(self) -> None:
        super().__init__()
        self.snapshot = Snapshot([SEED])
        self.lower = Overlay(self.snapshot)
        self.upper = Overlay(self.lower)
        self.lower_model = [row for _, row in self.snapshot.items(T) if isinstance(row, Thing)]
        self.model = list(self.lower_model)

    @rule(key=KEYS, colour=COLOURS)
    def put(self, key: str, colour: Any) -> None:
        row = Thing(key, colour)
        self.upper.put(T, key, row)
        places = [place for place, known in enumerate(self.model) if known.id == key]
        if places:
            self.model[places[0]] = row
        else:
            self.model.append(row)

    @rule(key=KEYS)
    def drop(self, key: str) -> None:
        assert self.upper.drop(T, key) == any(row.id == key for row in self.model)
        self.model = [row for row in self.model if row.id != key]

    @rule()
    def merge(self) -> None:
        self.lower.merge(self.upper)
        self.upper = Overlay(self.lower)
        self.lower_model = list(self.model)

    @rule()
    def throw_away(self) -> None:
        self.upper = Overlay(self.lower)
        self.model = list(self.lower_model)

    @invariant()
    def each_view_shows_its_rows_in_order(self) -> None:
        for view, model in ((self.upper, self.model), (self.lower, self.lower_model)):
            assert list(view.items(T)) == [(row.id, row) for row in model]
            assert view.size(T) == len(model)
            for colour in ("red", None, 1, True):
                wanted = [r.id for r in model if r.colour == colour and isinstance(r.colour, bool) == (colour is True)]
                assert keys(view, colour=colour) == wanted
            places = [view.place(T, row.id) for row in model]
            assert places == sorted(set(places))
            assert {key: view.get(T, key) for key in "abcdefg"} == {
                key: next((row for row in model if row.id == key), None) for key in "abcdefg"
            }

    @invariant()
    def the_snapshot_stays(self) -> None:
        assert keys(self.snapshot) == ["a", "b", "c", "d"]


TestViews = Views.TestCase


@given(st.lists(st.tuples(KEYS, COLOURS)))
def test_a_merge_leaves_the_same_rows_as_writing_them_directly(writes: list[tuple[str, Any]]) -> None:
    direct, below = Overlay(Snapshot([SEED])), Overlay(Snapshot([SEED]))
    scratch = Overlay(below)
    for key, colour in writes:
        for view in (direct, scratch):
            if colour is None:
                view.drop(T, key)
            else:
                view.put(T, key, Thing(key, colour))
    below.merge(scratch)
    assert list(below.items(T)) == list(direct.items(T))
    assert {(key, row) for _, key, row, _ in below.touched()} == {(key, row) for _, key, row, _ in direct.touched()}
