"""
Judging again: stored trials under today's expectations and judges. No tool is run but for the golden calls.

Effects come from the read models where today's domain code folded them, and are folded again where it did not. What a
verdict depends on is known by digests, so equal evidence is judged once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType

import msgspec
from msgspec import Struct

from judges.blame import with_blame
from judges.court import effects_or_fault, ensure_ended, evidence_in, keep_bundle, keep_judgements
from judges.expectation import Expectation
from judges.read_models import Projector, bare_verdict, is_refusal
from judges.record import KIND, Judgement, inputs_of
from judges.verdict import INPUTS, Evidence, JudgeBundle, RubricAnswer, Verdict, bundle_of, judged
from replay.causes import Causes, findings_at
from replay.courts import furnished
from replay.trials import judgement_named
from sandbox.archive import Archive, attempts_of, keys_of
from sandbox.effects import decode_effects
from sandbox.records import Record, TrialEnded, TrialKey, decoded
from sandbox.values import digest
from sandbox.view_rows import TrialRow, VerdictRow, ViewRow
from sandbox.views import Views

CHUNK = 500
"""Trials whose judgements are kept in one commit."""
EFFECTS_ALONE = frozenset({"effects"})

Answers = Mapping[str, RubricAnswer]
Chosen = Callable[[TrialKey], bool]
NO_ANSWERS: Answers = MappingProxyType({})


class Again(Struct, frozen=True):
    """One trial, before and after it was judged again."""

    key: TrialKey
    is_counted: bool
    """Whether it enters rates: it did not end as infrastructure."""
    before: str
    """`pass`, `fail`, `ungradeable`, also where there was no verdict at all."""
    after: str
    bundle_before: str
    """Digest of the judge bundle; empty if there was no verdict."""
    bundle: str
    causes: tuple[str, ...] = ()
    """Of a flip: what changed, such that this changed."""
    fields: tuple[str, ...] = ()
    """Of a flip: the fields and rows that the findings name."""
    reason: str = ""
    """Of a flip: what the checks say that are not answered yes, or that all are."""

    @property
    def is_flip(self) -> bool:
        """Whether the verdict is another one."""
        return self.before != self.after


class Filed(Struct, frozen=True):
    """What is on file of a trial, as far as its judges read it."""

    inputs: Mapping[str, str]
    """Digest of each piece that is read."""
    content: Evidence | bytes
    """The evidence, or the encoded effects alone."""
    records: Sequence[Record] = ()
    """Empty where the effects are enough."""
    is_folded: bool = False
    """Whether today's code has just folded the effects again."""

    @property
    def evidence(self) -> Evidence:
        """Decoded when it is asked for."""
        return Evidence(decode_effects(self.content)) if isinstance(self.content, bytes) else self.content


class Rehearing:
    """
    Today's judges of a stored campaign: expectations of today, on the rows and public tasks that were sealed.

    Args:
        expectations: by task id; the trials of other tasks keep their verdicts.

    Raises:
        TaskInvalid: an expectation cannot be met on the sealed rows; the text says why.
        StreamFault: a judged trial lost its last records.
    """

    def __init__(self, archive: Archive, expectations: Mapping[str, Expectation]) -> None:
        ensure_ended(archive.store)
        self.archive = archive
        self.domain = furnished(archive)
        self.bundles: dict[str, JudgeBundle] = {
            task.id: bundle_of(self.domain, task, expectations[task.id])
            for task in archive.tasks.values()
            if task.id in expectations
        }
        self.projector = Projector(self.domain, archive.tasks, archive.snapshots)
        self._memo: dict[tuple[object, ...], Verdict] = {}

    def verdict(self, task: str, filed: Filed, answers: Answers = NO_ANSWERS) -> Verdict:
        """The verdict on what is filed; the same evidence, and the same answers to rubrics, are judged once."""
        bundle = self.bundles[task]
        known = (bundle.digest, *filed.inputs.items(), *answers.items())
        found = self._memo.get(known)
        if found is None:
            found = self._memo[known] = judged(bundle, filed.evidence, answers)
        return found

    def filed(self, key: TrialKey, ended: TrialEnded, content: bytes | None) -> Filed:
        """
        What is on file of a trial.

        Args:
            content: its effects as today's domain code has folded them; None if it has not.
        """
        reads = self.bundles[key.task].reads
        if content is not None and reads == EFFECTS_ALONE:
            return Filed({"effects": ended.effects}, content)
        records = self.archive.store.read(key.id)
        if content is not None:
            evidence = evidence_in(self.domain, records, decode_effects(content), reads)
        else:
            effects = effects_or_fault(self.domain, self.archive.snapshots[key.task], records)
            evidence = evidence_in(self.domain, records, effects, reads)
        is_folded = content is None and not evidence.fault
        return Filed(inputs_of(evidence, reads), evidence, records, is_folded)

    def all_evidence(self, key: TrialKey, filed: Filed) -> Evidence:
        """Also what today's judges do not read: those before may have."""
        evidence = filed.evidence
        if evidence.fault or evidence.effects is None:
            return evidence
        records = filed.records or self.archive.store.read(key.id)
        return evidence_in(self.domain, records, evidence.effects, INPUTS)


class Docket:
    """What a store's judgements and read models say of its trials so far."""

    def __init__(self, archive: Archive, views: Views) -> None:
        self.store = archive.store
        self.views = views
        self.rows: dict[str, TrialRow] = {row.trial: row for row in views.trials()}
        self.newest: dict[str, VerdictRow] = {}
        self.place = 0
        for row in views.verdicts():
            self.newest[row.trial], self.place = row, row.place
        self.kept: set[str] = set()
        self.names: dict[str, list[str]] = {}
        for name in self.store.names(KIND):
            self.kept.add(name)
            self.names.setdefault(name.partition("/")[0], []).append(name)
            self.place = max(self.place, len(self.kept))

    def judgements(self, trial: str) -> Iterator[Judgement]:
        """All on one trial, the newest first."""
        for name in reversed(self.names.get(trial, [])):
            yield judgement_named(self.store, name)

    def newest_name(self, trial: str) -> str:
        """Of the judgement that counts; empty if there is none."""
        return self.names.get(trial, [""])[-1]

    def contents(self, ended: Sequence[tuple[TrialKey, TrialEnded]], domain_digest: str) -> dict[str, bytes]:
        """
        By trial the encoded effects that this domain code has folded.

        One that does not have its digest is left out, as the read models can be changed by anybody.
        """
        wanted = {}
        for key, end in ended:
            row = self.rows.get(key.id.hex)
            if row is not None and row.domain_digest == domain_digest and row.effects == end.effects:
                wanted[key.id.hex] = end.effects
        found = self.views.contents(set(wanted.values()), domain_digest)
        right = {name: content for name, content in found.items() if digest(content).hex() == name}
        return {trial: right[name] for trial, name in wanted.items() if name in right}


def rejudged(
    rehearing: Rehearing, docket: Docket, *, is_dry: bool = False, chosen: Chosen = lambda key: True
) -> Iterator[Again]:
    """
    Every closed trial of the campaign, those judged again that are chosen and whose task has an expectation.

    Args:
        is_dry: whether nothing is written; else judgements and read models are, some hundred trials at a time.
    """
    archive, causes = rehearing.archive, Causes(rehearing.archive.store, rehearing.domain, rehearing.archive.tasks)
    if not is_dry:
        for bundle in rehearing.bundles.values():
            keep_bundle(archive.store, bundle)
    trials = closed_keys(archive)
    while chunk := list(islice(trials, CHUNK)):
        contents = docket.contents(chunk, rehearing.domain.digest)
        given: list[tuple[TrialKey, Filed, Verdict]] = []
        for key, ended in chunk:
            if key.task not in rehearing.bundles or not chosen(key):
                yield _unchanged(docket, key, ended)
                continue
            filed = rehearing.filed(key, ended, contents.get(key.id.hex))
            verdict = rehearing.verdict(key.task, filed, _answers(rehearing, docket, key, filed))
            given.append((key, filed, verdict))
            yield _again(rehearing, docket, causes, (key, ended), filed, verdict)
        if not is_dry and given:
            _write(rehearing, docket, given)


def closed_keys(archive: Archive) -> Iterator[tuple[TrialKey, TrialEnded]]:
    """Every attempt that has ended, by its last record alone; after one that counts there is no other."""
    for first in keys_of(archive.seal):
        for key in attempts_of(first):
            last = archive.store.last(key.id)
            ended = None if last is None else decoded(last)
            if not isinstance(ended, TrialEnded):
                break
            yield key, ended
            if ended.end != "infrastructure":
                break


def _answers(rehearing: Rehearing, docket: Docket, key: TrialKey, filed: Filed) -> Answers:
    """Answers that rubrics were given before, while question and dialogue are the same."""
    questions = {rubric.name for rubric in rehearing.bundles[key.task].expectation.questions}
    found: dict[str, RubricAnswer] = {}
    for judgement in docket.judgements(key.id.hex) if questions else ():
        if judgement.inputs.get("dialogue") == filed.inputs["dialogue"]:
            for check in judgement.verdict.checks:
                if check.kind == "rubric" and check.name in questions and check.result != "could not check":
                    found.setdefault(check.name, RubricAnswer(check.result, check.reason))
    return found


def _unchanged(docket: Docket, key: TrialKey, ended: TrialEnded) -> Again:
    row = docket.newest.get(key.id.hex)
    result, bundle = ("ungradeable", "") if row is None else (row.result, row.bundle)
    return Again(key, ended.end != "infrastructure", result, result, bundle, bundle)


def _again(
    rehearing: Rehearing,
    docket: Docket,
    causes: Causes,
    trial: tuple[TrialKey, TrialEnded],
    filed: Filed,
    verdict: Verdict,
) -> Again:
    key, _ = trial
    was = _unchanged(docket, *trial)
    made = msgspec.structs.replace(was, after=verdict.result, bundle=verdict.bundle)
    if not made.is_flip:
        return made
    old = next(docket.judgements(key.id.hex), None)
    answers = _answers(rehearing, docket, key, filed)
    fault = filed.content.fault if isinstance(filed.content, Evidence) else ""

    def evidence() -> Evidence:
        return rehearing.all_evidence(key, filed)

    found = causes.of(rehearing.bundles[key.task], old, verdict, fault, evidence, answers)
    fields = findings_at(verdict.findings or (() if old is None else old.verdict.findings))
    return msgspec.structs.replace(made, causes=found, fields=fields, reason=reason_of(verdict))


def reason_of(verdict: Verdict) -> str:
    """What the checks say that are not answered yes; that all are, if so."""
    said = [f"{check.kind} {check.name}: {check.result}" for check in verdict.checks if check.result != "yes"]
    why = [check.reason for check in verdict.checks if check.result == "could not check" and check.reason]
    return "; ".join([*said, *dict.fromkeys(why)]) or "every check says yes"


def _write(rehearing: Rehearing, docket: Docket, given: Iterable[tuple[TrialKey, Filed, Verdict]]) -> None:
    """Keep the judgements that are not the newest already, and bring the read models up to date."""
    kept: list[Judgement] = []
    rows: list[ViewRow] = []
    for key, filed, verdict in given:
        trial = key.id.hex
        if filed.is_folded or trial not in docket.rows:
            records = filed.records or rehearing.archive.store.read(key.id)
            effects = filed.evidence.effects if filed.is_folded else None
            rows += rehearing.projector.trial(key, records, "not folded" if effects is None else effects)
        judgement = Judgement(trial, rehearing.domain.digest, filed.inputs, verdict)
        if judgement.name == docket.newest_name(trial):
            continue
        judgement = _blamed(rehearing, docket, key, filed, judgement)
        docket.place += 1
        kept.append(judgement)
        rows.append(_verdict_row(rehearing, docket, key, filed, judgement))
    if kept:
        keep_judgements(rehearing.archive.store, kept, docket.kept)
    docket.views.add(rows)


def _verdict_row(rehearing: Rehearing, docket: Docket, key: TrialKey, filed: Filed, judgement: Judgement) -> VerdictRow:
    refusal = is_refusal(rehearing.bundles[key.task].expectation)
    if judgement.verdict.result != "fail":
        return bare_verdict(judgement, docket.place, refusal=refusal)
    records = filed.records or rehearing.archive.store.read(key.id)
    return rehearing.projector.verdict(judgement, docket.place, key.task, records, refusal=refusal)


def _blamed(rehearing: Rehearing, docket: Docket, key: TrialKey, filed: Filed, judgement: Judgement) -> Judgement:
    """The judgement with its findings joined to the trial's events, taken from the last one where they are the same."""
    verdict = judgement.verdict
    if not verdict.findings:
        return judgement
    old = next(docket.judgements(key.id.hex), None)
    if old is not None and old.domain == judgement.domain and _bare(old.verdict) == _bare(verdict):
        verdict = msgspec.structs.replace(verdict, findings=old.verdict.findings)
    else:
        records = filed.records or rehearing.archive.store.read(key.id)
        verdict = with_blame(verdict, rehearing.domain, rehearing.archive.snapshots[key.task], records)
    return msgspec.structs.replace(judgement, verdict=verdict)


def _bare(verdict: Verdict) -> list[object]:
    """Findings without who wrote them."""
    return [msgspec.structs.replace(f, position=0, topic="", cause=0, tool="") for f in verdict.findings]
