"""Results of tau2-bench become campaigns."""

from decimal import Decimal
from pathlib import Path

import pytest

from judges.results.commands import read
from judges.results.foreign import costs_given
from judges.results.numbering import campaigns
from sandbox.foreign import ImportFault
from sandbox.prices import Cost
from tests.judges.results import results, scores_in, simulation, stored, tau2, tau2_imported, written


@pytest.mark.parametrize(
    ("reason", "reward", "end", "result"),
    [
        ("user_stop", 1.0, "user_done", "pass"),
        ("agent_stop", 0.9999995, "done", "pass"),
        ("user_stop", 0.99, "user_done", "fail"),
        ("user_stop", 0, "user_done", "fail"),
        ("max_steps", 0.0, "agent_limit", "fail"),
        ("too_many_errors", 0.0, "agent_limit", "fail"),
        ("user_error", 0.0, "cancelled", "fail"),
        ("user_stop", None, "user_done", "ungradeable"),
        ("infrastructure_error", 0.0, "infrastructure", "ungradeable"),
        ("infrastructure_error", None, "infrastructure", "ungradeable"),
        ("struck_by_lightning", 0.0, "cancelled", "ungradeable"),
    ],
)
def test_only_a_whole_reward_passes_and_nothing_without_a_reward_fails(
    tmp_path: Path, reason: str, reward: float | None, end: str, result: str
) -> None:
    [campaign] = tau2_imported(tmp_path / "r.json", tau2(simulation(reward=reward, end=reason)))
    assert results(campaign) == [("0", 0, 1, end, result)]
    assert campaign.results.trials[0].reward == reward


def test_a_part_of_a_reward_is_kept_as_detail(tmp_path: Path) -> None:
    given = simulation(reward=0.5, reward_info={"reward": 0.5, "db_check": {"db_match": False}})
    [campaign] = tau2_imported(tmp_path / "r.json", tau2(given))
    assert campaign.results.trials[0].detail == "terminated by user_stop; reward 0.5; the records differ"


def test_planned_trials_that_are_not_there_are_missing(tmp_path: Path) -> None:
    [campaign] = tau2_imported(tmp_path / "r.json", tau2(simulation("1"), tasks=("0", "1"), num_trials=4))
    assert (campaign.tasks, campaign.repetitions) == (("0", "1"), 4)
    assert (campaign.agent, campaign.domain) == ("house/model-1", "airline")
    [path] = stored(tmp_path / "stores", [campaign])
    assert path.name == "house-model-1-airline.db"
    assert [(one.task, one.trials, one.passed) for one in scores_in(path)] == [("1", 1, 1)]


def test_calls_of_the_agent_are_counted_and_those_of_the_user_are_not(tmp_path: Path) -> None:
    used = {"prompt_tokens": 100, "completion_tokens": 7}
    messages = [
        {"role": "assistant", "content": "Hi! How can I help?", "usage": None},
        {"role": "user", "content": "…", "usage": used, "tool_calls": [{"name": "look"}]},
        {"role": "tool", "requestor": "user", "error": True},
        {"role": "assistant", "tool_calls": [{"name": "a"}, {"name": "b"}], "usage": used},
        {"role": "tool", "tool_messages": [{"role": "tool", "error": True}, {"role": "tool", "error": False}]},
        {"role": "assistant", "content": "Done.", "usage": used},
    ]
    given = simulation(messages=messages, agent_cost=0.0125, user_cost=0.0)
    [campaign] = tau2_imported(tmp_path / "r.json", tau2(given))
    [trial] = campaign.results.trials
    assert (trial.calls, trial.refused, trial.last_is_good, trial.wrote) == (2, 1, True, None)
    spent = [(one.party, one.model, one.attempts, one.uncached_input, one.output) for one in trial.spent]
    assert spent == [("agent", "house/model-1", 2, 200, 14), ("user", "house/user-1", 1, 100, 7)]
    # What cost nothing had no price: that is unknown, not free.
    assert costs_given([trial]) == {"agent": Cost(Decimal("0.0125")), "user": Cost(unpriced=1)}


def test_without_messages_calls_and_usage_are_unknown(tmp_path: Path) -> None:
    [campaign] = tau2_imported(tmp_path / "r.json", tau2(simulation(messages=None, agent_cost=None)))
    [trial] = campaign.results.trials
    assert (trial.calls, trial.refused, trial.last_is_good) == (None, None, None)
    assert costs_given([trial]) == {"agent": Cost(unpriced=1), "user": Cost(unpriced=1)}


def test_settings_tell_agents_apart_and_hold_no_secret(tmp_path: Path) -> None:
    arguments = {
        "temperature": 0.5,
        "api_key": "sk-1",
        "extra": [{"Authorization": "sk-2", "top_p": 1}],
        "max_tokens": 9,
    }
    about = {"llm": "m", "llm_args": arguments}
    [campaign] = tau2_imported(tmp_path / "r.json", tau2(simulation(), agent_info=about))
    assert '"arguments":{"extra":[{"top_p":1}],"max_tokens":9,"temperature":0.5}' in campaign.settings
    assert "sk-" not in campaign.settings


def test_files_of_one_agent_are_added_up(tmp_path: Path) -> None:
    files = [
        written(tmp_path / "a.json", tau2(simulation(trial=0))),
        written(tmp_path / "b.json", tau2(simulation(trial=1, reward=0.0), simulation("9"))),
    ]
    [campaign] = campaigns(read("tau2", files))
    assert [(task, repetition) for task, repetition, *_ in results(campaign)] == [("0", 0), ("0", 1), ("9", 0)]
    assert [(one.name, one.trials) for one in campaign.results.sources] == [("a.json", 1), ("b.json", 2)]


def test_files_with_other_settings_of_one_agent_are_refused(tmp_path: Path) -> None:
    about = {"llm": "house/model-1", "llm_args": {"temperature": 1.0}}
    files = [
        written(tmp_path / "a.json", tau2(simulation())),
        written(tmp_path / "b.json", tau2(simulation(), agent_info=about)),
    ]
    with pytest.raises(ImportFault, match=r"'house/model-1' has other settings in .*b\.json than in .*a\.json"):
        campaigns(read("tau2", files))


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ([], "holds no results of tau2: Expected `object`, got `array`"),
        ({"info": {}}, "holds no results of tau2: Object missing required field `simulations`"),
        (tau2(), "holds no simulation; there is nothing to import"),
        (tau2(simulation(reward=float("nan"))), "simulation 1: reward is nan; a reward is a number from 0 to 1"),
        (tau2(simulation(reward=float("inf"))), "simulation 1: reward is inf"),
        (tau2(simulation(), simulation(trial=1, reward=-0.5)), "simulation 2: reward is -0.5"),
        (tau2(simulation(reward_info={"reward": "1"})), r"Expected `float \| null`, got `str`.*reward_info.reward"),
        (
            tau2(simulation(agent_cost=float("nan"))),
            "simulation 1: agent_cost is nan; a cost is a number of US dollars",
        ),
        (tau2(simulation(agent_cost=-1)), "simulation 1: agent_cost is -1.0"),
        (tau2(simulation(task="a\nb")), r"simulation 1: task_id 'a\\nb' cannot be a name"),
        (tau2(simulation(termination_reason=None)), r"Expected `str`, got `null` - at `\$.simulations\[0\].term"),
        (tau2(simulation(), tasks=("0", "1", "0")), "lists task '0' twice"),
        (tau2(simulation(), simulation()), "simulation 2 is repetition 0 of task '0', and so is .*simulation 1, which"),
        (
            tau2(simulation(), environment_info=None),
            "does not say which domain it is about; give it with --domain NAME",
        ),
        (
            tau2(simulation(), agent_info={"llm": None}),
            "does not say which agent it is about; give it with --agent NAME",
        ),
        (
            tau2(simulation(), agent_info={"llm": "m", "llm_args": {"t": float("nan")}}),
            "settings .* cannot be kept: nan",
        ),
    ],
)
def test_what_cannot_be_understood_is_named(tmp_path: Path, document: object, told: str) -> None:
    with pytest.raises(ImportFault, match=told):
        tau2_imported(tmp_path / "r.json", document)
