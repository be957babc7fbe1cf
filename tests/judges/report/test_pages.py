"""The page and the Markdown show every table, and take no text for markup."""

from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from rich.markdown import Markdown

from judges.lines import cut
from judges.metrics.study import Study
from judges.report.markdown import markdown
from judges.report.markdown import text as in_markdown
from judges.report.page import page
from judges.report.report import Report, report_of
from judges.report.table import shown
from tests.judges.report.studies import HOSTILE, hostile_report, lonely, small

EMPTY = {"meta", "link"}


class Reader(HTMLParser):
    """Elements, attributes and table cells of a page; a tag that closes another than the last one fails."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def attacked() -> Report:
    return hostile_report()


@pytest.mark.parametrize(
    "study", [small, lambda: lonely(0), lambda: lonely(1), None], ids=["small", "zero", "all", "hostile"]
)
def test_the_page_shows_every_cell_as_people_read_it(study: Callable[[], Study] | None) -> None:
    report = report_of(study()) if study else hostile_report()
    cells = [
        cut(text, 60 if place == 0 else 400)
        for table in report.tables
        for line in [
            [c.name for c in table.columns],
            *([shown(a, c.kind) for a, c in zip(r, table.columns, strict=True)] for r in table.rows),
        ]
        for place, text in enumerate(line)
    ]
    told = read(page(report)).cells
    assert [text[:50] for text in told] == [text[:50] for text in cells]


def test_no_text_of_others_becomes_an_element_of_the_page(attacked: Report) -> None:
    reader = read(page(attacked))
    tags = {tag for tag, _ in reader.elements}
    assert not tags & {"script", "i", "iframe", "img", "base", "form", "object"}
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page(attacked)
    assert not any(name.startswith("on") for _, attributes in reader.elements for name in attributes)


def test_no_control_character_reaches_the_page(attacked: Report) -> None:
    for text in (page(attacked), markdown(attacked)):
        assert not any(c in text for c in "\x00\x1b\u202e")


def test_every_identifier_is_there_once_and_every_anchor_leads_somewhere(attacked: Report) -> None:
    elements = read(page(attacked)).elements
    names = [str(attributes["id"]) for _, attributes in elements if "id" in attributes]
    assert len(names) == len(set(names))
    targets = [str(attributes["href"])[1:] for tag, attributes in elements if tag == "a"]
    used = [str(attributes["xlink:href"])[1:] for tag, attributes in elements if tag == "use"]
    assert len(targets) == len(attacked.sections)
    assert set(targets) | set(used) <= set(names)


def test_the_page_names_no_other_place(attacked: Report) -> None:
    for tag, attributes in read(page(attacked)).elements:
        for name in ("src", "href", "xlink:href", "action", "data", "srcset"):
            assert str(attributes.get(name) or "#").startswith(("#", "data:")), (tag, name)


def test_tables_and_figures_can_be_read_aloud(attacked: Report) -> None:
    elements = read(page(attacked)).elements
    assert ("html", {"lang": "en"}) in elements
    assert all("scope" in attributes for tag, attributes in elements if tag == "th")
    assert sum(tag == "caption" for tag, _ in elements) == len(attacked.tables)
    drawings = [attributes for tag, attributes in elements if tag == "svg"]
    assert len(drawings) == len(attacked.pictures)
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in drawings)


def test_markdown_tables_have_as_many_cells_in_each_row(attacked: Report) -> None:
    lines = [line for line in markdown(attacked).splitlines() if line.startswith("|")]
    bars = [line.replace("\\\\", "").replace("\\|", "").count("|") for line in lines]
    widths = [len(table.columns) + 1 for table in attacked.tables for _ in range(len(table.rows) + 2)]
    assert bars == widths


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_in_markdown_is_text_and_nothing_else(name: str) -> None:
    [block] = [token for token in Markdown(in_markdown(name)).parsed if token.type == "inline"]
    kinds = {child.type for child in block.children or ()}
    assert kinds <= {"text", "text_special"}
    assert block.children is not None
    assert "".join(child.content for child in block.children).replace("\u2060", "") == cut(name, 60)


def test_markdown_points_to_every_figure(attacked: Report) -> None:
    assert markdown(attacked).count("](figures/") == len(attacked.pictures)
