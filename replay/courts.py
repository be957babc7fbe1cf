"""Judges again from what a store keeps: its tasks, expectations and snapshot layers, without the pack."""

from collections.abc import Mapping
from typing import Any

import msgspec

from judges.court import KeptBundle, evidence_in, kept_bundle
from judges.lines import cut
from judges.pack import PackTask
from judges.verdict import INPUTS, Evidence, JudgeBundle, Verdict, bundle_of
from replay.trials import Recording, content_of
from sandbox.archive import Archive
from sandbox.domain import Domain
from sandbox.effects import effects_of
from sandbox.fold import end_of, fold
from sandbox.projection import folded_effects
from sandbox.refusals import UserFault
from sandbox.task import UserContext


def kept_bundles(archive: Archive) -> dict[str, KeptBundle]:
    """What the store keeps of judge bundles by their digest, in the order in which they were kept."""
    kept = ((name, kept_bundle(archive.store, name)) for name in archive.store.names("expectation"))
    return {name: bundle for name, bundle in kept if bundle is not None}


def kept_task(archive: Archive, task: str) -> PackTask:
    """A task of the campaign with the newest expectation of it; UserFault if the store keeps none."""
    public = archive.tasks[task]
    found = [kept.expectation for kept in kept_bundles(archive).values() if kept.task == public.digest]
    if not found:
        raise UserFault(
            f"{archive.store.name} keeps no expectation of task {cut(task)}, so its trials cannot be judged"
        )
    return PackTask(public, UserContext(task), found[-1])


def furnished(archive: Archive) -> Domain:
    """The archive's domain with the seed rows that were sealed with the campaign, whatever they are today."""
    lowest = archive.seal.tasks[0].layers[0]
    if archive.domain.seed.digest == lowest:
        return archive.domain
    rows: Mapping[str, Any] = msgspec.json.decode(content_of(archive.store, "layer", lowest))
    return archive.domain.furnished(rows, None)


def bundle_for(archive: Archive, task: str) -> JudgeBundle:
    """The judges of a task, made again; TaskInvalid if today's code cannot."""
    item = kept_task(archive, task)
    return bundle_of(furnished(archive), item.task, item.expectation)


def evidence_on(archive: Archive, trial: Recording) -> Evidence:
    """
    What a trial left behind, also one that has not ended.

    Raises:
        FoldDiffers: today's handlers do not give the effects that were recorded.
    """
    domain, snapshot = archive.domain, archive.snapshots[trial.key.task]
    if end_of(trial.records) is None:
        effects = effects_of(snapshot, fold(domain, snapshot, trial.records))
    else:
        effects = folded_effects(domain, snapshot, trial.records)
    return evidence_in(domain, trial.records, effects, INPUTS)


def is_right(verdict: Verdict) -> bool:
    """Whether every check that needs no opinion says yes; rubrics are left out, since nothing here can answer them."""
    checks = [check.result for check in verdict.checks if check.kind != "rubric"]
    return bool(checks) and set(checks) == {"yes"}
