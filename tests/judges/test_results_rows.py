"""Result rows of the public benchmark become campaigns, and our own rows give the same counts again."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from judges.campaigns import scores_of
from judges.court import keep_judgements, newest_judgement
from judges.results.foreign import costs_given
from sandbox.agents import USER_FAULT
from sandbox.foreign import ImportFault
from sandbox.prices import Cost
from sandbox.records import TrialKey
from sandbox.stream import Store
from tests.judges.metrics.stores import ran
from tests.judges.results import UID, imported, results, row, scores_in, stored, written
from trialbox import main


def left_ungradeable(path: Path, task: str, repetition: int) -> None:
    """Give a trial a newer judgement that is none."""
    with Store.open(path) as store:
        judgement = newest_judgement(store, TrialKey("c", task, repetition, 1))
        assert judgement is not None
        verdict = replace(judgement.verdict, result="ungradeable", bundle="f" * 64)
        keep_judgements(store, [replace(judgement, verdict=verdict)], [])


@pytest.mark.parametrize("plan", [True, False])
def test_our_own_rows_give_the_counts_of_the_campaign_that_they_are_from(tmp_path: Path, plan: bool) -> None:
    store, rows = ran(tmp_path / "c.db", plan, breaks=(1,)), tmp_path / "rows.jsonl"
    left_ungradeable(store, "stuck-warranty", 2)
    assert main(["rows", str(store), "-o", str(rows)]) == 0
    [campaign] = imported(rows, domain="retail")
    [path] = stored(tmp_path / "imported", [campaign])
    told = [(one.task, one.trials, one.passed, one.failed, one.ungradeable) for one in scores_of(store)]
    assert [(one.task, one.trials, one.passed, one.failed, one.ungradeable) for one in scores_in(path)] == told
    assert [(passed, failed, ungradeable) for *_, passed, failed, ungradeable in told] == (
        [(2, 0, 0), (1, 0, 1)] if plan else [(0, 2, 0), (0, 1, 1)]
    )
    assert campaign.repetitions == 3
    assert {trial.repetition for trial in campaign.results.trials} == {0, 2}
    assert all(bool(trial.calls) is plan and trial.last_is_good is plan for trial in campaign.results.trials)
    assert all(trial.ended_normally and trial.refused == 0 for trial in campaign.results.trials)
    assert {USER_FAULT in trial.flags for trial in campaign.results.trials} == {True, False}


@pytest.mark.parametrize(
    ("given", "end", "result"),
    [
        (row(), "done", "pass"),
        (row(passed=False), "done", "fail"),
        (row(passed=None), "done", "ungradeable"),
        (row(test_result={"result": False, "is_system_error": True, "tb": "KeyError"}), "done", "ungradeable"),
        (row(test_result={"result": True, "reward": 0.0}), "done", "pass"),
        (row(passed=False, is_system_error=True), "infrastructure", "ungradeable"),
        (row(passed=None, is_system_error=True, finish_reason=None), "infrastructure", "ungradeable"),
        (row(passed=False, finish_reason="skipped"), "infrastructure", "ungradeable"),
        (row(finish_reason="no_user_llm"), "user_limit", "pass"),
        (row(passed=False, finish_reason="agent_limit"), "agent_limit", "fail"),
    ],
)
def test_a_system_error_is_infrastructure_and_a_missing_or_broken_test_no_failure(
    tmp_path: Path, given: dict[str, object], end: str, result: str
) -> None:
    [campaign] = imported(written(tmp_path / "r.jsonl", given))
    assert results(campaign) == [(UID, 0, 1, end, result)]


@pytest.mark.parametrize(
    ("uid", "metadata", "domain"),
    [
        ("sandbox_external_retail_group1:x", {}, "retail"),
        ("external_booking_v1_group1_rubrics_yesno.py:x", {}, "travel"),
        ("x", {"scenario": "sandbox_neobank_support_v1"}, "neobank"),
        ("other_file:x", {}, "other_file"),
        ("sandbox_external_retail_group1:x", {"domain": "desk"}, "desk"),
    ],
)
def test_the_domain_is_told_by_the_row(tmp_path: Path, uid: str, metadata: dict[str, str], domain: str) -> None:
    [campaign] = imported(written(tmp_path / "r.jsonl", row(uid=uid, metadata=metadata)))
    assert campaign.domain == domain


def test_domains_of_one_file_are_campaigns_of_their_own(tmp_path: Path) -> None:
    rows = [row(uid=f"{start}_group1:x") for start in ("sandbox_external_retail", "sandbox_consulting")]
    made = imported(written(tmp_path / "r.jsonl", *rows))
    paths = stored(tmp_path / "stores", made)
    assert [path.name for path in paths] == ["clerk-retail.db", "clerk-consulting.db"]


def test_without_numbers_rows_are_counted_in_the_order_of_appearance(tmp_path: Path) -> None:
    rows = [row(None, uid=uid, passed=passed) for uid, passed in (("f:a", True), ("f:b", True), ("f:a", False))]
    [campaign] = imported(written(tmp_path / "r.jsonl", *rows))
    assert campaign.results.numbering == "appearance"
    assert [(task, repetition, result) for task, repetition, _, _, result in results(campaign)] == [
        ("f:a", 0, "pass"),
        ("f:a", 1, "fail"),
        ("f:b", 0, "pass"),
    ]


def test_a_repetition_that_broke_may_stand_again_as_the_next_attempt(tmp_path: Path) -> None:
    rows = [row(0, None, is_system_error=True), row(1), row(0, None, is_system_error=True), row(0, False)]
    [campaign] = imported(written(tmp_path / "r.jsonl", *rows))
    assert [(repetition, attempt, end) for _, repetition, attempt, end, _ in results(campaign)] == [
        (0, 1, "infrastructure"),
        (0, 2, "infrastructure"),
        (0, 3, "done"),
        (1, 1, "done"),
    ]
    [path] = stored(tmp_path / "stores", [campaign])
    assert [(one.trials, one.passed, one.failed) for one in scores_in(path)] == [(2, 1, 1)]


def test_a_repetition_that_counted_may_not_stand_again_and_both_lines_are_named(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", row(0), row(1), row(0, False))
    with pytest.raises(ImportFault, match=r"r\.jsonl, line 3 is repetition 0 .*, and so is .*r\.jsonl, line 1, which"):
        imported(path)


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (row(None), "line 2 has no repetition number, and .*line 1 has one"),
        (row(uid="no-file"), "line 2: nothing tells which domain 'no-file' is of; give it with --domain NAME"),
        (row(finish_reason="boredom"), "line 2: finish_reason is 'boredom'; it is one of done, "),
        (row(finish_reason=None), "line 2: finish_reason is ''; it is one of done, "),
        (row(test_result={"reward": 1.0}), "line 2: test_result has no result; it is true or false"),
        (row(test_result={"result": "yes"}), r"line 2 is no result row: Expected .*bool.* at `\$.test_result.result`"),
        (row(test_result={"result": True, "reward": float("nan")}), "line 2: reward is nan; a reward is a number"),
        (row(test_result={"result": True, "reward": 7}), "line 2: reward is 7.0; a reward is a number from 0 to 1"),
        (row(10_000), r"line 2 is no result row: Expected `int` <= 9999 - at `\$.metadata.repetition`"),
        (row(-1), "line 2 is no result row: Expected `int` >= 0"),
        (row(uid="f:\x1f"), r"line 2: uid 'f:\\x1f' cannot be a name"),
        (row(uid=""), "line 2 is no result row: Expected `str` of length >= 1"),
        ([row()], "line 2 is no result row: Expected `object`, got `array`"),
        ({"id": "another format"}, "line 2 is no result row: Object missing required field `uid`"),
    ],
)
def test_a_row_that_cannot_be_understood_is_named_by_its_line(tmp_path: Path, second: object, told: str) -> None:
    with pytest.raises(ImportFault, match=told):
        imported(written(tmp_path / "r.jsonl", row(), second))


def test_rows_without_an_agent_need_one(tmp_path: Path) -> None:
    with pytest.raises(
        ImportFault, match="line 1: result rows do not say which agent they are of; give it with --agent"
    ):
        imported(written(tmp_path / "r.jsonl", row()), agent="")


def test_rows_that_trialbox_wrote_may_say_whose_they_are(tmp_path: Path) -> None:
    metadata = {"trial": "t", "end": "context_overflow", "flags": ["no_action"], "agent": "moody", "domain": "desk"}
    given = row(uid="x", passed=False, finish_reason="agent_error", metadata=metadata)
    [campaign] = imported(written(tmp_path / "r.jsonl", given), agent="")
    assert (campaign.agent, campaign.domain) == ("moody", "desk")
    [trial] = campaign.results.trials
    assert (trial.end, trial.flags, trial.ended_normally) == ("context_overflow", ("no_action",), False)


def test_unknown_fields_are_ignored_even_if_they_hold_what_no_number_is(tmp_path: Path) -> None:
    [campaign] = imported(written(tmp_path / "r.jsonl", row(later={"a": float("nan")}, raw_messages=[1, None])))
    assert len(campaign.results.trials) == 1


def test_calls_refusals_and_usage_of_a_row_are_counted(tmp_path: Path) -> None:
    messages = [
        {"T": "Text", "role": "user", "content": "Hello"},
        {"T": "ParallelToolCall", "tool_calls": [{"name": "a"}, {"name": "b"}]},
        {"T": "ToolResponse", "content": '{"id": "1"}', "metadata": {}},
        {"T": "ToolResponse", "content": '{"error": "no such order", "tool": "b"}'},
        {"T": "ToolCall", "name": "a", "arguments": {}},
        {"T": "ToolResponse", "content": "unknown tool", "metadata": {"error": "unknown"}},
    ]
    used = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 40}, "output_tokens": 7}
    given = row(messages=messages, usage=[used, used, {"input_tokens": None, "output_tokens": None}])
    [campaign] = imported(written(tmp_path / "r.jsonl", given))
    [trial] = campaign.results.trials
    assert (trial.calls, trial.refused, trial.last_is_good) == (3, 2, False)
    known, unknown = trial.spent
    assert (known.party, known.model, known.attempts) == ("agent", "clerk", 2)
    assert (known.uncached_input, known.cache_read, known.output) == (120, 80, 14)
    assert unknown.attempts == 1
    assert costs_given(campaign.results.trials) == {"agent": Cost(unpriced=3)}


def test_a_task_of_the_category_refusal_is_known_as_one(tmp_path: Path) -> None:
    [campaign] = imported(written(tmp_path / "r.jsonl", row(test_tags={"category": ["user", "refusal"]})))
    assert campaign.results.refusals == (UID,)
