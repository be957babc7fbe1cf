"""The read models of a campaign: made as trials close, checked when they are opened, made again from the store."""

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from uuid import UUID

from judges.court import effects_or_fault, judgements, kept_bundle
from judges.expectation import Expectation
from judges.metrics import calls, failures, invented, signatures
from judges.metrics.failures import Declined, facts_of
from judges.metrics.invented import known_text
from judges.metrics.signatures import Signature, signature_of
from judges.record import KIND, Judgement
from judges.results.kept import results_in, rows_of
from judges.rubric_calls import KIND as RUBRIC
from judges.rubric_calls import JudgeCall, calls_by_trial
from sandbox.archive import Archive, Seal, domain_of, sealed_in
from sandbox.contents import content_stream
from sandbox.domain import Domain
from sandbox.effects import Effects
from sandbox.projection import trial_row, trial_rows, usage_rows
from sandbox.records import Record, Replied, TrialEnded, TrialKey, Unanswered
from sandbox.records import decoded as payload_of
from sandbox.snapshot import Snapshot
from sandbox.stream import Store, StreamFault
from sandbox.task import Task
from sandbox.values import digest_of
from sandbox.view_rows import NoteRow, VerdictRow, ViewRow
from sandbox.views import Views

CHUNK = 500
"""Trials that are written in one transaction."""
RESULT = '"result":"{}"'
"""How a judgement's content says its result: a quotation mark inside a text of it has a backslash before it."""
GOOD = "+"
"""Stands behind a class of refusal of which every call was made good."""


def views_path(store: Path) -> Path:
    """Where the read models of a store are: `CAMPAIGN.views.db` beside `CAMPAIGN.db`, `x.y.views.db` beside `x.y`."""
    return store.with_name(f"{store.name.removesuffix('.db')}.views.db")


def opened_views(store: Store, path: Path | None, domain: Domain | None = None) -> Views:
    """
    The read models of a store's campaign, in a file or in memory; made again if they are another's or behind.

    Args:
        domain: of the campaign, where it may not be installed.
    """
    views = Views(path)
    bring_up(views, store, domain)
    return views


def bring_up(views: Views, store: Store, domain: Domain | None = None) -> None:
    """Make read models again if they are another campaign's, or behind."""
    if are_behind(views, store):
        remake(views, store, domain)


def are_behind(views: Views, store: Store) -> bool:
    """
    Whether the read models are about something else, were made by other rules, or say other than the store.

    A process that is killed after it has kept a judgement leaves them without it; and anybody can change a file.
    """
    seal = sealed_in(store)
    if views.is_new or not views.is_about(about(seal)):
        return True
    if seal.mounting == "imported":
        return False
    if views.last_place() != store.count(KIND) or views.judged_unended():
        return True
    unjudged = views.unjudged()
    if unjudged and any(name.partition("/")[0] in unjudged for name in store.names(KIND)):
        return True
    return bool(store.lacking({stream: RESULT.format(result) for stream, result in views.results().items()}))


def about(seal: Seal) -> str:
    """What tells read models of this campaign, made by the rules of today, from all others."""
    return digest_of([digest_of(seal), _rules()])


@cache
def _rules() -> str:
    """Digest of the code that signs failed trials."""
    return digest_of([inspect.getsource(module) for module in (calls, failures, invented, signatures)])


def remake(views: Views, store: Store, domain: Domain | None = None) -> None:
    """Drop read models and make them again, of streams or of imported results."""
    results = results_in(store)
    if results is None:
        rebuild(views, Archive(store, domain or domain_of(store)))
        return
    seal = sealed_in(store)
    views.clear()
    views.add(rows_of(results, seal))
    views.claim(about(seal))


def rebuild(views: Views, archive: Archive) -> None:
    """Drop the read models and make them again from the streams and judgements alone."""
    views.clear()
    projector = Projector(archive.domain, archive.tasks, archive.snapshots)
    given, asked = _numbered(archive.store), calls_by_trial(archive.store)
    refusals: dict[str, bool] = {}

    def rows(key: TrialKey, records: Sequence[Record]) -> Iterator[ViewRow]:
        effects = effects_or_fault(archive.domain, archive.snapshots[key.task], records)
        yield from projector.trial(key, records, effects, asked.get(key.id.hex, ()))
        for place, judgement in given.pop(key.id.hex, ()):
            bundle = judgement.bundle
            if bundle not in refusals:
                kept = kept_bundle(archive.store, bundle)
                refusals[bundle] = kept is not None and is_refusal(kept.expectation)
            yield projector.verdict(judgement, place, key.task, records, refusal=refusals[bundle])

    trials = archive.closed()
    while chunk := list(islice(trials, CHUNK)):
        views.add(row for key, records in chunk for row in rows(key, records))
    views.add(bare_verdict(judgement, place) for found in given.values() for place, judgement in found)
    views.claim(about(archive.seal))


def _numbered(store: Store) -> dict[str, list[tuple[int, Judgement]]]:
    """By trial its judgements, each with its place among all."""
    found: dict[str, list[tuple[int, Judgement]]] = {}
    for place, judgement in enumerate(judgements(store), 1):
        found.setdefault(judgement.trial, []).append((place, judgement))
    return found


class Projector:
    """Makes the rows of a campaign's trials."""

    def __init__(self, domain: Domain, tasks: Mapping[str, Task], snapshots: Mapping[str, Snapshot]) -> None:
        self._domain = domain
        self._tasks = tasks
        self._snapshots = snapshots
        self._known: dict[str, str] = {}

    def trial(
        self, key: TrialKey, records: Sequence[Record], effects: Effects | str, asked: Sequence[JudgeCall] = ()
    ) -> Iterator[ViewRow]:
        """
        A closed trial.

        Args:
            effects: what it left, or in words why that cannot be told.
            asked: what a rubric judge was asked about it.
        """
        if isinstance(effects, str):
            yield trial_row(key, records, "")
        else:
            yield from trial_rows(key, records, effects, self._domain.digest)
        facts = facts_of(records)
        yield NoteRow(key.id.hex, facts.wrote, facts.last_is_good, declined_told(facts.declined), len(asked))
        own = [payload for record in records if isinstance(payload := payload_of(record), Replied | Unanswered)]
        yield from usage_rows(key.id.hex, [*own, *(call.made for call in asked if call.made is not None)])

    def verdict(
        self, judgement: Judgement, place: int, task: str, records: Sequence[Record], *, refusal: bool
    ) -> VerdictRow:
        """A judgement on a closed trial, with the signature of a failed one."""
        verdict, signature = judgement.verdict, None
        if verdict.result == "fail":
            if task not in self._known:
                self._known[task] = known_text(self._domain, self._snapshots[task], self._tasks[task])
            signature = signature_of(records, verdict, self._known[task])
        return bare_verdict(judgement, place, refusal=refusal, signature=signature)


def bare_verdict(
    judgement: Judgement, place: int, *, refusal: bool = False, signature: Signature | None = None
) -> VerdictRow:
    """
    A judgement as a row.

    Args:
        place: in the order of judging.
        refusal: whether the task is passed by refusing, or by doing nothing.
        signature: of a failed trial.
    """
    verdict = judgement.verdict
    kinds = " ".join(sorted({finding.kind for finding in verdict.findings}))
    signed = (signature.name, signature.group, signature.position, signature.reason) if signature else ("", "", 0, "")
    found = (verdict.bundle, verdict.result, verdict.outcome, len(verdict.findings))
    kept = content_stream(KIND, judgement.name).hex
    return VerdictRow(judgement.trial, *found, place, kinds, int(refusal), *signed, kept)


def declined_told(declined: Iterable[Declined]) -> str:
    """Classes of refusal as one text of words."""
    return " ".join(f"{one.refusal}{GOOD if one.is_made_good else ''}" for one in declined)


def declined_in(told: str) -> tuple[Declined, ...]:
    """The classes in such a text."""
    return tuple(Declined(word.removesuffix(GOOD), word.endswith(GOOD)) for word in told.split())


def is_refusal(expectation: Expectation | None) -> bool:
    """Whether a task is passed by refusing, or by doing nothing."""
    return expectation is not None and (expectation.refusal or expectation.no_change)


def ensure_whole(store: Store, views: Views) -> None:
    """
    Return if every trial that has ended or was judged still has its end.

    Raises:
        StreamFault: a stream lost its last records; a digest chain alone cannot show that.
    """
    for trial in [*views.judged_unended(), *store.differing(views.lengths())]:
        if not _has_end(store, UUID(trial)):
            raise StreamFault(
                f"{store.name}: trial {UUID(trial)} had ended, but its last records are gone; "
                f"restore a copy of the file"
            )


def _has_end(store: Store, trial: UUID) -> bool:
    last = store.last(trial)
    return last is not None and isinstance(payload_of(last), TrialEnded)


def judge_calls_are_whole(store: Store, views: Views) -> bool:
    """Whether the read models know every call of the rubric judge that the store keeps."""
    return views.judge_calls() == store.count(RUBRIC)
