"""Rows for other tools: a new file, whole or not at all, and nothing of the campaign is lost on the way."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from judges.rows import RowsNotWritten, write_rows
from tests.judges.metrics.stores import ran
from trialbox import main


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tasks of three repetitions, one of them passed by refusing."""
    return ran(tmp_path_factory.mktemp("rows") / "c.db")


def test_rows_are_written_over_nothing_that_is_there(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sealed = tmp_path / "campaign.sealed"
    sealed.write_bytes(b"years of work")
    assert main(["rows", str(store), "-o", str(sealed)]) == 2
    assert "campaign.sealed is there already; write the rows into another file" in capsys.readouterr().err
    assert sealed.read_bytes() == b"years of work"
    assert [path.name for path in tmp_path.iterdir()] == ["campaign.sealed"]


def test_rows_that_break_off_leave_nothing(tmp_path: Path) -> None:
    def full() -> Iterator[dict[str, Any]]:
        yield {"uid": "a"}
        raise OSError(28, "No space left on device")

    with pytest.raises(RowsNotWritten, match=r"rows\.jsonl: cannot be written: No space left on device"):
        write_rows(tmp_path / "rows.jsonl", full())
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_appears_meanwhile_stays(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"

    def slow() -> Iterator[dict[str, Any]]:
        path.write_bytes(b"somebody else's")
        yield {"uid": "a"}

    with pytest.raises(RowsNotWritten, match="is there already"):
        write_rows(path, slow())
    assert [(found.name, found.read_bytes()) for found in tmp_path.iterdir()] == [("rows.jsonl", b"somebody else's")]


def test_rows_are_written_as_they_are_made(tmp_path: Path) -> None:
    size: list[int] = []

    def growing() -> Iterator[dict[str, Any]]:
        for number in range(40):
            size.append(sum(path.stat().st_size for path in tmp_path.iterdir()))
            yield {"uid": str(number) * 10_000}

    assert write_rows(tmp_path / "rows.jsonl", growing()) == 40
    assert size[20] > 0


def test_rows_of_a_trial_that_lost_its_end_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = ran(tmp_path / "c.db")
    with closing(sqlite3.connect(store)) as connection, connection:
        assert connection.execute("DELETE FROM stored_events WHERE topic LIKE 'trial.ended%'").rowcount > 0
    assert main(["rows", str(store), "-o", str(tmp_path / "rows.jsonl")]) == 2
    assert "its last records are gone; restore a copy of the file" in capsys.readouterr().err
    assert not (tmp_path / "rows.jsonl").exists()


def test_refusal_tasks_stay_refusal_tasks_on_the_way_through_rows(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    assert main(["rows", str(store), "-o", str(rows)]) == 0
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert {row["uid"]: row["metadata"]["refusal"] for row in found} == {
        "promised-by-a-colleague": True,
        "stuck-warranty": False,
    }
    assert main(["import-results", "thinkingbox", str(rows), "-o", str(tmp_path / "imported")]) == 0
    capsys.readouterr()
    heads = []
    for path in (store, *(tmp_path / "imported").glob("*.db")):
        assert main(["gate", str(path), "--rule", "pass@1 >= 0"]) == 0
        heads.append(capsys.readouterr().out.splitlines()[0])
    assert heads[0] == heads[1] == "moody: 2 tasks, 1 of them refusal or no change; judged 6 of 6 trials"


def test_only_our_own_rows_say_so_in_their_metadata(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "rows.jsonl"
    row = {"uid": "a", "test_result": {"result": True}, "finish_reason": "done", "metadata": {"refusal": True}}
    rows.write_text(json.dumps(row) + "\n")
    options = ["--agent", "clerk", "--domain", "desk", "-o", str(tmp_path / "imported")]
    assert main(["import-results", "thinkingbox", str(rows), *options]) == 0
    capsys.readouterr()
    assert main(["gate", str(tmp_path / "imported" / "clerk-desk.db"), "--rule", "pass@1 >= 0"]) == 0
    assert "1 tasks, 0 of them refusal" in capsys.readouterr().out
