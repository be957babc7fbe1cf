"""Whatever the form: an export is whole or not there, and what cannot be done is told in a line."""

import re
import shlex
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from replay.exports.source import opened_sources
from replay.exports.target import new_file, new_folder
from replay.sealed_file import SealBroken
from sandbox.stream import StreamFault
from tests.disks import small_disk
from tests.replay.exports.campaigns import exported
from tests.replay.exports.readers import ROOT, SCRIPTS
from tests.replay.runs import TASK
from trialbox import main, parser

FORMATS = ("parquet", "inspect", "otel")
FORMS = pytest.mark.parametrize("form", FORMATS)
TOO_LARGE = 2_000
Making = Callable[[Path], AbstractContextManager[Path]]


def export(form: str, output: Path, *stores: Path) -> int:
    return main(["export", form, *map(str, stores), "-o", str(output)])


WHERE = "WHERE originator_id = ? AND originator_version = ?"


def damaged(store: Path, path: Path) -> Path:
    """A copy of a store in which the first record of the last trial was changed."""
    shutil.copy(store, path)
    record = (exported(store)[-1].key.id.hex, 1)
    with closing(sqlite3.connect(path)) as connection, connection:
        [(state,)] = connection.execute(f"SELECT state FROM {table_in(connection)} {WHERE}", record)
        changed = state.replace(b"retail", b"detail")
        connection.execute(f"UPDATE {table_in(connection)} SET state = ? {WHERE}", (changed, *record))
    return path


def table_in(connection: sqlite3.Connection) -> str:
    """The one table of a store."""
    [name] = [name for (name,) in connection.execute("SELECT tbl_name FROM sqlite_master WHERE type = 'table'")]
    return str(name)


@FORMS
def test_what_is_there_is_not_overwritten(
    form: str, odd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "here"
    output.write_text("mine")
    assert export(form, output, odd) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("is there already; what was exported is not overwritten, so choose another name")
    assert (output.read_text(), list(tmp_path.iterdir())) == ("mine", [output])


@FORMS
def test_an_export_that_breaks_leaves_nothing(
    form: str, odd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = damaged(odd, tmp_path / "damaged.db")
    (tmp_path / "out").mkdir()
    assert export(form, tmp_path / "out" / "here", store) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "breaks the digest chain" in line
    assert list((tmp_path / "out").iterdir()) == []


@FORMS
def test_a_full_disk_is_told_in_a_line_and_leaves_nothing(
    form: str, odd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with small_disk(TOO_LARGE):
        assert export(form, tmp_path / "here", odd) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"trialbox export: {tmp_path / 'here'}: cannot be written: ")
    assert list(tmp_path.iterdir()) == []


@FORMS
def test_a_folder_that_is_not_there_is_told_in_a_line(
    form: str, odd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(form, tmp_path / "none" / "here", odd) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "cannot be written: No such file or directory" in line


@FORMS
def test_a_campaign_is_exported_once(form: str, odd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(odd, tmp_path / "copy.db")
    assert export(form, tmp_path / "here", odd, tmp_path / "copy.db") == 2
    assert "both hold campaign 'odd'" in capsys.readouterr().err
    assert not (tmp_path / "here").exists()


@FORMS
def test_what_is_left_out_is_said(form: str, odd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(form, tmp_path / "here", odd) == 0
    told = capsys.readouterr().out
    assert re.match(r"5 trials in ", told)
    assert told.endswith("; left out: 1 attempts that broke on our side, 1 forks\n")


@FORMS
def test_a_sealed_campaign_is_exported_like_its_store(form: str, odd: Path, tmp_path: Path) -> None:
    assert main(["seal", str(odd), "-o", str(tmp_path / "odd.sealed")]) == 0
    for name, source in (("one", odd), ("other", tmp_path / "odd.sealed")):
        assert export(form, tmp_path / name, source) == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "other")


def contents(path: Path) -> dict[str, bytes]:
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def test_a_sealed_campaign_that_was_changed_is_not_exported(redacted: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.sealed"
    changed.write_bytes(redacted.read_bytes().replace(b"redacted:", b"redactEd:", 1))
    with pytest.raises(SealBroken, match="nothing is exported"), opened_sources([changed]):
        raise AssertionError("it was opened")


def test_a_judged_trial_that_lost_its_end_is_named(odd: Path, tmp_path: Path) -> None:
    shutil.copy(odd, tmp_path / "c.db")
    last = exported(odd)[-1]
    with closing(sqlite3.connect(tmp_path / "c.db")) as connection, connection:
        end = (last.key.id.hex, len(last.records))
        assert connection.execute(f"DELETE FROM {table_in(connection)} {WHERE}", end).rowcount == 1
    with pytest.raises(StreamFault, match=f"trial {last.key.id} was judged, but its last records are gone"):
        exported(tmp_path / "c.db")


@pytest.mark.parametrize("made", [new_file, new_folder])
def test_who_interrupts_an_export_finds_nothing(made: Making, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted(made, tmp_path / "here")
    assert list(tmp_path.iterdir()) == []


def interrupted(made: Making, path: Path) -> None:
    with made(path) as draft:
        file = draft / "part" if draft.is_dir() else draft
        file.write_text("half")
        raise KeyboardInterrupt


def test_an_export_is_not_there_before_it_is_whole(tmp_path: Path) -> None:
    with new_folder(tmp_path / "here") as draft:
        (draft / "part").write_text("half")
        assert not (tmp_path / "here").exists()
    assert (tmp_path / "here" / "part").read_text() == "half"


def test_trials_come_task_by_task_and_only_those_that_count(odd: Path) -> None:
    with opened_sources([odd]) as [source]:
        keys = [trial.key for trial in source.trials()]
        assert [(key.task, key.repetition, key.attempt) for key in keys] == [
            (TASK, repetition, 2 if repetition == 1 else 1) for repetition in range(5)
        ]
        assert (source.planned, source.broken, source.forks) == (5, 1, 1)


def test_the_lock_of_the_readers_names_no_index() -> None:
    lines = (SCRIPTS / "requirements.lock").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "://" in line or line.startswith(("-", "file:"))] == []
    assert {line.partition("==")[0] for line in lines} >= {"datasets", "inspect-ai", "pandas"}


def test_every_command_and_path_of_the_page_is_one() -> None:
    page = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
    commands = [shlex.split(line)[1:] for line in re.findall(r"^\$ (trialbox .*)$", page, re.MULTILINE)]
    assert {command[1] for command in commands} == {"parquet", "inspect", "otel"}
    assert all(callable(parser().parse_args(command).run) for command in commands)
    known = {name for form in FORMATS for name in options_of(form)}
    assert set(re.findall(r"`(--[a-z-]+)", page)) <= known


def options_of(form: str) -> set[str]:
    """The long options of a format."""
    with pytest.raises(SystemExit), redirect_stdout(StringIO()) as told:
        parser().parse_args(["export", form, "--help"])
    return set(re.findall(r"--[a-z-]+", told.getvalue()))
