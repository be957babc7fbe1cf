"""A store whose log another program has closed, or somebody has lost, goes on after it was said what is in it."""

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from judges.campaigns import scores_of
from sandbox.store_file import log_of
from trialbox import main

RUN = ["run", "retail", "--task", "stuck-warranty", "--task", "late-espresso", "--agent", "careless", "-k", "100"]
PATIENCE_S = 60


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """The store of a campaign that was killed in the middle."""
    path = tmp_path / "c.db"
    with subprocess.Popen(
        [sys.executable, "-m", "trialbox", *RUN, "-o", str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + PATIENCE_S
        while not (log_of(path).exists() and log_of(path).stat().st_size > 800_000):
            assert time.monotonic() < deadline
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    return path


def test_a_store_that_another_program_has_closed_loses_nothing(
    killed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(killed)) as other:
        (records,) = other.execute("select count(*) from stored_events").fetchone()
    assert main(["stats", str(killed)]) == 2
    assert f"trialbox recover {killed}" in capsys.readouterr().err
    assert main(["recover", str(killed)]) == 0
    told = capsys.readouterr().out
    assert "trials ended" in told
    with closing(sqlite3.connect(killed)) as other:
        assert other.execute("select count(*) from stored_events").fetchone() == (records,)
    assert main([*RUN, "-o", str(killed)]) == 0
    assert [score.trials for score in scores_of(killed)] == [100, 100]


def test_there_is_nothing_to_recover_where_the_log_is_there_or_was_closed(
    killed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["recover", str(killed)]) == 2
    assert "there is nothing to recover" in capsys.readouterr().err
    (tmp_path / "text").write_text("no store")
    assert main(["recover", str(tmp_path / "text")]) == 2
    assert "Traceback" not in capsys.readouterr().err
