"""Verify: whether a sealed campaign is as it was sealed, and what score its records give when computed again."""

import re
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import msgspec
from msgspec import Struct

from judges.blame import with_blame
from judges.court import effects_or_fault, evidence_in, kept_bundle
from judges.expectation import TaskInvalid
from judges.metrics.counts import Counts
from judges.record import KIND, Judgement, inputs_of
from judges.record import decoded as judgement_of
from judges.verdict import Evidence, JudgeBundle, RubricAnswer, Verdict, bundle_of, code_digest, judged
from replay.courts import furnished
from replay.seal import missing_in, started
from replay.sealed_file import SealedFile, open_sealed
from replay.sealed_store import KINDS, SealedStore, content_part, index_part, trial_part
from sandbox.archive import Archive, Seal, domain_of, sealed_in
from sandbox.effects import effects_of
from sandbox.fold import end_of, fold
from sandbox.lineage import forks, spliced
from sandbox.records import Forked, Record, TrialKey, TrialOpened, decoded
from sandbox.refusals import SandboxFault, UserFault
from sandbox.store_file import StreamFault

_IDS = re.compile(r"\b[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\b")


class Verification(Struct, frozen=True):
    """What became of a sealed file's check."""

    root: str
    faults: tuple[str, ...]
    """Whatever is wrong, the file's own faults first."""
    notes: tuple[str, ...]
    """What limits the check, such as domain code of another version."""
    counts: tuple[Counts, ...]
    """Computed again from the records; empty if that could not be done."""
    trials: int
    """That were judged again, forks among them."""

    @property
    def is_verified(self) -> bool:
        """Nothing is wrong, and the score was computed again."""
        return not self.faults and bool(self.counts)


def verified(path: Path, root: str = "") -> Verification:
    """
    Check a sealed file: every byte, every chain, every trial folded and judged again.

    Somebody who rewrites records, judgements, manifest and root digest so that all agree is found only by a root
    digest that is known from elsewhere.

    Args:
        root: the root digest that it is to have; empty if it is not known.

    Raises:
        SealBroken: it is no sealed file, or so damaged that nothing can be read from it.
    """
    with open_sealed(path) as file:
        faults = list(file.faults())
        if root and root.strip().lower() != file.root:
            faults.append(f"its root digest is {file.root}, not {root.strip()}: it is another file than was sealed")
        store = SealedStore.over(file)
        check = _Check(file, store)
        try:
            check.run()
        except (UserFault, StreamFault, SandboxFault, msgspec.DecodeError) as fault:
            check.faults.append(f"it cannot be computed again: {fault}")
        told = [check.named(fault) for fault in dict.fromkeys([*faults, *check.faults])]
        return Verification(file.root, tuple(told), tuple(check.notes), tuple(check.counts()), check.trials)


class _Check:
    """The check of all that the file holds."""

    def __init__(self, file: SealedFile, store: SealedStore) -> None:
        self.file = file
        self.store = store
        self.faults: list[str] = []
        self.notes: list[str] = []
        self.trials = 0
        self._results: dict[TrialKey, tuple[str, str]] = {}
        """Result and bundle of the judgement that counts."""
        self._agent = self._domain = ""
        self._planned = 0
        self._names: dict[str, str] = {}
        self._bundles: dict[str, JudgeBundle | None] = {}
        self._is_redacted = bool(file.manifest.about.redacted)

    def run(self) -> None:
        """Everything, in order: what is there, each trial, each judgement."""
        campaign = sealed_in(self.store)
        self._agent, self._domain, self._planned = campaign.agent, campaign.domain, campaign.repetitions
        keys = list(self._keys(campaign))
        self._compare_parts(campaign, keys)
        try:
            domain = domain_of(self.store)
        except UserFault as fault:
            for key in keys:
                self._readable(key)
            self.faults.append(f"it cannot be computed again: {fault}")
            return
        archive = Archive(self.store, domain)
        self._compare_versions(archive)
        judgements = self._judgements()
        for key in keys:
            if self._readable(key):
                self._judge_again(archive, key, judgements.pop(key.id.hex, []))
        gone = [UUID(trial) for trial in judgements if trial in self._names and not self.store.has(UUID(trial))]
        self.faults += [f"{trial_part(trial)} was judged, but its records are gone" for trial in gone]

    def named(self, fault: str) -> str:
        """A fault that names a trial's part, with its task and repetition."""
        ids = (found[0].replace("-", "") for found in _IDS.finditer(fault))
        name = next((self._names[digits] for digits in ids if digits in self._names), "")
        return f"trial {name}: {fault}" if name else fault

    def counts(self) -> list[Counts]:
        """By task, computed again; trials that ended as infrastructure do not count."""
        tasks: dict[str, list[str]] = {}
        for key, (result, _) in self._results.items():
            tasks.setdefault(key.task, []).append(result)
        return [self._counts(task, results) for task, results in tasks.items()]

    def _counts(self, task: str, results: list[str]) -> Counts:
        return Counts(
            agent=self._agent,
            domain=self._domain,
            task=task,
            trials=len(results),
            passed=results.count("pass"),
            ungradeable=results.count("ungradeable"),
            missing=self._planned - len(results),
        )

    def _keys(self, campaign: Seal) -> Iterator[TrialKey]:
        for key in started(self.store, campaign):
            attempt = f", attempt {key.attempt}" if key.attempt > 1 else ""
            self._names[key.id.hex] = f"{key.task}/{key.repetition}{attempt}"
            yield key
        for fork in forks(self.store):
            self._names[fork.key.id.hex] = f"{fork.key.task}/{fork.key.repetition}, fork of {fork.parent[:8]}"
            if self.store.has(fork.key.id):
                yield fork.key

    def _compare_parts(self, campaign: Seal, keys: list[TrialKey]) -> None:
        """Whether there is what the campaign's seal and the indexes name, and nothing else."""
        known = {trial_part(key.id) for key in keys}
        for kind in KINDS:
            names = self.store.names(kind)
            known |= {content_part(kind, name) for name in names} | ({index_part(kind)} if names else set())
        present = {name for name in known if self.file.has(name)}
        self.faults += [f"{name} belongs to nothing in this campaign" for name in self.file.names if name not in known]
        self.faults += [f"{name} is listed and missing" for name in sorted(known - present)]
        missing = tuple(self._missing(campaign))
        declared = self.file.manifest.about.missing
        self.faults += [
            f"trial {name} is missing, and was there when it was sealed" for name in missing if name not in declared
        ]
        self.faults += [
            f"trial {name} was added: it was missing when it was sealed" for name in declared if name not in missing
        ]
        if declared:
            self.notes.append(f"{len(declared)} repetitions have no trial that counts: {', '.join(declared)}")

    def _missing(self, campaign: Seal) -> Iterator[str]:
        try:
            yield from missing_in(self.store, campaign)
        except (StreamFault, msgspec.DecodeError):
            return  # told by `_readable`, which goes through all trials

    def _compare_versions(self, archive: Archive) -> None:
        sealed, versions = archive.seal.domain_digest, self.file.manifest.about.versions
        if archive.domain.digest != sealed:
            self.notes.append(
                f"domain {archive.domain.name} has other code today ({archive.domain.digest[:12]}) than when the "
                f"campaign ran ({sealed[:12]}); what it folds is compared with the recorded effects all the same"
            )
        if code_digest() != versions.judges:
            self.notes.append(
                f"the judges have other code today ({code_digest()[:12]}) than when it was sealed "
                f"({versions.judges[:12]}); results are compared, findings are not"
            )
        if self._is_redacted:
            self.notes.append("texts are redacted: chains are verified, recorded effects cannot be compared")

    def _judgements(self) -> dict[str, list[Judgement]]:
        """By trial, in the order in which they were given."""
        found: dict[str, list[Judgement]] = {}
        for name in self.store.names(KIND):
            content = self.store.kept(KIND, name)
            if content is None:
                continue
            try:
                judgement = judgement_of(content)
            except msgspec.DecodeError as fault:
                self.faults.append(f"judgement {name} cannot be read: {fault}")
                continue
            if judgement.name != name:
                self.faults.append(f"judgement {name} is listed under a name that is not its own")
            if judgement.trial not in self._names:
                self.faults.append(f"judgement {name} is on a trial that this file does not hold")
            found.setdefault(judgement.trial, []).append(judgement)
        return found

    def _readable(self, key: TrialKey) -> bool:
        """Whether a trial's stream is whole, chained and its own."""
        try:
            records = spliced(self.store.read, key.id)
            own = self.store.read(key.id)
            first = decoded(own[0])
        except (StreamFault, msgspec.DecodeError, IndexError) as fault:
            self.faults.append(f"{trial_part(key.id)}: {fault}")
            return False
        is_own = isinstance(first, Forked) or (isinstance(first, TrialOpened) and first.key == key)
        if not is_own or not isinstance(decoded(records[0]), TrialOpened):
            self.faults.append(f"{trial_part(key.id)} holds the records of another trial")
        return is_own

    def _judge_again(self, archive: Archive, key: TrialKey, judgements: list[Judgement]) -> None:
        records = spliced(self.store.read, key.id)
        end = end_of(records)
        if end is None and judgements:
            self.faults.append(f"{trial_part(key.id)} was judged, but its last records are gone")
            return
        if end is None:
            self.notes.append(f"trial {key.task}/{key.repetition} had not ended when it was sealed")
            return
        self.trials += 1
        if not judgements:
            self.faults.append(f"{trial_part(key.id)} has no judgement")
        result = ("ungradeable", "")
        for judgement in judgements:
            verdict = self._compared(archive, key, records, judgement, is_newest=judgement is judgements[-1])
            result = ("ungradeable" if verdict is None else verdict.result, judgement.bundle)
        if end.end != "infrastructure" and key.campaign == archive.seal.name:
            self._results[key] = result

    def _compared(
        self, archive: Archive, key: TrialKey, records: list[Record], sealed: Judgement, *, is_newest: bool
    ) -> Verdict | None:
        """
        Today's verdict in place of a sealed one, which it should equal; None if there is none today.

        One that other code gave and that a newer one has replaced may be another: that is why it was replaced.
        """
        bundle = self._bundle(archive, key.task, sealed.bundle)
        if bundle is None and not is_newest:
            return None
        if bundle is None:
            self.faults.append(f"{trial_part(key.id)}: judges {sealed.bundle[:12]} are not in the file or do not load")
            return None
        evidence = self._evidence(archive, key, records, bundle)
        answers = {c.name: RubricAnswer(c.result, c.reason) for c in sealed.verdict.checks if c.kind == "rubric"}
        verdict = judged(bundle, evidence, answers)
        is_same_code = bundle.digest == sealed.bundle and archive.domain.digest == sealed.domain
        if is_same_code and not self._is_redacted:
            found = with_blame(verdict, archive.domain, archive.snapshots[key.task], records)
            is_same = found == sealed.verdict and inputs_of(evidence, bundle.reads) == dict(sealed.inputs)
        elif not is_newest:
            return verdict
        else:
            is_same = (verdict.result, verdict.outcome) == (sealed.verdict.result, sealed.verdict.outcome)
        if not is_same:
            why = evidence.fault or "the same records give another verdict or other findings"
            told = f"sealed {sealed.verdict.result}, computed {verdict.result}: {why}"
            self.faults.append(f"{trial_part(key.id)}: {told}")
        elif evidence.fault:
            self.notes.append(f"trial {key.task}/{key.repetition} cannot be folded, as when it was judged")
        return verdict

    def _evidence(self, archive: Archive, key: TrialKey, records: list[Record], bundle: JudgeBundle) -> Evidence:
        domain, snapshot = archive.domain, archive.snapshots[key.task]
        if not self._is_redacted:
            return evidence_in(domain, records, effects_or_fault(domain, snapshot, records), bundle.reads)
        return evidence_in(domain, records, effects_of(snapshot, fold(domain, snapshot, records)), bundle.reads)

    def _bundle(self, archive: Archive, task: str, digest: str) -> JudgeBundle | None:
        """The judges that gave a judgement, made again from what is kept of them."""
        if digest not in self._bundles:
            kept = kept_bundle(self.store, digest)
            made = None
            if kept is not None and kept.task == archive.tasks[task].digest:
                try:
                    made = bundle_of(furnished(archive), archive.tasks[task], kept.expectation)
                except TaskInvalid as fault:
                    self.faults.append(f"task {task} cannot be judged today: {fault}")
            self._bundles[digest] = made
        return self._bundles[digest]
