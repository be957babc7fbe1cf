"""The sentences on top of a report say what the tables say, and no more."""

from judges.metrics.study import Study
from judges.report.report import report_of
from tests.judges.report.studies import counts, lonely, small, study_of_counts


def told(study: Study) -> str:
    return "\n".join(report_of(study).summary)


def test_it_names_leader_dependability_failures_cost_and_coverage() -> None:
    text = told(small())
    assert "ada leads with a pass@1 of 75.0%" in text
    assert (
        "Most dependable: ada, 1 of 2 tasks passed every time, a retention of 66.7% (of at most 4 trials each)." in text
    )
    assert "92.9% are of the group “Wrong state update”, most often “wrong state” (92.9%); 100.0% looked clean." in text
    assert "All 16 planned repetitions were judged." in text


def test_a_lead_that_may_be_chance_is_called_so() -> None:
    assert "Chance alone may explain the lead of ada over bob (p = 0.5000 after Holm's correction at most)." in told(
        small()
    )


def test_a_lead_over_many_tasks_is_more_than_chance() -> None:
    study = study_of_counts({"ada": counts("ada", [4] * 12), "bob": counts("bob", [0] * 12)})
    assert "That is more than chance against every other agent: p = 0.0005 after Holm's correction at most." in told(
        study
    )


def test_a_lead_over_some_is_told_apart_from_that_over_others() -> None:
    found = {"ada": counts("ada", [4] * 12), "bob": counts("bob", [4] * 11 + [3]), "cyd": counts("cyd", [0] * 12)}
    assert "over bob (p = 1.0000 after Holm's correction at most); over the other 1 it is more" in told(
        study_of_counts(found)
    )


def test_equal_agents_share_the_lead() -> None:
    study = study_of_counts({"ada": counts("ada", [1, 2]), "bob": counts("bob", [2, 1])})
    assert "ada and bob share the lead with a pass@1 of 37.5%." in told(study)


def test_a_cost_that_is_a_lower_bound_is_not_called_the_cheapest() -> None:
    assert "cheapest" not in told(small())


def test_agents_with_other_tasks_are_not_compared_silently() -> None:
    study = study_of_counts({"ada": counts("ada", [4, 4]), "bob": counts("bob", [0, 0, 0])})
    assert "Not all agents were given the same tasks" in told(study)
    apart = study_of_counts({"ada": counts("ada", [4]), "bob": counts("bob", [0], domain="shop")})
    assert "cannot be told: no other agent shares a task with it" in told(apart)


def test_a_lead_is_not_called_more_than_chance_against_agents_that_were_not_compared() -> None:
    found = {"ada": counts("ada", [4] * 12), "bob": counts("bob", [0] * 12), "cyd": counts("cyd", [1], domain="shop")}
    assert "more than chance against each agent that shares its tasks" in told(study_of_counts(found))


def test_one_trial_says_nothing_about_dependability() -> None:
    assert "With one trial of each task nothing can be said about dependability" in told(lonely(1))
    assert "No agent passed any task every time." in told(lonely(1, 2))


def test_nothing_is_ranked_before_a_trial_counts() -> None:
    text = told(study_of_counts({"ada": counts("ada", [0], trials=0, missing=3)}))
    assert "No trial counts yet" in text
    assert "0 of 3 planned repetitions were judged; the rest is open or broke" in text
