"""Stored campaigns with all that an export may meet: odd texts, broken attempts, forks, models, nobody's verdict."""

from pathlib import Path

import anyio
import yaml

from judges.campaigns import run_judged
from replay.exports.source import ExportedTrial, opened_sources
from replay.fork import fork_judged
from sandbox.campaign import Campaign
from sandbox.mcp_session import Session
from sandbox.package_data import yaml_in
from sandbox.records import End
from sandbox.stream import Store
from tests.judges.modelled import CONFIGURATION, done, home, right, run_arguments, store_in
from tests.replay.runs import GOLDEN, RETAIL, SOLVE, TASK, TASKS
from tests.stub import Asked, Outcome, Turn, failing, serving

SOUP = "a\x00b\x07\x1b[31m \u202eright to left\u2028 \ufffe \U0001f600 \\u0041 </script> | `code`"
"""Control characters, directions, a noncharacter, and what other languages would read into it."""
HUGE = "long " * 60_000
DEEP = '{"table": ' + "[" * 400 + "]" * 400 + "}"
NO_JSON = '{"table": NaN, '
PRIVATE = "Only the user knows the word periwinkle."


class Odd:
    """A repetition each: passes; breaks and then does wrong; says and asks odd things; says nothing; passes."""

    name = "odd | `one`"

    def __init__(self) -> None:
        self._has_broken = False

    async def attempt(self, session: Session, repetition: int) -> End:
        if repetition == 1 and not self._has_broken:
            self._has_broken = True
            raise ConnectionError("the agent's own network is down")
        if repetition == 2:
            return await self._oddly(session)
        if repetition == 3:
            return "agent_limit"
        for call in GOLDEN if repetition != 1 else [*GOLDEN[:9], SOLVE]:
            await session.call(call.tool, call.arguments)
        await session.say("All done.")
        return "done"

    async def _oddly(self, session: Session) -> End:
        await session.say(SOUP)
        for arguments in (NO_JSON, DEEP, "", '["table"]', '{"query": "' + "x" * 100 + '"}'):
            await session.call("search_policy", arguments, call_id="same")
        await session.call("no such tool", {"a": 1})
        await session.say(HUGE)
        return "done"


class Broken:
    """Has no network."""

    name = Odd.name

    async def attempt(self, session: Session, repetition: int) -> End:
        raise ConnectionError("the agent's own network is down")


def odd(path: Path) -> Path:
    """Five repetitions that count, one broken attempt, one fork."""
    assert run_judged(path, RETAIL, [TASKS[TASK]], Odd(), 5, name="odd") == []
    fork_judged(path, f"{TASK}/1", 21, "oracle")
    return path


def only_broken(path: Path) -> Path:
    """A campaign in which nothing ever counted."""
    assert run_judged(path, RETAIL, [TASKS[TASK]], Broken(), 1, name="odd", most_faults=2)
    return path


def unjudged(path: Path) -> Path:
    """Two repetitions that nobody has judged, and one that there was no time for."""

    async def run() -> None:
        with Store.open(path, create=True) as store:
            campaign = Campaign(store, "unjudged", RETAIL, [TASKS[TASK].task], 2, Odd.name)
            await campaign.run(Odd())
            Campaign(store, "unjudged", RETAIL, [TASKS[TASK].task], 3, Odd.name)

    anyio.run(run)
    return path


def _answer(asked: Asked) -> Outcome:
    """All goes well, but one call fails first, and one party does not tell its usage."""
    if asked.number == 2:
        return failing(500, "out of order")
    told = right(asked)
    if isinstance(told, Turn) and asked.body["model"] == "user-1":
        return Turn(told.text, model=told.model, usage=None)
    return told


def modelled(folder: Path) -> Path:
    """Three repetitions of two tasks, with models as agent, user and judge."""
    home(folder, CONFIGURATION)
    for task in (folder / "pack" / "tasks").iterdir():
        content = yaml_in(task.read_text(encoding="utf-8"), task.name)
        task.write_text(yaml.safe_dump({**content, "user": PRIVATE}), encoding="utf-8")

    async def run() -> None:
        async with serving(_answer) as stub:
            made = await done(stub.url, *run_arguments(folder))
        assert made.code == 0, made.err

    anyio.run(run)
    return store_in(folder)


def exported(path: Path) -> list[ExportedTrial]:
    """The trials of a store that count."""
    with opened_sources([path]) as [source]:
        return list(source.trials())
