"""Little campaigns in which things went wrong: repetitions that broke, a faulty user, others that were never run."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from judges.campaigns import run_judged
from judges.court import keep_judgements, newest_judgement, plans_of
from judges.pack import PackTask, tasks_of
from sandbox.agents import USER_FAULT, Finished, Scripted
from sandbox.archive import Archive, domain_of
from sandbox.campaign import Campaign
from sandbox.mcp_session import Session
from sandbox.records import End, TrialKey
from sandbox.registry import domain_named
from sandbox.stream import Store

Result = Literal["pass", "fail", "ungradeable"]

RETAIL = domain_named("retail")
TASKS = [item for item in tasks_of(RETAIL) if item.task.id in ("promised-by-a-colleague", "stuck-warranty")]


class Moody(Scripted):
    """Does what is planned, breaks in the repetitions that `breaks` names, and meets a faulty user in repetition 0."""

    def __init__(self, name: str, plan: bool, breaks: tuple[int, ...] = ()) -> None:
        super().__init__(name, plans_of(TASKS) if plan else {})
        self.breaks = breaks

    async def attempt(self, session: Session, repetition: int) -> End | Finished:  # type: ignore[override]
        if repetition in self.breaks:
            raise ConnectionError("no model")
        end = await super().attempt(session, repetition)
        return Finished(end, (USER_FAULT,)) if repetition == 0 else end


def ran(
    path: Path,
    plan: bool = True,
    breaks: tuple[int, ...] = (),
    name: str = "c",
    settings: str = "",
    tasks: Sequence[PackTask] = TASKS,
) -> Path:
    """A campaign of three repetitions of each task; its store."""
    run_judged(path, RETAIL, tasks, Moody("moody", plan, breaks), 3, name=name, settings=settings)
    return path


def extended(path: Path, repetitions: int) -> None:
    """Seal more repetitions, and run none of them."""
    with Store.open(path) as store:
        Campaign(store, "c", RETAIL, [item.task for item in TASKS], repetitions, "moody")


def judged_again(path: Path, result: Result, repetition: int = 2) -> None:
    """Give one trial of stuck-warranty a newer verdict of another bundle."""
    given_again(path, result, lambda key: key.task == "stuck-warranty" and key.repetition == repetition)


def given_again(path: Path, result: Result, chosen: Callable[[TrialKey], bool]) -> None:
    """Give some trials newer judgements of another bundle."""
    with Store.open(path) as store:
        given = []
        for key, _ in Archive(store, domain_of(store)).closed():
            judgement = newest_judgement(store, key)
            if judgement is not None and chosen(key):
                verdict = replace(judgement.verdict, result=result, bundle="f" * 64)
                given.append(replace(judgement, verdict=verdict))
        keep_judgements(store, given, ())
