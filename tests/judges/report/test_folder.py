"""A report is written whole or not at all, the same bytes each time, and over nothing but a report."""

import json
import os
import signal
import sys
from pathlib import Path
from subprocess import Popen

import pytest

from judges.report import folder as folders
from judges.report.folder import FolderFault, ensure_replaceable, write_report
from judges.report.report import Report, report_of
from tests.judges.report.studies import lonely, small

KILLED = """
import os, signal, sys
from pathlib import Path
from judges.report import folder
from judges.report.report import report_of
from tests.judges.report.studies import lonely
folder.page = lambda report: os.kill(os.getpid(), signal.SIGKILL)
folder.write_report(report_of(lonely(1)), Path(sys.argv[1]))
"""
"""A process that is killed while it writes a report."""


@pytest.fixture(scope="module")
def report() -> Report:
    return report_of(small())


@pytest.fixture(scope="module")
def other() -> Report:
    return report_of(lonely(1))


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_files_are_those_that_the_report_names(report: Report, tmp_path: Path) -> None:
    files = write_report(report, tmp_path / "r")
    assert sorted(files) == sorted(content(tmp_path / "r"))
    assert json.loads((tmp_path / "r" / "report.json").read_text(encoding="utf-8"))["files"] == files
    assert {"index.html", "report.md", "report.json", "tables/cost.csv", "tables/cost.parquet"} <= set(files)
    assert {"figures/cost.svg", "figures/cost.png"} <= set(files)


def test_the_same_study_gives_the_same_bytes(report: Report, tmp_path: Path) -> None:
    write_report(report, tmp_path / "a")
    write_report(report_of(small()), tmp_path / "b")
    assert content(tmp_path / "a") == content(tmp_path / "b")


def test_a_report_is_replaced_and_nothing_is_left_beside_it(report: Report, other: Report, tmp_path: Path) -> None:
    write_report(report, tmp_path / "r")
    files = write_report(other, tmp_path / "r")
    assert sorted(files) == sorted(content(tmp_path / "r"))
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_what_killed_processes_left_beside_a_report_is_removed_and_what_living_ones_write_is_not(
    report: Report, tmp_path: Path
) -> None:
    root = Path(folders.__file__).parents[2]
    child = Popen([sys.executable, "-c", KILLED, str(tmp_path / "r")], cwd=root)
    assert child.wait(60) == -signal.SIGKILL
    assert [path.name for path in tmp_path.iterdir()] == [f".r.{child.pid}"]
    living, another = tmp_path / f".r.{os.getppid()}", tmp_path / f".r2.{child.pid}"
    for folder in (living, another, tmp_path / f".r.old.{child.pid}"):
        folder.mkdir()
    write_report(report, tmp_path / "r")
    assert {path.name for path in tmp_path.iterdir()} == {"r", living.name, another.name}


def test_an_empty_folder_and_one_that_is_not_there_are_taken(other: Report, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write_report(other, tmp_path / "empty")
    write_report(other, tmp_path / "a" / "b")
    assert (tmp_path / "empty" / "index.html").is_file()
    assert (tmp_path / "a" / "b" / "index.html").is_file()


def test_a_folder_with_something_else_in_it_is_refused(other: Report, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(FolderFault, match="is not empty and holds no report; name a new folder"):
        write_report(other, tmp_path)
    assert content(tmp_path) == {"thesis.tex": b"years of work"}


@pytest.mark.parametrize("index", ["", "{", "[]", '{"kind": "another", "files": []}', '{"kind": "trialbox report"}'])
def test_a_file_that_is_only_called_like_ours_makes_no_report(index: str, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(index, encoding="utf-8")
    with pytest.raises(FolderFault, match="holds no report"):
        ensure_replaceable(tmp_path)


def test_a_report_with_somebodys_notes_in_it_is_refused(other: Report, tmp_path: Path) -> None:
    write_report(other, tmp_path / "r")
    (tmp_path / "r" / "tables" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(FolderFault, match=r"and tables/notes.txt, which is none of it; move it away first"):
        write_report(other, tmp_path / "r")


def test_a_file_where_the_folder_should_be_is_refused(other: Report, tmp_path: Path) -> None:
    (tmp_path / "r").write_text("", encoding="utf-8")
    with pytest.raises(FolderFault, match="is a file; name a folder with -o"):
        write_report(other, tmp_path / "r")


def test_a_report_that_breaks_off_leaves_the_old_one(
    report: Report, other: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_report(other, tmp_path / "r")
    before = content(tmp_path / "r")

    def full(report: Report) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folders, "page", full)
    with pytest.raises(FolderFault, match="cannot be written: No space left on device; give another with -o"):
        write_report(report, tmp_path / "r")
    assert content(tmp_path / "r") == before
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_a_name_that_leads_elsewhere_stays(other: Report, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "here").symlink_to(tmp_path / "there")
    write_report(other, tmp_path / "here")
    assert (tmp_path / "here").is_symlink()
    assert (tmp_path / "there" / "index.html").is_file()
