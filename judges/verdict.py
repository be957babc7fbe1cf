"""Verdicts: every check of a task on one finished trial, and what they say together."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

from msgspec import Struct

from judges.compare import Comparison, Required, nearest_comparison
from judges.expectation import Expectation
from judges.findings import Findings
from judges.outcome import Outcome, built
from judges.profile import profile_of
from judges.public import RequiredState
from judges.rules import Happened, PreparedRule, prepared_rule
from sandbox.domain import Domain
from sandbox.effects import Effects, effects_digest
from sandbox.records import Said
from sandbox.snapshot import Snapshot
from sandbox.task import Task, snapshot_of
from sandbox.values import digest_of

Result = Literal["yes", "no", "could not check"]
Input = Literal["effects", "events", "answer", "dialogue"]
INPUTS: tuple[Input, ...] = get_args(Input)

DECIDING = (
    "alignment", "changes", "compare", "difference", "expectation", "findings", "outcome", "profile", "public",
    "renaming", "rules", "state", "strict", "verdict",
)  # fmt: skip
"""The modules of this package that a verdict depends on."""


class JudgeFault(Exception):
    """A judge could not come to a result; the trial is left ungradeable."""


class Evidence(Struct, frozen=True):
    """What a finished trial left behind; None for what is not at hand."""

    effects: Effects | None = None
    events: tuple[Happened, ...] | None = None
    answer: str | None = None
    """The agent's last words."""
    dialogue: tuple[Said, ...] | None = None
    fault: str = ""
    """Why effects and events are not at hand, where the trial's stream cannot be read with today's domain."""


class Check(Struct, frozen=True, gc=False, omit_defaults=True):
    """One question on a trial, and its answer; yes is good."""

    kind: Literal["outcome", "rule", "rubric"]
    name: str
    result: Result
    reason: str = ""
    position: int = 0
    """Of the first event that broke a rule."""
    cause: int = 0
    """Position of the call that emitted it."""


class Verdict(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a trial is worth."""

    result: Literal["pass", "fail", "ungradeable"]
    bundle: str
    """Digest of the judge bundle that gave it."""
    checks: tuple[Check, ...]
    outcome: str = ""
    """The outcome that was reached; for a fail the nearest one, which the findings are against."""
    findings: Findings = ()

    @property
    def conflicts(self) -> tuple[str, ...]:
        """Rubrics that were answered yes although a deterministic check says no: the check counts."""
        if not any(check.result == "no" and check.kind != "rubric" for check in self.checks):
            return ()
        return tuple(check.name for check in self.checks if check.kind == "rubric" and check.result == "yes")


class Opinion(Struct, frozen=True, gc=False):
    """What one judge says."""

    check: Check
    outcome: str = ""
    findings: Findings = ()


class Judge(Struct, frozen=True):
    """A judge: what it is called, what it reads, and a function that gets just that by name."""

    kind: Literal["outcome", "rule", "rubric"]
    name: str
    reads: tuple[Input, ...]
    opinion: Callable[..., Opinion]


class RubricAnswer(Struct, frozen=True):
    """Somebody's answer to a rubric."""

    result: Result
    reason: str = ""


class BundleParts(Struct, frozen=True):
    """What a bundle is made of, so that two can be told apart by what differs. All but the names are digests."""

    task: str
    """The public part. Two tasks that expect the same have bundles of their own."""
    expectation: str
    outcomes: dict[str, str]
    """The effects that each outcome requires, by its name."""
    comparison: str
    snapshot: str
    code: str


class JudgeBundle(Struct, frozen=True, eq=False):
    """Expectation, built outcomes, comparison profile and judge code of one task, ready to judge its trials."""

    task: str
    expectation: Expectation
    outcomes: tuple[Outcome, ...]
    judges: tuple[Judge, ...]
    parts: BundleParts
    digest: str
    """Covers all of that; stands beside each verdict."""

    @property
    def reads(self) -> frozenset[Input]:
        """What a verdict depends on of a trial: what its judges read, and the dialogue if there are rubrics on it."""
        asked: set[Input] = {"dialogue"} if self.expectation.rubrics else set()
        return frozenset(asked.union(*(judge.reads for judge in self.judges)))


def bundle_of(domain: Domain, task: Task, expectation: Expectation) -> JudgeBundle:
    """
    The judges of a task.

    Raises:
        TaskInvalid: no trial of this task could be judged rightly; the text says why.
    """
    outcomes = built(domain, task, expectation)
    snapshot = snapshot_of(domain, task)
    required = [required_of(domain, snapshot, task.id, expectation, outcome) for outcome in outcomes]
    names: list[object] = [one.profile.names for one in required if isinstance(one, Required)]
    rules = [prepared_rule(domain, rule, task.id) for rule in expectation.rules]
    judges = [outcome_judge(required)] if required else []
    judges += [rule_judge(rule) for rule in rules]
    digests = {outcome.name: effects_digest(outcome.effects) for outcome in outcomes}
    compared = digest_of(names)
    parts = BundleParts(task.digest, expectation.digest, digests, compared, snapshot.digest, code_digest())
    return JudgeBundle(task.id, expectation, outcomes, tuple(judges), parts, digest_of(parts))


def required_of(
    domain: Domain, snapshot: Snapshot, task: str, expectation: Expectation, outcome: Outcome
) -> Required | RequiredState:
    """
    An outcome, ready to be compared with as the task's profile says.

    Args:
        task: its id, for the texts of faults.
    """
    if expectation.profile == "own":
        profile = profile_of(domain, expectation.compare, task, refusal=not outcome.effects)
        return Required(outcome, domain, snapshot, profile)
    return RequiredState(outcome, domain, snapshot)


def judged(bundle: JudgeBundle, evidence: Evidence, rubric_answers: Mapping[str, RubricAnswer] = {}) -> Verdict:
    """
    The verdict on a finished trial.

    A no of any check fails. Without one, a check that could not be made leaves the trial ungradeable, as does a rubric
    that nobody answered. A judge that breaks, or that wants what today's domain cannot read, leaves it ungradeable
    whatever the others say.
    """
    opinions: list[Opinion] = []
    broken = False
    for judge in bundle.judges:
        opinion, fault = _opinion(judge, evidence)
        opinions.append(opinion)
        broken = broken or fault
    names = [rubric.name for rubric in bundle.expectation.questions]
    opinions += [_rubric(name, rubric_answers.get(name)) for name in names]
    checks = tuple(opinion.check for opinion in opinions)
    outcome = next((opinion.outcome for opinion in opinions if opinion.outcome), "")
    findings = tuple(finding for opinion in opinions for finding in opinion.findings)
    return Verdict("ungradeable" if broken else _result(checks), bundle.digest, checks, outcome, findings)


def _result(checks: Sequence[Check]) -> Literal["pass", "fail", "ungradeable"]:
    results = {check.result for check in checks}
    if "no" in results:
        return "fail"
    return "pass" if results == {"yes"} else "ungradeable"


def _opinion(judge: Judge, evidence: Evidence) -> tuple[Opinion, bool]:
    """What a judge says of what it reads, and whether it broke or had to read what is unreadable."""
    inputs = {name: getattr(evidence, name) for name in judge.reads}
    absent = [name for name, given in inputs.items() if given is None]
    if absent:
        told = f"the trial's {' and '.join(absent)} are not at hand"
        return _unchecked(judge, f"{told}: {evidence.fault}" if evidence.fault else told), bool(evidence.fault)
    try:
        return judge.opinion(**inputs), False
    except Exception as error:  # noqa: BLE001 - a judge that breaks is no verdict on the agent; caught only here
        return _unchecked(judge, f"the judge broke: {type(error).__name__}: {error}"), True


def _unchecked(judge: Judge, reason: str) -> Opinion:
    return Opinion(Check(judge.kind, judge.name, "could not check", reason))


def _rubric(name: str, answer: RubricAnswer | None) -> Opinion:
    if answer is None:
        return Opinion(Check("rubric", name, "could not check", "nobody answered it"))
    return Opinion(Check("rubric", name, answer.result, answer.reason))


def outcome_judge(required: Sequence[Required | RequiredState]) -> Judge:
    """A judge that wants the effects, or the state that they leave, to equal one of the outcomes."""

    def opinion(effects: Effects) -> Opinion:
        compared: list[Comparison] = []
        for one in required:
            compared.append(one.compare(effects))
            if compared[-1].equal == "yes":
                return Opinion(Check("outcome", one.name, "yes", compared[-1].reason), one.name)
        chosen = nearest_comparison(compared)
        reason = chosen.reason or f"findings: {len(chosen.findings)}"
        return Opinion(Check("outcome", chosen.outcome, chosen.equal, reason), chosen.outcome, chosen.findings)

    return Judge("outcome", " or ".join(one.name for one in required), ("effects",), opinion)


def rule_judge(rule: PreparedRule) -> Judge:
    """A judge that looks for the first event that breaks a rule."""

    def opinion(events: tuple[Happened, ...]) -> Opinion:
        broken = rule.violation(events)
        if broken is None:
            return Opinion(Check("rule", rule.name, "yes"))
        return Opinion(Check("rule", rule.name, "no", broken.reason, broken.position, broken.cause))

    return Judge("rule", rule.name, ("events",), opinion)


@cache
def code_digest() -> str:
    """Digest of the source of every module that a verdict depends on."""
    folder = files("judges")
    return digest_of({name: (folder / f"{name}.py").read_text(encoding="utf-8") for name in DECIDING})
