"""`trialbox gate` answers each rule with its value, and says the answer in its exit code."""

from fractions import Fraction
from pathlib import Path

import pytest
from msgspec.structs import replace

import trialbox
from judges.campaigns import run_judged
from judges.court import plans_of
from judges.metrics.counted import counted
from judges.metrics.counts import DEFAULT, PUBLISHED, Counts, Policy
from judges.metrics.gate_commands import Checked, RuleInvalid, check, code_of, parsed, told_apart
from judges.pack import tasks_of
from sandbox.agents import SCRIPTED
from sandbox.registry import domain_named
from tests.judges.metrics.stores import TASKS, given_again, ran


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Six retail tasks × 2 repetitions by the agent that is always right and by the one that does nothing."""
    folder, domain = tmp_path_factory.mktemp("gate"), domain_named("retail")
    tasks = tasks_of(domain)[:6]
    for agent in ("oracle", "null"):
        run_judged(folder / f"{agent}.db", domain, tasks, SCRIPTED[agent](plans_of(tasks), 51), 2, name=agent)
    return {agent: folder / f"{agent}.db" for agent in ("oracle", "null")}


def gate(store: Path, *rules: str, baseline: Path | None = None) -> int:
    given = [part for rule in rules for part in ("--rule", rule)]
    return trialbox.main(["gate", str(store), *given, *(["--baseline", str(baseline)] if baseline else [])])


def test_rules_that_hold_give_0(stores: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    rules = ("pass^2 >= 0.6", "pass@1>=1", "regression p < 0.05")
    assert gate(stores["oracle"], *rules, baseline=stores["null"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["yes", "yes", "yes"]
    assert lines[0].endswith("judged 12 of 12 trials")
    assert "pass^2 >= 0.6: 1.0000 (every one of 2; unbiased, C(c,k)/C(n,k))" in lines[2]


def test_a_rule_that_does_not_hold_gives_1(stores: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(stores["null"], "pass@1 >= 0.5", "pass@1 < 0.5") == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["no", "yes"]


def test_a_regression_against_the_baseline_gives_1(stores: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(stores["null"], "regression p < 0.05", baseline=stores["oracle"]) == 1
    assert "p = 0.0156 for being worse (all sign flips, exact)" in capsys.readouterr().out
    assert gate(stores["null"], "regression p < 0.05", baseline=stores["null"]) == 0


def test_what_cannot_be_checked_gives_2(stores: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(stores["oracle"], "pass^3 >= 0.1", "pass@1 >= 0.1") == 2
    text = capsys.readouterr().out
    assert "undefined for 6 of 6 tasks, which have fewer than 3 trials" in text
    assert gate(stores["oracle"].with_name("nothing.db"), "pass@1 >= 0.1") == 2


def test_a_baseline_belongs_to_a_regression_rule(stores: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(stores["oracle"], "regression p < 0.05") == 2
    assert "give --baseline STORE" in capsys.readouterr().err
    assert gate(stores["oracle"], "pass@1 > 0", baseline=stores["null"]) == 2
    assert "read by a `regression` rule only" in capsys.readouterr().err


def test_a_baseline_of_another_judge_is_refused_unless_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, baseline = ran(tmp_path / "a.db"), ran(tmp_path / "b.db")
    given_again(baseline, "pass", lambda key: True)
    assert gate(store, "regression p < 0.05", baseline=baseline) == 2
    assert "mixed bundles" in capsys.readouterr().err
    rule = ("--rule", "regression p < 0.05")
    assert trialbox.main(["gate", str(store), "--baseline", str(baseline), *rule, "--mixed"]) == 0


def test_a_task_that_was_changed_since_the_baseline_is_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = [replace(item, task=replace(item.task, goal="Please hurry.")) for item in TASKS]
    store, baseline = ran(tmp_path / "a.db", tasks=changed), ran(tmp_path / "b.db")
    assert gate(store, "regression p < 0.05", baseline=baseline) == 2
    assert "it was changed in between" in capsys.readouterr().err


def test_a_store_that_is_better_is_no_regression_whatever_the_p(stores: dict[str, Path]) -> None:
    baseline = counted(stores["oracle"])
    before = [replace(item, passed=passed) for item, passed in zip(baseline.counts, (0, 0, 2), strict=False)]
    after = [replace(item, passed=passed) for item, passed in zip(baseline.counts, (2, 2, 1), strict=False)]
    found = check(parsed("regression p < 0.9"), after, replace(baseline, counts=tuple(before)), DEFAULT)
    assert (found.answer, "p = 0.8750 " in found.value) == ("yes", True)


def test_a_regression_tells_which_tasks_are_not_compared(stores: dict[str, Path]) -> None:
    baseline, rule = counted(stores["oracle"]), parsed("regression p < 0.05")
    first, second, *others = baseline.counts
    fewer = check(rule, [second, *others], baseline, DEFAULT)
    assert (fewer.answer, f"tasks only in the baseline: 1 (retail {first.task})" in fewer.value) == ("yes", True)
    broken = replace(first, trials=0, passed=0, infrastructure=2)
    unknown = check(rule, [broken, second, *others], baseline, DEFAULT)
    assert unknown.answer == "open"
    assert f"tasks without a trial that counts: 1 (retail {first.task})" in unknown.value
    assert check(rule, [replace(first, task="other")], baseline, DEFAULT).answer == "open"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "pass^5",
            "pass^5 >=",
            "pass^5 => 0.6",
            "pass^5 == 0.6",
            "pass^0 >= 0.6",
            "pass^5 >= 60%",
            "pass^5 >= .6",
        ),
        *("pass^5 >= 1.1", "pass^5 >= -0.1", "pass^5 >= nan", "pass5 >= 0.6", "PASS^5 >= 0.6", "pass^5 >= 0.6 or so"),
        *("plug-in pass^5 >= 0.6", "regression p > 0.05", "regression p < 0", "regression < 0.05", "pass^5 >= ٠.٦"),
    ],
)
def test_a_rule_that_is_not_allowed_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(RuleInvalid, match=r"such as 'pass\^5 >= 0.6'.*'regression p < 0.05'"):
        parsed(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.23076923076923078", Fraction(23076923076923078, 10**17)),
        ("0.230769230769", Fraction(230769230769, 10**12)),
        ("1e-3", Fraction(1, 1000)),
        ("5.0E-05", Fraction(1, 20_000)),
        ("1e0", Fraction(1)),
    ],
)
def test_a_number_as_json_holds_it_is_taken_exactly(text: str, number: Fraction) -> None:
    assert parsed(f"pass@1 >= {text}").number == number
    assert parsed(f"regression p < {text}").number == number


@pytest.mark.parametrize("text", ["nan", "inf", "0x1p-3", "0_1", "0.1_0", "1e", "1e-1000", "1 e-3", "1e1", "½"])
def test_what_is_no_decimal_from_0_to_1_is_refused_with_what_a_number_is(text: str) -> None:
    with pytest.raises(RuleInvalid, match=r"a NUMBER is a decimal from 0 to 1, compared exactly, such as 0\.6"):
        parsed(f"pass@1 >= {text}")


def counts(task: str, passed: int, trials: int, missing: int = 0, ungradeable: int = 0) -> Counts:
    return Counts(
        agent="a", domain="d", task=task, trials=trials, passed=passed, missing=missing, ungradeable=ungradeable
    )


def answer(rule: str, *given: Counts, policy: Policy = DEFAULT) -> str:
    return check(parsed(rule), given, None, policy).answer


def test_a_rate_is_compared_exactly() -> None:
    thirds = [counts("t", 1, 3), counts("u", 1, 3), counts("v", 1, 3)]
    assert answer("pass@1 > 0.333333333", *thirds) == "yes"
    assert answer("pass@1 >= 0.333333334", *thirds) == "no"
    tenths = [counts(name, 1, 1) for name in "abc"] + [counts(name, 0, 1) for name in "defghij"]
    assert answer("pass@1 >= 0.3", *tenths) == answer("pass@1 <= 0.3", *tenths) == "yes"


def test_trials_without_a_result_leave_open_only_what_they_can_change() -> None:
    given = [counts("t", 3, 3, missing=1), counts("u", 2, 4)]
    assert answer("pass@1 >= 0.6", *given) == "yes"
    assert answer("pass@1 >= 0.7", *given) == "open"
    assert answer("pass@1 >= 0.8", *given) == "no"


def test_the_policy_settles_ungradeable_trials() -> None:
    given = counts("t", 3, 4, ungradeable=1)
    assert answer("pass^4 >= 0.5", given) == "open"
    assert answer("pass^4 >= 0.5", given, policy=PUBLISHED) == "no"


def test_a_broken_rule_counts_more_than_an_open_one() -> None:
    made = {name: Checked("rule", name, "") for name in ("yes", "no", "open")}
    assert code_of([made["yes"], made["open"], made["no"]]) == 1
    assert code_of([made["yes"], made["open"]]) == 2
    assert code_of([made["yes"]]) == 0


def test_a_value_is_shown_on_its_side_of_the_number() -> None:
    assert told_apart(Fraction(59999, 100000), Fraction(3, 5)) == "0.59999"
    assert told_apart(Fraction(3, 5), Fraction(3, 5)) == "0.6000"
    assert told_apart(Fraction(1, 2), Fraction(3, 5)) == "0.5000"
