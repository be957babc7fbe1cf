"""What mutation found, as tables and lines for people and as plain values for programs."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

from judges.lines import printable
from judges.mutation.mistakes import MISTAKES
from judges.mutation.neutral import NEUTRAL
from judges.mutation.run import LEAST_KILLED, MOST, Case, Report, Tally, kill_rate
from sandbox.values import plain

MOST_NOTES = 3
"""Notes that are shown for one reason why mutants are equivalent."""


def kinds_table(report: Report) -> Table:
    """A line for each kind of change, over all tasks."""
    return _table("kind", _summed(report.tallies, lambda tally: tally.kind))


def tasks_table(report: Report) -> Table:
    """A line for each task, over all kinds."""
    return _table("task", _summed(report.tallies, lambda tally: tally.task))


def full_table(report: Report) -> Table:
    """A line for each task and kind."""
    return _table("task and kind", {f"{tally.task} {tally.kind}": tally for tally in report.tallies})


def told(report: Report) -> Iterator[str]:
    """Holes and false alarms one by one, equivalent mutants by reason, and what it comes to; printable lines."""
    return map(printable, _told(report))


def _told(report: Report) -> Iterator[str]:
    for fate, word in (("survivor", "SURVIVED"), ("false alarm", "FALSE ALARM")):
        for case in report.cases:
            if case.fate == fate:
                yield f"{word} {_named(case)}"
                yield f"  {case.reason}"
    yield from _equivalents(report.of("equivalent"))
    for task in report.untouched:
        yield f"not mutated: {task} has no golden calls that write"
    idle = [kind for kind in (*MISTAKES, *NEUTRAL) if kind not in {case.kind for case in report.cases}]
    if idle:
        yield f"nothing to change in this way: {', '.join(idle)}"
    if report.left_out:
        yield f"{report.left_out} mutants left out: at most {MOST} of a kind for each accepted outcome"
    rate = report.kill_rate
    killed = "no mistakes" if rate is None else f"{rate:.2%} of mistakes that matter killed"
    yield f"{killed} (at least {LEAST_KILLED:.0%}), {len(report.of('false alarm'))} false alarms (none)"


def as_values(report: Report) -> dict[str, Any]:
    """The whole report but for what went as it should."""
    return {
        "kill_rate": report.kill_rate,
        "good": report.is_good,
        "left_out": report.left_out,
        "untouched": list(report.untouched),
        "tallies": [{**plain(tally), "kill_rate": tally.kill_rate} for tally in report.tallies],
        "cases": plain(report.of("equivalent", "survivor", "false alarm")),
    }


def _equivalents(cases: list[Case]) -> Iterator[str]:
    notes: dict[tuple[str, str], list[str]] = {}
    for case in cases:
        notes.setdefault((case.kind, case.reason), []).append(f"{case.task}, {case.note}")
    for (kind, reason), found in sorted(notes.items()):
        yield f"equivalent: {len(found)} {kind}: {reason}"
        yield from (f"  {note}" for note in found[:MOST_NOTES])
        if len(found) > MOST_NOTES:
            yield f"  and {len(found) - MOST_NOTES} more"


def _named(case: Case) -> str:
    return f"{case.task}, {case.kind}: {case.note}"


def _summed(tallies: tuple[Tally, ...], name_of: Callable[[Tally], str]) -> dict[str, Tally]:
    counts: dict[str, Counter[str]] = {}
    for tally in tallies:
        counted = counts.setdefault(name_of(tally), Counter())
        for name in ("mutants", "killed", "equivalent", "survivors", "false_alarms"):
            counted[name] += getattr(tally, name)
    return {name: Tally("", name, **counted) for name, counted in counts.items()}


def _table(first: str, lines: dict[str, Tally]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for place, name in enumerate((first, "mutants", "killed", "equivalent", "survived", "alarms", "rate")):
        table.add_column(name, justify="left" if place == 0 else "right")
    for name, tally in lines.items():
        rate = kill_rate(tally.killed, tally.survivors)
        counts = (tally.mutants, tally.killed, tally.equivalent, tally.survivors, tally.false_alarms)
        shown = "neutral" if rate is None else f"{rate:.1%}"
        table.add_row(Text(printable(name)), *map(str, counts), shown)
    return table
