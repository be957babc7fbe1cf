"""Result files of other tools, as small as they can be."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from judges.results.commands import read
from judges.results.kept import results_in, rows_of, write
from judges.results.numbering import ForeignCampaign, campaigns
from sandbox.archive import sealed_in
from sandbox.stream import Store
from sandbox.view_rows import Score
from sandbox.views import Views

UID = "sandbox_external_retail_group1:ST003_006"


def row(repetition: int | None = 0, passed: bool | None = True, uid: str = UID, **other: Any) -> dict[str, Any]:
    """A result row of the public benchmark."""
    tested = None if passed is None else {"result": passed, "reward": float(passed), "is_system_error": False}
    metadata = {} if repetition is None else {"repetition": repetition}
    made: dict[str, Any] = {"uid": uid, "messages": [], "test_result": tested, "usage": [], "metadata": metadata}
    return made | {"is_system_error": False, "finish_reason": "done"} | other


def simulation(
    task: str = "0", trial: int | None = 0, reward: float | None = 1.0, end: str = "user_stop", **other: Any
) -> dict[str, Any]:
    """A simulation of tau2-bench."""
    given = None if reward is None else {"reward": reward}
    made: dict[str, Any] = {"id": f"s-{task}-{trial}", "task_id": task, "trial": trial, "termination_reason": end}
    return made | {"reward_info": given, "agent_cost": 0.25, "user_cost": 0.0, "messages": []} | other


def tau2(*simulations: Mapping[str, Any], tasks: Sequence[str] = ("0",), **info: Any) -> dict[str, Any]:
    """A whole file of it."""
    about = {
        "num_trials": 1,
        "agent_info": {"implementation": "llm_agent", "llm": "house/model-1", "llm_args": {"temperature": 0.0}},
        "user_info": {"implementation": "user_simulator", "llm": "house/user-1", "llm_args": {}},
        "environment_info": {"domain_name": "airline"},
    }
    return {"info": about | info, "tasks": [{"id": task} for task in tasks], "simulations": list(simulations)}


def written(path: Path, *rows: Any) -> Path:
    """A file of JSON Lines."""
    path.write_text("".join(f"{json.dumps(one)}\n" for one in rows), encoding="utf-8")
    return path


def imported(path: Path, agent: str = "clerk", **options: Any) -> list[ForeignCampaign]:
    """What a file of rows says."""
    return campaigns(read("thinkingbox", [path], agent, **options))


def tau2_imported(path: Path, document: Any, **options: Any) -> list[ForeignCampaign]:
    """What such a document says."""
    return campaigns(read("tau2", [written(path, document)], **options))


def results(campaign: ForeignCampaign) -> list[tuple[str, int, int, str, str]]:
    """Task, repetition, attempt, end and result of each trial."""
    trials = campaign.results.trials
    return [(one.task, one.repetition, one.attempt, one.end, one.result) for one in trials]


def stored(folder: Path, made: Sequence[ForeignCampaign]) -> list[Path]:
    """Their stores."""
    return write(folder, made)


def scores_in(path: Path) -> list[Score]:
    """What read models say of an imported store."""
    with Store.open(path, read_only=True) as store, closing(Views()) as views:
        found = results_in(store)
        assert found is not None
        views.add(rows_of(found, sealed_in(store)))
        return views.scores()
