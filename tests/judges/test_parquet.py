"""Parquet files: what goes in comes out, a row group at a time."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet  # type: ignore[import-untyped]

from judges import parquet as writing
from judges.parquet import Shape, write
from sandbox.refusals import UserFault

TEXT: dict[str, Shape] = {"text": "string"}


def groups_in(path: Path) -> list[int]:
    """The rows of each row group."""
    file = parquet.ParquetFile(path)
    return [file.metadata.row_group(place).num_rows for place in range(file.num_row_groups)]


def test_every_shape_comes_back_with_its_nulls(tmp_path: Path) -> None:
    columns: dict[str, Shape] = {
        "text": "string",
        "number": "int64",
        "share": "float64",
        "is_so": "bool",
        "list": ["string"],
        "nested": [{"name": "string", "parts": [{"size": "int64"}]}],
    }
    row = {
        "text": "a\x00\u2028\U0001f600",
        "number": -(2**63),
        "share": 0.1,
        "is_so": False,
        "list": [],
        "nested": [{"name": None, "parts": [{"size": 1}, {"size": None}]}],
    }
    assert write(tmp_path / "a", columns, [row, {}]) == 2
    assert parquet.read_table(tmp_path / "a").to_pylist() == [row, dict.fromkeys(columns)]


def test_no_rows_are_a_file_with_columns(tmp_path: Path) -> None:
    assert write(tmp_path / "a", TEXT, []) == 0
    assert parquet.read_table(tmp_path / "a").column_names == ["text"]


def test_a_full_row_group_is_written_and_what_is_too_much_stays_in_the_iterator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "GROUP_BYTES", 100_000)
    taken: list[int] = []

    def rows() -> Iterator[dict[str, Any]]:
        for number in range(1000):
            taken.append(number)
            yield {"text": f"{number:1000}"}

    waiting = rows()
    assert write(tmp_path / "a", TEXT, waiting, most_bytes=250_000) == 250
    assert len(taken) == 250
    assert write(tmp_path / "b", TEXT, waiting) == 750
    assert groups_in(tmp_path / "a") == [100, 100, 50]
    both = [row["text"] for name in ("a", "b") for row in parquet.read_table(tmp_path / name).to_pylist()]
    assert both == [f"{number:1000}" for number in range(1000)]


def test_a_missing_pyarrow_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserFault, match=r"pip install 'trialbox\[report\]'"):
        write(tmp_path / "a", TEXT, [])
    assert not (tmp_path / "a").exists()
