"""Verdicts: pass, fail, or ungradeable, and never one for the other."""

import ast
from importlib.resources import files

import pytest
from msgspec.structs import replace

from judges import verdict as module
from judges.expectation import Accepted, Expectation, GoldenCall, Never, Rule, TaskInvalid
from judges.rules import events_of
from judges.verdict import (
    DECIDING,
    Evidence,
    Judge,
    JudgeBundle,
    JudgeFault,
    Opinion,
    RubricAnswer,
    bundle_of,
    judged,
)
from sandbox.effects import encode_effects
from sandbox.task import Task
from tests.judges.shop import START, Script, after, domain, edit, new, refunded, stream_of

TASK = Task("late-mixer", "shop", START, "Where is my refund?")
LARGE = Never("refund-issued", {"amount": {">": 500}})
QUESTION = "Did the agent apologise?"


def accepted(name: str, script: Script) -> Accepted:
    return Accepted(name, tuple(GoldenCall(f"shop_{tool}", arguments) for tool, arguments in script))


def bundle(*rules: Rule, rubrics: tuple[str, ...] = (), outcomes: tuple[Accepted, ...] = ()) -> JudgeBundle:
    golden = outcomes or (accepted("refunded", [refunded()]),)
    return bundle_of(domain, TASK, Expectation(golden, rules, rubrics))


def evidence(script: Script) -> Evidence:
    return Evidence(after(script).effects, events_of(domain, stream_of(script)))


def test_the_right_effects_pass() -> None:
    result = judged(bundle(LARGE), evidence([refunded()]))
    assert (result.result, result.outcome, result.findings) == ("pass", "refunded", ())
    assert [check.result for check in result.checks] == ["yes", "yes"]


def test_a_forbidden_state_on_the_way_fails_though_the_end_is_right() -> None:
    undone = [refunded(amount=600), ("void_refund", {"id": "RFD-1"}), refunded()]
    result = judged(bundle(LARGE), evidence(undone))
    assert (result.result, result.findings) == ("fail", ())
    assert [(c.kind, c.result, c.position, c.cause) for c in result.checks[1:]] == [("rule", "no", 4, 3)]
    assert "event 4 (shop.refund-issued.1)" in result.checks[1].reason


def test_any_accepted_outcome_passes_and_another_shape_is_told_against_the_nearest() -> None:
    hold = edit("orders", "ORD-1", status="hold")
    both = bundle(outcomes=(accepted("refunded", [refunded(), hold]), accepted("kept", [hold])))
    assert [judged(both, evidence(s)).outcome for s in ([hold, refunded()], [hold])] == ["refunded", "kept"]
    third = judged(both, evidence([edit("orders", "ORD-1", status="closed")]))
    assert (third.result, third.outcome) == ("fail", "kept")
    assert [(f.kind, f.field, f.required, f.found) for f in third.findings] == [("wrong", "status", "hold", "closed")]


def test_in_a_refusal_task_doing_nothing_passes_and_any_effect_fails() -> None:
    refusal = bundle_of(domain, TASK, Expectation(refusal=True))
    assert judged(refusal, evidence([("get_order", {"id": "ORD-1"})])).result == "pass"
    assert judged(refusal, evidence([refunded()])).result == "fail"
    note = edit("orders", "ORD-1", note="called back", touched=1)
    assert [f.field for f in judged(refusal, evidence([note])).findings] == ["note", "touched"]
    ignoring = Expectation(refusal=True, compare={"shop_orders": {"note": "prose", "touched": "ignore"}})
    assert judged(bundle_of(domain, TASK, ignoring), evidence([note])).result == "pass"


def test_a_refusal_task_that_wants_a_note_is_passed_by_the_note_alone_in_any_words() -> None:
    ticket = new("tickets", requester="1", title="Declined")
    words, other = (edit("orders", "ORD-1", note=note) for note in ("told her why not", "not possible"))
    noted = bundle_of(domain, TASK, Expectation((accepted("declined", [ticket, words]),), refusal=True))
    elsewhere = edit("orders", "ORD-2", note="told her why not")
    scripts: tuple[Script, ...] = ([ticket, words], [ticket, other], [], [ticket, refunded()], [ticket, elsewhere])
    results = [judged(noted, evidence(script)).result for script in scripts]
    assert results == ["pass", "pass", "fail", "fail", "fail"]


def test_of_several_accepted_outcomes_only_those_that_write_a_row_leave_its_words_free() -> None:
    hold, ticket = edit("orders", "ORD-1", status="hold"), new("tickets", requester="1", title="Declined")
    words = edit("orders", "ORD-1", note="told her why not")
    outcomes = (
        accepted("silent", [("get_order", {"id": "ORD-1"})]),
        accepted("noted", [ticket]),
        accepted("held", [hold]),
    )
    either = bundle_of(domain, TASK, Expectation(outcomes, refusal=True))
    scripts: tuple[Script, ...] = ([], [ticket], [hold, words], [ticket, words], [words])
    verdicts = [judged(either, evidence(script)) for script in scripts]
    assert [verdict.result for verdict in verdicts] == ["pass", "pass", "pass", "fail", "fail"]
    assert [[f.field for f in verdict.findings] for verdict in verdicts[3:]] == [["note"], ["note"]]


@pytest.mark.parametrize(
    ("script", "answer", "result"),
    [
        ([refunded()], None, "ungradeable"),
        ([refunded()], RubricAnswer("could not check", "no words"), "ungradeable"),
        ([refunded()], RubricAnswer("yes"), "pass"),
        ([refunded()], RubricAnswer("no"), "fail"),
        ([], None, "fail"),
        ([], RubricAnswer("could not check"), "fail"),
        ([], RubricAnswer("yes"), "fail"),
    ],
)
def test_a_deterministic_no_outranks_a_rubric(script: Script, answer: RubricAnswer | None, result: str) -> None:
    verdict = judged(bundle(rubrics=(QUESTION,)), evidence(script), {} if answer is None else {QUESTION: answer})
    assert verdict.result == result
    assert verdict.conflicts == ((QUESTION,) if not script and answer == RubricAnswer("yes") else ())


def test_evidence_that_is_not_at_hand_leaves_the_trial_ungradeable() -> None:
    complete = evidence([refunded()])
    for absent in (replace(complete, effects=None), replace(complete, events=None)):
        assert judged(bundle(LARGE), absent).result == "ungradeable"
    without_events = judged(bundle(LARGE), replace(evidence([]), events=None))
    assert without_events.result == "fail"


@pytest.mark.parametrize("fault", [JudgeFault("no yes and no no"), ZeroDivisionError("x"), RecursionError("deep")])
@pytest.mark.parametrize("script", [[refunded()], []])
def test_a_judge_that_breaks_leaves_the_trial_ungradeable_whatever_the_others_say(
    fault: Exception, script: Script
) -> None:
    def breaking(effects: object) -> Opinion:
        raise fault

    whole = bundle()
    broken = replace(whole, judges=(*whole.judges, Judge("rule", "breaks", ("effects",), breaking)))
    verdict = judged(broken, evidence(script))
    assert verdict.result == "ungradeable"
    assert verdict.checks[-1].reason == f"the judge broke: {type(fault).__name__}: {fault}"


def test_a_comparison_without_an_answer_is_ungradeable() -> None:
    tickets: Script = [new("tickets", requester="2", title="a"), new("tickets", requester="1", title="b")]
    verdict = judged(bundle(outcomes=(accepted("two", tickets),)), evidence(tickets[::-1]))
    assert (verdict.result, verdict.checks[0].result) == ("ungradeable", "could not check")
    either = bundle(outcomes=(accepted("refunded", [refunded()]), accepted("two", tickets)))
    assert judged(either, evidence(tickets[::-1])).result == "ungradeable"
    assert judged(either, evidence([refunded()])).result == "pass"


def test_a_judge_gets_only_what_it_reads() -> None:
    seen: list[dict[str, object]] = []

    def curious(**inputs: object) -> Opinion:
        seen.append(inputs)
        raise JudgeFault("only looking")

    spying = replace(bundle(), judges=(Judge("rule", "spy", ("answer",), curious),))
    judged(spying, replace(evidence([refunded()]), answer="done"))
    assert seen == [{"answer": "done"}]


def test_judging_changes_no_evidence() -> None:
    given = evidence([refunded(amount=3), edit("orders", "ORD-1", tags=["z", "a"])])
    before = encode_effects(given.effects or ())
    judged(bundle(LARGE), given)
    assert encode_effects(given.effects or ()) == before


def test_every_part_of_a_bundle_is_in_its_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = [bundle().digest, bundle(LARGE).digest, bundle(rubrics=(QUESTION,)).digest]
    digests.append(bundle(outcomes=(accepted("refunded", [refunded(amount=26)]),)).digest)
    compare = {"shop_refunds": {"reason": "casefold_trim"}}
    outcomes = (accepted("refunded", [refunded()]),)
    digests.append(bundle_of(domain, TASK, Expectation(outcomes, compare=compare)).digest)
    monkeypatch.setattr(module, "code_digest", lambda: "other code")
    digests.append(bundle().digest)
    assert len(set(digests)) == len(digests)
    monkeypatch.undo()
    assert judged(bundle(), evidence([])).bundle == bundle().digest == digests[0]


def test_the_code_digest_covers_every_module_that_decides() -> None:
    folder, reached, waiting = files("judges"), set[str](), ["verdict"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            tree = ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))
            modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
            waiting += [module.removeprefix("judges.") for module in modules if module.startswith("judges.")]
    assert reached == set(DECIDING)


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(TaskInvalid, match="no profile 'owm'; did you mean 'own'"):
        bundle_of(domain, TASK, Expectation(refusal=True, profile="owm"))
