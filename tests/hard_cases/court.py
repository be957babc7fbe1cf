"""Trials of the probe domain, played and judged, and packs of its tasks."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from domains.probe import domain as probe
from judges.campaigns import run_judged
from judges.pack import PackTask, task_from
from judges.record import Judgement
from judges.verdict import Check, Verdict
from sandbox import Domain
from sandbox.agents import GOODBYE
from sandbox.campaign import Closed
from sandbox.mcp_session import Session
from sandbox.records import End
from tests.hard_cases.stage import NOW, Asked, follow
from trialbox import main

Script = Sequence[Asked]


class Tried(Struct, frozen=True):
    """A trial that was judged."""

    closed: Closed
    judgement: Judgement

    @property
    def verdict(self) -> Verdict:
        return self.judgement.verdict

    @property
    def result(self) -> str:
        return self.verdict.result

    @property
    def findings(self) -> list[tuple[Any, ...]]:
        """Kind, table without its mount, field, required, found; whole rows without their values."""
        return [
            (f.kind, f.table.partition("_")[2], f.field, *((f.required, f.found) if f.field else ()))
            for f in self.verdict.findings
        ]

    def check(self, kind: str) -> Check:
        """The only check of a kind."""
        [found] = [check for check in self.verdict.checks if check.kind == kind]
        return found


class Follower:
    """Follows a script of its own in each repetition of each task, talks, and says how it ended."""

    name = "follower"

    def __init__(self, scripts: Mapping[str, Sequence[Script]], end: End, goodbye: str) -> None:
        self._scripts = scripts
        self._end = end
        self._goodbye = goodbye

    async def attempt(self, session: Session, repetition: int) -> End:
        await follow(session, self._scripts[session.task.id][repetition])
        await session.say(self._goodbye)
        return self._end


def content(*ways: Script, id: str = "probing", **more: Any) -> dict[str, Any]:
    """A task file: each way to solve it is an outcome; what belongs under `expect` may be given beside the rest."""
    names = ("outcomes", "rules", "rubrics", "compare", "refusal", "profile", "no_change")
    expect = {name: more.pop(name) for name in names if name in more}
    if ways:
        expect["outcomes"] = [
            {"name": f"way {place}", "calls": [{call.tool: call.arguments} for call in way]}
            for place, way in enumerate(ways, 1)
        ]
    return {"id": id, "instant": NOW, "goal": "Please see to my order.", "expect": expect, **more}


def task(*ways: Script, domain: Domain = probe, **more: Any) -> PackTask:
    """A task as its file is read."""
    return task_from(domain, content(*ways, **more), "task.yaml")


def tried(
    path: Path,
    item: PackTask,
    *scripts: Script,
    domain: Domain = probe,
    end: End = "done",
    goodbye: str = GOODBYE,
) -> list[Tried]:
    """A campaign in a new store, each repetition with a script of its own; what was made of each, in their order."""
    return tried_all(path, {item.task.id: scripts}, [item], domain=domain, end=end, goodbye=goodbye)[item.task.id]


def tried_all(
    path: Path,
    scripts: Mapping[str, Sequence[Script]],
    items: Sequence[PackTask],
    *,
    domain: Domain = probe,
    end: End = "done",
    goodbye: str = GOODBYE,
) -> dict[str, list[Tried]]:
    """A campaign of several tasks, with as many scripts for each; by task id."""
    found: list[Tried] = []
    [repetitions] = {len(given) for given in scripts.values()}
    agent = Follower(scripts, end, goodbye)
    run_judged(path, domain, items, agent, repetitions, name="c", on_judged=lambda *given: found.append(Tried(*given)))
    found.sort(key=lambda one: one.closed.key)
    return {item.task.id: [one for one in found if one.closed.key.task == item.task.id] for item in items}


def results(trials: Sequence[Tried]) -> list[str]:
    """The verdicts in a word each."""
    return [trial.result for trial in trials]


def pack_folder(home: Path, *contents: Mapping[str, Any]) -> str:
    """A pack of the probe domain with these task files, `tasks/0.yaml` and so on; its path."""
    (home / "tasks").mkdir(parents=True)
    (home / "pack.yaml").write_text("{name: hard-cases, format: 1, domain: probe}", encoding="utf-8")
    for place, given in enumerate(contents):
        (home / "tasks" / f"{place}.yaml").write_text(json.dumps(given), encoding="utf-8")
    return str(home)


def explained(path: Path, capsys: pytest.CaptureFixture[str], trial: str = "probing/0", *options: str) -> str:
    """What `explain` prints of a trial in a store."""
    assert main(["explain", str(path), trial, *options]) == 0
    return capsys.readouterr().out
