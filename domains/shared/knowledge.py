"""The knowledge base: a business's policy documents, and the tool that searches them."""

from typing import Final

from msgspec import Struct

from sandbox import Call, Precondition, Prose, Row, Toolset

knowledge = Toolset("knowledge")

DEFAULT_RESULTS: Final = 3
MOST_RESULTS: Final = 10


@knowledge.table("policies", key="name", search=("name", "text"), documents="policy", drops_unknown=True)
class Policy(Row):
    """A policy document."""

    name: str
    text: Prose


class Snippet(Struct, frozen=True):
    """A document that a search found."""

    source: str
    """Name of the document."""
    score: int
    """Larger is nearer: ten thousand times the engine's score."""
    vector_distance: float
    """Smaller is nearer, above 0, at most 1."""
    text: str


class Snippets(Struct, frozen=True):
    snippets: list[Snippet]


@knowledge.tool()
def search_policy(call: Call, query: str, max_results: int | None = DEFAULT_RESULTS) -> Snippets:
    """
    Policy documents of this business about something, nearest first.

    Each of `snippets` has `source` (the document's name), `score` (larger is nearer), `vector_distance` (smaller is
    nearer) and `text`, the whole document. No document has a word of the query: an empty list. Ask with the words
    that a policy would use, such as: refund after 30 days.

    Args:
        query: words to look for.
        max_results: how many documents to give at most, up to 10; 3 by default.
    """
    if not call.all(Policy):
        raise Precondition("this business has no policy documents to search; go by the instructions you were given")
    limit = DEFAULT_RESULTS if max_results is None or max_results < 1 else min(max_results, MOST_RESULTS)
    found = call.search(Policy, query, limit)
    call.found = len(found)
    return Snippets(
        [
            Snippet(policy.name, round(hit.score * 10_000), round(1 / (1 + hit.score), 4), policy.text)
            for policy, hit in found
        ]
    )
