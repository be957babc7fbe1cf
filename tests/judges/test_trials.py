"""Several trials of one task: what is required of them together, how failures are told, whose agent it is."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.findings import Finding
from judges.metrics.counts import Counts
from judges.own_agent import OwnAgent
from judges.told_trials import LONGEST, MOST_LINES, MOST_PATTERNS, patterns_of, told_failure
from judges.trials import JudgedTrial, TaskTrials, outside_any_loop, required
from judges.verdict import Check, Verdict
from sandbox.mcp_session import Session
from sandbox.records import TrialEnded
from sandbox.refusals import UserFault


def counts(passed: int, failed: int, still_open: int) -> Counts:
    trials = passed + failed
    return Counts(agent="a", domain="d", task="t", trials=trials, passed=passed, infrastructure=still_open)


def failed(repetition: int, *findings: Finding) -> JudgedTrial:
    checks = (Check("outcome", "sold", "no"),)
    return JudgedTrial(repetition, TrialEnded("done", "d"), Verdict("fail", "b", checks, "sold", findings))


def of(trials: Sequence[JudgedTrial]) -> TaskTrials:
    return TaskTrials("shop", "sell", "clerk", len(trials), tuple(trials), (), Path("s.db"), None)


def wrong(key: str, position: int = 3) -> Finding:
    return Finding("wrong", "shop_items", key, "updated", "state", "sold", "new", position, "shop.sold.1", 2, "sell")


@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6), st.data())
def test_a_requirement_is_decided_only_if_no_result_of_what_is_open_could_change_it(
    passed: int, failed: int, still_open: int, data: st.DataObject
) -> None:
    planned = passed + failed + still_open
    if not planned:
        return
    at_least = data.draw(st.integers(1, planned))
    answers = {passed + more >= at_least for more in range(still_open + 1)}
    expected = "open" if len(answers) > 1 else "yes" if answers == {True} else "no"
    for requirement in (
        required(planned, planned, at_least=at_least),
        required(planned, planned, rule=f"pass@1 >= {at_least * 10**9 // planned / 10**9:.9f}"),
    ):
        assert requirement.answer(counts(passed, failed, still_open)) == expected


@given(st.integers(1, 50), st.integers(1, 50), st.data())
def test_another_k_keeps_the_share_that_is_required(asked: int, repetitions: int, data: st.DataObject) -> None:
    at_least = data.draw(st.integers(1, asked))
    share = required(asked, repetitions, at_least=at_least).at_least
    assert 1 <= share <= repetitions
    assert share * asked >= at_least * repetitions > (share - 1) * asked
    assert required(asked, repetitions).at_least == repetitions


def test_trials_are_alike_whatever_event_wrote_the_wrong_record() -> None:
    trials = [
        failed(0, wrong("A")),
        failed(1, wrong("B", 3)),
        failed(2, wrong("B", 9)),
        failed(3, wrong("B"), wrong("A")),
    ]
    found = [[trial.repetition for trial in pattern] for pattern in patterns_of(trials)]
    assert found == [[1, 2], [0], [3]]


def test_a_long_failure_is_cut_and_says_what_is_left_out() -> None:
    long = told_failure(of([failed(0, *(wrong(str(key)) for key in range(MOST_LINES + 3)))]), required(1, 1))
    assert "  and 3 more lines\n  trialbox explain s.db sell/0" in long
    many = told_failure(of([failed(place, wrong(str(place))) for place in range(MOST_PATTERNS + 2)]), required(12, 12))
    assert many.endswith("and in 2 more ways: trialbox failures s.db")


def test_what_an_agent_wrote_stays_in_its_line() -> None:
    told = told_failure(of([failed(0, wrong("\x1b[2J\nsell: passed" + "x" * 1000))]), required(1, 1))
    assert "\x1b" not in told
    assert max(map(len, told.splitlines())) <= LONGEST + 2
    assert [line[:6] for line in told.splitlines()] == ["sell: ", "", "in 1 o", "  wron", "  tria"]


async def clerk(session: Session) -> None:
    """Does nothing."""


class Callable:
    """An async function by another way."""

    async def __call__(self, session: Session) -> None:
        """Does nothing."""


class Whole:
    """An agent."""

    name = "whole"

    async def attempt(self, session: Session, repetition: int) -> None:
        """Does nothing."""


@pytest.mark.parametrize(("agent", "name"), [(clerk, "clerk"), (Callable(), "Callable"), (Whole(), "whole")])
def test_an_own_agent_has_a_name(agent: Callable, name: str) -> None:
    assert OwnAgent(agent).name == name


@pytest.mark.parametrize("agent", [Whole, Callable, print, None, 3])
def test_what_is_no_agent_is_refused(agent: Callable) -> None:
    with pytest.raises(UserFault, match=r"is no agent; give an object with a `name` and `async attempt"):
        OwnAgent(agent)


def test_work_with_a_loop_of_its_own_can_be_done_where_a_loop_runs() -> None:
    async def three() -> int:
        return 3

    async def asked() -> int:
        return outside_any_loop(lambda: asyncio.run(three()))

    assert outside_any_loop(lambda: asyncio.run(asked())) == 3
