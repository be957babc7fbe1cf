"""Full-text search gives the same hits in the same order, whatever it is asked."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox import World
from sandbox.search import Index
from tests.sandbox.desk import START, domain

TEXTS = [
    ("a", "Printers jam when paper is damp."),
    ("b", "The printer is out of paper"),
    ("c", "A lamp, a bulb and a switch"),
    ("d", "The printer is out of paper"),
    ("e", ""),
    ("f", "Größe und Ärger: 日本語"),
    ("g", "The printer is out of paper"),
]
INDEX = Index(TEXTS)


def keys(query: str, limit: int = 10) -> list[str]:
    return [hit.key for hit in INDEX.search(query, limit)]


def test_the_nearest_rows_come_first_and_ties_in_the_order_of_the_rows() -> None:
    hits = INDEX.search("printer paper out", 10)
    assert [hit.key for hit in hits] == ["b", "d", "g", "a"]
    assert hits[0].score == hits[1].score == hits[2].score > hits[3].score


def test_words_are_found_in_their_other_forms_and_in_any_case() -> None:
    assert keys("PRINTING") == keys("printer")[:0] + keys("printing")
    assert "a" in keys("printers")
    assert keys("lamps") == ["c"]
    assert keys("größe") == ["f"]


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (-1, 0), (1, 1), (3, 3), (10**9, 4)])
def test_at_most_so_many_hits_are_given(limit: int, count: int) -> None:
    assert len(keys("printer", limit)) == count


def test_scores_do_not_depend_on_the_limit() -> None:
    assert INDEX.search("printer paper", 2) == INDEX.search("printer paper", 10)[:2]


def test_the_same_texts_give_the_same_hits_in_another_index() -> None:
    assert Index(TEXTS).search("paper lamp", 10) == INDEX.search("paper lamp", 10)


@pytest.mark.parametrize("query", ["", "   ", "\0", '+-!(){}[]^"~*?:\\/', "\ud800", "''", "-", "zzz"])
def test_a_query_without_a_known_word_finds_nothing(query: str) -> None:
    assert keys(query) == []


@pytest.mark.parametrize(
    "query",
    [
        "lamp AND printer",
        "+lamp",
        "-lamp",
        "NOT lamp",
        'text:lamp"',
        "(lamp",
        "lamp^9",
        "lamp~2",
        "place:0 lamp",
        "lamp\0",
        "lamp\ud800",
        "text:[* TO lamp]",
        "text: IN [lamp]",
    ],
)
def test_nothing_in_a_query_is_syntax(query: str) -> None:
    assert "c" in keys(query)


def test_a_query_of_a_megabyte_is_answered() -> None:
    assert keys("x" * 1_000_000) == []
    assert keys("lamp " * 200_000) == ["c"]


def test_an_index_of_nothing_finds_nothing() -> None:
    assert Index([]).search("lamp", 5) == []


@settings(max_examples=200)
@given(st.text(), st.integers(-5, 20))
def test_any_query_is_answered_twice_alike(query: str, limit: int) -> None:
    hits = INDEX.search(query, limit)
    assert hits == INDEX.search(query, limit)
    assert len(hits) <= max(0, limit)
    assert [(-hit.score, "abcdefg".index(hit.key)) for hit in hits] == sorted(
        (-hit.score, "abcdefg".index(hit.key)) for hit in hits
    )


@pytest.fixture
def world() -> World:
    return World(domain, domain.snapshot, START)


def found(world: World, query: str) -> list[str]:
    return [line.split()[0] for line in world.call("desk_find_tickets", query=query)]


def test_a_search_sees_what_this_trial_wrote_and_no_other_trial_does(world: World) -> None:
    other = World(domain, domain.snapshot, START)
    world.call("desk_open_ticket", subject="printer burns")
    world.call("desk_remove_ticket", id="TK-1")
    assert found(world, "printer") == ["TK-4"]
    assert found(other, "printer") == ["TK-1"]
    assert found(world, "annex") == []


def test_a_search_gives_the_row_as_it_is_now(world: World) -> None:
    world.call("desk_change_ticket", id="TK-1", subject="scanner jams")
    assert found(world, "printer") == []
    assert found(world, "scanner") == ["TK-1"]


def test_a_field_without_value_is_not_a_word() -> None:
    fresh = World(domain, domain.snapshot, START)
    assert found(fresh, "None") == []
