"""Tables in a narrow terminal: folded between words, or turned into blocks; no cell is broken and nothing is lost."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from judges.tables import fitted, plain_table, wide_console
from tests.judges.metrics.stores import ran
from trialbox import main

CELLS = st.text("abc12 ", max_size=9).map(str.strip)
ROWS = st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=2, max_size=4))


def lines_of(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """A table of the first row as names and the others as cells, as it is printed in a terminal of that width."""
    table = plain_table(*rows[0])
    for row in rows[1:]:
        table.add_row(*map(Text, row))
    console = Console(width=width)
    with console.capture() as found:
        console.print(fitted(table, width))
    return [line.rstrip() for line in found.get().splitlines()]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two campaigns, one with a repetition that broke."""
    folder = tmp_path_factory.mktemp("narrow")
    return [str(ran(folder / "a.db", breaks=(1,))), str(ran(folder / "b.db", False, name="d"))]


@given(ROWS, st.integers(22, 80))
def test_no_line_is_too_long_and_every_cell_stands_in_one_line(rows: list[list[str]], width: int) -> None:
    lines = lines_of(rows, width)
    assert all(len(line) <= width for line in lines)
    for row in rows[1:]:
        assert all(any(cell in line for line in lines) for cell in row)


def test_names_of_columns_are_folded_before_a_table_is_turned() -> None:
    rows = [["agent", "observed every one"], ["ada", "12 of 12"]]
    assert lines_of(rows, 25) == ["agent  observed every one", "ada              12 of 12"]
    assert lines_of(rows, 15) == ["       observed", "          every", "agent       one", "ada    12 of 12"]
    assert lines_of(rows, 14) == ["agent: ada", "  observed", "every one: 12", "of 12"]


@pytest.mark.parametrize("command", [["stats"], ["stats", "--tasks"], ["reliability"], ["failures"], ["power"]])
def test_at_80_columns_every_line_fits(
    command: list[str], stores: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*command, *(stores[:1] if command == ["power"] else stores)]) == 0
    lines = capsys.readouterr().out.splitlines()
    examples = [line for line in lines if re.match(r"[a-z ]{20} [0-9a-f]{8}@", line)]
    assert [line for line in lines if len(line) > 80 and line not in examples] == []
    assert [line for line in lines if line.endswith("…")] == []


def test_stats_at_80_columns_tells_each_agent_in_lines_of_its_own(
    stores: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["stats", *stores]) == 0
    wide = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["stats", *stores]) == 0
    narrow = capsys.readouterr().out
    assert "agent: moody\n  tasks: 2\n" in narrow
    assert "agent: moody" not in wide


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("0", 200), ("wide", 200), ("", 200)])
def test_without_a_terminal_COLUMNS_says_how_wide(columns: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert wide_console().width == width
