"""The flip ledger as a table for the terminal, as Markdown and as values for JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from rich.table import Table
from rich.text import Text

from judges.lines import printable
from replay.ledger import Group, Ledger, Standing

SHOWN_TRIALS = 3
"""Trials of a group that are named."""
FLIP_COLUMNS = ("before", "now", "trials", "because", "fields", "such as")


def tables(ledger: Ledger, *, mixed: bool) -> Iterator[Table | str]:
    """Flips by cause, then the agents, then what is to be known of both."""
    if ledger.flips:
        yield _table(FLIP_COLUMNS, [_group_cells(ledger, group) for group in ledger.groups])
        yield ""
    if rows := standing_rows(ledger, mixed=mixed):
        yield _table(_standing_columns(ledger), rows)
        yield ""
    yield from remarks(ledger, mixed=mixed)


def markdown(ledger: Ledger, *, mixed: bool) -> Iterator[str]:
    """The same for a report."""
    if ledger.flips:
        yield from _markdown_table(FLIP_COLUMNS, [_group_cells(ledger, group) for group in ledger.groups])
        yield ""
    if rows := standing_rows(ledger, mixed=mixed):
        yield from _markdown_table(_standing_columns(ledger), rows)
        yield ""
    yield from (f"- {remark}" for remark in remarks(ledger, mixed=mixed))


def as_values(ledger: Ledger, *, mixed: bool) -> dict[str, Any]:
    """The same for programs; rates that were refused are null."""
    flips = [
        {
            "store": flip.store,
            "agent": flip.agent,
            "trial": str(flip.trial.key.id),
            **{name: getattr(flip.trial.key, name) for name in ("task", "repetition", "attempt")},
            **{name: getattr(flip.trial, name) for name in ("before", "after", "bundle_before", "bundle", "reason")},
            "causes": list(flip.trial.causes),
            "fields": list(flip.trial.fields),
        }
        for flip in ledger.flips
    ]
    return {
        "trials": ledger.trials,
        "ungradeable": ledger.ungradeable,
        "k": ledger.k,
        "flips": flips,
        "before": _standing_values(ledger.before, is_told=mixed or not ledger.mixed_before),
        "after": _standing_values(ledger.after, is_told=mixed or not ledger.mixed),
        "mixed_before": list(ledger.mixed_before),
        "mixed": list(ledger.mixed),
        "absent": {one.store: list(one.absent) for one in ledger.heard if one.absent},
        "changed": {one.store: list(one.changed) for one in ledger.heard if one.changed},
    }


def _standing_values(found: Sequence[Standing], *, is_told: bool) -> Any:
    return [msgspec.to_builtins(one) for one in found] if is_told else None


def remarks(ledger: Ledger, *, mixed: bool) -> Iterator[str]:
    """How many flipped, and all that a reader of the rates must know."""
    changes = [f"{len(ledger.flips)} of {ledger.trials} verdicts flip"]
    for before, after in dict.fromkeys((flip.trial.before, flip.trial.after) for flip in ledger.flips):
        count = sum((flip.trial.before, flip.trial.after) == (before, after) for flip in ledger.flips)
        changes.append(f"{count} {before} → {after}")
    yield "; ".join(changes)
    broken = sum(not trial.is_counted for one in ledger.heard for trial in one.trials)
    if broken:
        yield f"{broken} of the {ledger.trials} are attempts that broke, which enter no rate and no row of the table"
    if ledger.ungradeable:
        yield f"{ledger.ungradeable} trials are ungradeable now; they count as not passed"
    for told, tasks in (("before", ledger.mixed_before), ("now", ledger.mixed)):
        if tasks:
            left = "" if mixed else f"; the rates of {told} are left out, --mixed sums them up all the same"
            yield f"mixed bundles {told}: verdicts of different judges on {', '.join(tasks)}{left}"
    for one in ledger.heard:
        if one.absent:
            yield f"{one.store}: no expectation today for {', '.join(one.absent)}; those trials keep their verdicts"
        if one.changed:
            yield f"{one.store}: the public part of {', '.join(one.changed)} has changed; judged on what was sealed"


def _group_cells(ledger: Ledger, group: Group) -> list[str]:
    named = [f"{flip.trial.key.task}/{flip.trial.key.repetition}" for flip in group.flips]
    if len(ledger.heard) > 1:
        named = [f"{flip.agent} {name}" for flip, name in zip(group.flips, named, strict=True)]
    more = [f"and {len(named) - SHOWN_TRIALS} more"] if len(named) > SHOWN_TRIALS else []
    such_as = ", ".join([*named[:SHOWN_TRIALS], *more])
    because, fields = "; ".join(group.causes), ", ".join(group.fields)
    return [_printable(c) for c in (group.before, group.after, str(len(named)), because, fields or "–", such_as)]


def _standing_columns(ledger: Ledger) -> tuple[str, ...]:
    return ("agent", "tasks", "trials", "pass@1", "now", f"pass^{ledger.k}", "now", "rank", "now")


def standing_rows(ledger: Ledger, *, mixed: bool) -> list[list[str]]:
    """A line for each agent with its rates before and now; `–` for what was refused or has no estimate."""
    is_told, is_told_before = mixed or not ledger.mixed, mixed or not ledger.mixed_before
    if not is_told and not is_told_before:
        return []
    before = {one.agent: one for one in ledger.before}
    rows = []
    for now in ledger.after:
        sides = [(before[now.agent], is_told_before), (now, is_told)]
        rates = [
            [
                _percent(one.pass_1 if told else None),
                _percent(one.pass_k if told else None),
                str(one.rank) if told else "–",
            ]
            for one, told in sides
        ]
        cells = [cell for pair in zip(*rates, strict=True) for cell in pair]
        rows.append([_printable(now.agent), str(now.tasks), str(now.trials), *cells])
    return rows


def _percent(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.1%}"


def _printable(text: str) -> str:
    """Names come from stores and packs: data, also for a terminal."""
    return printable(text)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(
            name,
            overflow="fold",
            justify="left" if place == 0 or name in ("now", "because", "fields", "such as") else "right",
        )
    for cells in rows:
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for cells in rows:
        escaped = [cell.replace("|", "\\|") for cell in cells]
        yield f"| {' | '.join(escaped)} |"
