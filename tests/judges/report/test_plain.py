"""CSV, Parquet and JSON hold every cell, unrounded, and nothing that a spreadsheet runs or a terminal draws."""

import csv as reader
import io
import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.lines import printable
from judges.parquet import DECIMALS
from judges.report.folder import values as folder_values
from judges.report.plain import FORMULA, csv, flat, write_parquet
from judges.report.report import Report, report_of
from judges.report.table import AtLeast, Cell, Column, Table
from tests.judges.report.studies import HOSTILE, hostile_report, small


@pytest.fixture(scope="module", params=[lambda: report_of(small()), hostile_report], ids=["small", "hostile"])
def report(request: pytest.FixtureRequest) -> Report:
    made: Report = request.param()
    return made


def read(text: str) -> list[list[str]]:
    return list(reader.reader(io.StringIO(text, newline="")))


def exact(cell: Cell) -> Fraction | None:
    """The number in a cell, if there is one."""
    if isinstance(cell, AtLeast):
        return Fraction(cell.value)
    return None if cell is None or isinstance(cell, str) else Fraction(cell)


def shown(cell: Cell) -> Cell:
    """A cell as files show it: a text without characters that cannot be seen."""
    return printable(cell) if isinstance(cell, str) else cell


def is_told(value: Any, cell: Cell) -> bool:
    """Whether a value, as a number or its text, says what a cell says."""
    number = exact(cell)
    return bool(value == shown(cell)) if number is None else abs(Fraction(value) - number) < Fraction(1, 10**DECIMALS)


def test_csv_holds_every_cell(report: Report) -> None:
    for table in report.tables:
        _, *lines = read(csv(table))
        assert len(lines) == len(table.rows)
        for line, row in zip(lines, table.rows, strict=True):
            for told, cell in zip(line, row, strict=False):
                assert is_told(told, "" if cell is None else cell) or told == f"'{shown(cell)}"


def test_parquet_holds_every_cell_in_the_type_of_its_column(report: Report, tmp_path: Path) -> None:
    types = {
        "text": "string",
        "count": "int64",
        "share": "double",
        "points": "double",
        "error": "double",
        "p": "double",
    }
    for table in report.tables:
        path = tmp_path / f"{table.name}.parquet"
        write_parquet(path, table)
        stored = pyarrow.parquet.read_table(path)
        for place, column in enumerate(table.columns):
            kept = stored.column(place)
            assert str(kept.type) == types.get(column.kind, f"decimal128(38, {DECIMALS})")
            assert all(is_told(value, row[place]) for value, row in zip(kept.to_pylist(), table.rows, strict=True))


def test_json_holds_every_cell(report: Report) -> None:
    values = json.loads(json.dumps(folder_values(report, [])))["tables"]
    for told, table in zip(values, report.tables, strict=True):
        assert [column["name"] for column in told["columns"]] == [shown(column.name) for column in table.columns]
        for row, cells in zip(told["rows"], table.rows, strict=True):
            assert all(is_told(value, cell) for value, cell in zip(row, cells, strict=True))


def test_lower_bounds_are_marked_in_columns_of_their_own() -> None:
    table = Table("t", "T", "", (Column("agent"), Column("$", "usd")), (("a", AtLeast(Decimal("1.5"))), ("b", None)))
    assert csv(table) == '"agent","$","$ is a lower bound"\r\n"a",1.5,true\r\n"b",,\r\n'


def test_columns_of_the_same_name_are_told_apart() -> None:
    table = Table("t", "T", "", (Column("task"), Column("task", "share")), (("t-1", Fraction(1, 2)),))
    assert [column.name for column in flat(table)] == ["task", "task (2)"]


@given(st.text(st.characters(exclude_categories=()), max_size=20) | st.sampled_from(HOSTILE))
def test_any_text_comes_back_printable_from_csv_and_none_begins_like_a_formula(name: str) -> None:
    table = Table("t", "T", "", (Column(name), Column("n", "count")), ((name, -1),))
    head, line = read(csv(table))
    safe = printable(name.encode("utf-8", "backslashreplace").decode())
    assert head[0].isprintable()
    assert line[0] in (safe, f"'{safe}")
    assert not head[0].startswith(FORMULA)
    assert not line[0].startswith(FORMULA)
    assert line[1] == "-1"
