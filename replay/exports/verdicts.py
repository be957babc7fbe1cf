"""Verdicts in words, with or without what only the evaluator may know."""

from collections.abc import Iterator

from judges.findings import Finding
from judges.lines import lines, shown
from judges.verdict import Verdict

UNJUDGED = "ungradeable: nobody has judged it"


def told_verdict(verdict: Verdict | None, *, with_required: bool = False, with_values: bool = True) -> str:
    """
    A verdict with its findings, a line each.

    Args:
        with_required: whether to tell what was required, the names of rules and rubrics, and what judges reasoned.
        with_values: whether to tell what was found.
    """
    if verdict is None:
        return UNJUDGED
    return "\n".join(lines(verdict) if with_required else _told(verdict, with_values))


def _told(verdict: Verdict, with_values: bool) -> Iterator[str]:
    nearest = f"; nearest outcome: {verdict.outcome}" if verdict.result == "fail" and verdict.outcome else ""
    yield verdict.result + nearest
    yield from (f"  {check.kind}: {check.result}" for check in verdict.checks)
    yield from (f"    {_finding(finding, with_values)}" for finding in verdict.findings)


def _finding(finding: Finding, with_values: bool) -> str:
    at = f"{finding.kind}: {finding.table} {finding.key}" + (f" · {finding.field}" if finding.field else "")
    found = f", found {shown(finding.found)}" if with_values and finding.kind != "missing" else ""
    return at + found + (f" — event {finding.position}, {finding.tool}" if finding.position else "")
