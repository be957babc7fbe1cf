"""The demo with a real model: a small one on this machine is the agent and the user of a few retail tasks."""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from typing import Any

from rich.console import Console

from judges.court import dialogue_of
from judges.demo import cleared, show_failure
from judges.record import Judgement
from judges.run_commands import add_to as add_runs_to
from sandbox.archive import Archive
from sandbox.local_model import packaged_weights
from sandbox.records import Record
from sandbox.refusals import UserFault
from sandbox.registry import domain_named

TASKS = ("late-espresso", "stuck-warranty", "wrong-house-number")
REPETITIONS = 2
CONTEXT = 4096
"""Tokens: a model that asks for all of a table shall not keep the reader waiting."""
NAME = "smollm2"
_STARTING_S = 120
_STOPPING_S = 30


def add_to(commands: Any) -> None:
    """`demo-model`."""
    shown = commands.add_parser("demo-model", help="run a small real model as agent and user of a few retail tasks")
    shown.add_argument("--into", type=Path, default=Path("runs/demo-model"), help="folder of the store, made anew")
    shown.set_defaults(run=lambda options: demo_model(options.into))


def demo_model(into: Path) -> int:
    """Serve the model, run a campaign with it over HTTP, and tell one failure; the configuration stays in `into`."""
    packaged_weights()
    domain, console = domain_named("retail"), Console(soft_wrap=True)
    into.mkdir(parents=True, exist_ok=True)
    path, configuration = cleared(into, NAME), into / f"{NAME}.yaml"
    configuration.write_text(files("judges").joinpath("demo_model.yaml").read_text("utf-8"), encoding="utf-8")
    tasks = [argument for task in TASKS for argument in ("--task", task)]
    command = ["run", "retail", "--agent", str(configuration), *tasks, "-k", str(REPETITIONS), "--concurrency", "1"]
    with served("--context", str(CONTEXT)) as url:
        console.print(f"$ MODEL_URL={url} trialbox {' '.join(command)} -o {path}\n", markup=False, highlight=False)
        os.environ["MODEL_URL"] = url
        code = _run([*command, "-o", str(path)])
    show_failure("What it said in one trial, and what the records say", path, domain, console, talkative_failure)
    return code


def talkative_failure(found: Iterable[Judgement], archive: Archive) -> str:
    """Id of the failed trial in which the agent said and did most; empty for none."""
    shown = {key.id.hex: (_answers(records), len(records)) for key, records in archive.closed()}
    failed = [one for one in found if one.verdict.result == "fail" and one.trial in shown]
    return max(failed, key=lambda one: (*shown[one.trial], one.trial)).trial if failed else ""


def _answers(records: Sequence[Record]) -> int:
    return sum(line.role == "assistant" for line in dialogue_of(records))


@contextmanager
def served(*options: str) -> Iterator[str]:
    """
    The address of `trialbox serve-model` in a process of its own, while the block runs.

    Raises:
        UserFault: it does not start; the text is what it says.
    """
    command = [sys.executable, "-P", "-m", "trialbox", "serve-model", "--port", "0", *options]
    with (
        TemporaryFile("w+") as complaints,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True) as process,
    ):
        try:
            url = _first_line(process)
            if not url:
                complaints.seek(0)
                told = complaints.read().strip().removeprefix("trialbox serve-model: ")
                raise UserFault(told or f"the model was not ready within {_STARTING_S} s; try again on an idle machine")
            yield url
        finally:
            process.terminate()
            with _killed_after(process, _STOPPING_S):
                process.wait()


def _first_line(process: subprocess.Popen[str]) -> str:
    """Of its output; empty if it ended, or took too long, without one."""
    assert process.stdout is not None
    with _killed_after(process, _STARTING_S):
        return process.stdout.readline().strip()


@contextmanager
def _killed_after(process: subprocess.Popen[str], limit_s: float) -> Iterator[None]:
    timer = Timer(limit_s, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _run(arguments: Sequence[str]) -> int:
    """What `trialbox run` does with these arguments."""
    parser = argparse.ArgumentParser(prog="trialbox")
    add_runs_to(parser.add_subparsers())
    options = parser.parse_args(arguments)
    return int(options.run(options))
