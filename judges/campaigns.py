"""Campaigns with a court: run and judged, opened again, counted."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from itertools import count
from pathlib import Path

import anyio
from anyio import to_thread
from msgspec.structs import replace

from judges.court import Court, ensure_rules_kept, newest_judgement
from judges.explain import Told
from judges.naming import key_named
from judges.pack import PackTask
from judges.read_models import Projector, ensure_whole, is_refusal, opened_views, remake, views_path
from judges.record import KIND, Judgement
from judges.rubric import NOTHING_ASKED, Answered, RubricJudge
from judges.spending import keep_prices
from sandbox.agents import Agent
from sandbox.archive import Archive, sealed_in
from sandbox.campaign import MOST_FAULTS, Campaign, Closed
from sandbox.domain import Domain
from sandbox.gate import Gate
from sandbox.lineage import spliced
from sandbox.prices import NO_PRICES, PriceTable
from sandbox.records import TrialKey
from sandbox.refusals import UserFault
from sandbox.stream import Durability, Store
from sandbox.values import digest
from sandbox.view_rows import Score
from sandbox.views import Views

OnJudged = Callable[[Closed, Judgement], None]


class MixedBundles(UserFault):
    """Verdicts of several judge bundles on trials of one task are not summed up unless it is asked for."""


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
    gate: Gate | None = None,
    retries_user_faults: bool = False,
    most_faults: int = MOST_FAULTS,
    prices: PriceTable = NO_PRICES,
    users: Mapping[str, str] = {},
) -> list[TrialKey]:
    """
    Run a campaign into a store, or go on with the one that is in it, and judge every closed trial.

    Args:
        settings: what tells the agent from others of its name.
        origin: what the tasks' pack says of itself, which stays with the campaign.
        rubric_judge: answers rubrics before the verdict is given. What it is told by belongs into `settings`.
        gate, retries_user_faults, most_faults: as `Campaign.run` takes them; the first two belong into `settings` too.
        prices: kept with the campaign, for what it cost.
        users: as `Campaign` takes them.

    Returns:
        The repetitions without a counted trial.

    Raises:
        CampaignDiffers: the store holds a campaign of other inputs.
        TaskInvalid: no trial of a task could be judged rightly.
    """
    for item in tasks:
        ensure_rules_kept(domain, item)
    path.parent.mkdir(parents=True, exist_ok=True)
    with Store.open(path, create=True, durability=durability) as store:
        court = Court(store, domain, tasks)
        public = [item.task for item in tasks]
        campaign = Campaign(store, name, domain, public, repetitions, agent.name, settings, users)
        if origin:
            store.keep("pack", digest(origin).hex(), origin)
        keep_prices(store, prices)
        with closing(opened_views(store, views_path(path), domain)) as views:
            ensure_whole(store, views)
            clerk = _Clerk(court, campaign, views, rubric_judge, on_judged)

            async def run() -> list[TrialKey]:
                async with rubric_judge or nullcontext():
                    return await campaign.run(
                        agent,
                        concurrency=concurrency,
                        on_closed=clerk.take,
                        gate=gate,
                        retries_user_faults=retries_user_faults,
                        most_faults=most_faults,
                    )

            return anyio.run(run)


class _Clerk:
    """Takes each closed trial of a running campaign to its judges, and the verdict into the read models."""

    def __init__(
        self, court: Court, campaign: Campaign, views: Views, rubric_judge: RubricJudge | None, on_judged: OnJudged
    ) -> None:
        self._court = court
        self._snapshots = campaign.snapshots
        self._projector = Projector(court.domain, campaign.tasks, campaign.snapshots)
        self._views = views
        self._rubric_judge = rubric_judge
        self._on_judged = on_judged
        self._given = set(court.store.names(KIND))
        self._places = count(views.last_place() + 1)
        self._one = anyio.CapacityLimiter(1)

    async def take(self, closed: Closed) -> None:
        """Ask the rubric judge, if there is one, then judge and write down, one trial at a time, beside the loop."""
        asked = await self._rubric_judge.answered(self._court, closed) if self._rubric_judge else NOTHING_ASKED
        await to_thread.run_sync(self._judge, closed, asked, limiter=self._one)

    def _judge(self, closed: Closed, asked: Answered) -> None:
        key, records = closed.key, closed.records
        judgement = self._court.judge(closed, self._snapshots[key.task], asked.answers)
        rows = list(self._projector.trial(key, records, closed.effects, asked.calls))
        if judgement.name not in self._given:
            refusal = is_refusal(self._court.bundles[key.task].expectation)
            rows.append(self._projector.verdict(judgement, next(self._places), key.task, records, refusal=refusal))
        self._views.add(rows)
        self._on_judged(closed, judgement)


def rebuilt_views(path: Path) -> int:
    """Make the read models of a store again; how many trials they hold."""
    with Store.open(path, read_only=True) as store, closing(Views(views_path(path))) as views:
        remake(views, store)
        ensure_whole(store, views)
        if views.path is None:
            raise UserFault(f"{views_path(path)} cannot be written; make its folder writable, or copy the store")
        return len(views.trials())


def scores_of(path: Path) -> list[Score]:
    """
    Verdict counts by task, also of tasks without a counted trial, each beside the repetitions that were planned.

    Raises:
        StreamFault: a trial that was judged has lost its end.
    """
    with Store.open(path, read_only=True) as store:
        with closing(opened_views(store, views_path(path))) as views:
            ensure_whole(store, views)
            found = {score.task: score for score in views.scores()}
        seal = sealed_in(store)
    empty = Score(seal.agent, "", 0, 0, 0, 0)
    tasks = sorted(task.id for task in seal.tasks)
    return [replace(found.get(task, empty), task=task, planned=seal.repetitions) for task in tasks]


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
