"""
Values of golden calls that nobody could know: they stand nowhere before the call that uses them.

Looked through are the seed, the answers of the golden calls so far, the goal, the user's context, the policy texts
(of the task, of the documents among the seed rows, of the instructions), and what the tool says of itself.

Which values count:

- Of a writing call every text that one of its events holds in a field that is not prose: ids, e-mail addresses, names,
  codes, parts of an address. A trial is compared by them, so an agent must be able to find them. An error.
- Of a reading call only what looks like a key to something, since its other words are a search of the agent's own:
  ids, e-mail addresses, and what stands in quotation marks in a filter. An error.
- Instants, by date and time of day: `March 17` in a text is as good as 2026-03-17. People work dates out (tomorrow,
  within two days), so this is a warning.
- Numbers of a writing call, by value. Amounts are worked out as well, so this is a warning: see that a policy gives
  the rule.

Prose does not count: an agent writes its own. Nor do true, false, null and what the tool's schema enumerates.
"""

import re
from collections.abc import Iterator, Sequence

from judges.changes import changes_of
from judges.lint.case import Case, scalars
from judges.lint.corpus import Corpus
from judges.lint.rehearsal import Rehearsal, Step
from judges.lint.report import Remark
from judges.lint.tool_schema import is_own_value, schemas_at
from sandbox.values import ValueFault, moment

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]|$)")
_KEYS = re.compile(r"'([^']+)'|\"([^\"]+)\"|([\w.+-]+@[\w-]+\.[\w.-]*\w)|\b([A-Z]{2,}[-_][\w-]*\d\w*)\b")
"""In the words of a reading call: what is quoted, e-mail addresses, and ids such as ORD-1033."""
_ATOM = re.compile(r"\S*[\d@]\S*")
"""A whole argument of a reading call that is one word with a digit or an at sign."""
NOWHERE = "it can be found nowhere: not in the seed, earlier answers, goal, user, policy or the tool's own values"


def invented(case: Case, seed: Corpus) -> Iterator[Remark]:
    """
    Golden values without a source.

    Args:
        seed: of the task's snapshot.
    """
    for outcome, rehearsal in enumerate(case.rehearsals):
        known = Corpus(case.told, under=seed)
        known.add(case.task.instant)
        compared = _compared(case, rehearsal)
        for place, step in enumerate(rehearsal.steps):
            if step.call.tool in case.domain.tools:
                yield from _of_call(case, outcome, place, step, known, compared)
            known.add(step.answer)


def _of_call(
    case: Case, outcome: int, place: int, step: Step, known: Corpus, compared: frozenset[str]
) -> Iterator[Remark]:
    tool = case.domain.tools[step.call.tool]
    own = Corpus([tool.spec.description], under=known)
    prose = _prose_of(case, step) - compared
    for path, steps, value in case.leaves_of(outcome, place):
        if value is None or isinstance(value, bool) or is_own_value(schemas_at(tool.schema, steps), value):
            continue
        if tool.is_read:
            wanted = _keys_in(value) if isinstance(value, str) else ()
        else:
            wanted = () if value in prose else (value,)
        for item in wanted:
            remark = _unfounded(case, path, item, own)
            if remark is not None:
                yield remark


def _unfounded(case: Case, path: str, value: str | int | float, known: Corpus) -> Remark | None:
    check = "invented-value"
    if not isinstance(value, str):
        if known.holds_number(value):
            return None
        reason = "this number stands nowhere; if it is worked out, an agent must be able to do so"
        return case.warning(check, path, value, reason, "see that the policy gives the rule and the records the parts")
    if known.holds(value) or not value.strip():
        return None
    if _DATE.match(value):
        return _undated(case, path, value, known)
    return case.error(check, path, value, NOWHERE, "put it where the agent can find it, or correct the golden call")


def _undated(case: Case, path: str, value: str, known: Corpus) -> Remark | None:
    try:
        time = moment(value)
    except ValueFault:
        return case.error("invented-value", path, value, NOWHERE, "correct the golden call")
    clock = f"{time:%H:%M}"
    if known.holds_date(time.date()) and (clock == "00:00" or known.holds(clock)):
        return None
    reason = "this date or its time of day stands nowhere; if it is worked out, an agent must be able to do so"
    return case.warning("invented-value", path, value, reason, "see that goal, user or policy give it")


def _keys_in(text: str) -> Sequence[str]:
    if _ATOM.fullmatch(text):
        return (text,)
    return [next(filter(None, found)) for found in _KEYS.findall(text)]


def _prose_of(case: Case, step: Step) -> set[str]:
    """The texts of a call that its events hold as prose."""
    specs = {event.topic: case.domain.handlings[event.topic].shape.fields for event in step.events}
    fields = [(event.fields, spec) for event in step.events for spec in specs[event.topic] if spec.kind == "prose"]
    return {str(values[spec.name]) for values, spec in fields if values.get(spec.name) is not None}


def _compared(case: Case, rehearsal: Rehearsal) -> frozenset[str]:
    """The texts of an outcome by which trials are compared, prose among them where the task says so."""
    changes = changes_of(case.profile, rehearsal.effects) if case.profile is not None else ()
    rows = ((change.effect.row or {}, change.fields) for change in changes)
    values = (row.get(name) for row, fields in rows for name in fields)
    return frozenset(item for value in values for item in scalars(value) if isinstance(item, str))
