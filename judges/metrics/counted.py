"""The counts of stored campaigns: how each planned repetition ended."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from judges.campaigns import ensure_one_bundle
from judges.court import ensure_whole, kept_bundle, opened_views, views_path
from judges.expectation import Expectation
from judges.metrics.counts import Counts
from sandbox.agents import USER_FAULT
from sandbox.archive import Seal, SealedTask, domain_of, sealed_in
from sandbox.refusals import UserFault
from sandbox.stream import Store
from sandbox.views import Score, TrialRow, VerdictRow


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


def counted(path: Path, *, mixed: bool = False) -> Counted:
    """As `counts_of`, with what was sealed."""
    with Store.open(path, read_only=True) as store:
        ensure_whole(store)
        seal = sealed_in(store)
        with closing(opened_views(store, domain_of(store), views_path(path))) as views:
            trials, verdicts, scores = views.trials(), views.verdicts(), tuple(views.scores())
        refusals = _refusals(store, seal, scores)
    if not mixed:
        ensure_one_bundle(scores)
    newest = {row.trial: row for row in verdicts}
    by_task = {task: list(rows) for task, rows in groupby(trials, lambda row: row.task)}
    counts = (_counts(seal, task, by_task.get(task.id, []), newest, refusals[task.id]) for task in seal.tasks)
    return Counted(path, seal, tuple(counts), scores)


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
        ensure_one_bundle(score for one in campaigns if one.seal.domain == domain for score in one.scores)


def ensure_same_tasks(first: Counted, second: Counted) -> None:
    """Return if the tasks that two campaigns share are the same in both; CountedTwice names the first that is not."""
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


def _counts(
    seal: Seal, task: SealedTask, rows: Iterable[TrialRow], newest: Mapping[str, VerdictRow], refusal: bool
) -> Counts:
    ended = [_counted_attempt(list(attempts)) for _, attempts in groupby(rows, lambda row: row.repetition)]
    trials = [row for row in ended if row is not None]
    results = {row.trial: newest[row.trial].result if row.trial in newest else "ungradeable" for row in trials}
    faulted = [results[row.trial] for row in trials if USER_FAULT in row.flags.split()]
    given = list(results.values())
    return Counts(
        agent=seal.agent,
        domain=seal.domain,
        task=task.id,
        trials=len(trials),
        passed=given.count("pass"),
        ungradeable=given.count("ungradeable"),
        infrastructure=ended.count(None),
        missing=seal.repetitions - len(ended),
        user_faults=len(faulted) - faulted.count("ungradeable"),
        user_faults_passed=faulted.count("pass"),
        refusal=refusal,
    )


def _counted_attempt(attempts: Iterable[TrialRow]) -> TrialRow | None:
    """The first attempt at a repetition that did not break on our side; None if all of them did."""
    return next((row for row in attempts if row.end != "infrastructure"), None)


def _refusals(store: Store, seal: Seal, scores: Iterable[Score]) -> dict[str, bool]:
    """
    Whether each task is passed by refusing, or by doing nothing: by the bundle that judged it, else the one kept last.

    False where what is kept cannot be read today.
    """
    kept = {name: bundle for name in store.names("expectation") if (bundle := kept_bundle(store, name))}
    last = {bundle.task: bundle.expectation for bundle in kept.values()}
    judged = {score.task: kept[name].expectation for score in scores for name in score.bundles if name in kept}
    return {task.id: _is_refusal(judged.get(task.id) or last.get(task.digest)) for task in seal.tasks}


def _is_refusal(expectation: Expectation | None) -> bool:
    return expectation is not None and (expectation.refusal or expectation.no_change)


def _sum(first: Counts, second: Counts) -> Counts:
    numbers = ("trials", "passed", "ungradeable", "infrastructure", "missing", "user_faults", "user_faults_passed")
    return Counts(
        agent=first.agent,
        domain=first.domain,
        task=first.task,
        refusal=second.refusal,
        **{name: getattr(first, name) + getattr(second, name) for name in numbers},
    )
