"""A data set is opened by the library that everybody opens data sets with, and holds what the streams hold."""

import json
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from judges import parquet as writing
from judges.spending import costs_of
from replay.exports.parquet import export_parquet
from replay.exports.rows import COLUMNS, columns
from replay.exports.source import opened_sources
from tests.replay.exports import campaigns
from tests.replay.exports.campaigns import DEEP, HUGE, NO_JSON, PRIVATE, SOUP, Odd, exported
from tests.replay.exports.readers import Readers
from tests.replay.runs import TASK
from trialbox import main


def made(path: Path, *stores: Path, **more: Any) -> Path:
    """A data set of some stores."""
    with opened_sources(stores) as sources:
        export_parquet(sources, path, **more)
    return path


def front_matter(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    return content


@pytest.fixture(scope="module")
def read(readers: Readers, odd: Path, modelled: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the library reads of two campaigns in one data set."""
    folder = tmp_path_factory.mktemp("sets") / "set"
    assert main(["export", "parquet", str(odd), str(modelled), "-o", str(folder)]) == 0
    found: dict[str, Any] = readers.read("data_set.py", folder)
    return found


def rows_of(read: dict[str, Any], campaign: str) -> list[dict[str, Any]]:
    return [row for row in read["rows"] if row["campaign"] == campaign]


def test_card_and_files_have_the_features_that_are_declared(read: dict[str, Any]) -> None:
    assert read["shapes"] == columns(with_required=False)
    assert read["same_features"]
    assert read["splits"] == {"train": 11}
    assert read["streamed"] == 11


def test_each_trial_that_counts_is_a_row_and_the_broken_attempt_and_the_fork_are_none(read: dict[str, Any]) -> None:
    rows = rows_of(read, "odd")
    assert [(row["repetition"], row["attempt"], row["end"], row["result"]) for row in rows] == [
        (0, 1, "done", "pass"),
        (1, 2, "done", "fail"),
        (2, 1, "done", "fail"),
        (3, 1, "agent_limit", "fail"),
        (4, 1, "done", "pass"),
    ]
    assert {(row["agent"], row["domain"], row["task"]) for row in rows} == {(Odd.name, "retail", TASK)}
    assert [row["signature"] for row in rows] == [None, "wrong state", "tool error", "stopped", None]
    assert rows[1]["group"] == "Wrong state update"
    assert rows[3]["flags"] == ["no_action"]
    assert [len(rows[2]["bundle"]), rows[0]["findings"]] == [64, []]


def test_findings_say_what_was_found_and_not_what_was_required(read: dict[str, Any]) -> None:
    findings = rows_of(read, "odd")[1]["findings"]
    [wrong] = [one for one in findings if one["kind"] == "wrong"]
    assert (wrong["table"], wrong["key"], wrong["field"], wrong["found"]) == (
        "zendesk_tickets",
        "7",
        "status",
        '"solved"',
    )
    assert (wrong["tool"], wrong["position"] > 0) == ("zendesk_update_item", True)
    assert [name for one in findings for name in one if name == "required"] == []


def test_what_was_required_is_there_when_it_is_asked_for(readers: Readers, odd: Path, tmp_path: Path) -> None:
    folder = made(tmp_path / "set", odd, with_required=True)
    read = readers.read("data_set.py", folder)
    [wrong] = [one for one in read["rows"][1]["findings"] if one["kind"] == "wrong"]
    assert wrong["required"] == '"hold"'
    assert "keep this data set closed" in (folder / "README.md").read_text(encoding="utf-8")


def test_odd_texts_and_arguments_come_through_as_they_were_recorded(read: dict[str, Any]) -> None:
    row = rows_of(read, "odd")[2]
    said = [message["content"] for message in row["messages"] if message["role"] == "assistant" and message["content"]]
    calls = [call for message in row["messages"] for call in message["tool_calls"] or []]
    assert said == [SOUP, HUGE]
    assert [call["function"]["arguments"] for call in calls][:4] == [NO_JSON, DEEP, "", '["table"]']
    assert len({call["id"] for call in calls}) == len(calls) == row["calls"] == 6
    answers = [message for message in row["messages"] if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in answers] == [call["id"] for call in calls]
    assert [message["refusal"] for message in answers].count("Invalid") == row["refused"] - 1
    assert answers[-1]["refusal"] == "Unsupported"


def test_a_trial_in_which_nothing_was_said_has_the_users_message(read: dict[str, Any]) -> None:
    [message] = rows_of(read, "odd")[3]["messages"]
    assert (message["role"], message["position"]) == ("user", 2)
    assert rows_of(read, "odd")[3]["usage"] == []


def test_text_and_calls_of_one_reply_are_one_message(read: dict[str, Any]) -> None:
    row = next(row for row in read["rows"] if row["usage"])
    roles = [(message["role"], len(message["tool_calls"] or [])) for message in row["messages"]]
    calls = row["calls"]
    assert roles[:4] == [("user", 0), ("assistant", 0), ("user", 0), ("assistant", calls)]
    assert roles[4:] == [("tool", 0)] * calls + [("assistant", 0)]


def test_usage_and_cost_are_those_of_the_store(read: dict[str, Any], modelled: Path) -> None:
    used = [one for row in read["rows"] for one in row["usage"]]
    costs = costs_of(modelled)
    for party in ("agent", "judge", "user"):
        own = [one for one in used if one["party"] == party]
        assert sum(Decimal(one["cost_usd"] or 0) for one in own) == costs[party].usd
        assert sum(one["unpriced"] for one in own) == costs[party].unpriced
    users = [one for one in used if one["party"] == "user"]
    told = {(one["cost_usd"], one["output"], one["unreported"], one["unpriced"]) for one in users}
    assert told == {(None, None, 1, 1)}
    agents = [one for one in used if one["party"] == "agent"]
    assert {(one["uncached_input"], one["cache_read"], one["cache_write"]) for one in agents} == {(150, 120, 30)}
    assert sum(one["failed"] for one in used) == 1


def test_neither_private_context_nor_raw_replies_nor_golden_calls_are_in_it(read: dict[str, Any]) -> None:
    whole = json.dumps(read["rows"])
    assert PRIVATE not in whole
    assert "chatcmpl-1" not in whole
    assert '"required"' not in whole


def test_a_redacted_campaign_has_digests_for_texts_and_no_signatures(
    readers: Readers, redacted: Path, tmp_path: Path
) -> None:
    folder = made(tmp_path / "set", redacted)
    read = readers.read("data_set.py", folder)
    whole = json.dumps(read["rows"])
    assert SOUP.split()[1] not in whole
    assert "redacted:" in whole
    assert [row["result"] for row in read["rows"]] == ["pass", "fail", "fail", "fail", "pass"]
    assert {row["signature"] for row in read["rows"]} == {None}
    assert "texts were replaced by digests" in (folder / "README.md").read_text(encoding="utf-8")


def test_what_nobody_judged_is_ungradeable_and_the_card_says_what_is_missing(
    readers: Readers, unjudged: Path, tmp_path: Path
) -> None:
    folder = made(tmp_path / "set", unjudged)
    read = readers.read("data_set.py", folder)
    assert [(row["result"], row["outcome"], row["bundle"], row["findings"]) for row in read["rows"]] == [
        ("ungradeable", None, None, [])
    ] * 2
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "coverage: 2 of 3 planned trials (pass: 0, fail: 0, ungradeable: 2)" in card


def test_the_card_tells_campaigns_coverage_columns_and_licence(odd: Path, tmp_path: Path) -> None:
    folder = made(tmp_path / "set", odd, licence="cc-by-4.0")
    matter, card = front_matter(folder), (folder / "README.md").read_text(encoding="utf-8")
    assert (matter["license"], matter["size_categories"]) == ("cc-by-4.0", ["n<1K"])
    assert matter["dataset_info"]["splits"][0]["num_examples"] == 5
    assert "- `odd`: agent `odd ¦ ·one·`, domain `retail` (mounted: own)" in card
    assert "coverage: 5 of 5 planned trials (pass: 2, fail: 3, ungradeable: 0)" in card
    assert "left out: 1 attempts that broke for a reason that was not the agent's, 1 forks" in card
    assert f"| `retail` | `{TASK}` | `{exported(odd)[0].verdict.bundle}` |" in card  # type: ignore[union-attr]
    assert [name for name in COLUMNS if f"| `{name}` |" not in card] == []
    assert "`result`, `outcome`, `bundle`, `findings`, `signature`, `group` come from the judges" in card


def test_the_licence_is_unknown_unless_it_is_given(odd: Path, tmp_path: Path) -> None:
    assert front_matter(made(tmp_path / "set", odd))["license"] == "unknown"


def test_many_rows_are_spread_over_files_and_row_groups(
    readers: Readers, odd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "AT_ONCE", 1)
    folder = made(tmp_path / "set", odd, shard_bytes=20_000)
    names = sorted(file.name for file in (folder / "data").iterdir())
    assert names == [f"train-{place:05d}-of-{len(names):05d}.parquet" for place in range(len(names))]
    assert len(names) > 2
    read = readers.read("data_set.py", folder)
    assert [trial for frame in read["frames"] for trial in frame] == [row["trial"] for row in read["rows"]]
    assert len({row["trial"] for row in read["rows"]}) == 5


def test_where_no_trial_counts_there_is_no_data_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "c.db"
    campaigns.only_broken(store)
    assert main(["export", "parquet", str(store), "-o", str(tmp_path / "set")]) == 2
    assert "no trial of odd counts" in capsys.readouterr().err
    assert not (tmp_path / "set").exists()


def test_the_same_store_gives_the_same_bytes(odd: Path, tmp_path: Path) -> None:
    one, other = made(tmp_path / "one", odd), made(tmp_path / "other", odd)
    assert contents(one) == contents(other)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_trials_are_read_one_by_one(odd: Path) -> None:
    with opened_sources([odd]) as [source]:
        trials = source.trials()
        next(trials)
        assert source.results == Counter({"pass": 1})


def test_a_missing_pyarrow_is_named_in_a_line(odd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pyarrow", None)
        assert main(["export", "parquet", str(odd), "-o", str(tmp_path / "set")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "pyarrow, which is not installed; install it with: pip install 'trialbox[report]'" in line
    assert list(tmp_path.iterdir()) == []
