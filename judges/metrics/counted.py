"""The counts of stored campaigns: how each planned repetition ended."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from judges.campaigns import MixedBundles, ensure_one_bundle, mixed_tasks
from judges.court import kept_bundle
from judges.metrics.cost import Bill, bill_of
from judges.metrics.counts import Counts
from judges.metrics.failures import Note
from judges.metrics.signatures import NORMAL_ENDS
from judges.read_models import declined_in, ensure_whole, is_refusal, opened_views, views_path
from judges.spending import costs_in
from sandbox.agents import USER_FAULT
from sandbox.archive import Seal, SealedTask, sealed_in
from sandbox.prices import PriceTable
from sandbox.refusals import UserFault
from sandbox.stream import Store
from sandbox.view_rows import Lot, Score
from sandbox.views import scores_of_lots


class CountedTwice(UserFault):
    """Stores whose trials cannot be added up; the text names them and says why."""


class Counted(Struct, frozen=True):
    """A store's campaign, counted."""

    path: Path
    seal: Seal
    counts: tuple[Counts, ...]
    """Of each task of the seal, in its order."""
    scores: tuple[Score, ...]
    """Which judge bundles gave the verdicts that count."""
    notes: tuple[Note, ...]
    """Trials that count, grouped by all that is counted of failures."""
    attempts: int
    """Closed trials, those that broke and were made again included."""
    bill: Bill | None
    """None if no model was asked."""


def counts_of(path: Path, *, mixed: bool = False) -> list[Counts]:
    """
    How the repetitions of each task of a store ended. The newest verdict on a trial counts.

    Args:
        mixed: whether verdicts of different judge bundles on one task may be summed up.

    Raises:
        MixedBundles: they may not, and there are some.
        StreamFault: a trial that was judged has lost its end.
    """
    return list(counted(path, mixed=mixed).counts)


def counted(path: Path, *, mixed: bool = False, prices: PriceTable | None = None) -> Counted:
    """
    As `counts_of`, with what was sealed, what failed, and what it cost.

    Args:
        prices: other prices than those that the campaign was run with.
    """
    with Store.open(path, read_only=True) as store:
        seal = sealed_in(store)
        with closing(opened_views(store, views_path(path))) as views:
            ensure_whole(store, views)
            lots, attempts = views.lots(), views.size()
            costs = costs_in(store, views, prices)
        scores = tuple(scores_of_lots(lots))
        if not mixed:
            ensure_one_bundle(scores)
        counts = _counts(store, seal, lots)
    notes = tuple(_note(seal.agent, lot) for lot in lots if lot.end != "infrastructure")
    return Counted(path, seal, counts, scores, notes, attempts, bill_of(costs) if costs else None)


def _counts(store: Store, seal: Seal, lots: Sequence[Lot]) -> tuple[Counts, ...]:
    by_task: dict[str, list[Lot]] = {}
    for lot in lots:
        by_task.setdefault(lot.task, []).append(lot)
    unjudged = [task for task in seal.tasks if not any(lot.bundle for lot in by_task.get(task.id, ()))]
    refusals = _refusals(store, unjudged) | {lot.task: bool(lot.refusal) for lot in lots if lot.bundle}
    return tuple(_task_counts(seal, task.id, by_task.get(task.id, ()), refusals[task.id]) for task in seal.tasks)


def _task_counts(seal: Seal, task: str, lots: Sequence[Lot], refusal: bool) -> Counts:
    ended = [lot for lot in lots if lot.end != "infrastructure"]
    faulted = [lot for lot in ended if USER_FAULT in lot.flags.split() and lot.result != "ungradeable"]
    return Counts(
        agent=seal.agent,
        domain=seal.domain,
        task=task,
        trials=_number(ended),
        passed=_number(lot for lot in ended if lot.result == "pass"),
        ungradeable=_number(lot for lot in ended if lot.result == "ungradeable"),
        infrastructure=_number(lots) - _number(ended),
        missing=seal.repetitions - _number(lots),
        user_faults=_number(faulted),
        user_faults_passed=_number(lot for lot in faulted if lot.result == "pass"),
        refusal=refusal,
    )


def _number(lots: Iterable[Lot]) -> int:
    return sum(lot.trials for lot in lots)


def _refusals(store: Store, tasks: Sequence[SealedTask]) -> dict[str, bool]:
    """Whether tasks that nobody has judged are refusal tasks, by the expectation kept last; False where none is."""
    if not tasks:
        return {}
    kept = (kept_bundle(store, name) for name in store.names("expectation"))
    last = {bundle.task: bundle.expectation for bundle in kept if bundle is not None}
    return {task.id: is_refusal(last.get(task.digest)) for task in tasks}


def _note(agent: str, lot: Lot) -> Note:
    return Note(
        agent=agent,
        result=lot.result,
        signature=lot.signature,
        group=lot.grouping,
        ended_normally=lot.end in NORMAL_ENDS,
        wrote=bool(lot.wrote),
        last_is_good=bool(lot.last_is_good),
        findings=frozenset(lot.kinds.split()),
        declined=declined_in(lot.declined),
        trials=lot.trials,
    )


def added_up(campaigns: Sequence[Counted], *, mixed: bool = False) -> list[Counts]:
    """
    The counts of several campaigns; what one agent did at one task in several of them is one Counts.

    Raises:
        CountedTwice: two of them hold the same trials, or an agent's settings or a task differ between them.
        MixedBundles: as `counts_of`.
    """
    if not mixed:
        ensure_one_judge(campaigns)
    seen: dict[tuple[str, str, str], Counted] = {}
    found: dict[tuple[str, str, str], Counts] = {}
    for one in campaigns:
        for sealed, item in zip(one.seal.tasks, one.counts, strict=True):
            key = (item.agent, item.domain, item.task)
            if key in found:
                _ensure_addable(seen[key], one, sealed)
                item = _sum(found[key], item)
            found[key], seen[key] = item, one
    return list(found.values())


def ensure_one_judge(campaigns: Sequence[Counted]) -> None:
    """Return if no task of these campaigns was judged by several bundles; MixedBundles names those that were."""
    for domain in sorted({one.seal.domain for one in campaigns}):
        own = [one for one in campaigns if one.seal.domain == domain]
        scores = [score for one in own for score in one.scores]
        imported = [str(one.path) for one in own if one.seal.mounting == "imported"]
        if imported and (tasks := mixed_tasks(scores)):
            raise MixedBundles(
                f"mixed bundles: {', '.join(imported)} holds verdicts of another tool's judge, on {', '.join(tasks)}; "
                f"say --mixed to set them beside yours"
            )
        ensure_one_bundle(scores)


def ensure_same_tasks(first: Counted, second: Counted) -> None:
    """
    Return if the tasks that two campaigns share are the same in both; CountedTwice names the first that is not.

    Of tasks whose results were imported nothing but their names is known, so these are compared by name.
    """
    if "imported" in (first.seal.mounting, second.seal.mounting):
        return
    known = {task.id: task.digest for task in first.seal.tasks}
    for task in second.seal.tasks:
        if first.seal.domain == second.seal.domain and known.get(task.id, task.digest) != task.digest:
            raise CountedTwice(
                f"task {task.id} of {second.path} is not that of {first.path}: it was changed in between; "
                f"run both campaigns on the same tasks"
            )


def _ensure_addable(first: Counted, second: Counted, task: SealedTask) -> None:
    if first.seal.name == second.seal.name:
        raise CountedTwice(
            f"{first.path} and {second.path} both hold campaign {first.seal.name!r} with task {task.id}; "
            f"give each campaign once"
        )
    if first.seal.agent_settings != second.seal.agent_settings:
        raise CountedTwice(
            f"agent {first.seal.agent!r} has other settings in {second.path} than in {first.path}; "
            f"they are two agents, so look at them one by one"
        )
    ensure_same_tasks(first, second)


def _sum(first: Counts, second: Counts) -> Counts:
    numbers = ("trials", "passed", "ungradeable", "infrastructure", "missing", "user_faults", "user_faults_passed")
    return Counts(
        agent=first.agent,
        domain=first.domain,
        task=first.task,
        refusal=second.refusal,
        **{name: getattr(first, name) + getattr(second, name) for name in numbers},
    )
