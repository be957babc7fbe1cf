"""What the trials of a task show, in words: the records that were wrong, trials that are alike together."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from judges.errors_file import Unresolved
from judges.lines import check_line, cut, line, shown
from judges.metrics.signatures import NORMAL_ENDS
from judges.trials import JudgedTrial, Requirement, TaskTrials
from judges.verdict import Check

MOST_LINES = 10
"""Lines of a pattern that are shown."""
MOST_PATTERNS = 10
"""Patterns that are shown; many trials of a bad agent fail in as many ways."""
LONGEST = 400
"""Characters of a line."""


def outcome(trials: TaskTrials) -> str:
    """How many passed: `3 of 5`, or `3 of 5, 1 without a verdict`."""
    unresolved = f", {len(trials.unresolved)} without a verdict" if trials.unresolved else ""
    return f"{trials.passed} of {trials.repetitions}{unresolved}"


def told_failure(trials: TaskTrials, requirement: Requirement) -> str:
    """A requirement that the agent did not keep: each pattern with the records that were wrong."""
    head = f"{trials.task}: {cut(trials.agent)} passed {trials.passed} of {trials.repetitions}"
    lines = [f"{head}, required: {requirement.told}{requirement.found(trials.counts)}", *_failures(trials)]
    return "\n".join([*lines, *_unresolved(trials)])


def told_open(trials: TaskTrials, requirement: Requirement) -> str:
    """A requirement that is neither kept nor broken, because some repetitions have no verdict."""
    head = f"{trials.task}: undecided, which is no failure of {cut(trials.agent)}: passed {outcome(trials)}"
    lines = [f"{head}, required: {requirement.told}", *_unresolved(trials)]
    return "\n".join([*lines, *_failures(trials)])


def explained_by(store: Path, task: str, repetition: int) -> str:
    """The command that shows a trial."""
    return f"trialbox explain {shlex.quote(_near(store))} {shlex.quote(f'{task}/{repetition}')}"


def _near(path: Path) -> str:
    """A path as it can be typed here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _failures(trials: TaskTrials) -> Iterator[str]:
    patterns = patterns_of(trials.failed)
    for pattern in patterns[:MOST_PATTERNS]:
        yield ""
        yield f"in {len(pattern)} of {trials.repetitions}, {_numbers(pattern)}:"
        lines = _wrong(pattern[0])
        yield from (f"  {cut(text, LONGEST)}" for text in lines[:MOST_LINES])
        if len(lines) > MOST_LINES:
            yield f"  and {len(lines) - MOST_LINES} more lines"
        yield f"  {explained_by(trials.store, trials.task, pattern[0].repetition)}"
    if len(patterns) > MOST_PATTERNS:
        yield ""
        yield f"and in {len(patterns) - MOST_PATTERNS} more ways: trialbox failures {shlex.quote(_near(trials.store))}"


def _numbers(pattern: Sequence[JudgedTrial]) -> str:
    return f"repetition{'s' if len(pattern) > 1 else ''} {', '.join(str(trial.repetition) for trial in pattern)}"


def patterns_of(failed: Sequence[JudgedTrial]) -> list[list[JudgedTrial]]:
    """Failed trials that left the same wrong records together, wherever in the trial they were written; most first."""
    found: dict[tuple[object, ...], list[JudgedTrial]] = {}
    for trial in failed:
        verdict = trial.verdict
        findings = [
            (one.kind, one.table, one.key, one.op, one.field, shown(one.required), shown(one.found))
            for one in verdict.findings
        ]
        checks = [(check.kind, check.name) for check in verdict.checks if _is_told(check, trial)]
        found.setdefault((_ended(trial), *checks, *findings), []).append(trial)
    return sorted(found.values(), key=lambda pattern: -len(pattern))


def _wrong(trial: JudgedTrial) -> list[str]:
    """The lines in which `explain` tells what is wrong."""
    verdict = trial.verdict
    checks = [check_line(check) for check in verdict.checks if _is_told(check, trial)]
    findings = [f"{finding.kind}: {line(finding)}" for finding in verdict.findings]
    return [*_ended(trial), *checks, *findings]


def _is_told(check: Check, trial: JudgedTrial) -> bool:
    """Whether it was answered with no; of outcomes the findings tell more."""
    return check.result == "no" and (check.kind != "outcome" or not trial.verdict.findings)


def _ended(trial: JudgedTrial) -> tuple[str, ...]:
    """How it ended, if it was stopped."""
    if trial.end.end in NORMAL_ENDS:
        return ()
    return (f"ended: {trial.end.end}" + (f" ({trial.end.detail})" if trial.end.detail else ""),)


def _unresolved(trials: TaskTrials) -> Iterator[str]:
    if trials.unresolved:
        yield ""
        yield f"no verdict on {len(trials.unresolved)} of {trials.repetitions}, which counts neither way:"
    for one in trials.unresolved[:MOST_LINES]:
        yield f"  {cut(_told(one), LONGEST)}"
        yield f"  {explained_by(trials.store, trials.task, one.repetition)}"
    if len(trials.unresolved) > MOST_LINES:
        yield f"  and {len(trials.unresolved) - MOST_LINES} more"


def _told(one: Unresolved) -> str:
    attempt = f", attempt {one.attempt}" if one.attempt > 1 else ""
    return f"repetition {one.repetition}{attempt}, {one.stage}: {one.fault}: {one.message}"
