"""Rates and ranks before and after."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.ledger import Heard, Ledger, ledger_of, pass_hat_k
from replay.ledger_told import as_values, markdown, remarks, standing_rows
from replay.rejudge import Again
from sandbox.records import TrialKey


def heard(agent: str, before: str, after: str, *, task: str = "t", bundle: str = "new", infra: str = "") -> Heard:
    """A store with a trial for each letter: p pass, f fail, u ungradeable; those in `infra` do not count."""
    names = {"p": "pass", "f": "fail", "u": "ungradeable"}
    trials = [
        Again(TrialKey(agent, task, place, 1), str(place) not in infra, names[old], names[new], "old", bundle, ("why",))
        for place, (old, new) in enumerate(zip(before, after, strict=True))
    ]
    return Heard(f"{agent}.db", "probe", agent, len(before), trials)


def rates(ledger: Ledger) -> list[tuple[str, float, float | None, int]]:
    return [(one.agent, one.pass_1, one.pass_k, one.rank) for one in ledger.after]


@pytest.mark.parametrize(
    ("passed", "trials", "k", "rate"),
    [(4, 5, 1, 0.8), (4, 5, 2, 0.6), (4, 5, 4, 0.2), (4, 5, 5, 0.0), (5, 5, 5, 1.0), (0, 3, 1, 0.0), (2, 3, 2, 1 / 3)],
)
def test_pass_hat_k_is_the_unbiased_estimate(passed: int, trials: int, k: int, rate: float) -> None:
    assert pass_hat_k(passed, trials, k) == pytest.approx(rate)


@given(st.integers(1, 12), st.data())
def test_pass_hat_k_is_the_share_of_all_choices_of_k_trials_that_passed(trials: int, data: st.DataObject) -> None:
    passed, k = data.draw(st.integers(0, trials)), data.draw(st.integers(1, trials))
    assert pass_hat_k(passed, trials, k) * comb(trials, k) == pytest.approx(comb(passed, k))


@pytest.mark.parametrize("k", [0, 4])
def test_pass_hat_k_of_too_few_trials_does_not_exist(k: int) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        pass_hat_k(2, 3, k)


def test_ranks_follow_pass_at_1_and_equal_agents_share_one() -> None:
    ledger = ledger_of([heard("a", "ppf", "fff"), heard("b", "pff", "ppf"), heard("c", "fff", "ppf")])
    assert [(one.agent, one.rank) for one in ledger.before] == [("a", 1), ("b", 2), ("c", 3)]
    assert [(one.agent, one.rank) for one in ledger.after] == [("b", 1), ("c", 1), ("a", 3)]


def test_rates_are_means_over_tasks_and_infrastructure_does_not_count() -> None:
    one = heard("a", "pppp", "ppff", infra="3")
    two = heard("a", "pp", "pp", task="u")
    ((_, pass_1, pass_k, _),) = rates(ledger_of([one, two]))
    assert pass_1 == pytest.approx((2 / 3 + 1) / 2)
    assert pass_k == pytest.approx((1 / 3 + 1) / 2)


def test_with_fewer_trials_than_k_there_is_no_estimate() -> None:
    ledger = ledger_of([heard("a", "ppp", "ppp", infra="0")])
    assert rates(ledger) == [("a", 1.0, None, 1)]
    assert standing_rows(ledger, mixed=False)[0][5:7] == ["–", "–"]


def test_rates_over_mixed_bundles_are_left_out_unless_they_are_asked_for() -> None:
    ledger = ledger_of([heard("a", "pp", "pf"), heard("b", "pp", "pp", bundle="other")])
    assert ledger.mixed == ("t",)
    assert as_values(ledger, mixed=False)["after"] is None
    assert [one["pass_1"] for one in as_values(ledger, mixed=True)["after"]] == [1.0, 0.5]
    assert any("mixed bundles now: verdicts of different judges on t" in line for line in markdown(ledger, mixed=True))


def test_flips_are_grouped_by_direction_and_cause() -> None:
    groups = ledger_of([heard("a", "ppff", "ffpu"), heard("b", "p", "f")]).groups
    assert [(g.before, g.after, len(g.flips)) for g in groups] == [
        ("pass", "fail", 3),
        ("fail", "pass", 1),
        ("fail", "ungradeable", 1),
    ]


def test_attempts_that_broke_are_told_apart_from_what_the_table_counts() -> None:
    told = list(remarks(ledger_of([heard("a", "pppp", "pppf", infra="03"), heard("b", "pp", "pp")]), mixed=True))
    assert told[:2] == [
        "1 of 6 verdicts flip; 1 pass → fail",
        "2 of the 6 are attempts that broke, which enter no rate and no row of the table",
    ]
    assert len(list(remarks(ledger_of([heard("b", "pp", "pp")]), mixed=True))) == 1
