"""`trialbox diff` and `trialbox tree`."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from judges.lines import cut
from judges.mutation.stage import Written
from replay.calls import Line, Made, Step
from replay.compare import Branch, Counts, Parting, parting, tree
from replay.printing import say
from replay.trials import Recording, trial_named
from sandbox.archive import Archive, domain_of
from sandbox.fold import end_of
from sandbox.stream import Store

_WORDS = {
    "said": "one speaks where the other does not",
    "asked": "they ask different things",
    "answered": "they are told different things",
    "rows": "their rows differ",
    "end": "they stop in different ways",
}


def add_to(commands: Any) -> None:
    """Both."""
    comparing = commands.add_parser(
        "diff",
        help="the first step after which two trials of a task differ",
        epilog="Exit code: 0 if they do not differ, 1 if they do, 2 if they cannot be compared.",
    )
    comparing.add_argument("store", type=Path, help="a campaign's store")
    comparing.add_argument("one", help="a trial: the beginning of its id, or TASK/REPETITION")
    comparing.add_argument("other", help="the other trial, named in the same way")
    comparing.add_argument("--store2", type=Path, help="where the other one is (default: the same store)")
    comparing.set_defaults(run=_diff)
    growing = commands.add_parser("tree", help="all trials of a task as a tree, and where passes and failures part")
    growing.add_argument("store", type=Path, help="a campaign's store")
    growing.add_argument("task", help="the id of a task of the campaign")
    growing.set_defaults(run=_tree)


def _diff(options: argparse.Namespace) -> int:
    with (
        Store.open(options.store, read_only=True) as store,
        Store.open(options.store2 or options.store, read_only=True) as store2,
    ):
        archives = [Archive(store, domain_of(store)), Archive(store2, domain_of(store2))]
        trials = [
            trial_named(archive, name) for archive, name in zip(archives, (options.one, options.other), strict=True)
        ]
        found = parting(archives[0], trials[0], archives[1], trials[1])
    if found is None:
        print("no difference: the same calls, answers and rows")
        return 0
    say(parting_lines(found, trials))
    return 1


def parting_lines(found: Parting, trials: list[Recording]) -> Iterator[str]:
    """Where two trials part, in words."""
    yield f"the same for {found.calls} calls; then {_WORDS[found.how]}"
    for trial, step in zip(trials, (found.one, found.other), strict=True):
        yield f"{trial.key.id} ({cut(trial.agent, 40)})"
        if found.how == "end":
            end = end_of(trial.records)
            yield f"  {end.end if end else 'has not ended'}"
        else:
            yield from (f"  {line}" for line in step_lines(step))


def step_lines(step: Step | None) -> Iterator[str]:
    """One step, with the rows that it wrote."""
    if step is None:
        yield "nothing more"
    elif isinstance(step, Line):
        yield f"{step.position:4}  {step.role}: {cut(step.text)}"
    else:
        yield f"{step.position:4}  {step.number}. {cut(step.tool)} {cut(step.arguments)}"
        yield f"{step.end:4}      {'! ' if step.refusal else '= '}{cut(step.answered.strip())}"
        for (table, key), row in step.written.items():
            yield f"          {table} {cut(key)}: {_change(row)}"


def _change(row: Written) -> str:
    if row.after is None:
        return "deleted"
    if row.before is None:
        return f"created {_json(row.after)}"
    before = row.before
    return _json({name: value for name, value in row.after.items() if name not in before or before[name] != value})


def _json(value: Any) -> str:
    return cut(msgspec.json.encode(value).decode())


def _tree(options: argparse.Namespace) -> int:
    with Store.open(options.store, read_only=True) as store:
        root = tree(Archive(store, domain_of(store)), options.task)
    say(branch_lines(root))
    return 0


def branch_lines(branch: Branch, depth: int = 0) -> Iterator[str]:
    """A tree of behaviours: calls that all have in common, then the branches, the most travelled first."""
    indent = "  " * depth
    mark = "   ◄ passing and failing ones part after this" if branch.parts else ""
    yield f"{indent}{counts_line(branch.counts)}{mark}"
    for number, call in enumerate(branch.calls, branch.first):
        yield f"{indent}  {number}. {call_line(call)}"
    if branch.ended != Counts():
        yield f"{indent}  end: {counts_line(branch.ended)}"
    for child in branch.branches:
        yield from branch_lines(child, depth + 1)


def call_line(call: Made) -> str:
    """A call in comparable form."""
    return cut(call.asked) + (f" ! {call.refusal}" if call.refusal else "")


def counts_line(counts: Counts) -> str:
    """Such as `4 pass, 1 fail`."""
    named = (("pass", counts.passed), ("fail", counts.failed), ("other", counts.other))
    return ", ".join(f"{count} {name}" for name, count in named if count)
