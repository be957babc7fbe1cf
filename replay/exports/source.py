"""What exports are made from: stores or sealed files, and one by one the trials in them that count."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal
from zipfile import is_zipfile

import msgspec
from msgspec import Struct

from judges.court import ensure_ended
from judges.metrics.invented import known_text
from judges.metrics.signatures import Signature, signature_of
from judges.record import KIND
from judges.rubric_calls import KIND as RUBRIC
from judges.rubric_calls import JudgeCall
from judges.spending import Call, calls_among, prices_in
from judges.verdict import Verdict
from replay.exports.messages import Message, messages_of
from replay.sealed_file import SealBroken, open_sealed
from replay.sealed_store import SealedStore
from replay.trials import judgement_named
from sandbox.archive import Archive, Seal, domain_of
from sandbox.fold import end_of
from sandbox.lineage import forks
from sandbox.prices import PriceTable
from sandbox.records import Record, TrialEnded, TrialKey
from sandbox.refusals import UserFault
from sandbox.store_file import is_store
from sandbox.stream import Store

Result = Literal["pass", "fail", "ungradeable"]


class ExportedTrial(Struct, frozen=True):
    """A trial that counts: the first attempt at a repetition that did not break on our side."""

    seal: Seal
    """Of its campaign."""
    key: TrialKey
    records: Sequence[Record]
    end: TrialEnded
    messages: Sequence[Message]
    verdict: Verdict | None
    """The one that was given last; None if nobody has judged it."""
    signature: Signature | None
    """Of a failed trial whose texts are at hand."""
    calls: Sequence[Call]
    """Every model call of agent, user and judge."""
    prices: PriceTable

    @property
    def result(self) -> Result:
        """What is not judged is ungradeable."""
        return "ungradeable" if self.verdict is None else self.verdict.result


class Source:
    """
    A campaign that is exported.

    What is counted of it is whole once its trials have been gone through.
    """

    def __init__(self, path: Path, store: Store, *, is_redacted: bool = False) -> None:
        ensure_ended(store)
        self.path = path
        self.is_redacted = is_redacted
        self.archive = Archive(store, domain_of(store))
        self.seal = self.archive.seal
        self.results: Counter[str] = Counter()
        """How many trials count, by their result."""
        self.bundles: dict[str, set[str]] = {}
        """Digests of the judge bundles whose verdicts count, by task."""
        self.broken = 0
        """Attempts that are left out, since they broke on our side."""
        self.forks = sum(1 for _ in forks(store))
        self._store = store
        self._prices = prices_in(store)
        self._newest = {name.partition("/")[0]: name for name in store.names(KIND)}
        self._rubrics: dict[str, list[str]] = {}
        for name in store.names(RUBRIC):
            self._rubrics.setdefault(name.partition("/")[0], []).append(name)

    @property
    def planned(self) -> int:
        """Trials that were to be."""
        return len(self.seal.tasks) * self.seal.repetitions

    def trials(self) -> Iterator[ExportedTrial]:
        """Each trial that counts, task by task; no more than one of them is in memory."""
        self.results.clear()
        self.bundles.clear()
        self.broken = 0
        known: dict[str, str] = {}
        for key, records in self.archive.closed():
            end = end_of(records)
            if end is None or end.end == "infrastructure":
                self.broken += 1
                continue
            if key.task not in known:
                known = {key.task: self._known(key.task)}
            trial = self._trial(key, records, end, known[key.task])
            self.results[trial.result] += 1
            if trial.verdict is not None:
                self.bundles.setdefault(key.task, set()).add(trial.verdict.bundle)
            yield trial

    def _trial(self, key: TrialKey, records: Sequence[Record], end: TrialEnded, known: str) -> ExportedTrial:
        name = self._newest.get(key.id.hex)
        verdict = None if name is None else judgement_named(self._store, name).verdict
        is_told = verdict is not None and verdict.result == "fail" and not self.is_redacted
        signature = signature_of(records, verdict, known) if verdict is not None and is_told else None
        calls = (*calls_among(records), *self._judge_calls(key))
        messages = messages_of(records)
        return ExportedTrial(self.seal, key, records, end, messages, verdict, signature, calls, self._prices)

    def _known(self, task: str) -> str:
        archive = self.archive
        return known_text(archive.domain, archive.snapshots[task], archive.tasks[task])

    def _judge_calls(self, key: TrialKey) -> Iterator[Call]:
        for name in self._rubrics.get(key.id.hex, ()):
            content = self._store.kept(RUBRIC, name)
            made = None if content is None else msgspec.json.decode(content, type=JudgeCall).made
            if made is not None:
                yield made


@contextmanager
def opened_sources(paths: Sequence[Path]) -> Iterator[list[Source]]:
    """
    The campaigns in stores or sealed files, in the order given.

    Raises:
        UserFault: one cannot be read, or two of them hold the same campaign.
    """
    with ExitStack() as stack:
        found: dict[str, Source] = {}
        for path in paths:
            source = _opened(path, stack)
            other = found.setdefault(source.seal.name, source)
            if other is not source:
                raise UserFault(
                    f"{other.path} and {path} both hold campaign {source.seal.name!r}, so their trials have the same "
                    f"ids; export each into a place of its own"
                )
        yield list(found.values())


def _opened(path: Path, stack: ExitStack) -> Source:
    # Asked in this order: what an agent wrote near the end of a store may look like the end of a zip archive.
    if is_store(path) or not path.is_file() or not is_zipfile(path):
        return Source(path, stack.enter_context(Store.open(path, read_only=True)))
    file = stack.enter_context(open_sealed(path))
    for fault in file.faults():
        raise SealBroken(f"{path}: {fault}; nothing is exported")
    return Source(path, SealedStore.over(file), is_redacted=bool(file.manifest.about.redacted))
