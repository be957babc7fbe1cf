"""Golden calls: each must succeed, together they must change something, and they must keep the task's own rules."""

from collections.abc import Iterator

from judges.changes import changes_of
from judges.expectation import Before, TaskInvalid, nearest
from judges.lint.case import Case
from judges.lint.report import Remark
from judges.outcome import misfits
from judges.rules import PreparedRule, prepared_rule, rule_name


def calls(case: Case) -> Iterator[Remark]:
    """Calls that are unknown, refused, answered with an error, or not the agent's to make."""
    for place, name in enumerate(case.task.tools):
        if name not in case.domain.tools:
            reason = f"there is no such tool in domain {case.domain.name}"
            advice = nearest(name, case.domain.tools)
            yield case.error("unknown-tool", f"$.tools[{place}]", name, reason, advice)
    for path, step in case.steps():
        if step.fault:
            advice = "golden calls must succeed: correct the call, or the rows that it needs"
            yield case.error("golden-call", path, step.call.tool, step.fault, advice)
        elif step.call.tool not in case.visible:
            reason = "the task needs this tool and does not show it to the agent"
            yield case.error("hidden-tool", path, step.call.tool, reason, "add it to `tools`")


def effects(case: Case) -> Iterator[Remark]:
    """Outcomes whose calls all succeed and together change nothing that can be compared."""
    for place, (accepted, rehearsal) in enumerate(zip(case.expectation.outcomes, case.rehearsals, strict=True)):
        path = f"$.expect.outcomes[{place}]"
        if not accepted.calls or any(step.fault for step in rehearsal.steps) or case.profile is None:
            continue
        if not rehearsal.effects:
            if not case.may_idle:
                reason = "its golden calls change nothing, so doing nothing would pass"
                yield case.error("no-effect", path, accepted.name, reason, "add the call, or say `refusal: true`")
            continue
        if not changes_of(case.profile, rehearsal.effects) and not case.expectation.no_change:
            reason = "its golden calls change nothing that is compared, so doing nothing would pass"
            yield case.error("no-effect", path, accepted.name, reason, "compare one of the fields with `compare`")
        for table, key, name in misfits(case.profile, rehearsal.effects):
            policy = case.profile.table(table).names.get(name, "value")
            reason = f"{table} {key}, field {name}: the golden value is none that {policy!r} can compare"
            yield case.error("misfit", path, accepted.name, reason, "correct the golden call or the policy")


def rules(case: Case) -> Iterator[Remark]:
    """Rules that can never say no or never say yes, and rules that the golden calls themselves break."""
    for place, rule in enumerate(case.expectation.rules):
        path, name = f"$.expect.rules[{place}]", rule_name(rule)
        try:
            prepared = prepared_rule(case.domain, rule, case.task.id)
        except TaskInvalid as fault:
            reason = str(fault).rpartition(f"rule {name!r}: ")[2]
            yield case.error("rule", path, name, reason, "correct the rule")
            continue
        for event in (rule.event, rule.then) if isinstance(rule, Before) else (rule.event,):
            if not _emitters(case, event):
                reason = f"no tool that the agent may use can bring about {event}, so there is nothing to check"
                yield case.error("rule", path, name, reason, "show such a tool, or delete the rule")
        yield from _broken(case, path, prepared)


def _broken(case: Case, path: str, rule: PreparedRule) -> Iterator[Remark]:
    for accepted, rehearsal in zip(case.expectation.outcomes, case.rehearsals, strict=True):
        broken = rule.violation(rehearsal.events)
        if broken is not None:
            reason = f"the golden calls of outcome {accepted.name!r} break it at call {broken.cause}"
            yield case.error("rule", path, rule.name, reason, "correct the rule or the golden calls")


def _emitters(case: Case, event: str) -> list[str]:
    """The visible tools that may emit an event of this tag, or `mount.tag`."""
    return [
        name
        for name in case.visible
        for event_type, topic in case.domain.tools[name].topics.items()
        if event_type in case.domain.tools[name].spec.emits
        and event in (event_type.event_tag, topic.rpartition(".")[0])
    ]
