"""The knowledge base gives the policy documents that fit a question, in the shape that agents know."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domains.shared.knowledge import knowledge
from sandbox import Domain, Invalid, Precondition, World

START = "2025-10-01T13:00:00Z"
DOCUMENTS = [
    {"name": "Refunds", "text": "Refund what was paid. A refund takes five days."},
    {"name": "Returns", "text": "Goods come back within 30 days; then there is a refund."},
    *({"name": f"Warranty {n}", "text": f"Warranty of kind {n} covers defects."} for n in range(12)),
]
BASE = Domain("base", knowledge.mount(prefix=""), seed={"knowledge_policies": DOCUMENTS})
EMPTY = Domain("empty", knowledge.mount(prefix=""), seed={})


def search(query: str, domain: Domain = BASE, **options: Any) -> list[dict[str, Any]]:
    world = World(domain, domain.snapshot, START)
    snippets: list[dict[str, Any]] = world.call("search_policy", query=query, **options)["snippets"]
    assert world.effects == ()
    return snippets


def test_the_nearest_document_comes_first_and_whole() -> None:
    first, second = search("refunds")
    assert (first["source"], first["text"]) == ("Refunds", DOCUMENTS[0]["text"])
    assert second["source"] == "Returns"
    assert list(first) == ["source", "score", "vector_distance", "text"]


def test_a_nearer_document_has_a_larger_score_and_a_smaller_distance() -> None:
    first, second = search("refunds")
    assert first["score"] > second["score"] > 0
    assert 0 < first["vector_distance"] < second["vector_distance"] < 1


@pytest.mark.parametrize(("asked", "count"), [(None, 3), (0, 3), (-1, 3), (1, 1), (10, 10), (11, 10)])
def test_three_documents_are_given_by_default_and_ten_at_most(asked: int | None, count: int) -> None:
    assert len(search("warranty")) == 3
    assert len(search("warranty", max_results=asked)) == count


def test_a_question_without_a_word_in_common_finds_nothing() -> None:
    assert search("zebra") == []
    assert search("") == []


def test_without_documents_a_search_is_a_precondition() -> None:
    with pytest.raises(Precondition, match="no policy documents"):
        search("refunds", EMPTY)


def test_an_unknown_argument_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(Invalid, match="did you mean `max_results`"):
        search("refunds", max_result=2)


@given(st.text() | st.text(alphabet="ab +-\"'()*:^~\\"))
def test_any_query_is_answered(query: str) -> None:
    assert len(search(query)) <= 3
