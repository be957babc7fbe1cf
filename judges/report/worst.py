"""The failures that look most like successes: clean to the eye, and wrong in the records."""

import shlex
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from judges.lines import line
from judges.metrics.stored import cases_of, looks_clean
from judges.metrics.study import Study
from judges.record import KIND, decoded
from judges.report.table import Cell, Column, Table
from sandbox.stream import Store
from sandbox.view_rows import Case

MOST = 20
"""Trials that are shown."""
EACH = 3
"""Of them, those of one agent at most."""


class Found(Struct, frozen=True):
    """A failed trial that looked clean."""

    agent: str
    path: Path
    case: Case


def worst(study: Study, most: int = MOST) -> Table | None:
    """
    Of the failed trials that looked clean those with the most findings, one of each task, with what is wrong first.

    None if there is none.
    """
    clean = [
        Found(one.seal.agent, one.path, case)
        for one in study.campaigns
        if one.seal.mounting != "imported"
        for case in cases_of(one.path)
        if case.findings and looks_clean(case)
    ]
    chosen = _chosen(sorted(clean, key=_most_findings_first), most)
    if not chosen:
        return None
    columns = (
        Column("agent"),
        Column("task"),
        Column("findings", "count"),
        Column("the first of them"),
        Column("what shows it", "text", "a command"),
    )
    wrong = _first_findings(chosen)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (one.agent, one.case.task, one.case.findings, wrong[one.case.trial], command(one.path, one.case))
        for one in chosen
    )
    about = (
        f"Failed trials that ended normally, changed a record and were refused nothing last: those with the most "
        f"findings, each task once, at most {EACH} of one agent and {most} in all."
    )
    return Table("worst", "Failures that looked clean", about, columns, rows)


def command(path: Path, case: Case) -> str:
    """What shows a trial at the record that shows its failure."""
    at = f"@{case.position}" if case.position else ""
    return f"trialbox show {shlex.quote(str(path))} {case.trial[:8]}{at}"


def _most_findings_first(one: Found) -> tuple[int, str, str, str]:
    return -one.case.findings, one.agent, one.case.task, one.case.trial


def _chosen(found: Iterable[Found], most: int) -> list[Found]:
    by_agent: dict[str, int] = {}
    tasks: set[str] = set()
    chosen: list[Found] = []
    for one in found:
        if len(chosen) < most and one.case.task not in tasks and by_agent.get(one.agent, 0) < EACH:
            chosen.append(one)
            tasks.add(one.case.task)
            by_agent[one.agent] = by_agent.get(one.agent, 0) + 1
    return chosen


def _first_findings(chosen: Iterable[Found]) -> dict[str, str]:
    """By trial its first finding, from its newest judgement."""
    by_store: dict[Path, set[str]] = {}
    for one in chosen:
        by_store.setdefault(one.path, set()).add(one.case.trial)
    told: dict[str, str] = {}
    for path, trials in by_store.items():
        with Store.open(path, read_only=True) as store:
            newest = {trial: name for name in store.names(KIND) if (trial := name.partition("/")[0]) in trials}
            for trial, name in newest.items():
                content = store.kept(KIND, name)
                findings = () if content is None else decoded(content).verdict.findings
                told[trial] = f"{findings[0].kind}: {line(findings[0])}" if findings else ""
    return told | {trial: "" for trials in by_store.values() for trial in trials if trial not in told}
