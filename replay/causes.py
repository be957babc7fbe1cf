"""Why a verdict flips: the old expectation is tried with one part of the new one at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec.structs import replace

from judges.court import KeptBundle, kept_bundle
from judges.expectation import Expectation, Rule, TaskInvalid
from judges.findings import Findings
from judges.record import Judgement, inputs_of
from judges.rules import rule_name
from judges.verdict import Evidence, JudgeBundle, RubricAnswer, Verdict, bundle_of, judged
from sandbox.domain import Domain
from sandbox.stream import Store
from sandbox.task import Task

UNJUDGED = "not judged before"
UNKNOWN = "the store does not keep what it was judged by before"
JUDGE = "judge code changed"
DOMAIN = "domain changed"
RUBRICS = "rubrics are answered otherwise"


class Causes:
    """
    What flips verdicts in one campaign.

    Args:
        domain: with the rows that were sealed.
        tasks: as they were sealed.
    """

    def __init__(self, store: Store, domain: Domain, tasks: Mapping[str, Task]) -> None:
        self._store = store
        self._domain = domain
        self._tasks = tasks
        self._kept: dict[str, KeptBundle | None] = {}
        self._bundles: dict[tuple[str, str], JudgeBundle | None] = {}

    def of(
        self,
        bundle: JudgeBundle,
        old: Judgement | None,
        new: Verdict,
        fault: str,
        evidence: Callable[[], Evidence],
        answers: Mapping[str, RubricAnswer],
    ) -> tuple[str, ...]:
        """
        What changed, such that the verdict did.

        Parts of the expectation that flip it alone, each by itself; if none does alone, all that changed. What judge
        or domain code did is told from the old expectation under today's code.

        Args:
            fault: why the trial cannot be read today; empty if it can.
            evidence: gives all of it, also what today's judges do not read. It is asked for where it is needed.
        """
        if fault:
            return (f"{DOMAIN}: {fault}",)
        if old is None:
            return (UNJUDGED,)
        kept = self._kept_bundle(old.bundle)
        if kept is None:
            return (UNKNOWN,)
        same, seen = self._bundle(bundle.task, kept.expectation), evidence()
        if same is None or judged(same, seen, answers).result != old.verdict.result:
            return (_code_cause(kept, same, old, inputs_of(seen)),)
        parts = dict(changed_parts(kept.expectation, bundle.expectation))
        results = {cause: self._result(bundle.task, part, seen, answers) for cause, part in parts.items()}
        alone = [cause for cause, result in results.items() if result == new.result]
        return tuple(alone or parts)

    def _kept_bundle(self, digest: str) -> KeptBundle | None:
        if digest not in self._kept:
            self._kept[digest] = kept_bundle(self._store, digest)
        return self._kept[digest]

    def _result(
        self, task: str, expectation: Expectation, evidence: Evidence, answers: Mapping[str, RubricAnswer]
    ) -> str | None:
        bundle = self._bundle(task, expectation)
        return None if bundle is None else judged(bundle, evidence, answers).result

    def _bundle(self, task: str, expectation: Expectation) -> JudgeBundle | None:
        """The judges of an expectation, None if it is none on its own."""
        known = (task, expectation.digest)
        if known not in self._bundles:
            try:
                self._bundles[known] = bundle_of(self._domain, self._tasks[task], expectation)
            except TaskInvalid:
                self._bundles[known] = None
        return self._bundles[known]


def _code_cause(kept: KeptBundle, same: JudgeBundle | None, old: Judgement, inputs: Mapping[str, str]) -> str:
    """Whether domain code or judge code made the old expectation give another verdict."""
    if same is None:
        return f"{DOMAIN}: the golden calls that it was judged by no longer work"
    if any(inputs.get(name, value) != value for name, value in old.inputs.items()):
        return f"{DOMAIN}: the trial's events are read otherwise"
    if same.parts.outcomes != kept.parts.outcomes:
        return f"{DOMAIN}: the golden calls have other effects"
    if same.parts.comparison != kept.parts.comparison:
        return f"{DOMAIN}: fields are compared otherwise"
    if same.parts.code != kept.parts.code:
        return JUDGE
    return RUBRICS if kept.expectation.rubrics else DOMAIN


def changed_parts(old: Expectation, new: Expectation) -> Iterator[tuple[str, Expectation]]:
    """Each part that differs, in words, with the old expectation that has this part alone from the new one."""
    if old.outcomes != new.outcomes:
        yield _outcomes_told(old, new), replace(old, outcomes=new.outcomes)
    yield from _rules(old, new)
    for table in dict.fromkeys([*old.compare, *new.compare]):
        before, after = old.compare.get(table, {}), new.compare.get(table, {})
        for field in dict.fromkeys([*before, *after]):
            if before.get(field) != after.get(field):
                told = f"comparison of {table}.{field}: {_policy(before, field)}, now {_policy(after, field)}"
                changed = {name: policy for name, policy in {**before, field: after.get(field, "")}.items() if policy}
                yield told, replace(old, compare={**old.compare, table: changed})
    for question in dict.fromkeys([*old.rubrics, *new.rubrics]):
        if (question in old.rubrics) != (question in new.rubrics):
            kept = tuple(one for one in old.rubrics if one != question)
            if question in new.rubrics:
                yield f"rubric added: {question}", replace(old, rubrics=(*kept, question))
            else:
                yield f"rubric removed: {question}", replace(old, rubrics=kept)
    for name in ("refusal", "profile", "no_change"):
        if getattr(old, name) != getattr(new, name):
            told = f"{name}: {getattr(old, name)}, now {getattr(new, name)}"
            yield told, replace(old, **{name: getattr(new, name)})


def _outcomes_told(old: Expectation, new: Expectation) -> str:
    before = {accepted.name: accepted for accepted in old.outcomes}
    after = {accepted.name: accepted for accepted in new.outcomes}
    told = [f"{name!r} removed" for name in before if name not in after]
    told += [f"{name!r} added" for name in after if name not in before]
    told += [f"{name!r} changed" for name in after if name in before and before[name] != after[name]]
    return f"golden: outcome {', '.join(told) or 'order changed'}"


def _rules(old: Expectation, new: Expectation) -> Iterator[tuple[str, Expectation]]:
    removed = [rule for rule in old.rules if rule not in new.rules]
    added = [rule for rule in new.rules if rule not in old.rules]
    for rule in removed:
        successor = next((other for other in added if _subject(other) == _subject(rule)), None)
        if successor is None:
            left = tuple(one for one in old.rules if one != rule)
            yield f"rule removed: {rule_name(rule)}", replace(old, rules=left)
            continue
        added.remove(successor)
        changed = tuple(successor if one == rule else one for one in old.rules)
        yield f"rule changed: {rule_name(rule)}, now {rule_name(successor)}", replace(old, rules=changed)
    for rule in added:
        yield f"rule added: {rule_name(rule)}", replace(old, rules=(*old.rules, rule))


def _subject(rule: Rule) -> tuple[object, ...]:
    """What a rule is about; one that says something else of the same is a changed one."""
    return type(rule), rule.event, getattr(rule, "then", "")


def _policy(fields: Mapping[str, str], field: str) -> str:
    return fields.get(field, "by its type")


def findings_at(findings: Findings) -> tuple[str, ...]:
    """The fields and rows that findings are about, each once: `table.field`, or `table (missing row)`."""
    return _once(f"{one.table}.{one.field}" if one.field else f"{one.table} ({one.kind} row)" for one in findings)


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
