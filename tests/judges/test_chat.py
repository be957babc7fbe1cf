"""`trialbox chat`: a person plays the user, typed into a real process, and the talk is a judged trial."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from judges.campaigns import scores_of
from sandbox.archive import sealed_in
from sandbox.stream import Store
from tests.hard_cases.test_parties import confirming
from tests.stub import Answer, Asked, Outcome, failing, serving

pytestmark = pytest.mark.anyio

KEY = "sk-planted-0123456789"


CONFIGURATION = """
agent:
  name: clerk
  model: {base_url: "${MODEL_URL}", key: "${MODEL_KEY}", model: stub-1, temperature: 0.5}
protocol: {name: thinkingbox, end_turn_tools: [{name: hang_up}]}
limits: {max_agent_turns: 9, trial_s: 0.001}
gate: {rules: [{action: ask, writes: true}]}
"""


async def talked(
    typed: str, path: Path, *options: str, agent: Sequence[str] = (), asked: list[Asked] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """A talk with the endpoint itself, or with an agent that is given in another way."""

    def script(asked: Asked) -> Outcome:
        return confirming(asked) if asked.headers.get("authorization") == f"Bearer {KEY}" else failing(401, "no key")

    with anyio.fail_after(60):
        async with serving(script) as stub:
            command = [sys.executable, "-m", "trialbox", "chat", "probe", "one-broken-vase"]
            command += [*(agent or ("--base-url", stub.url, "--model", "stub-1")), "-o", str(path), *options]
            environment = {**os.environ, "MODEL_KEY": KEY, "MODEL_URL": stub.url}
            made = await anyio.run_process(command, input=typed.encode(), check=False, env=environment)
            if asked is not None:
                asked += stub.asked
            return made


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


async def test_what_an_endpoint_says_is_shown_and_the_talk_is_not_begun_again(tmp_path: Path) -> None:
    asked: list[Asked] = []
    made = await talked("yes\n", tmp_path / "talk.db", asked=asked)
    assert (made.returncode, len(asked)) == (1, 1)
    assert "end: infrastructure no_action (unauthorized: 401: no key)" in made.stdout.decode()


async def test_who_stops_a_talk_is_told_that_it_is_over(tmp_path: Path) -> None:
    stuck = anyio.Event()

    def script(asked: Asked) -> Outcome:
        stuck.set()
        return Answer(breaks="hangs")

    with anyio.fail_after(60):
        async with serving(script) as stub:
            command = [sys.executable, "-m", "trialbox", "chat", "probe", "one-broken-vase"]
            command += ["--base-url", stub.url, "--model", "stub-1", "-o", str(tmp_path / "talk.db")]
            async with await anyio.open_process(command) as process:
                await stuck.wait()
                process.send_signal(signal.SIGINT)
                assert process.stderr is not None
                told = (await process.stderr.receive()).decode()
                assert await process.wait() == 130
    assert "the talk is over and was not judged" in told
    assert "goes on from there" not in told


async def test_leaving_before_the_work_is_done_fails_the_task(tmp_path: Path) -> None:
    made = await talked("/end\n", tmp_path / "talk.db", "--key-env", "MODEL_KEY")
    assert "end: user_done no_action" in made.stdout.decode()
    assert "verdict: fail" in made.stdout.decode()


@pytest.mark.parametrize(("allowed", "verdict"), [("yes", "pass"), ("no, too much", "fail")])
async def test_a_person_talks_to_the_agent_of_a_configuration_and_its_gate_asks_them(
    allowed: str, verdict: str, tmp_path: Path
) -> None:
    (tmp_path / "agent.yaml").write_text(CONFIGURATION, encoding="utf-8")
    asked: list[Asked] = []
    agent = ("--agent", str(tmp_path / "agent.yaml"))
    made = await talked(f"yes, please\n{allowed}\n", tmp_path / "talk.db", agent=agent, asked=asked)
    told = made.stdout.decode()
    assert made.returncode == 0, made.stderr.decode()
    assert "The agent wants refund" in told
    assert f"verdict: {verdict}" in told
    assert asked[0].body["temperature"] == 0.5
    assert "hang_up" in [tool["function"]["name"] for tool in asked[0].body["tools"]]
    with Store.open(tmp_path / "talk.db", read_only=True) as store:
        seal = sealed_in(store)
    settings = json.loads(seal.agent_settings)
    assert (seal.agent, settings["user"], settings["limits"]["max_agent_turns"]) == ("clerk", {"person": True}, 9)
    assert settings["agent"]["model"]["base_url"] == "${MODEL_URL}"
    assert not any(KEY.encode() in found.read_bytes() for found in written(tmp_path))


async def test_who_the_agent_is_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text("agent: {scripted: oracle}", encoding="utf-8")
    agent = ("--agent", str(tmp_path / "agent.yaml"))
    twice = await talked("", tmp_path / "talk.db", "--model", "stub-1", agent=agent)
    assert (twice.returncode, b"--model stands in the configuration already" in twice.stderr) == (2, True)
    script = await talked("", tmp_path / "talk.db", agent=agent)
    assert (script.returncode, b"is a script, which talks to nobody" in script.stderr) == (2, True)
    nobody = await talked("", tmp_path / "talk.db", agent=("--model", "stub-1"))
    assert (nobody.returncode, b"say who the agent is" in nobody.stderr) == (2, True)


async def test_what_cannot_be_done_is_said_in_one_line(tmp_path: Path) -> None:
    missing = await talked("", tmp_path / "talk.db", "--key-env", "NO_SUCH_KEY")
    assert (missing.returncode, b"the environment has no NO_SUCH_KEY" in missing.stderr) == (2, True)
    (tmp_path / "there.db").touch()
    there = await talked("", tmp_path / "there.db")
    assert (there.returncode, b"there already" in there.stderr) == (2, True)
