"""Imported campaigns in stores: written all or none, and read again."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import asdict, replace

from judges.results.foreign import ForeignResults, ForeignTrial, named
from judges.results.numbering import ForeignCampaign
from sandbox.archive import Seal, SealedTask, keep_seal
from sandbox.foreign import ImportFault
from sandbox.records import TrialKey
from sandbox.refusals import UserFault
from sandbox.store_file import StreamFault
from sandbox.stream import Store
from sandbox.trial import VERSION
from sandbox.values import canonical, digest_of
from sandbox.view_rows import TrialRow, UsageRow, VerdictRow

KIND = "results"
"""The kind of content under which a store keeps imported results: the whole without its trials, then these in parts."""
HEAD = "head"
TRIALS_IN_A_PART = 2000
LONGEST_FILE_NAME = 160
"""Characters, without its suffix."""


def file_name(agent: str, domain: str) -> str:
    """The name of a store, which leads nowhere but into its folder."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{agent}-{domain}").strip(".-")[:LONGEST_FILE_NAME]
    # `x.views.db` holds the read models of `x.db`.
    name = re.sub(r"\.views$", "-views", name, flags=re.IGNORECASE)
    return f"{name or 'results'}.db"


def write(folder: Path, campaigns: Sequence[ForeignCampaign], name: str = "") -> list[Path]:
    """
    Make a store for each campaign in a new folder: all of them, or nothing.

    Args:
        name: of the campaigns; empty: made of the names and the content of the files that they are from.

    Raises:
        UserFault: something is in the folder already, or two campaigns would have one file.
    """
    target = folder.resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserFault(f"{folder} is there already; choose another folder")
    files = _files(campaigns)
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(f".{target.name}.{os.getpid()}.part")
    shutil.rmtree(half, ignore_errors=True)
    try:
        half.mkdir()
        for file, campaign in zip(files, campaigns, strict=True):
            with Store.open(half / file, create=True) as store:
                _keep(store, campaign, name)
        half.rename(target)
    finally:
        shutil.rmtree(half, ignore_errors=True)
    return [folder / file for file in files]


def _files(campaigns: Sequence[ForeignCampaign]) -> list[str]:
    taken: dict[str, ForeignCampaign] = {}
    for campaign in campaigns:
        file = file_name(campaign.agent, campaign.domain)
        other = taken.setdefault(file.casefold(), campaign)
        if other is not campaign:
            raise ImportFault(
                f"agent {other.agent!r} in {other.domain!r} and agent {campaign.agent!r} in {campaign.domain!r} would "
                f"both be in {file}; import one of them by itself, with --agent and another name"
            )
    return [file_name(campaign.agent, campaign.domain) for campaign in campaigns]


def _keep(store: Store, campaign: ForeignCampaign, name: str) -> None:
    results = campaign.results
    for place, start in enumerate(range(0, len(results.trials), TRIALS_IN_A_PART), 1):
        store.keep(KIND, f"trials-{place}", canonical(results.trials[start : start + TRIALS_IN_A_PART]))
    store.keep(KIND, HEAD, canonical(replace(results, trials=())))
    keep_seal(store, seal_of(campaign, name))


def seal_of(campaign: ForeignCampaign, name: str = "") -> Seal:
    """What is sealed of a campaign; its tasks have the digests that every import of this format gives them."""
    results = campaign.results
    nothing = digest_of("")
    tasks = (
        SealedTask(task, digest_of(["imported", results.format, campaign.domain, task]), (), nothing)
        for task in campaign.tasks
    )
    return Seal(
        name=named(name, "campaign", "--name") if name else _campaign_name(results),
        domain=campaign.domain,
        domain_digest=digest_of(["imported", results.format, campaign.domain]),
        instructions_digest=nothing,
        agent=campaign.agent,
        repetitions=campaign.repetitions,
        tasks=tuple(tasks),
        version=VERSION,
        mounting="imported",
        agent_settings=campaign.settings,
    )


def _campaign_name(results: ForeignResults) -> str:
    """The same content always gives the same name, so that it is not counted twice, and other content another."""
    stem = results.sources[0].name.partition(".")[0] or results.format
    return f"{stem}-{digest_of([source.sha256 for source in results.sources])[:8]}"


def results_in(store: Store) -> ForeignResults | None:
    """
    The results that were imported into a store; None if it holds none.

    Raises:
        StreamFault: a part of them is gone, or cannot be read.
    """
    head = store.kept(KIND, HEAD)
    if head is None:
        return None
    trials: list[ForeignTrial] = []
    try:
        for name in store.names(KIND):
            if name != HEAD:
                part = store.kept(KIND, name)
                if part is None:
                    raise StreamFault(f"{store.name}: results {name} are listed, but not there; restore a copy")
                trials += msgspec.json.decode(part, type=list[ForeignTrial])
        return replace(msgspec.json.decode(head, type=ForeignResults), trials=tuple(trials))
    except msgspec.DecodeError as error:
        raise StreamFault(f"{store.name}: its imported results cannot be read: {error}; import them again") from None


def bundle_digest(format: str) -> str:
    """What stands as the judge bundle of verdicts that another tool gave."""
    return digest_of(["imported", format])


def rows_of(results: ForeignResults, seal: Seal) -> Iterator[TrialRow | UsageRow | VerdictRow]:
    """
    Imported trials as rows of the read models: what they used, and if they are no infrastructure their verdict.

    They have neither records nor effects; calls that are not known are told as none.
    """
    bundle, refusals = bundle_digest(results.format), frozenset(results.refusals)
    for place, trial in enumerate(results.trials, 1):
        row = _trial_row(trial, seal)
        yield row
        yield from (UsageRow(row.trial, **asdict(spent)) for spent in trial.spent)
        if not trial.is_infrastructure:
            refusal = int(trial.task in refusals)
            yield VerdictRow(row.trial, bundle, trial.result, "", 0, place, refusal=refusal, reason=trial.detail)


def _trial_row(trial: ForeignTrial, seal: Seal) -> TrialRow:
    return TrialRow(
        trial=TrialKey(seal.name, trial.task, trial.repetition, trial.attempt).id.hex,
        campaign=seal.name,
        task=trial.task,
        repetition=trial.repetition,
        attempt=trial.attempt,
        agent=seal.agent,
        end=trial.end,
        flags=" ".join(trial.flags),
        detail=trial.detail,
        calls=trial.calls or 0,
        refused=trial.refused or 0,
        records=0,
        effects="",
        domain_digest="",
    )
