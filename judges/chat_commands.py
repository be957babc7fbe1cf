"""The command `chat`: a person plays the user, a model is the agent."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from judges.campaigns import run_judged
from judges.configuration import PROTOCOLS, load_configuration
from judges.lines import lines
from judges.pack_commands import suites_of
from judges.record import Judgement
from judges.rubric import RubricJudge
from sandbox.campaign import Closed
from sandbox.gate import Gate
from sandbox.loop import ModelAgent
from sandbox.model_settings import ModelSettings, Secret
from sandbox.person import LEAVES, PersonAsApprover, PersonAsUser, Terminal
from sandbox.prices import NO_PRICES, PriceTable
from sandbox.protocols import Limits
from sandbox.records import Said, decoded
from sandbox.refusals import UserFault
from sandbox.values import canonical

_LONGEST_S = 24 * 3600.0
"""How long a talk may take: a person types when it suits them."""


def add_to(commands: Any) -> None:
    """`chat`."""
    chat = commands.add_parser("chat", help="play the user of a task yourself, with a model as the agent")
    chat.add_argument("domain", help="an installed domain")
    chat.add_argument("task", help="one of its tasks")
    chat.add_argument(
        "--agent", type=Path, help="a configuration file, for its agent, protocol, limits, gate and judge"
    )
    chat.add_argument("--base-url", help="instead: of an OpenAI-compatible endpoint, such as https://host/v1")
    chat.add_argument("--model", help="the endpoint's name of the model")
    chat.add_argument("--key-env", help="the environment variable that holds the key, if one is needed")
    chat.add_argument("--protocol", choices=sorted(PROTOCOLS), help="(default: thinkingbox)")
    chat.add_argument("-o", "--output", type=Path, help="a new store (default: runs/chat-TASK-NUMBER.db)")
    chat.set_defaults(run=_chat)


def _chat(options: argparse.Namespace) -> int:
    (suite,) = suites_of(options.domain, [], [options.task])
    (task,) = suite.tasks
    path = options.output or _free(Path("runs"), task.task.id)
    if path.exists():
        raise UserFault(f"{path} is there already; name a new store, since each talk is a trial of its own")
    terminal = Terminal()
    partner = _configured(options, terminal) if options.agent is not None else _asked(options, terminal)
    print(f"You are the user. {LEAVES} leaves.\n\nWhat only you know: {task.user.text or 'nothing more.'}\n")
    terminal.show(f"you: {task.task.goal}")

    def on_judged(closed: Closed, judgement: Judgement) -> None:
        said = [payload for record in closed.records if isinstance(payload := decoded(record), Said)]
        if said[-1].role == "assistant":
            terminal.show(f"agent: {said[-1].text}")
        why = f" ({closed.end.detail})" if closed.end.detail else ""
        terminal.show(f"\nend: {closed.end.end} {' '.join(closed.end.flags)}{why}")
        print("verdict: " + "\n".join(lines(judgement.verdict)))

    try:
        unresolved = run_judged(
            path,
            suite.domain,
            suite.tasks,
            partner.agent,
            1,
            name=path.stem,
            settings=partner.settings,
            on_judged=on_judged,
            rubric_judge=partner.judge,
            gate=partner.gate,
            most_faults=1,
            prices=partner.prices,
        )
    except KeyboardInterrupt:
        told = f"the talk is over and was not judged; {path} holds what was said and done, and another talk starts anew"
        print(f"\ntrialbox chat: stopped; {told}", file=sys.stderr)
        return 130
    print(f"\nEvery record of it:  trialbox explain {path} {task.task.id}/0 --all", file=sys.stderr)
    return 1 if unresolved else 0


class Partner(Struct, frozen=True):
    """Who talks to the person, and what goes with it."""

    agent: ModelAgent
    settings: str
    """For the seal."""
    gate: Gate | None = None
    judge: RubricJudge | None = None
    prices: PriceTable = NO_PRICES


def _asked(options: argparse.Namespace, terminal: Terminal) -> Partner:
    """A model by its endpoint."""
    if options.base_url is None or options.model is None:
        raise UserFault("say who the agent is: --agent with a configuration file, or --base-url and --model")
    if options.key_env and options.key_env not in os.environ:
        raise UserFault(f"the environment has no {options.key_env}; set it, or leave out --key-env")
    key = Secret(os.environ[options.key_env]) if options.key_env else Secret()
    settings = ModelSettings(options.base_url, options.model, key)
    protocol = PROTOCOLS[options.protocol or "thinkingbox"]()
    limits = Limits(max_user_turns=1_000, trial_s=_LONGEST_S)
    agent = ModelAgent(options.model, settings, protocol, limits, PersonAsUser(terminal))
    return Partner(agent, canonical(agent.told).decode())


def _configured(options: argparse.Namespace, terminal: Terminal) -> Partner:
    """The agent of a configuration, which asks the person also where its gate asks. Only the time is a person's."""
    beside = [name for name in ("base_url", "model", "key_env", "protocol") if getattr(options, name) is not None]
    if beside:
        raise UserFault(f"--{beside[0].replace('_', '-')} stands in the configuration already; give only --agent")
    given = load_configuration(options.agent)
    if given.written.agent.scripted:
        raise UserFault(
            f"the agent of {options.agent} is a script, which talks to nobody; name a model's configuration"
        )
    limits = replace(given.written.limits, trial_s=max(given.written.limits.trial_s, _LONGEST_S))
    configuration = replace(given, written=replace(given.written, limits=limits, user=None))
    person = PersonAsUser(terminal)
    agent = ModelAgent(given.agent_name, given.endpoints["agent"].settings, configuration.protocol, limits, person)
    settings = msgspec.json.decode(configuration.settings) | {"user": person.told}
    gate, judge = configuration.gate(PersonAsApprover(terminal)), configuration.judge()
    return Partner(agent, canonical(settings).decode(), gate, judge, configuration.prices)


def _free(folder: Path, task: str) -> Path:
    """A store that is not there yet."""
    paths = (folder / f"chat-{task}-{number}.db" for number in range(1, 1_000_000))
    return next(path for path in paths if not path.exists())
