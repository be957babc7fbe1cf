"""
Campaigns of models through the command line: two retail tasks with a rubric, an agent, a user and a judge at one stub.

The agent asks for a yes, makes the golden calls in one reply, and is done; the user says yes; the judge says yes.
"""

import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from anyio import to_thread
from msgspec import Struct

from domains.retail import domain
from judges.court import plans_of
from judges.pack import tasks_of
from sandbox.package_data import read_yaml
from tests.stub import Asked, Outcome, Script, Turn, call
from trialbox import main

KEY = "sk-planted-0123456789"
QUESTION = "Did the agent say that all is done?"
TASKS = ("received-return", "late-espresso")
CONFIGURATION = """
models:
  all: &all
    base_url: ${MODEL_URL}
    key: ${MODEL_KEY}
    model: agent-1
    budgets: {rate_limited: 1, server: 1, unreachable: 1}
    backoff: {first_s: 0.001, longest_s: 0.002, longest_retry_after_s: 0.003}
  other: {<<: *all, model: user-1}
  third: {<<: *all, model: judge-1}
agent: {name: clerk, model: all}
user: {model: other}
judge: {model: third}
limits: {trial_s: 60}
prices:
  source: the list on the wall
  date: "2026-01-01"
  models:
    agent-1: {input: 1, cache_read: 0.1, cache_write: 2, output: 4}
    judge-1: {input: 1, cache_read: 0.1, cache_write: 2, output: 4}
"""
_GOALS = {item.task.goal: item.task.id for item in tasks_of(domain)}
_PLANS = plans_of(tasks_of(domain))


def home(folder: Path, configuration: str = CONFIGURATION, tasks: Sequence[str] = TASKS) -> Path:
    """A folder with a configuration and a pack."""
    (folder / "pack" / "tasks").mkdir(parents=True)
    (folder / "agent.yaml").write_text(configuration, encoding="utf-8")
    (folder / "pack" / "pack.yaml").write_text("{name: desk, format: 1, domain: retail}", encoding="utf-8")
    for name in tasks:
        add_task(folder, name)
    return folder


def add_task(folder: Path, name: str) -> None:
    """One more retail task, with a rubric."""
    content = read_yaml(files("domains.retail") / "tasks" / f"{name}.yaml")
    content["expect"]["rubrics"] = [QUESTION]
    (folder / "pack" / "tasks" / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")


def right(asked: Asked) -> Outcome:
    """What each of the three parties answers when all goes well."""
    return PARTIES[asked.body["model"]](asked)


def agent(asked: Asked) -> Outcome:
    """Asks, acts, and is done."""
    messages = asked.body["messages"]
    roles = [message["role"] for message in messages]
    if "tool" in roles:
        return Turn("All is done. <DONE>", model="agent-1")
    if "assistant" not in roles:
        return Turn("I can see to that. Shall I?", model="agent-1")
    plan = _PLANS[_GOALS[messages[1]["content"]]]
    calls = [call(planned.tool, planned.arguments, f"c{place}") for place, planned in enumerate(plan)]
    return Turn("", calls, model="agent-1")


def user(asked: Asked) -> Outcome:
    """Says yes."""
    return Turn("Yes, please.", model="user-1")


def judge(asked: Asked) -> Outcome:
    """Says yes."""
    return Turn('{"answer": "yes", "reason": "It does."}', model="judge-1")


PARTIES: Mapping[str, Script] = {"agent-1": agent, "user-1": user, "judge-1": judge}


def command(*arguments: str) -> list[str]:
    """A command line."""
    return [sys.executable, "-m", "trialbox", *arguments]


def run_arguments(folder: Path, *more: str) -> list[str]:
    """Of `trialbox run`, with three repetitions unless said otherwise."""
    usual = ["run", "--pack", str(folder / "pack"), "--agent", str(folder / "agent.yaml"), "-k", "3"]
    return [*usual, "-o", str(store_in(folder)), *more]


def store_in(folder: Path) -> Path:
    """Where the campaign is."""
    return folder / "out" / "c.db"


def variables(url: str) -> dict[str, str]:
    """The address and the key of the stub."""
    return {"MODEL_URL": url, "MODEL_KEY": KEY}


class Done(Struct, frozen=True):
    """A command that has ended."""

    code: int
    out: str
    err: str


async def done(url: str, *arguments: str) -> Done:
    """A command of the command line, in a thread of this process; its output never holds the key."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.MonkeyPatch.context() as patch, anyio.fail_after(90):
        for name, value in variables(url).items():
            patch.setenv(name, value)
        code = await to_thread.run_sync(main, arguments)
    made = Done(code, out.getvalue(), err.getvalue())
    assert KEY not in made.out + made.err
    return made


def holding(folder: Path, text: str) -> list[Any]:
    """The files anywhere in a folder that hold a text."""
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]
