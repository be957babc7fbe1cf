"""Campaigns with a court: run and judged, opened again, counted."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from itertools import count
from pathlib import Path

import anyio
from anyio import to_thread
from msgspec import Struct

from judges.court import Court, newest_judgement, rebuild, verdict_row, views_path
from judges.explain import Told
from judges.naming import key_named
from judges.pack import PackTask
from judges.record import KIND, Judgement
from judges.rubric import RubricJudge
from judges.verdict import RubricAnswer
from sandbox.agents import Agent
from sandbox.archive import Archive, domain_of
from sandbox.campaign import Campaign, Closed
from sandbox.domain import Domain
from sandbox.lineage import spliced
from sandbox.projection import trial_rows
from sandbox.records import TrialKey
from sandbox.refusals import UserFault
from sandbox.stream import Durability, Store
from sandbox.values import digest
from sandbox.views import Score, Views

OnJudged = Callable[[Closed, Judgement], None]


class MixedBundles(UserFault):
    """Verdicts of several judge bundles on trials of one task are not summed up unless it is asked for."""


class Reliability(Struct, frozen=True):
    """One agent's verdicts over all its tasks."""

    agent: str
    tasks: int
    trials: int
    passed: int
    ungradeable: int
    every_time: int
    """Tasks that were passed in each of their trials: a literal count, no estimate."""

    @property
    def pass_at_1(self) -> float:
        """Share of trials that passed; an ungradeable one counts as not passed."""
        return self.passed / self.trials if self.trials else 0.0


def run_judged(
    path: Path,
    domain: Domain,
    tasks: Sequence[PackTask],
    agent: Agent,
    repetitions: int,
    *,
    name: str,
    settings: str = "",
    concurrency: int = 8,
    durability: Durability = "process",
    on_judged: OnJudged = lambda closed, judgement: None,
    origin: bytes = b"",
    rubric_judge: RubricJudge | None = None,
) -> list[TrialKey]:
    """
    Run a campaign into a store, or go on with the one that is in it, and judge every closed trial.

    Args:
        settings: what tells the agent from others of its name.
        origin: what the tasks' pack says of itself, which stays with the campaign.
        rubric_judge: answers rubrics before the verdict is given. What it is told by belongs into `settings`.

    Returns:
        The repetitions without a counted trial.

    Raises:
        CampaignDiffers: the store holds a campaign of other inputs.
        TaskInvalid: no trial of a task could be judged rightly.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with Store.open(path, create=True, durability=durability) as store:
        court = Court(store, domain, tasks)
        campaign = Campaign(store, name, domain, [item.task for item in tasks], repetitions, agent.name, settings)
        if origin:
            store.keep("pack", digest(origin).hex(), origin)
        views = Views(views_path(path))
        if views.is_new:
            rebuild(views, Archive(store, domain))
        given = set(store.names(KIND))
        places = count(views.last_place() + 1)

        def judge(closed: Closed, answers: Mapping[str, RubricAnswer]) -> None:
            judgement = court.judge(closed, campaign.snapshots[closed.key.task], answers)
            views.add(trial_rows(closed.key, closed.records, closed.effects, domain.digest))
            if judgement.name not in given:
                views.add([verdict_row(judgement, next(places))])
            on_judged(closed, judgement)

        async def on_closed(closed: Closed) -> None:
            answers = await rubric_judge.answers(court, closed) if rubric_judge else {}
            await to_thread.run_sync(judge, closed, answers, limiter=one)

        async def run() -> list[TrialKey]:
            async with rubric_judge or nullcontext():
                return await campaign.run(agent, concurrency=concurrency, on_closed=on_closed)

        one = anyio.CapacityLimiter(1)
        try:
            return anyio.run(run)
        finally:
            views.close()


def rebuilt_views(path: Path) -> int:
    """Make the read models of a store again; how many trials they hold."""
    with Store.open(path, read_only=True) as store, closing(Views(views_path(path))) as views:
        rebuild(views, Archive(store, domain_of(store)))
        return len(views.trials())


def scores_of(path: Path) -> list[Score]:
    """Verdict counts by task from the read models, which are made again if they are gone or of another format."""
    with Store.open(path, read_only=True) as store, closing(Views(views_path(path))) as views:
        if views.is_new:
            rebuild(views, Archive(store, domain_of(store)))
        return views.scores()


def mixed_tasks(scores: Iterable[Score]) -> list[str]:
    """The tasks whose verdicts that count come from several judge bundles."""
    bundles: dict[str, set[str]] = {}
    for score in scores:
        bundles.setdefault(score.task, set()).update(score.bundles)
    return sorted(task for task, found in bundles.items() if len(found) > 1)


def ensure_one_bundle(scores: Iterable[Score]) -> None:
    """Return if each task's verdicts come from one judge bundle; MixedBundles names the tasks where they do not."""
    tasks = mixed_tasks(scores)
    if tasks:
        raise MixedBundles(
            f"mixed bundles: verdicts of different judges on {', '.join(tasks)}; "
            f"judge all of them again with `trialbox rejudge`, or say --mixed"
        )


def reliability(scores: Iterable[Score]) -> list[Reliability]:
    """One line for each agent, in the order of their names."""
    by_agent: dict[str, list[Score]] = {}
    for score in scores:
        by_agent.setdefault(score.agent, []).append(score)
    return [
        Reliability(
            agent,
            len(found),
            sum(score.trials for score in found),
            sum(score.passed for score in found),
            sum(score.ungradeable for score in found),
            sum(score.passed == score.trials for score in found),
        )
        for agent, found in sorted(by_agent.items())
    ]


def told_trial(store: Store, domain: Domain, name: str) -> Told:
    """
    A trial with its newest judgement.

    Args:
        name: as `naming.key_named` takes it.

    Raises:
        UserFault: no trial, or several, go by that name; or it has no judgement.
    """
    key = key_named(Archive(store, domain), name, closed=True)
    judgement = newest_judgement(store, key)
    if judgement is None:
        raise UserFault(f"trial {key.id} has not been judged")
    return Told(key, spliced(store.read, key.id), judgement)
