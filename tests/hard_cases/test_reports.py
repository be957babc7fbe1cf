"""What many trials say, and that they say it again when they are executed again: rows 20, 33, 38, 44 and 56."""

import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import pytest
from freezegun import freeze_time

from domains.probe import domain
from judges.campaigns import run_judged
from judges.metrics.counts import Counts
from judges.metrics.rates import rate
from judges.metrics.statistic import Statistic
from sandbox.agents import PlannedCall, Scripted
from sandbox.records import End
from tests.hard_cases.court import content, pack_folder, task, tried
from tests.hard_cases.stage import ask
from trialbox import main

VASE = ask("refund", order_id="ORD-9", amount=25, reason="damaged")
POP = ask("pop_next_ticket")
ITEM = task([VASE])
KINDS: tuple[Literal["pass@k", "pass^k"], ...] = ("pass@k", "pass^k")


def counts(passed: int, trials: int, planned: int = 0) -> list[Counts]:
    """One agent at one task."""
    missing = max(0, planned - trials)
    return [Counts(agent="a", domain="probe", task="t", trials=trials, passed=passed, missing=missing)]


@pytest.mark.parametrize("n", range(1, 6))
def test_row_38_both_estimates_are_the_shares_of_all_choices_of_k_trials(n: int) -> None:
    for passed in range(n + 1):
        trials = [True] * passed + [False] * (n - passed)
        for k in range(1, n + 1):
            chosen = list(combinations(trials, k))
            every, some = (Fraction(sum(map(one, chosen)), len(chosen)) for one in (all, any))
            assert rate(counts(passed, n), Statistic("pass^k", k)).exact == every
            assert rate(counts(passed, n), Statistic("pass@k", k)).exact == some


@pytest.mark.parametrize(("n", "k"), [(1, 2), (1, 5), (2, 3), (4, 5)])
def test_row_38_with_fewer_trials_than_k_there_is_no_estimate_and_missing_trials_give_bounds(n: int, k: int) -> None:
    for passed in range(n + 1):
        for kind in KINDS:
            short = rate(counts(passed, n), Statistic(kind, k))
            assert (short.exact, short.interval) == (None, None)
            whole = rate(counts(passed, n, planned=k), Statistic(kind, k))
            assert whole.exact is None
            assert 0 <= whole.bounds.low <= whole.bounds.high <= 1
            assert (whole.bounds.low > 0) == (kind == "pass@k" and passed > 0)
            assert (whole.bounds.high < 1) == (kind == "pass^k" and passed < n)


class Limited(Scripted):
    """Does what is right, but is turned away at one repetition, however often it is tried."""

    async def attempt(self, session: Any, repetition: int) -> End:
        if repetition == 3:
            raise ConnectionError("429 Too Many Requests")
        return await super().attempt(session, repetition)


def test_row_33_what_broke_is_no_failure_and_stands_beside_every_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.db"
    agent = Limited(
        "limited", {ITEM.task.id: [PlannedCall(VASE.tool, {"order_id": "ORD-9", "amount": 25, "reason": "damaged"})]}
    )
    assert len(run_judged(path, domain, [ITEM], agent, 10, name="c")) == 1
    assert main(["stats", "--json", str(path)]) == 0
    tables = {table["name"]: table for table in json.loads(capsys.readouterr().out)["tables"]}
    names = [column["name"] for column in tables["leaderboard"]["columns"]]
    leader = dict(zip(names, tables["leaderboard"]["rows"][0], strict=True))
    assert (leader["pass@1"], leader["judged of planned"]) == (1, 0.9)
    assert main(["reliability", str(path)]) == 0
    assert "9 of 10" in capsys.readouterr().out
    assert main(["report", str(path), "-o", str(tmp_path / "report")]) == 0
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "90.0%" in page
    assert main(["gate", str(path), "--rule", "pass^10 >= 0.5"]) == 2


def test_row_56_neither_a_page_nor_a_gate_adds_up_verdicts_of_several_judges(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.db"
    tried(path, ITEM, *[[VASE]] * 10)
    folder = pack_folder(tmp_path / "pack", content([VASE], rules=[{"never": "mail-sent"}]))
    options = [option for repetition in range(3) for option in ("--trial", f"probing/{repetition}")]
    assert main(["rejudge", str(path), "--task-folder", f"{folder}/tasks", *options]) == 0
    for command in (["report", str(path), "-o", str(tmp_path / "r")], ["gate", str(path), "--rule", "pass@1 > 0"]):
        capsys.readouterr()
        assert main(command) == 2
        assert "mixed bundles: verdicts of different judges on probing" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("host_time", ["", "2041-06-01 12:00:00"])
def test_row_44_three_equal_calls_are_executed_again_as_the_first_second_and_third(
    host_time: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.db"
    tried(path, task([POP]), [POP, POP, POP])
    if host_time:
        with freeze_time(host_time, real_asyncio=True):
            assert main(["replay", str(path)]) == 0
    else:
        assert main(["replay", str(path)]) == 0
    said = capsys.readouterr().out
    assert "differs" not in said


@pytest.mark.parametrize("days", ["2041-06-01 12:00:00", "1999-12-31 23:59:59"])
def test_row_20_a_recorded_trial_is_executed_and_judged_the_same_on_another_day(
    days: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.db"
    tried(path, ITEM, [VASE, ask("send_mail", customer_id="CUS-2", subject="Your refund", text="It is on its way.")])
    folder = pack_folder(tmp_path / "pack", content([VASE]))
    with freeze_time(days, real_asyncio=True):
        assert main(["replay", str(path)]) == 0
        capsys.readouterr()
        assert main(["rejudge", str(path), "--task-folder", f"{folder}/tasks", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["flips"] == []
