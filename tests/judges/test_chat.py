"""`trialbox chat`: a person plays the user, typed into a real process, and the talk is a judged trial."""

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from judges.campaigns import scores_of
from tests.hard_cases.test_parties import confirming
from tests.stub import Asked, Outcome, failing, serving

pytestmark = pytest.mark.anyio

KEY = "sk-planted-0123456789"


async def talked(typed: str, path: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    def script(asked: Asked) -> Outcome:
        return confirming(asked) if asked.headers.get("authorization") == f"Bearer {KEY}" else failing(401, "no key")

    with anyio.fail_after(60):
        async with serving(script) as stub:
            command = [sys.executable, "-m", "trialbox", "chat", "probe", "one-broken-vase"]
            command += ["--base-url", stub.url, "--model", "stub-1", "-o", str(path), *options]
            environment = {**os.environ, "MODEL_KEY": KEY}
            return await anyio.run_process(command, input=typed.encode(), check=False, env=environment)


def written(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_a_person_is_told_the_context_answers_and_sees_the_verdict(tmp_path: Path) -> None:
    made = await talked("yes, please\n", tmp_path / "talk.db", "--key-env", "MODEL_KEY")
    told = made.stdout.decode()
    assert made.returncode == 0, made.stderr.decode()
    assert "You are the customer of ORD-9." in told
    assert "agent: I can pay back 25.00" in told
    assert "end: done" in told
    assert "verdict: pass" in told
    assert [(score.trials, score.passed) for score in scores_of(tmp_path / "talk.db")] == [(1, 1)]
    assert not any(KEY.encode() in found.read_bytes() for found in written(tmp_path))


async def test_leaving_before_the_work_is_done_fails_the_task(tmp_path: Path) -> None:
    made = await talked("/end\n", tmp_path / "talk.db", "--key-env", "MODEL_KEY")
    assert "end: user_done no_action" in made.stdout.decode()
    assert "verdict: fail" in made.stdout.decode()


async def test_what_cannot_be_done_is_said_in_one_line(tmp_path: Path) -> None:
    missing = await talked("", tmp_path / "talk.db", "--key-env", "NO_SUCH_KEY")
    assert (missing.returncode, b"the environment has no NO_SUCH_KEY" in missing.stderr) == (2, True)
    (tmp_path / "there.db").touch()
    there = await talked("", tmp_path / "there.db")
    assert (there.returncode, b"there already" in there.stderr) == (2, True)
