"""Verdicts and findings in plain lines, for people."""

from typing import Any

import msgspec
from msgspec import UNSET

from judges.findings import Finding
from judges.verdict import Check, Verdict

LONGEST_VALUE = 80
"""Characters of a value that a line shows."""
WIDEST = 108
"""Characters of a text that a line shows."""


def line(finding: Finding) -> str:
    """
    One finding: `desk_tickets 2 · status: required hold, found solved — written by event 14 (desk.changed.1), call 12`,
    and the name of the call's tool.
    """
    at = f"{finding.table} {finding.key}"
    if finding.field:
        told = f"{at} · {finding.field}: required {shown(finding.required)}, found {shown(finding.found)}"
        told += {"missing": " (not changed)", "extra": " (not asked for)", "wrong": ""}[finding.kind]
    elif finding.op == "inserted":
        if finding.kind == "missing":
            told = f"{at}: required row is missing {shown(finding.required)}"
        else:
            told = f"{at}: row that nobody asked for {shown(finding.found)}"
    else:
        told = f"{at}: " + (
            "required to be deleted, still there" if finding.kind == "missing" else "deleted, must stay"
        )
    return printable(told + _writer(finding))


def check_line(check: Check) -> str:
    """One check and its answer."""
    return printable(f"{check.kind} {check.name}: {check.result}" + (f" ({check.reason})" if check.reason else ""))


def lines(verdict: Verdict) -> list[str]:
    """A whole verdict: the result, then each check, then each finding, indented."""
    nearest = f"; nearest outcome: {verdict.outcome}" if verdict.result == "fail" and verdict.outcome else ""
    told = [printable(verdict.result + nearest), *(f"  {check_line(check)}" for check in verdict.checks)]
    told += [f"  {conflict}" for conflict in conflict_lines(verdict)]
    return [*told, *(f"    {line(finding)}" for finding in verdict.findings)]


def conflict_lines(verdict: Verdict) -> list[str]:
    """A line for each rubric that was answered against what the records say."""
    return [f"judge conflict: rubric {name!r} says yes, a deterministic check no" for name in verdict.conflicts]


def shown(value: Any) -> str:
    """A value in one line: plain words as they are, everything else as JSON, long ones cut."""
    if value is UNSET:
        return "nothing"
    if isinstance(value, str) and value.isprintable() and value.strip() == value and not _looks_typed(value):
        text = value
    else:
        text = msgspec.json.encode(value).decode()
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def printable(text: str) -> str:
    """One printable line: what packs, agents and models wrote is data, also for a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "·" for c in text)


def cut(text: str, widest: int = WIDEST) -> str:
    """One printable line of bounded width."""
    told = printable(text[: widest + 1])
    return told if len(told) <= widest else told[: widest - 1] + "…"


def _looks_typed(text: str) -> bool:
    """Whether a text without quotes would pass for something else: nothing, a number, true."""
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return not text or text == "nothing"
    return True


def _writer(finding: Finding) -> str:
    if not finding.position:
        return ""
    call = f", call {finding.cause} {cut(finding.tool)}".rstrip() if finding.cause else ""
    return f" — written by event {finding.position} ({finding.topic}){call}"
