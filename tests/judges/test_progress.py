"""A campaign is watched: counts and money in a terminal, a line for each trial in a log."""

from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from judges.progress import Watch
from judges.rubric_calls import JudgeCall
from sandbox.prices import Cost, Price, PriceTable
from sandbox.records import FailedAttempt, Replied, Unanswered
from sandbox.usage import Usage
from tests.hard_cases.court import Tried, task, tried
from tests.hard_cases.stage import ask

VASE = ask("refund", order_id="ORD-9", amount=25, reason="damaged")
ONE = PriceTable("here", "2026-01-01", {"m": Price(input=Decimal(1), output=Decimal(1))})
ASKED = JudgeCall("q", "yes", "", Replied("judge", 1, "m", "m", "", "{}", "stop", Usage(uncached_input=1000, output=0)))
LOST = Unanswered("judge", 1, "m", "", "timed_out", "", (FailedAttempt("timed_out", lost=True),))


@pytest.fixture
def trials(tmp_path: Path) -> list[Tried]:
    return tried(tmp_path / "a.db", task([VASE]), [VASE], [], [VASE])


def test_a_terminal_shows_counts_and_cost(trials: list[Tried]) -> None:
    shown = StringIO()
    with Watch(4, ONE, [LOST], Console(file=shown, force_terminal=True, width=160)) as watch:
        for trial in trials:
            watch.closed(trial.closed, trial.judgement)
        watch.judged(ASKED)
    assert watch.told == "2 passed · 1 failed · 0 ungradeable · 0 infrastructure · ≥ $0.0010, 1 unpriced"
    assert watch.cost == Cost(Decimal("0.001"), 1)
    assert "3/4" in shown.getvalue()


def test_a_log_gets_a_line_for_each_trial(trials: list[Tried], capsys: pytest.CaptureFixture[str]) -> None:
    shown = StringIO()
    with Watch(3, ONE, console=Console(file=shown)) as watch:
        for trial in trials:
            watch.closed(trial.closed, trial.judgement)
    lines = ["probing/0  pass         done", "probing/1  fail         done", "probing/2  pass         done"]
    assert capsys.readouterr().err.splitlines() == lines
    assert shown.getvalue() == ""
    assert watch.told == "2 passed · 1 failed · 0 ungradeable · 0 infrastructure"
