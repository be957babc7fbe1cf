"""Pipes and devices are no stores and no sealed campaigns, and nobody waits for what might come out of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.store_file import is_store

COMMANDS = ["stats {p}", "show {p} x", "rejudge {p}", "verify {p}", "unseal {p} -o u.db", "export otel {p} -o t.json"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_is_refused_in_a_line_and_not_waited_for(command: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    words = [word.format(p="pipe") for word in command.split()]
    run = [sys.executable, "-m", "trialbox", *words]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pipe: is no regular file" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_pipe_and_a_device_are_no_store(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert not is_store(tmp_path / "pipe")
    assert not is_store(Path("/dev/zero"))
