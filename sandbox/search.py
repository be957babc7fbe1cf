"""Full-text search over rows: an embedded engine, in memory, the same hits on every machine."""

from collections.abc import Iterable

import tantivy
from msgspec import Struct


class Hit(Struct, frozen=True):
    """A row that a search found."""

    key: str
    score: float
    """BM25, rounded to four decimals; larger is nearer."""


class Index:
    """
    An index over the texts of some rows, in their order.

    Built by one thread in one segment, so that scores and order depend on nothing but the texts.
    """

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        self._keys: list[str] = []
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("text", stored=False, tokenizer_name="en_stem")
        builder.add_unsigned_field("place", stored=True)
        self._index = tantivy.Index(builder.build())
        writer = self._index.writer(heap_size=15_000_000, num_threads=1)
        for key, text in texts:
            document = tantivy.Document(text=[text])
            document.add_unsigned("place", len(self._keys))
            writer.add_document(document)
            self._keys.append(key)
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()

    def search(self, query: str, limit: int) -> list[Hit]:
        """
        The nearest rows for any text, at most `limit`; ties in the order of the rows.

        The query is read as plain words: nothing in it is syntax, and nothing in it is an error.
        """
        searcher = self._index.searcher()
        parsed, _ = self._index.parse_query_lenient(_words(query), ["text"])
        found = searcher.search(parsed, limit=max(1, len(self._keys))).hits
        placed = [(round(float(score), 4), int(searcher.doc(address)["place"][0])) for score, address in found]
        placed.sort(key=lambda hit: (-hit[0], hit[1]))
        return [Hit(self._keys[place], score) for score, place in placed[: max(0, limit)]]


def _words(query: str) -> str:
    """The query's words alone, lower-cased, so that no operator of the query language remains."""
    return " ".join("".join(c if c.isalnum() else " " for c in query.lower()).split()[:200])
