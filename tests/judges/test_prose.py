"""Prose is the agent's own in the rows that an outcome writes, and nobody's business anywhere else."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from judges.campaigns import run_judged, told_trial
from judges.court import plans_of
from judges.explain import summary
from judges.pack import tasks_of
from sandbox import Effects
from sandbox.agents import PlannedCall, Scripted
from sandbox.registry import domain_named
from sandbox.stream import Store
from tests.judges.shop import Script, after, edit
from tests.judges.test_comparison_laws import compared, ids, scripts

RETAIL = domain_named("retail")
TASK = [item for item in tasks_of(RETAIL) if item.task.id == "stuck-warranty"]

orders = st.sampled_from(["ORD-1", "ORD-2"])
words = st.one_of(st.text(max_size=20), ids)


def touches(effects: Effects, order: str) -> bool:
    return any((effect.table, effect.key) == ("shop_orders", order) for effect in effects)


@settings(max_examples=400)
@given(scripts, st.data(), orders, words)
def test_new_words_in_one_old_row_are_exactly_one_finding_unless_the_outcome_writes_that_row(
    script: Script, data: st.DataObject, order: str, text: str
) -> None:
    golden = after(script).effects
    at = data.draw(st.integers(0, len(script)))
    result = compared(golden, after([*script[:at], edit("orders", order, note=text), *script[at:]]).effects)
    found = [(f.kind, f.table, f.key, f.op, f.field, f.required, f.found) for f in result.findings]
    if touches(golden, order) or not text:
        assert (result.equal, found) == ("yes", [])
    else:
        expected = ("extra", "shop_orders", order, "updated", "note", "", text)
        assert (result.equal, found) == ("no", [expected])


@settings(max_examples=200)
@given(scripts, orders, words, words)
def test_an_outcome_that_words_a_row_takes_any_words_there_and_none_too(
    script: Script, order: str, one: str, other: str
) -> None:
    golden = after([*script, edit("orders", order, note=one or "words")]).effects
    for trial in (script, [*script, edit("orders", order, note=other)]):
        assert compared(golden, after(trial).effects).equal == "yes"


def update(table: str, key: str, **fields: str) -> PlannedCall:
    return PlannedCall("zendesk_update_item", {"table": table, "id": key, "item": fields})


def test_an_agent_that_overwrites_what_people_wrote_fails_and_each_field_is_told(tmp_path: Path) -> None:
    tickets = list(RETAIL.snapshot.table("zendesk_tickets"))
    vandal = [
        *plans_of(TASK)["stuck-warranty"],
        *(update("tickets", key, subject="gone", description="gone") for key in tickets),
        update("comments", "1", body="gone"),
        update("organizations", next(iter(RETAIL.snapshot.table("zendesk_organizations"))), notes="gone"),
    ]
    run_judged(tmp_path / "v.db", RETAIL, TASK, Scripted("vandal", {"stuck-warranty": vandal}), 1, name="vandal")
    with Store.open(tmp_path / "v.db", read_only=True) as store:
        told = told_trial(store, RETAIL, "stuck-warranty/0")
    verdict = told.judgement.verdict
    assert verdict.result == "fail"
    assert {(f.kind, f.found, f.tool) for f in verdict.findings} == {("extra", "gone", "zendesk_update_item")}
    overwritten = [(f.key, f.field) for f in verdict.findings if f.table == "zendesk_tickets"]
    wanted = [(key, field) for key in tickets if key != "7" for field in ("subject", "description")]
    assert sorted(overwritten) == sorted(wanted)
    others = [(f.table, f.field) for f in verdict.findings if f.table != "zendesk_tickets"]
    assert others == [("zendesk_comments", "body"), ("zendesk_organizations", "notes")]
    lines = list(summary(told, RETAIL))
    for finding in verdict.findings:
        assert any(f"extra: {finding.table} {finding.key} · {finding.field}: required" in line for line in lines)
