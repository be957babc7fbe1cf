"""The command `chat`: a person plays the user, a model is the agent."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from judges.campaigns import run_judged
from judges.configuration import PROTOCOLS
from judges.lines import lines
from judges.pack_commands import suites_of
from judges.record import Judgement
from sandbox.campaign import Closed
from sandbox.loop import ModelAgent
from sandbox.model_settings import ModelSettings, Secret
from sandbox.person import LEAVES, PersonAsUser, Terminal
from sandbox.protocols import Limits
from sandbox.records import Said, decoded
from sandbox.refusals import UserFault
from sandbox.values import canonical


def add_to(commands: Any) -> None:
    """`chat`."""
    chat = commands.add_parser("chat", help="play the user of a task yourself, with a model as the agent")
    chat.add_argument("domain", help="an installed domain")
    chat.add_argument("task", help="one of its tasks")
    chat.add_argument("--base-url", required=True, help="of an OpenAI-compatible endpoint, such as https://host/v1")
    chat.add_argument("--model", required=True, help="the endpoint's name of the model")
    chat.add_argument("--key-env", default="", help="the environment variable that holds the key, if one is needed")
    chat.add_argument("--protocol", choices=sorted(PROTOCOLS), default="thinkingbox", help="(default: thinkingbox)")
    chat.add_argument("-o", "--output", type=Path, help="a new store (default: runs/chat-TASK-NUMBER.db)")
    chat.set_defaults(run=_chat)


def _chat(options: argparse.Namespace) -> int:
    (suite,) = suites_of(options.domain, [], [options.task])
    (task,) = suite.tasks
    path = options.output or _free(Path("runs"), task.task.id)
    if path.exists():
        raise UserFault(f"{path} is there already; name a new store, since each talk is a trial of its own")
    terminal = Terminal()
    agent = _agent(options, terminal)
    print(f"You are the user. {LEAVES} leaves.\n\nWhat only you know: {task.user.text or 'nothing more.'}\n")
    terminal.show(f"you: {task.task.goal}")

    def on_judged(closed: Closed, judgement: Judgement) -> None:
        said = [payload for record in closed.records if isinstance(payload := decoded(record), Said)]
        if said[-1].role == "assistant":
            terminal.show(f"agent: {said[-1].text}")
        print(f"\nend: {closed.end.end} {' '.join(closed.end.flags)}\nverdict: " + "\n".join(lines(judgement.verdict)))

    told = canonical(agent.told)
    unresolved = run_judged(
        path, suite.domain, suite.tasks, agent, 1, name=path.stem, settings=told.decode(), on_judged=on_judged
    )
    print(f"\nEvery record of it:  trialbox explain {path} {task.task.id}/0 --all", file=sys.stderr)
    return 1 if unresolved else 0


def _agent(options: argparse.Namespace, terminal: Terminal) -> ModelAgent:
    if options.key_env and options.key_env not in os.environ:
        raise UserFault(f"the environment has no {options.key_env}; set it, or leave out --key-env")
    key = Secret(os.environ[options.key_env]) if options.key_env else Secret()
    settings = ModelSettings(options.base_url, options.model, key)
    limits = Limits(max_user_turns=1_000, trial_s=24 * 3600.0)
    return ModelAgent(options.model, settings, PROTOCOLS[options.protocol](), limits, PersonAsUser(terminal))


def _free(folder: Path, task: str) -> Path:
    """A store that is not there yet."""
    paths = (folder / f"chat-{task}-{number}.db" for number in range(1, 1_000_000))
    return next(path for path in paths if not path.exists())
