"""Inspect reads the logs, and computes from them what they say."""

from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from judges.campaigns import MixedBundles, scores_of
from judges.metrics.estimators import pass_at_k, pass_hat_k
from replay.exports.inspect_log import export_inspect
from replay.exports.inspect_scores import reductions_of, results_of
from replay.exports.source import Source, opened_sources
from tests.judges.modelled import TASKS as MODELLED
from tests.replay.exports.campaigns import DEEP, HUGE, NO_JSON, PRIVATE, SOUP, Odd
from tests.replay.exports.readers import Readers
from tests.replay.runs import TASK
from trialbox import main


def made(path: Path, *stores: Path, **more: Any) -> list[str]:
    """Logs of some stores in a folder; their names."""
    with opened_sources(stores) as sources:
        return export_inspect(sources, path, **more)


@pytest.fixture(scope="module")
def read(
    readers: Readers, odd: Path, modelled: Path, unjudged: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What Inspect reads of three campaigns, by campaign."""
    folder = tmp_path_factory.mktemp("logs") / "logs"
    assert main(["export", "inspect", str(odd), str(modelled), str(unjudged), "-o", str(folder)]) == 0
    found: dict[str, Any] = readers.read("inspect_logs.py", folder, folder.parent)
    return {**found, "logs": {log["task"]: log for log in found["logs"]}}


@pytest.fixture(scope="module")
def log(read: dict[str, Any]) -> dict[str, Any]:
    """The log of the odd campaign."""
    found: dict[str, Any] = read["logs"]["odd"]
    return found


def test_each_campaign_is_a_log_that_inspect_lists_by_its_name(read: dict[str, Any]) -> None:
    assert sorted(read["logs"]) == ["desk-clerk", "odd", "unjudged"]
    assert {log["status"] for log in read["logs"].values()} == {"success"}


def test_a_task_is_a_sample_and_a_repetition_an_epoch(log: dict[str, Any]) -> None:
    samples = log["sample_list"]
    assert [(sample["id"], sample["epoch"]) for sample in samples] == [(TASK, epoch) for epoch in range(1, 6)]
    assert (log["epochs"], log["reducers"]) == (5, ["mean", "pass_at_5", "pass_k_5"])
    assert [sample["scores"]["verdict"]["value"] for sample in samples] == ["C", "I", "I", "I", "C"]
    assert [sample["metadata"]["attempt"] for sample in samples] == [1, 2, 1, 1, 1]
    assert samples[1]["metadata"]["signature"] == "wrong state"
    assert (log["metadata"]["attempts_left_out"], log["metadata"]["forks_left_out"]) == (1, 1)


@pytest.mark.parametrize("campaign", ["odd", "unjudged", "desk-clerk"])
def test_metrics_and_reductions_are_those_that_inspect_computes(read: dict[str, Any], campaign: str) -> None:
    written, computed = read["logs"][campaign]["written"], read["logs"][campaign]["computed"]
    assert written["metrics"].keys() == computed["metrics"].keys()
    for reducer, metrics in written["metrics"].items():
        assert metrics == pytest.approx(computed["metrics"][reducer])
        assert written["reduced"][reducer] == pytest.approx(computed["reduced"][reducer])
    for same in ("scored", "samples", "headline"):
        assert written[same] == computed[same]


def test_what_inspect_computes_is_pass_at_k_and_pass_hat_k_of_the_store(log: dict[str, Any], odd: Path) -> None:
    [score] = scores_of(odd)
    counts = (score.passed, score.trials, 5)
    accuracy = {reducer: metrics["accuracy"] for reducer, metrics in log["computed"]["metrics"].items()}
    assert accuracy == pytest.approx(
        {
            "mean": float(pass_at_k(score.passed, score.trials, 1)),
            "pass_at_5": float(pass_at_k(*counts)),
            "pass_k_5": float(pass_hat_k(*counts)),
        }
    )


def test_what_nobody_judged_is_unscored(read: dict[str, Any]) -> None:
    log = read["logs"]["unjudged"]
    assert [str(sample["scores"]["verdict"]["value"]) for sample in log["sample_list"]] == ["nan", "nan"]
    assert log["computed"]["scored"] == {"mean": [0, 1], "pass_at_3": [0, 1], "pass_k_3": [0, 1]}
    assert log["computed"]["reduced"]["mean"] == {TASK: None}
    assert (log["metadata"]["planned"], log["metadata"]["counted"]) == (3, 2)


def test_messages_hold_calls_answers_and_odd_texts(log: dict[str, Any]) -> None:
    messages = log["sample_list"][2]["messages"]
    calls = [call for message in messages for call in message.get("tool_calls") or []]
    assert [message["content"] for message in messages if message["content"] in (SOUP, HUGE)] == [SOUP, HUGE]
    assert [call["arguments"] for call in calls] == [{}, {}, {}, {}, {"query": "x" * 100}, {"a": 1}]
    assert [NO_JSON in (calls[0]["parse_error"]), DEEP in calls[1]["parse_error"], calls[4]["parse_error"]] == [
        True,
        True,
        None,
    ]
    answers = [message for message in messages if message["role"] == "tool"]
    assert [answer["tool_call_id"] for answer in answers] == [call["id"] for call in calls]
    assert answers[0]["error"]["message"].startswith("Invalid: ")
    assert answers[4]["error"] is None


def test_usage_is_told_by_model_and_by_party_without_what_caches_read(read: dict[str, Any]) -> None:
    log = read["logs"]["desk-clerk"]
    assert log["model"] == "agent-1"
    used = log["usage"]["agent-1"]
    trials = 3 * len(MODELLED)
    assert (used["input_tokens"], used["output_tokens"]) == (trials * 150, trials * 60)
    assert (used["input_tokens_cache_read"], used["input_tokens_cache_write"]) == (trials * 120, trials * 30)
    assert used["total_tokens"] == trials * 360
    assert log["roles"]["agent"] == used
    assert used["total_cost"] == pytest.approx(trials * 0.000462)
    assert log["roles"]["user"]["total_cost"] is None
    assert log["sample_list"][0]["metadata"]["unreported_usage"] == {"agent": 0, "judge": 0, "user": 1}


def test_a_campaign_without_a_model_has_none(log: dict[str, Any]) -> None:
    assert (log["model"], log["usage"], log["roles"]) == ("none/none", {}, {})


def test_samples_can_be_read_alone_written_again_and_put_into_data_frames(read: dict[str, Any]) -> None:
    logs = list(read["logs"].values())
    assert [(log["is_same_alone"], log["is_same_again"]) for log in logs] == [(True, True)] * 3
    assert read["evals"] == sorted(read["logs"])
    assert len(read["frame"]) == 13
    counts = {(row["id"], row["epoch"], row["message_count"]) for row in read["frame"]}
    assert counts == {tuple(summary) for log in logs for summary in log["summaries"]}
    assert sorted(map(str, read["scores"])) == ["C"] * 8 + ["I"] * 3 + ["None"] * 2


def test_what_was_required_is_told_only_where_it_is_asked_for(odd: Path, tmp_path: Path) -> None:
    texts = []
    for place, asked in enumerate((False, True)):
        [name] = made(tmp_path / str(place), odd, with_required=asked)
        with ZipFile(tmp_path / str(place) / name) as archive:
            texts.append(archive.read(f"samples/{TASK}_epoch_2.json").decode())
    assert ['"required"' in text for text in texts] == ["required hold" in text for text in texts] == [False, True]
    assert "status, found solved" in texts[0]


def test_private_context_and_raw_replies_are_in_no_entry(modelled: Path, tmp_path: Path) -> None:
    [name] = made(tmp_path / "logs", modelled)
    with ZipFile(tmp_path / "logs" / name) as archive:
        whole = b"".join(archive.read(entry) for entry in archive.namelist())
    assert PRIVATE.encode() not in whole
    assert b"chatcmpl-1" not in whole


def test_the_same_store_gives_the_same_bytes(odd: Path, tmp_path: Path) -> None:
    [one], [other] = made(tmp_path / "one", odd), made(tmp_path / "other", odd)
    assert one == other
    assert (tmp_path / "one" / one).read_bytes() == (tmp_path / "other" / other).read_bytes()


def test_a_name_is_fit_for_a_file(odd: Path, tmp_path: Path) -> None:
    [name] = made(tmp_path / "logs", odd)
    assert Odd.name not in name
    created, task, rest = name.split("_")
    assert (len(created), task, len(rest)) == (len("2026-01-01T00-00-00-00-00"), "odd", 22 + len(".eval"))


def test_a_redacted_campaign_has_no_texts(readers: Readers, redacted: Path, tmp_path: Path) -> None:
    made(tmp_path / "logs", redacted)
    [log] = readers.read("inspect_logs.py", tmp_path / "logs", tmp_path)["logs"]
    assert log["metadata"]["texts_are_redacted"]
    first = log["sample_list"][0]
    assert {message["content"][:9] for message in first["messages"] if message["content"]} == {"redacted:", '"redacted'}
    assert [sample["scores"]["verdict"]["value"] for sample in log["sample_list"]] == ["C", "I", "I", "I", "C"]


def test_verdicts_of_different_judges_are_summed_up_only_where_that_is_asked_for(
    odd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = Source.trials

    def mixed(source: Source) -> Any:
        yield from trials(source)
        source.bundles[TASK].add("another")

    monkeypatch.setattr(Source, "trials", mixed)
    with pytest.raises(MixedBundles, match=f"different judges gave the verdicts on {TASK}"):
        made(tmp_path / "logs", odd)
    assert list(tmp_path.iterdir()) == []
    assert made(tmp_path / "logs", odd, mixed=True)


@pytest.mark.parametrize(
    ("scores", "reduced"),
    [
        (["C", "C", "C"], [1.0, 1.0, 1.0]),
        (["C", "I", "I"], [1 / 3, 1.0, 0.0]),
        (["C", float("nan"), "C"], [1.0, None, None]),
        (["C", "I"], [0.5, None, None]),
        ([float("nan")], [None, None, None]),
    ],
)
def test_what_is_not_scored_counts_nowhere(scores: list[Any], reduced: list[float | None]) -> None:
    reductions = reductions_of({"t": scores, "never tried": []}, 3)
    values = [[sample["value"] for sample in one["samples"]] for one in reductions]
    assert [[None if value != value else value for value in found] for found in values] == [[one] for one in reduced]
    counted = [one["scored_samples"] for one in results_of(reductions, len(scores))["scores"]]
    assert counted == [0 if value is None else 1 for value in reduced]
