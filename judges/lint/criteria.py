"""What a task judges by: something at all, nothing that an idle agent passes, and of a refusal its reason."""

from collections.abc import Iterator

from judges.changes import changes_of
from judges.expectation import Never, TaskInvalid, criterion_faults
from judges.lint.case import Case
from judges.lint.report import Remark
from judges.profile import profile_of
from judges.verdict import Evidence, judged


def empty(case: Case) -> Iterator[Remark]:
    """Criteria that are empty or twice there."""
    for fault in criterion_faults(case.expectation):
        reason = fault.reason.removeprefix(", ") if fault.reason[0] == "," else f"the task{fault.reason}"
        yield case.error("empty-criterion", f"$.expect{fault.path}", None, reason, fault.advice)


def overrides(case: Case) -> Iterator[Remark]:
    """Comparison settings that are wrong, or that concern nothing."""
    touched = {effect.table for rehearsal in case.rehearsals for effect in rehearsal.effects}
    for table, fields in case.expectation.compare.items():
        path = f"$.expect.compare.{table}"
        try:
            profile_of(case.domain, {table: fields}, case.task.id)
        except TaskInvalid as fault:
            reason = str(fault).partition("compare: ")[2]
            yield case.error("compare", path, fields, reason, "correct the setting")
            continue
        if touched and table not in touched:
            reason = "no golden call changes a row of this table, so the setting decides nothing about the right way"
            yield case.warning("compare", path, fields, reason, "delete it, or check that only a wrong way needs it")


def rubrics(case: Case) -> Iterator[Remark]:
    """Rubrics, which only a model answers."""
    for place, rubric in enumerate(case.expectation.questions):
        reason = "only a judge model can answer it, and where none is asked a right trial is ungradeable"
        yield case.warning("rubric", f"$.expect.rubrics[{place}]", rubric.name, reason, "run it with a judge model")


def refusal(case: Case) -> Iterator[Remark]:
    """A refusal task that says nothing of what makes doing nothing right."""
    if case.expectation.refusal and not refusal_reasons(case):
        reason = "the task says that it is a refusal task, and an agent that never understood it would pass"
        advice = "give it a rubric, a golden note or a `never` rule for what must be refused"
        yield case.error("refusal", "$.expect.refusal", True, reason, advice)


def refusal_reasons(case: Case) -> tuple[str, ...]:
    """What a refusal task wants besides nothing being done: `rubric`, `note`, `trap`."""
    expectation, profile = case.expectation, case.profile
    is_noted = profile is not None and any(changes_of(profile, found.effects) for found in case.rehearsals)
    reasons = {
        "rubric": bool(expectation.rubrics),
        "note": is_noted,
        "trap": any(isinstance(rule, Never) for rule in expectation.rules),
    }
    return tuple(name for name, holds in reasons.items() if holds)


def idle(case: Case) -> Iterator[Remark]:
    """A task that an agent passes who only talks, though it is no refusal task."""
    if case.bundle is None or case.expectation.refusal:
        return
    if judged(case.bundle, Evidence((), (), "", ())).result != "pass":
        return
    if case.expectation.no_change:
        reason = "an agent that does nothing passes; the task itself says so, but it measures little"
        yield case.warning("idle-pass", "$.expect.no_change", True, reason, "compare no agents by it")
    else:
        reason = "an agent that does nothing passes: the seed already satisfies all that is judged"
        advice = "require an outcome, change the seed, or say `refusal: true`"
        yield case.error("idle-pass", "$.expect", None, reason, advice)
