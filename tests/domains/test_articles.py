"""Finding help-center articles: by the search engine in our own mount, by substrings in the public one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domains.shared.articles import SubstringQuery, substring_query
from domains.shared.helpdesk import helpdesk, public_helpdesk
from sandbox import Domain, World

START = "2025-10-01T13:00:00Z"
FIXED = {"url": "u", "html_url": "h", "author_id": 1, "source_locale": "en-us", "created_at": "a", "updated_at": "b"}
ARTICLES: list[dict[str, Any]] = [
    {
        "title": "Returns",
        "body": "<p>Back within 30 days.</p>",
        "brand_id": 7,
        "label_names": ["money", "post"],
    },
    {"title": "Refunds", "body": "<p>We refund what you returned; don't wait.</p>", "category_id": 2, "draft": True},
    {"title": "Co-insured", "body": "Non-defect returns cost 5 dollars", "locale": "de", "label_names": ["Money"]},
]
SEED = {
    "zendesk_articles": [
        {"id": place + 1, "section_id": 10 + place, "locale": "en-us", **FIXED, **article}
        for place, article in enumerate(ARTICLES)
    ]
}
OWN = Domain("own", helpdesk.mount("zendesk"), seed=SEED)
PUBLIC = Domain("public", public_helpdesk(), seed=SEED)


def found(domain: Domain, query: str, **filters: Any) -> list[int]:
    world = World(domain, domain.snapshot, START)
    return [article["id"] for article in world.call("zendesk_search_articles", query=query, **filters)["results"]]


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("", SubstringQuery((), (), ())),
        ("Refund  POLICY refund", SubstringQuery((), (), ("refund", "policy", "refund"))),
        ('a"X y "b', SubstringQuery(("x y",), (), ("ab",))),
        ('-" Old One " new', SubstringQuery((), ("old one",), ("new",))),
        ("non-defect items", SubstringQuery((), ("defect",), ("non", "items"))),
        ("-Draft - returns.", SubstringQuery((), ("draft",), ("-", "returns."))),
        ("don't '' \"open", SubstringQuery((), (), ("dont", '"open'))),
        ('" "', SubstringQuery(("",), (), ())),
        ('""', SubstringQuery((), (), ('""',))),
    ],
)
def test_a_query_is_read_by_the_substring_rules(query: str, read: SubstringQuery) -> None:
    assert substring_query(query) == read


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("", [1, 2, 3]),
        ("   ", [1, 2, 3]),
        ("return", [1, 2, 3]),
        ("RETURNS back", [1]),
        ("<p>", [1, 2]),
        ("returns.", []),
        ("turn fund", [2]),
        ("30 absent", []),
        ("30 absent missing", []),
        ("30 days absent missing gone", [1]),
        ("30 days absent missing gone lost", []),
        ("30 30 days absent missing gone lost", [1]),
        ('"within 30"', [1]),
        ('"within 31"', []),
        ('return -"within 30"', [2, 3]),
        ("return -dollars", [1, 2]),
        ("non-defect", []),
        ('" "', [1, 2, 3]),
        ('-" "', []),
        ("don't", []),
    ],
)
def test_the_public_search_finds_by_substrings_in_the_order_of_the_table(query: str, ids: list[int]) -> None:
    assert found(PUBLIC, query) == ids


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({"locale": "en-us"}, [1, 2]),
        ({"locale": "EN-US"}, []),
        ({"brand_id": 7}, [1]),
        ({"brand_id": 7, "multibrand": True}, [1, 2, 3]),
        ({"brand_id": 7, "multibrand": False}, [1]),
        ({"category": 2}, [2]),
        ({"section": 12}, [3]),
        ({"label_names": "money"}, [1]),
        ({"label_names": " Money , post "}, [1, 3]),
        ({"label_names": ","}, []),
        ({"category": 2, "locale": "de"}, []),
    ],
)
def test_filters_hold_in_both_mounts_and_drafts_are_found(filters: dict[str, Any], ids: list[int]) -> None:
    assert found(PUBLIC, "", **filters) == ids
    assert found(OWN, "", **filters) == ids


def test_zero_and_empty_text_ask_for_nothing_only_in_the_public_mount() -> None:
    for filters in ({"locale": ""}, {"brand_id": 0}, {"category": 0}, {"section": 0}, {"label_names": ""}):
        assert found(PUBLIC, "", **filters) == [1, 2, 3]
        assert found(OWN, "", **filters) == []


def test_our_own_search_gives_the_nearest_first_whatever_the_form_of_the_word() -> None:
    assert found(OWN, "refunding") == [2]
    assert sorted(found(OWN, "how do I return it?")) == [1, 2, 3]
    assert found(OWN, "how many days do I have to bring it back")[0] == 1
    assert found(OWN, "zebra") == []


def test_our_own_search_filters_all_it_finds() -> None:
    assert found(OWN, "return", locale="de") == [3]


@given(st.text() | st.text(alphabet="ab -\"'()*:^~\\"))
def test_any_query_is_answered_with_articles_of_the_table(query: str) -> None:
    for domain in (OWN, PUBLIC):
        assert set(found(domain, query)) <= {1, 2, 3}
