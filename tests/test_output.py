"""Output that cannot go anywhere, and paths that cannot be used: a line, an exit code, nothing lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from judges.campaigns import scores_of
from trialbox import PIPE_CLOSED, main, told_faults

ROOT = Path(__file__).resolve().parent.parent
RUN = ("run", "probe", "--agent", "oracle", "-k", "1")
BUFFERING = pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])


def trialbox(
    *arguments: str, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """A command in a process of its own, so that its streams are real ones."""
    return subprocess.run(
        [sys.executable, "-m", "trialbox", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=stdout,
        stderr=stderr,
        timeout=60,
        check=False,
    )


def closed_pipe() -> int:
    """The end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@BUFFERING
@pytest.mark.parametrize("arguments", [("domains", "retail"), ("stats", "{store}")], ids=["print", "rich"])
def test_a_closed_pipe_ends_a_command_quietly(tmp_path: Path, unbuffered: str, arguments: tuple[str, ...]) -> None:
    store = tmp_path / "c.db"
    assert main([*RUN, "-o", str(store)]) == 0
    told = [argument.format(store=store) for argument in arguments]
    writing = closed_pipe()
    done = trialbox(*told, stdout=writing, PYTHONUNBUFFERED=unbuffered)
    os.close(writing)
    assert (done.returncode, done.stderr) == (PIPE_CLOSED, b"")


@pytest.mark.parametrize("which", ["stdout", "stderr", "both"])
def test_a_campaign_goes_on_where_a_closed_pipe_stopped_it(tmp_path: Path, which: str) -> None:
    store = tmp_path / "c.db"
    writing = closed_pipe()
    streams = {name: writing for name in ("stdout", "stderr") if which in (name, "both")}
    done = trialbox(*RUN, "-o", str(store), **streams)  # type: ignore[arg-type]
    os.close(writing)
    assert done.returncode == PIPE_CLOSED
    assert b"Traceback" not in (done.stderr or b"") + (done.stdout or b"")
    assert main([*RUN, "-o", str(store)]) == 0
    assert [score.passed for score in scores_of(store)] == [1] * 12


@BUFFERING
def test_output_that_cannot_be_written_is_told_in_a_line(unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        done = trialbox("domains", stdout=full.fileno(), PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 2
    [line] = done.stderr.decode().splitlines()
    assert line.startswith("trialbox")
    assert "cannot be written: No space left on device; check the disk and where the output goes" in line


@BUFFERING
def test_a_code_is_kept_where_nothing_can_be_said(unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        done = trialbox("domains", "none", stdout=full.fileno(), stderr=full.fileno(), PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 2


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_an_encoding_lacks_is_written_in_escapes(tmp_path: Path, encoding: str) -> None:
    store = str(tmp_path / "c.db")
    assert main([*RUN, "--task", "nothing-is-owed", "-o", store]) == 0
    explain = ("explain", store, "nothing-is-owed/0", "--all")
    whole, done = (trialbox(*explain, PYTHONIOENCODING=name) for name in ("utf-8", encoding))
    assert (done.returncode, done.stderr) == (0, b"")
    assert "…".encode() in whole.stdout
    assert done.stdout.decode(encoding) == whole.stdout.decode().replace("…", "\\u2026")


def test_json_stays_json_in_an_encoding_that_lacks_its_characters() -> None:
    script = "import trialbox; trialbox.main(['domains', 'none']); print('\"é…\\U0001f600\"')"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert json.loads(done.stdout) == "é…\U0001f600"


@pytest.mark.parametrize(
    "arguments",
    [
        ("new", "domain", "bakery", "--into", "{file}"),
        (*RUN, "-o", "{file}/c.db"),
        (*RUN, "-o", "{folder}"),
        ("stats", "{folder}"),
        ("explain", "{folder}/none.db", "x"),
    ],
    ids=" ".join,
)
def test_a_path_that_cannot_be_used_is_told_in_a_line(
    arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    told = [argument.format(file=tmp_path / "file", folder=tmp_path) for argument in arguments]
    assert main(told) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"trialbox {told[0]}: {tmp_path}")


def test_only_system_errors_of_files_and_disks_are_told_in_a_line() -> None:
    for fault in (PermissionError(13, "no", "a"), OSError(28, "full"), BrokenPipeError(32, "closed")):
        assert told_faults(ExceptionGroup("", [fault])) == [fault]
    for bug in (TimeoutError(), ConnectionResetError(104, "reset"), OSError("odd")):
        assert told_faults(bug) == []
