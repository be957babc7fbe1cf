"""The tables of a small study are counts that can be done by hand."""

from fractions import Fraction

import pytest

from judges.metrics.study import Study
from judges.report import sections
from judges.report.report import report_of, title_of
from judges.report.spread import spread
from judges.report.table import AtLeast, Table, as_values
from tests.judges.report.studies import counts, lonely, small, study_of_counts


@pytest.fixture
def study() -> Study:
    return small()


def rows(table: Table | None, *columns: str) -> list[tuple[object, ...]]:
    assert table is not None
    return list(zip(*(table.column(column) for column in columns), strict=True))


def test_the_leaderboard_is_the_mean_over_tasks(study: Study) -> None:
    # (4/4 + 2/4) / 2 and (1/4 + 0/4) / 2; C(4,4)/C(4,4) of one of two tasks
    found = rows(sections.leaderboard(study), "agent", "tasks", "pass@1", "pass^4", "judged of planned")
    assert found == [("ada", 2, Fraction(3, 4), Fraction(1, 2), 1), ("bob", 2, Fraction(1, 8), 0, 1)]


def test_the_spread_is_the_tasks_passed_every_time_and_at_least_once(study: Study) -> None:
    found = rows(spread(study), "agent", "every one of n", "pass@1", "best of n")
    assert found == [("ada", Fraction(1, 2), Fraction(3, 4), 1), ("bob", 0, Fraction(1, 8), Fraction(1, 2))]


def test_the_spread_says_what_repetitions_that_are_missing_may_add() -> None:
    study = study_of_counts({"ada": counts("ada", [4, 0, 0], missing=1)})
    columns = ("every one of n", "every one of n, at most", "best of n", "best of n, at most")
    assert rows(spread(study), *columns) == [(0, Fraction(1, 3), Fraction(1, 3), 1)]


def test_what_has_calls_without_a_price_is_a_lower_bound(study: Study) -> None:
    found = rows(sections.cost(study), "agent", "$ per attempt", "$ per dependable task")
    assert found == [
        ("ada", AtLeast(Fraction(3, 16)), AtLeast(Fraction(3, 2))),
        ("bob", Fraction(1, 10), None),
    ]
    values = as_values([table for table in [sections.cost(study)] if table])[0]
    assert [0, "$ per attempt"] in values["at_least"]
    assert [1, "$ per attempt"] not in values["at_least"]


def test_failures_are_shares_of_an_agents_failed_trials(study: Study) -> None:
    found = rows(sections.groups(study), "agent", "failed", "Wrong state update", "No state-changing action")
    assert found == [
        ("ada", 2, 1, 0),
        ("bob", 7, Fraction(6, 7), Fraction(1, 7)),
        ("mean of shares", None, Fraction(13, 14), Fraction(1, 14)),
    ]


def test_tasks_are_sorted_from_the_hardest(study: Study) -> None:
    found = rows(sections.heat(study), "task", "ada", "bob")
    assert found == [("desk t-1", Fraction(1, 2), 0), ("desk t-0", 1, Fraction(1, 4))]


def test_a_report_has_only_the_tables_that_say_something() -> None:
    names = [table.name for table in report_of(lonely(1)).tables]
    assert names == ["leaderboard", "dependability", "spread", "coverage", "tasks", "campaigns"]


def test_every_column_of_a_report_holds_what_its_kind_says(study: Study) -> None:
    kinds = {
        "text": str,
        "count": int,
        "usd": object,
        "share": Fraction | float | int,
        "points": Fraction | float | int,
        "error": Fraction | float | int,
    }
    for table in report_of(study).tables:
        for column in table.columns:
            cells = [cell for cell in table.column(column.name) if cell is not None]
            assert all(isinstance(cell, kinds.get(column.kind, object)) for cell in cells), (table.name, column.name)


def test_the_title_counts_agents_and_tasks(study: Study) -> None:
    assert title_of(study) == "2 agents at 2 tasks of desk"
    assert title_of(lonely(0)) == "1 agent at 1 task of desk"
    assert report_of(lonely(0), "Mine").title == "Mine"
