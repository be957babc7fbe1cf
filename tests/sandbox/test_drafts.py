"""What is written beside its place until it is whole, and what killed processes left there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from replay.exports.target import new_file, new_folder
from replay.sealed_file import About, Versions, write_sealed
from sandbox.drafts import draft_beside


@pytest.fixture
def dead() -> int:
    """The number of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(timeout=60)
    return ended.pid


def test_what_dead_processes_left_for_the_same_path_is_removed_and_nothing_else(tmp_path: Path, dead: int) -> None:
    names = [f".c.db.{dead}", f".c.db.{dead}-wal", f".c.db.{dead}.lock", f".d.db.{dead}", f".c.db.{dead}.txt"]
    names += [f".c.db.{os.getpid()}", f".c.db.{os.getppid()}", ".c.db.0", ".c.db.mine", "c.db", f"c.db.{dead}"]
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / f".c.db.{dead}0000000000").mkdir()
    assert draft_beside(tmp_path / "c.db") == tmp_path / f".c.db.{os.getpid()}"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[3:])


def test_a_link_among_them_is_removed_and_what_it_leads_to_is_not(tmp_path: Path, dead: int) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / f".x.{dead}").symlink_to(tmp_path / "kept")
    draft_beside(tmp_path / "x")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["kept", "kept/file"]


def test_a_folder_that_is_not_there_is_no_fault(tmp_path: Path) -> None:
    assert draft_beside(tmp_path / "none" / "x").parent == tmp_path / "none"


def test_exports_and_seals_remove_what_a_killed_one_left(tmp_path: Path, dead: int) -> None:
    for name in ("file", "folder", "sealed"):
        (tmp_path / f".{name}.{dead}").mkdir()
        (tmp_path / f".{name}.{dead}" / "part").touch()
    with new_file(tmp_path / "file") as draft:
        draft.touch()
    with new_folder(tmp_path / "folder"):
        pass
    write_sealed(tmp_path / "sealed", About("c", Versions("1", "d", "j")), [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "sealed"]
