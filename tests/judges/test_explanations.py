"""Findings joined to the events that wrote them, kept as records, and told in lines."""

import msgspec
import pytest

from judges.blame import with_blame
from judges.expectation import Accepted, Expectation, GoldenCall, Never
from judges.findings import Finding
from judges.lines import line, lines, shown
from judges.record import KIND, Judgement, decoded, encoded, inputs_of, is_mixed
from judges.rules import events_of
from judges.verdict import Evidence, RubricAnswer, Verdict, bundle_of, judged
from sandbox.effects import effects_of
from sandbox.fold import fold
from sandbox.task import Task
from tests.judges.shop import START, Script, domain, drop, edit, new, refunded, stream_of

TASK = Task("t", "shop", START, "hello")


def explained(golden: Script, trial: Script, rubrics: tuple[str, ...] = ()) -> Verdict:
    calls = tuple(GoldenCall(f"shop_{tool}", arguments) for tool, arguments in golden)
    bundle = bundle_of(domain, TASK, Expectation((Accepted("golden", calls),), rubrics=rubrics))
    records = stream_of(trial)
    effects = effects_of(domain.snapshot, fold(domain, domain.snapshot, records))
    answers = {question: RubricAnswer("yes") for question in rubrics}
    verdict = judged(bundle, Evidence(effects, events_of(domain, records)), answers)
    return with_blame(verdict, domain, domain.snapshot, records)


def test_a_wrong_field_names_the_event_that_wrote_it_last() -> None:
    hold = edit("orders", "ORD-1", status="hold")
    trial = [edit("orders", "ORD-1", status="solved"), edit("orders", "ORD-1", total=5), ("get_order", {"id": "ORD-1"})]
    verdict = explained([hold, edit("orders", "ORD-1", total=5)], trial)
    (found,) = verdict.findings
    assert (found.field, found.position, found.topic, found.cause, found.tool) == (
        ("status", 4, "shop.row-written.1", 3, "shop_change")
    )
    assert line(found) == (
        "shop_orders ORD-1 · status: required hold, found solved"
        " — written by event 4 (shop.row-written.1), call 3 shop_change"
    )


def test_each_extra_is_blamed_and_nothing_missing_is() -> None:
    verdict = explained(
        [refunded()], [edit("customers", "C-2", address="x"), drop("customers", "C-1"), new("orders", customer="C-2")]
    )
    assert [(f.kind, f.table, f.key, f.op, f.position) for f in verdict.findings] == [
        ("extra", "shop_customers", "C-1", "deleted", 7),
        ("extra", "shop_customers", "C-2", "updated", 4),
        ("extra", "shop_orders", "ORD-3", "inserted", 10),
        ("missing", "shop_refunds", "RFD-1", "inserted", 0),
    ]


def test_a_field_of_a_new_row_is_blamed_on_the_later_event_that_changed_it() -> None:
    trial = [
        new("orders", customer="C-1", total=3),
        edit("orders", "ORD-3", total=4),
        edit("orders", "ORD-3", status="x"),
    ]
    verdict = explained([new("orders", customer="C-1", total=3, status="x")], trial)
    assert [(f.field, f.required, f.found, f.position) for f in verdict.findings] == [("total", 3.0, 4.0, 7)]


def test_a_whole_verdict_in_lines() -> None:
    verdict = explained([refunded()], [refunded(amount=30)], ("Was the agent kind?",))
    assert lines(verdict) == [
        "fail; nearest outcome: golden",
        "  outcome golden: no (findings: 1)",
        "  rubric Was the agent kind?: yes",
        "  judge conflict: rubric 'Was the agent kind?' says yes, a deterministic check no",
        f"    {line(verdict.findings[0])}",
    ]
    assert line(verdict.findings[0]).startswith("shop_refunds RFD-1 · amount: required 25.0, found 30.0 — written by")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("hold", "hold"),
        ("", '""'),
        (None, "null"),
        ("null", '"null"'),
        ("5", '"5"'),
        (5, "5"),
        ("nothing", '"nothing"'),
        (msgspec.UNSET, "nothing"),
        (" a", '" a"'),
        ("a\nb", '"a\\nb"'),
        ("x" * 100, "x" * 79 + "…"),
    ],
)
def test_different_values_are_shown_differently_and_in_one_line(value: object, text: str) -> None:
    assert shown(value) == text


def test_a_judgement_is_kept_as_bytes_that_bring_it_back() -> None:
    verdict = explained(
        [refunded(), drop("customers", "C-1")], [refunded(amount=30), edit("orders", "ORD-1", extra=None)]
    )
    kept = Judgement("trial-1", domain.digest, {"effects": "e"}, verdict)
    again = decoded(encoded(kept))
    assert (again, encoded(again), again.name) == (kept, encoded(kept), kept.name)
    assert again.bundle == verdict.bundle
    absent = [f.required for f in again.verdict.findings if f.field == "extra"]
    assert absent == [msgspec.UNSET]


def test_a_judgement_has_another_name_for_another_bundle_input_or_answer() -> None:
    verdict = explained([refunded()], [refunded()], ("Was the agent kind?",))
    kept = Judgement("trial-1", "d", {"effects": "e"}, verdict)
    others = [
        msgspec.structs.replace(kept, inputs={"effects": "f"}),
        msgspec.structs.replace(kept, domain="e"),
        msgspec.structs.replace(kept, verdict=msgspec.structs.replace(verdict, bundle="other")),
        msgspec.structs.replace(kept, verdict=msgspec.structs.replace(verdict, checks=())),
    ]
    assert len({judgement.name for judgement in (kept, *others)}) == 5
    assert is_mixed([kept, others[2]])
    assert not is_mixed([kept, kept])
    assert KIND.isalpha()


def test_the_inputs_of_a_judgement_are_what_the_judges_read() -> None:
    def inputs(script: Script, *rules: Never) -> dict[str, str]:
        bundle = bundle_of(domain, TASK, Expectation((), rules, refusal=True))
        return inputs_of(Evidence((), events_of(domain, stream_of(script)), "done"), bundle.reads)

    never = Never("refund-issued")
    assert set(inputs([refunded()])) == {"effects"}
    assert set(inputs([refunded()], never)) == {"effects", "events"}
    assert inputs([refunded()], never)["events"] != inputs([refunded(amount=1)], never)["events"]


def test_a_finding_without_a_known_writer_is_told_without_one() -> None:
    assert (
        line(Finding("extra", "desk_tickets", "20", "deleted", required={"id": "20"}))
        == "desk_tickets 20: deleted, must stay"
    )
