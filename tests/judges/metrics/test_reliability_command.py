"""`trialbox reliability` shows each rate with its question, its estimator, its error and what is left open."""

import json
from pathlib import Path
from typing import Any

import pytest

import trialbox
from judges.metrics.counts import Counts
from judges.metrics.reliability_commands import POLICIES, Part, parts_of, rate_table, statistics
from tests.judges.metrics.stores import extended, judged_again, ran


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tasks × 5 repetitions: one broke, two were never run; all others passed."""
    path = ran(tmp_path_factory.mktemp("reliability") / "a.db", breaks=(1,))
    extended(path, 5)
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert trialbox.main(["reliability", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def values(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(printed(capsys, *arguments, "--json"))
    return told


def line_of(text: str, *words: str) -> str:
    [line] = [line for line in text.splitlines() if all(word in line for word in words)]
    return " ".join(line.split())


def test_each_rate_says_what_it_asks_and_how_it_is_estimated(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, store, "-k", 2)
    every = "moody all 2 of 2 pass^2 every one of 2 unbiased, C(c,k)/C(n,k) 100.00% 0.00%"
    assert line_of(text, " all ", "pass^2").startswith(every)
    best = "moody all 2 of 2 pass@2 best of 2 unbiased, 1 − C(n−c,k)/C(n,k) 100.00% 0.00%"
    assert line_of(text, " all ", "pass@2").startswith(best)
    assert "policy: infrastructure retried, ungradeable retried, user faults judged\n" in text


def test_fewer_trials_than_k_are_undefined_and_bounded(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = line_of(printed(capsys, store), " all ", "pass^5")
    assert line.endswith("undefined – – 0.00 to 100.00%")
    assert line_of(printed(capsys, store), " all ", "pass@1").endswith("100.00% 0.00% – 40.00 to 100.00%")


def test_trials_coverage_and_literal_counts_stand_side_by_side(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = line_of(printed(capsys, store), "all: 2")
    assert line == "moody all: 2 4 of 10 40.00% 0 2 4 0 to 2 of 2, n = 2 2 of 2 0 of 2 0.00%"


def test_refusal_tasks_are_shown_apart(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = {part["tasks"]: part["number_of_tasks"] for part in values(capsys, store)["parts"]}
    assert found == {"all": 2, "change asked for": 1, "refusal or no change": 1}


def test_the_published_policy_counts_what_broke_as_failed(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = values(capsys, store, "--policy", "published")
    assert told["policy"].endswith("(published convention)")
    rate = told["parts"][0]["rates"][0]
    assert (rate["name"], rate["estimate"]) == ("pass@1", 2 / 3)
    assert rate["bounds"] == {"low": 0.4, "high": 0.8}


def test_an_ungradeable_trial_leaves_a_rate_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ran(tmp_path / "a.db")
    judged_again(path, "ungradeable")
    assert trialbox.main(["reliability", str(path)]) == 2
    assert "mixed bundles" in capsys.readouterr().err
    change = next(part for part in values(capsys, path, "--mixed")["parts"] if part["tasks"] == "change asked for")
    assert (change["ungradeable"], change["rates"][0]["estimate"]) == (1, 1.0)
    assert change["rates"][0]["bounds"] == {"low": 2 / 3, "high": 1.0}


@pytest.mark.parametrize("k", ["0", "-1", "2.5", "five", "٣", "1234567"])
def test_a_k_that_is_no_number_of_attempts_is_refused(k: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        trialbox.main(["reliability", "none.db", f"-k={k}"])
    assert stopped.value.code == 2
    assert "is no number of attempts" in capsys.readouterr().err


def made(domain: str, task: str, passed: int, trials: int = 8) -> Counts:
    return Counts(agent="ada", domain=domain, task=task, trials=trials, passed=passed)


def parts(*counts: Counts) -> list[Part]:
    return parts_of(counts, statistics([2]), POLICIES["default"])


def test_shares_are_rounded_half_up() -> None:
    [part] = parts(made("d", "t", 1, 32))
    assert next(iter(rate_table([part]).columns[6].cells)) == "3.13%"


def test_an_agent_in_several_domains_has_a_line_for_each() -> None:
    found = parts(made("a", "t", 8), made("b", "t", 4))
    assert [part.tasks for part in found] == ["all", "all of a", "all of b"]
    assert [part.rates[0].estimate for part in found] == [0.75, 1.0, 0.5]


def test_intervals_by_resampling_are_the_same_for_the_same_seed_and_say_so(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = printed(capsys, store, "--bootstrap", 7)
    assert "intervals: bootstrap over tasks, BCa" in first
    assert first == printed(capsys, store, "--bootstrap", 7)
