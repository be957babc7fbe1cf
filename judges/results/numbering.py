"""From what files say to campaigns: repetitions and attempts numbered, several files of one agent added up."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from judges.results.foreign import (
    MOST_REPETITIONS,
    ForeignResults,
    ForeignTrial,
    Numbering,
    Read,
    Reading,
    Source,
    told,
)
from sandbox.foreign import ImportFault


class ForeignCampaign(Struct, frozen=True):
    """One agent's trials in one domain, and what was planned."""

    agent: str
    domain: str
    settings: str
    tasks: tuple[str, ...]
    repetitions: int
    results: ForeignResults


def campaigns(readings: Sequence[Reading], repetitions: int = 0) -> list[ForeignCampaign]:
    """
    A campaign for each agent and domain; what several files say of one is added up.

    Args:
        repetitions: how many of each task were planned, if that is more than the files show.

    Raises:
        ImportFault: a repetition stands twice though its first attempt counts, some trials have numbers and some have
            none, or an agent has other settings in another file.
    """
    found: dict[tuple[str, str], list[Reading]] = {}
    for reading in readings:
        found.setdefault((reading.agent, reading.domain), []).append(reading)
    return [_campaign(parts, repetitions) for parts in found.values()]


def _campaign(parts: Sequence[Reading], repetitions: int) -> ForeignCampaign:
    first = parts[0]
    for part in parts:
        if part.settings != first.settings:
            raise ImportFault(
                f"agent {first.agent!r} has other settings in {part.file} than in {first.file}; "
                f"they are two agents: import the files one by one, and name each with --agent"
            )
    reads = [read for part in parts for read in part.trials]
    numbering = _numbering(reads)
    names = dict.fromkeys(name for part in parts for name in (*part.tasks, *(read.trial.task for read in part.trials)))
    by_task: dict[str, list[Read]] = {name: [] for name in names}
    for read in reads:
        by_task[read.trial.task].append(read)
    trials = tuple(trial for group in by_task.values() for trial in _numbered(group, numbering))
    seen = max((trial.repetition + 1 for trial in trials), default=0)
    results = ForeignResults(
        format=first.format,
        sources=tuple(Source(told(Path(part.file).name), part.sha256, len(part.trials)) for part in parts),
        numbering=numbering,
        refusals=tuple(dict.fromkeys(name for part in parts for name in part.refusals)),
        trials=trials,
    )
    planned = max(seen, repetitions, *(part.planned for part in parts))
    return ForeignCampaign(first.agent, first.domain, first.settings, tuple(names), planned, results)


def _numbering(reads: Sequence[Read]) -> Numbering:
    with_number = next((read for read in reads if read.number is not None), None)
    without = next((read for read in reads if read.number is None), None)
    if with_number is not None and without is not None:
        raise ImportFault(
            f"{without.where} has no repetition number, and {with_number.where} has one; give all of them one, or none"
        )
    return "given" if without is None else "appearance"


def _numbered(reads: Sequence[Read], numbering: Numbering) -> Iterator[ForeignTrial]:
    """The trials of one task, by repetition and attempt."""
    if len(reads) > MOST_REPETITIONS and numbering == "appearance":
        raise ImportFault(
            f"{reads[MOST_REPETITIONS].where}: task {reads[0].trial.task[:40]!r} has more than {MOST_REPETITIONS:,} "
            f"repetitions; nobody runs that many, so look whether these are the results of one agent"
        )
    numbers = [place if read.number is None else read.number for place, read in enumerate(reads)]
    ordered = sorted(zip(numbers, reads, strict=True), key=lambda pair: pair[0])
    for number, attempts in groupby(ordered, key=lambda pair: pair[0]):
        for attempt, trial in enumerate(_attempts(number, [read for _, read in attempts]), 1):
            yield replace(trial, repetition=number, attempt=attempt)


def _attempts(number: int, reads: Iterable[Read]) -> Iterator[ForeignTrial]:
    """Attempts at one repetition: the first that is not infrastructure counts, and nothing may come after it."""
    counts: Read | None = None
    for read in reads:
        if counts is not None:
            raise ImportFault(
                f"{read.where} is repetition {number} of task {read.trial.task[:40]!r}, and so is {counts.where}, "
                f"which ended and counts; import the results of another run into another folder, and give both stores "
                f"to `trialbox stats`"
            )
        if not read.trial.is_infrastructure:
            counts = read
        yield read.trial
