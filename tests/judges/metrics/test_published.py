"""The figures of a published study come out of these metrics; where the study contradicts itself, a test says so."""

from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from itertools import combinations
from statistics import NormalDist

import pytest

from judges.metrics.cost import Bill, Costs, costs, unit_cost
from judges.metrics.counts import PUBLISHED
from judges.metrics.frontier import Point, frontier, point, steps
from judges.metrics.intervals import Bootstrap
from judges.metrics.observed import observed
from judges.metrics.rates import Aggregate, rate
from judges.metrics.rounding import half_up, percent
from judges.metrics.statistic import PASS_AT_1, Statistic
from sandbox.prices import Cost
from tests.judges.metrics.published import (
    CELLS,
    DEPENDABLE,
    PASSES,
    TASKS,
    TRIALS,
    by_domain,
    by_reliability,
    domain_passes,
    passes_behind,
)
from tests.judges.metrics.samples import counted

ALL_TASKS = 507
ALL_TRIALS = ALL_TASKS * TRIALS
NOT_PUBLISHED = 120
"""A stand-in for tasks never passed, where the study does not tell; what is tested with it does not depend on it."""
HALF_UP = {("Claude Opus 5", "70.62"): "70.63", ("GPT-5.4", "68.12"): "68.13"}
"""The two cells that the study does not round half up, though it does so elsewhere."""


def total(agent: str) -> Decimal:
    return Decimal(CELLS[agent][-1])


def naive(agent: str) -> Decimal:
    """The mean of the rounded cells, weighted by tasks."""
    weighted = sum(Fraction(cell) * n for cell, n in zip(CELLS[agent], TASKS.values(), strict=False))
    return half_up(weighted / ALL_TASKS, 2)


def dependable_costs(agent: str) -> Costs:
    row = DEPENDABLE[agent]
    bill = Bill(Cost(Decimal(row.cost_of_20_runs)))
    seen = observed(by_reliability(agent, row.tasks, 31))
    return costs(bill, ALL_TRIALS, seen, user=False, judge=False)


def test_the_sizes_add_up() -> None:
    assert sum(TASKS.values()) == ALL_TASKS
    assert (len(CELLS), ALL_TRIALS) == (18, 10_140)
    assert ALL_TASKS == 477 + 30


@pytest.mark.parametrize("agent", CELLS)
def test_a_total_is_the_trial_pooled_mean_to_two_decimals(agent: str) -> None:
    found = rate(by_domain(agent), PASS_AT_1, Aggregate.TRIAL_POOLED, PUBLISHED)
    assert found.exact == Fraction(PASSES[agent], ALL_TRIALS)
    assert percent(found.exact) == total(agent)
    assert rate(by_domain(agent)).exact == found.exact


@pytest.mark.parametrize("agent", CELLS)
def test_every_cell_reads_back_from_its_whole_number_of_passes(agent: str) -> None:
    found = [rate([c for c in by_domain(agent) if c.domain == domain]).exact for domain in TASKS]
    cells = [str(percent(exact)) for exact in found if exact is not None]
    assert cells == [HALF_UP.get((agent, cell), cell) for cell in CELLS[agent][:5]]


def test_the_study_contradicts_itself_of_three_cells_on_the_half_one_is_rounded_up_and_two_are_not() -> None:
    halves = {
        (agent, cell): str(half_up(exact, 3))
        for agent, cells in CELLS.items()
        for cell, tasks in zip(cells, TASKS.values(), strict=False)
        for exact in [Fraction(100 * passes_behind(cell, tasks), tasks * TRIALS)]
        if (exact * 1000).denominator == 1 and exact * 1000 % 10 == 5
    }
    assert halves == {
        ("DeepSeek-V4-Pro", "43.13"): "43.125",
        ("Claude Opus 5", "70.62"): "70.625",
        ("GPT-5.4", "68.12"): "68.125",
    }


@pytest.mark.parametrize(
    ("agent", "passes"),
    [
        ("Claude Opus 5.5", [1587, 1368, 1129, 1482, 1244]),
        ("GPT-5.4", [1496, 1253, 1417, 1359, 1103]),
        ("Kimi-K3", [1612, 1016, 1286, 860, 1043]),
    ],
)
def test_the_passes_by_domain_are_those_worked_out_independently(agent: str, passes: list[int]) -> None:
    assert list(domain_passes(agent).values()) == passes


def test_the_study_contradicts_itself_three_totals_are_not_the_mean_of_its_rounded_cells() -> None:
    off = {agent: naive(agent) - total(agent) for agent in CELLS if naive(agent) != total(agent)}
    assert off == {
        "Qwen3.8-27B": Decimal("-0.01"),
        "DeepSeek-V4-Pro": Decimal("0.01"),
        "GLM-5.1": Decimal("-0.01"),
    }


def test_the_totals_are_not_macro_means_but_for_one_agent_by_chance() -> None:
    macro = {agent: rate(by_domain(agent), PASS_AT_1, Aggregate.DOMAIN_MEAN).exact for agent in CELLS}
    same = [agent for agent, exact in macro.items() if exact is not None and percent(exact) == total(agent)]
    assert same == ["Qwen3.6-27B"]


@pytest.mark.parametrize(("place", "published"), [(0, "59.52"), (1, "33.83"), (2, "41.57"), (3, "39.31"), (4, "36.57")])
def test_a_domain_mean_is_unweighted_over_the_18_agents(place: int, published: str) -> None:
    mean = sum(Fraction(cells[place]) for cells in CELLS.values()) / len(CELLS)
    assert str(half_up(mean, 2)) == published


def test_the_insurance_mean_is_published_only_under_half_up() -> None:
    mean = sum((Decimal(cells[1]) for cells in CELLS.values()), Decimal(0)) / len(CELLS)
    assert mean == Decimal("33.825")
    assert str(half_up(mean, 2)) == "33.83"
    assert str(mean.quantize(Decimal("0.01"), ROUND_HALF_EVEN)) == "33.82"


def test_breadth_and_consistency_of_kimi_k3() -> None:
    seen = observed(by_reliability("Kimi-K3", 68, 31))
    assert (seen.at_least_once.least, seen.never.least, seen.every_time.least) == (476, 31, 68)
    assert [str(percent(share)) for share in (seen.breadth or 0, seen.every_time_share or 0)] == ["93.89", "13.41"]


def test_breadth_and_consistency_of_opus_5() -> None:
    seen = observed(by_reliability("Claude Opus 5", 241, 106))
    assert (seen.at_least_once.least, seen.never.least, seen.every_time.least) == (401, 106, 241)
    assert [str(percent(share)) for share in (seen.breadth or 0, seen.every_time_share or 0)] == ["79.09", "47.53"]


def test_kimi_k3_solves_75_more_at_least_once_and_173_fewer_every_time_than_opus_5() -> None:
    kimi = observed(by_reliability("Kimi-K3", 68, 31))
    opus = observed(by_reliability("Claude Opus 5", 241, 106))
    assert kimi.at_least_once.least - opus.at_least_once.least == 75
    assert opus.every_time.least - kimi.every_time.least == 173


def test_pass_at_20_of_gpt_5_4_is_the_tasks_passed_at_least_once() -> None:
    found = rate(by_reliability("GPT-5.4", 128, 45), Statistic("pass@k", 20))
    assert found.exact == Fraction(462, 507)
    assert str(percent(found.exact)) == "91.12"


@pytest.mark.parametrize(("agent", "published"), [("GPT-6 Astra", 78), ("Claude Opus 5.5", 71), ("Claude Opus 5", 71)])
def test_retention_is_the_share_passed_every_time_over_pass_at_1(agent: str, published: int) -> None:
    seen = observed(by_reliability(agent, DEPENDABLE[agent].tasks, NOT_PUBLISHED))
    assert seen.retention is not None
    assert percent(seen.retention, 0) == published


def test_opus_5_retains_71_only_if_it_is_rounded_once() -> None:
    retention = observed(by_reliability("Claude Opus 5", 241, 106)).retention
    assert retention is not None
    assert (str(percent(retention, 1)), str(percent(retention, 0))) == ("71.5", "71")
    assert half_up(percent(retention, 1), 0) == 72


@pytest.mark.parametrize(
    ("agent", "fitting"),
    [("GLM-5.1", [13, 14]), ("Kimi-K2.6", [15, 16]), ("DeepSeek-V4-Pro", [17, 18])],
)
def test_the_retentions_of_about_8_percent_do_not_say_how_many_tasks(agent: str, fitting: list[int]) -> None:
    pass_at_1 = Fraction(PASSES[agent], ALL_TRIALS)
    found = [n for n in range(ALL_TASKS) if percent(Fraction(n, ALL_TASKS) / pass_at_1, 0) == 8]
    assert found == fitting


@pytest.mark.parametrize("agent", DEPENDABLE)
def test_a_row_of_the_dependable_table(agent: str) -> None:
    row, found = DEPENDABLE[agent], dependable_costs(agent)
    seen = observed(by_reliability(agent, row.tasks, 31))
    assert seen.retention is not None
    assert found.dependable.usd is not None
    assert str(percent(Fraction(row.tasks, ALL_TASKS))) == row.share
    assert str(half_up(found.dependable.usd, 2)) == row.per_task
    assert str(percent(seen.retention, 1)) == row.retention


@pytest.mark.parametrize("agent", DEPENDABLE)
def test_the_cost_of_a_success_follows_from_the_rounded_total_and_but_for_one_from_the_passes(
    agent: str,
) -> None:
    row, exact = DEPENDABLE[agent], dependable_costs(agent).success.usd
    rounded = Fraction(row.cost_of_20_runs) / ALL_TRIALS / (Fraction(total(agent)) / 100)
    assert exact is not None
    assert str(half_up(rounded, 4)) == row.per_success
    assert str(half_up(exact, 4)) == {"Claude Opus 5": "0.4755"}.get(agent, row.per_success)


@pytest.mark.parametrize(
    ("agent", "published"),
    [("GPT-5.6 Sol", "0.127"), ("GPT-5.4", "0.131"), ("Claude Opus 5.5", "0.276"), ("Claude Opus 5", "0.475")],
)
def test_the_published_costs_of_a_success_follow_from_the_passes(agent: str, published: str) -> None:
    exact = dependable_costs(agent).success.usd
    assert exact is not None
    assert str(half_up(exact, 3)) == published


@pytest.mark.parametrize("agent", DEPENDABLE)
def test_what_is_published_as_every_one_of_20_is_the_literal_count_and_not_the_plug_in(agent: str) -> None:
    suite = by_reliability(agent, DEPENDABLE[agent].tasks, 31)
    assert rate(suite, Statistic("pass^k", 20)).exact == Fraction(DEPENDABLE[agent].tasks, ALL_TASKS)
    plug_in = rate(suite, Statistic("plug-in pass^k", 20)).exact
    assert plug_in is not None
    assert plug_in > Fraction(DEPENDABLE[agent].tasks, ALL_TASKS)


def test_the_cost_of_a_success_as_worked_in_the_study() -> None:
    whole = Cost(Decimal("43.49"))
    as_worked = Fraction(whole.usd) / (ALL_TASKS * Fraction("0.6536"))
    exact = unit_cost(Cost(20 * whole.usd), PASSES["GPT-5.4"], "successful attempt", "agent").usd
    assert exact is not None
    assert [str(half_up(cost, 3)) for cost in (as_worked, exact)] == ["0.131", "0.131"]
    assert str(half_up(as_worked, 5)) == "0.13124"


def test_the_cost_of_a_dependable_task_as_worked_in_the_study() -> None:
    whole = Cost(20 * Decimal("86.03"))
    assert whole.usd == Decimal("1720.60")
    found = unit_cost(whole, 231, "task passed every time", "agent").usd
    assert found is not None
    assert str(half_up(found, 4)) == "7.4485"
    assert str(half_up(found, 2)) == "7.45"


def test_the_frontier_of_cost_per_success_has_three_agents_and_opus_5_is_dominated() -> None:
    points = [
        point(agent, dependable_costs(agent).success, Fraction(PASSES[agent], ALL_TRIALS)) for agent in DEPENDABLE
    ]
    on = {p.agent for p, place in zip(points, frontier(points), strict=True) if place == "on"}
    assert on == {"GPT-5.6 Sol", "GPT-5.4", "Claude Opus 5.5"}


def test_the_frontier_of_cost_per_dependable_task_has_three_agents_and_opus_5_is_dominated_by_its_equal() -> None:
    points = [point(agent, dependable_costs(agent).dependable, row.tasks) for agent, row in DEPENDABLE.items()]
    on = {p.agent for p, place in zip(points, frontier(points), strict=True) if place == "on"}
    assert on == {"GPT-5.4", "GPT-6 Astra", "Claude Opus 5.5"}


def test_the_frontier_steps_are_those_of_the_published_figures() -> None:
    published = {"GPT-5.6 Sol": "0.127", "GPT-5.4": "0.131", "Claude Opus 5.5": "0.276", "Claude Opus 5": "0.475"}
    points = [Point(agent, Decimal(cost), total(agent)) for agent, cost in published.items()]
    found = [(s.cheaper, s.dearer, s.more_good, s.more_cost) for s in steps(points)]
    assert found == [
        ("GPT-5.6 Sol", "GPT-5.4", Fraction("3.45"), Fraction("0.004")),
        ("GPT-5.4", "Claude Opus 5.5", Fraction("1.80"), Fraction("0.145")),
    ]


def test_the_study_contradicts_itself_the_second_step_is_1_79_points_from_passes_and_1_80_from_rounded_totals() -> None:
    gained = Fraction(PASSES["Claude Opus 5.5"] - PASSES["GPT-5.4"], ALL_TRIALS)
    assert str(percent(gained)) == "1.79"
    assert total("Claude Opus 5.5") - total("GPT-5.4") == Decimal("1.80")


def test_the_study_contradicts_itself_opus_5_5_leads_by_two_thirds_of_a_point_and_not_by_half_a_point() -> None:
    lead = Fraction(PASSES["Claude Opus 5.5"] - PASSES["Claude Opus 5"], ALL_TRIALS) * 100
    assert str(half_up(lead, 2)) == "0.66"
    assert abs(lead - Fraction(2, 3)) < Fraction(1, 100)
    assert half_up(lead, 1) != Decimal("0.5")


@pytest.mark.parametrize(("agent", "elsewhere"), [("Claude Sonnet 4.6", ["58.45"]), ("Qwen3.5-9B", ["5.41", "5.84"])])
def test_the_study_contradicts_itself_its_paper_has_other_totals(agent: str, elsewhere: list[str]) -> None:
    assert str(percent(Fraction(PASSES[agent], ALL_TRIALS))) not in elsewhere
    possible = {str(percent(Fraction(passes, ALL_TRIALS))) for passes in range(ALL_TRIALS + 1)}
    assert set(elsewhere) <= possible


def test_other_claims_about_the_totals() -> None:
    assert 0 < total("GPT-6 Astra") - total("Kimi-K3") < 1
    assert sum(total(agent) < 33 for agent in CELLS) == 6


def test_the_published_interval_takes_tasks_as_clusters() -> None:
    low, high = Fraction("0.6223"), Fraction("0.6851")
    assert percent((low + high) / 2, 1) == percent(Fraction(PASSES["GPT-5.4"], ALL_TRIALS), 1)
    half = float(high - low) / 2
    p = PASSES["GPT-5.4"] / ALL_TRIALS
    as_if_independent = NormalDist().inv_cdf(0.975) * (p * (1 - p) / ALL_TRIALS) ** 0.5
    assert half > 3 * as_if_independent
    # 128 every time, 45 never; the others as alike as can be, and as unlike (19 or 1 of 20).
    alike = by_reliability("GPT-5.4", 128, 45)
    rest, left = 334, PASSES["GPT-5.4"] - 128 * 20
    high_ones = (left - rest) // 18
    unlike = counted([20] * 128 + [0] * 45 + [19] * high_ones + [1] * (rest - high_ones))
    widths = [rate(suite, bootstrap=Bootstrap(1, 1000)).interval for suite in (alike, unlike)]
    least, most = ((w.high - w.low) / 2 for w in widths if w is not None)
    assert least < half < most


def test_the_ablation_figures_fit_each_other_and_its_findings_overlap() -> None:
    trials, failed = 12 * ALL_TRIALS, 79_853
    assert trials == 121_680
    assert str(percent(Fraction(failed, trials))) == "65.63"
    clean = half_up(failed * Fraction("0.6724"), 0)
    assert clean == 53_693
    assert str(percent(Fraction(int(clean), failed))) == "67.24"
    assert Fraction("77.61") + Fraction("43.30") + Fraction("25.36") > 100
    assert Decimal("84.86") > Decimal("80.88") > Decimal("67.24")


def test_the_study_does_not_say_which_12_agents_its_ablation_took_but_one_choice_has_exactly_its_failures() -> None:
    passed = 12 * ALL_TRIALS - 79_853
    fitting = [set(chosen) for chosen in combinations(CELLS, 12) if sum(PASSES[agent] for agent in chosen) == passed]
    left_out = {"Claude Opus 5.5", "Claude Opus 5", "GPT-5.6 Sol", "GPT-6 Astra", "Kimi-K3", "GLM-5.1"}
    assert fitting == [set(CELLS) - left_out]


def test_the_study_contradicts_itself_its_failure_shares_sum_to_100_1_after_rounding() -> None:
    shares = [Decimal(share) for share in ("79.9", "10.3", "7.0", "2.9")]
    whole = sum(shares, Decimal(0))
    assert whole == Decimal("100.1")
    assert abs(whole - 100) <= len(shares) * Decimal("0.05")
