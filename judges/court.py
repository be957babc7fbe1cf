"""A court: the judge bundles of a campaign's tasks, and every closed trial's judgement kept beside it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from uuid import UUID

import msgspec
from msgspec import Struct

from judges.blame import with_blame
from judges.expectation import Expectation, TaskInvalid
from judges.mutation.stage import Stage
from judges.pack import PackTask
from judges.record import KIND, Judgement, decoded, encoded, inputs_of
from judges.rules import Happened, events_of, prepared_rule, rule_name
from judges.verdict import INPUTS, BundleParts, Evidence, Input, JudgeBundle, RubricAnswer, bundle_of, judged
from sandbox.agents import PlannedCall
from sandbox.campaign import Closed
from sandbox.contents import content_records, content_stream, index_records, index_stream
from sandbox.continuity import Tail
from sandbox.domain import Domain
from sandbox.effects import Effects
from sandbox.fold import UnknownTopic
from sandbox.projection import folded_effects
from sandbox.records import Record, Said, TrialEnded, TrialKey
from sandbox.records import decoded as payload_of
from sandbox.refusals import SandboxFault
from sandbox.snapshot import Snapshot
from sandbox.stream import Batch, Store, StreamFault
from sandbox.values import canonical


class Court:
    """
    The judges of a campaign.

    Its expectations and built outcomes are kept in the store, so that the campaign can be judged where its pack is not
    at hand, and compared at any position without running a tool.

    Raises:
        TaskInvalid: no trial of a task could be judged rightly.
    """

    def __init__(self, store: Store, domain: Domain, tasks: Iterable[PackTask]) -> None:
        self.store = store
        self.domain = domain
        self.bundles: dict[str, JudgeBundle] = {}
        for item in tasks:
            bundle = bundle_of(domain, item.task, item.expectation)
            self.bundles[item.task.id] = bundle
            keep_bundle(store, bundle)

    def evidence(self, closed: Closed) -> Evidence:
        """What a closed trial left behind, as far as its judges read it."""
        return evidence_of(self.domain, closed, self.bundles[closed.key.task].reads)

    def judge(self, closed: Closed, snapshot: Snapshot, answers: Mapping[str, RubricAnswer] = {}) -> Judgement:
        """
        The judgement on a closed trial, kept in the store; judging it again gives and keeps the same.

        Args:
            answers: to its rubrics, by name.
        """
        bundle, evidence = self.bundles[closed.key.task], self.evidence(closed)
        verdict = with_blame(judged(bundle, evidence, answers), self.domain, snapshot, closed.records)
        judgement = Judgement(closed.key.id.hex, self.domain.digest, inputs_of(evidence, bundle.reads), verdict)
        self.store.keep(KIND, judgement.name, encoded(judgement))
        return judgement


class KeptBundle(Struct, frozen=True):
    """What a store keeps of a judge bundle, under its digest."""

    expectation: Expectation
    parts: BundleParts

    @property
    def task(self) -> str:
        """Digest of the public task."""
        return self.parts.task


def keep_bundle(store: Store, bundle: JudgeBundle) -> None:
    """Keep a bundle's expectation, parts and built outcomes for good."""
    kept = KeptBundle(bundle.expectation, bundle.parts)
    store.keep("expectation", bundle.digest, canonical(kept))
    store.keep("outcomes", bundle.digest, canonical(bundle.outcomes))


def kept_bundle(store: Store, digest: str) -> KeptBundle | None:
    """What a store keeps of a bundle; None if that is nothing, or is written in a way that is not known today."""
    content = store.kept("expectation", digest)
    try:
        return None if content is None else msgspec.json.decode(content, type=KeptBundle)
    except msgspec.ValidationError:
        return None


def ensure_rules_kept(domain: Domain, item: PackTask) -> None:
    """Return if the task's golden calls work and keep its own rules; TaskInvalid if not: nobody could pass then."""
    if not item.expectation.rules:
        return
    bundle_of(domain, item.task, item.expectation)
    for accepted in item.expectation.outcomes:
        events = Stage(domain, item.task).played(accepted.calls).events
        for rule in item.expectation.rules:
            broken = prepared_rule(domain, rule, item.task.id).violation(events)
            if broken is not None:
                raise TaskInvalid(
                    f"task {item.task.id}, outcome {accepted.name!r}: its golden calls break the rule "
                    f"{rule_name(rule)!r}, so nobody can pass; correct the rule or the calls"
                )


def evidence_of(domain: Domain, closed: Closed, reads: Collection[Input] = INPUTS) -> Evidence:
    """What a closed trial left behind, as far as it is read; where its stream cannot be read, why not."""
    return evidence_in(domain, closed.records, closed.effects, reads)


def evidence_in(
    domain: Domain, records: Sequence[Record], effects: Effects | str, reads: Collection[Input]
) -> Evidence:
    """
    What these records of a closed trial show.

    Args:
        effects: what it left, or in words why that cannot be told; then its events count as unreadable too.
    """
    fault = effects if isinstance(effects, str) else ""
    events: tuple[Happened, ...] | None = None
    if "events" in reads and not fault:
        try:
            events = events_of(domain, records)
        except UnknownTopic as unknown:
            fault = str(unknown)
    dialogue = dialogue_of(records)
    answer = next((said.text for said in reversed(dialogue) if said.role == "assistant"), "")
    return Evidence(None if isinstance(effects, str) or fault else effects, events, answer, dialogue, fault)


def effects_or_fault(domain: Domain, snapshot: Snapshot, records: Sequence[Record]) -> Effects | str:
    """The effects that today's handlers fold, or in words why they do not give the recorded ones."""
    try:
        return folded_effects(domain, snapshot, records)
    except SandboxFault as fault:
        return str(fault)
    except Exception as error:  # noqa: BLE001 - a handler that breaks on an old event leaves one trial ungradeable
        return f"a handler of domain {domain.name} broke on an event of this trial: {type(error).__name__}: {error}"


def dialogue_of(records: Sequence[Record]) -> tuple[Said, ...]:
    """The lines of the visible dialogue, in order."""
    payloads = (payload_of(record) for record in records)
    return tuple(payload for payload in payloads if isinstance(payload, Said))


def plans_of(tasks: Iterable[PackTask]) -> dict[str, list[PlannedCall]]:
    """Each task's first golden way, as a plan for a scripted agent."""
    return {
        item.task.id: [PlannedCall(call.tool, call.arguments) for call in item.expectation.outcomes[0].calls]
        for item in tasks
        if item.expectation.outcomes
    }


def judgements(store: Store) -> Iterator[Judgement]:
    """All judgements that a store keeps, in the order in which they were given; StreamFault if one of them is gone."""
    for name in store.names(KIND):
        content = store.kept(KIND, name)
        if content is None:
            raise StreamFault(f"{store.name}: judgement {name} is listed, but not there; restore a copy of the file")
        yield decoded(content)


def ensure_ended(store: Store) -> None:
    """
    Return if every trial that was judged still has its end.

    Raises:
        StreamFault: a stream lost its last records; a digest chain alone cannot show that.
    """
    for trial in dict.fromkeys(name.partition("/")[0] for name in store.names(KIND)):
        try:
            found = UUID(trial)
        except ValueError:
            raise StreamFault(f"{store.name}: a judgement names no trial: {trial[:80]!r}; restore a copy") from None
        ensure_has_end(store, found)


def ensure_has_end(store: Store, trial: UUID) -> None:
    """Return if a trial that was judged has its end; StreamFault if not."""
    last = store.last(trial)
    if last is None or not isinstance(payload_of(last), TrialEnded):
        raise StreamFault(
            f"{store.name}: trial {trial} was judged, but its last records are gone; restore a copy of the file"
        )


def newest_judgement(store: Store, key: TrialKey) -> Judgement | None:
    """The judgement on a trial that was given last; None if it has not been judged."""
    names = [name for name in store.names(KIND) if name.startswith(f"{key.id.hex}/")]
    content = store.kept(KIND, names[-1]) if names else None
    return None if content is None else decoded(content)


def keep_judgements(store: Store, given: Sequence[Judgement], kept: Collection[str]) -> None:
    """
    Keep many judgements in one commit.

    Args:
        kept: names of those that are in the store already. They are listed once more, since they are given once more,
            and the last one given on a trial counts.

    Raises:
        StreamFault: somebody else writes into the store.
    """
    index = index_stream(KIND)
    names = [judgement.name for judgement in given]
    batches: list[Batch] = [
        (content_stream(KIND, name), content_records(KIND, name, encoded(judgement)))
        for name, judgement in zip(names, given, strict=True)
        if name not in kept
    ]
    batches.append((index, index_records(KIND, names, Tail.after(index, store.last(index)))))
    for fault in store.append(batches):
        if fault is not None:
            raise fault
