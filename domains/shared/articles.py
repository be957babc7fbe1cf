"""Finding help-center articles: by the search engine, or by the substring rules of public help desks."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from domains.shared.helpdesk_rows import Article

_PHRASE: Final = re.compile(r'(-?)"([^"]+)"')
_NEGATIVE: Final = re.compile(r"-(\w+)")
_SHARE_OF_TERMS: Final = 0.4
_FEW_TERMS: Final = 2


class ArticleFilter(Struct, frozen=True):
    """What an article has to be besides matching the words; None asks for nothing."""

    locale: str | None = None
    brand_id: int | None = None
    category: int | None = None
    section: int | None = None
    label_names: str | None = None
    """Labels with commas between them; one of them is enough."""

    def holds(self, article: Article) -> bool:
        """Whether the article is what was asked for."""
        pairs = (
            (self.locale, article.locale),
            (self.brand_id, article.brand_id),
            (self.category, article.category_id),
            (self.section, article.section_id),
        )
        if any(wanted is not None and wanted != has for wanted, has in pairs):
            return False
        if self.label_names is None:
            return True
        return not {label.strip() for label in self.label_names.split(",")}.isdisjoint(article.label_names)


class SubstringQuery(Struct, frozen=True):
    """A query in the public help desks' way: everything is looked for as a part of title and body, in lower case."""

    phrases: tuple[str, ...]
    """Quoted: must occur."""
    negatives: tuple[str, ...]
    """Behind a hyphen, which may stand inside a word: must not occur."""
    terms: tuple[str, ...]
    """The other words: one or two must all occur, of three and more two fifths."""

    def holds(self, article: Article) -> bool:
        """Whether the article matches."""
        text = f"{article.title} {article.body}".lower()
        if any(part in text for part in self.negatives) or not all(part in text for part in self.phrases):
            return False
        few = len(self.terms) <= _FEW_TERMS
        needed = len(self.terms) if few else math.ceil(_SHARE_OF_TERMS * len(self.terms))
        return sum(times for term, times in Counter(self.terms).items() if term in text) >= needed


def substring_query(query: str) -> SubstringQuery:
    """The query, read; a word that is written twice counts twice."""
    quoted = _PHRASE.findall(query)
    rest = _PHRASE.sub("", query)
    negatives = [text.strip().lower() for sign, text in quoted if sign]
    negatives += [word.lower() for word in _NEGATIVE.findall(rest)]
    words = [word.lower().replace("'", "") for word in _NEGATIVE.sub("", rest).split()]
    return SubstringQuery(
        tuple(text.strip().lower() for sign, text in quoted if not sign),
        tuple(negatives),
        tuple(word for word in words if word),
    )


def matching(articles: Iterable[Article], query: str, asked: ArticleFilter) -> Iterator[Article]:
    """The articles that match by the substring rules, in their order."""
    read = substring_query(query)
    return (article for article in articles if read.holds(article) and asked.holds(article))
