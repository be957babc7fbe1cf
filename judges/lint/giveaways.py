"""
Rows and words that give the answer away: a golden decision that somebody has already written down.

Only rows of the task's own story are looked at: those of its patch, and those that hold an id which a writing golden
call names. Documents (policies) are left out, since deciding is what they are for. A text gives away

- an enumerated value of a golden call of two words or more, such as `late_delivery_compensation`, word for word;
- an amount of a golden call together with what is done with it: the tool's verb or the enumerated value's words.
  Not in the goal: customers name amounts, rightly or not.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from judges.lint.case import Case
from judges.lint.corpus import Corpus
from judges.lint.report import Remark
from judges.lint.rows import Seed, SeedRow
from judges.lint.tool_schema import enumerated, schemas_at

GOAL = "the goal"


class Decision(Struct, frozen=True):
    """What a writing golden call decides."""

    path: str
    tool: str
    choices: tuple[tuple[str, str], ...]
    """Enumerated values of several words, each with its path in the file."""
    amounts: tuple[tuple[str, float], ...]
    """Numbers that are not 0 or 1, each with its path."""
    ids: frozenset[str]


def given_away(case: Case, seed: Seed) -> Iterator[Remark]:
    """A warning for each place that tells the answer, with both places named."""
    told: set[tuple[str, str]] = set()
    decisions = list(_decisions(case))
    ids = frozenset(item for decision in decisions for item in decision.ids)
    for where, text in _texts(case, seed, ids):
        corpus = Corpus([text])
        for decision in decisions:
            amounts = () if where == GOAL else decision.amounts
            for path, value in _given_in(corpus, text, decision, amounts):
                if (where, str(value)) not in told:
                    told.add((where, str(value)))
                    reason = f"{where} gives it away: {_around(text, str(value))!r}"
                    yield case.warning("giveaway", path, value, reason, "say it less plainly there, or leave it out")


def _decisions(case: Case) -> Iterator[Decision]:
    for outcome, rehearsal in enumerate(case.rehearsals):
        for place, step in enumerate(rehearsal.steps):
            tool = case.domain.tools.get(step.call.tool)
            if tool is None or tool.is_read:
                continue
            choices, amounts, ids = [], [], set()
            for path, steps, value in case.leaves_of(outcome, place):
                is_choice = enumerated(schemas_at(tool.schema, steps), value)
                if is_choice and isinstance(value, str) and re.search(r"\w[_ -]\w", value):
                    choices.append((path, value))
                elif isinstance(value, int | float) and not isinstance(value, bool) and value not in (0, 1):
                    amounts.append((path, float(value)))
                elif isinstance(value, str) and not is_choice:
                    ids.add(value)
            call_path = case.path_of(outcome, place)
            yield Decision(call_path, step.call.tool, tuple(choices), tuple(amounts), frozenset(ids))


def _texts(case: Case, seed: Seed, ids: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The words of the story, each with where they stand."""
    yield GOAL, case.task.goal
    for table, rows in seed.rows.items():
        if case.domain.tables[table].spec.documents:
            continue
        patched = {case.domain.tables[table].spec.key_of(row) for row in _patched(case, table)}
        for row in rows:
            if row.key in patched or not ids.isdisjoint(row.texts):
                yield from ((f"{table} {row.key}, {name}", text) for name, text in _long_texts(row))


def _patched(case: Case, table: str) -> list[Any]:
    keys = [layer.tables.get(table, {}) for layer in case.snapshot.layers[1:]]
    return [row for rows in keys for row in rows.values()]


def _long_texts(row: SeedRow) -> Iterator[tuple[str, str]]:
    yield from ((name, value) for name, value in row.fields.items() if isinstance(value, str) and " " in value)


def _given_in(
    corpus: Corpus, text: str, decision: Decision, amounts: Sequence[tuple[str, float]]
) -> Iterator[tuple[str, Any]]:
    for path, value in decision.choices:
        if corpus.holds(value):
            yield path, value
    words = {word for _, value in decision.choices for word in re.split(r"[_ -]", value)}
    words |= set(decision.tool.split("_")[:2]) - {"create", "update", "add"}
    stems = [word[:6].casefold() for word in words if len(word) > 3]
    if any(re.search(rf"\b{re.escape(stem)}", text.casefold()) for stem in stems):
        yield from ((path, value) for path, value in amounts if corpus.holds_number(value))


def _around(text: str, value: str) -> str:
    flat = " ".join(text.split())
    start = max(0, flat.find(value.removesuffix(".0")) - 30)
    return ("…" if start else "") + flat[start : start + 80] + ("…" if start + 80 < len(flat) else "")
