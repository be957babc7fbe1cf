"""Reads exported logs with Inspect, computes their metrics again, and prints both: python inspect_logs.py FOLDER"""

import json
import math
import sys
from typing import Any

from inspect_ai.analysis import evals_df, samples_df  # type: ignore[import-not-found]
from inspect_ai.log import (  # type: ignore[import-not-found]
    EvalLog,
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample,
    read_eval_log_sample_summaries,
    recompute_metrics,
    write_eval_log,
)


def number(value: float) -> float | None:
    """Not-a-number as None."""
    return None if isinstance(value, float) and math.isnan(value) else value


def summed_up(log: EvalLog) -> dict[str, Any]:
    """Results and reductions of a log, in plain values."""
    scores = {score.reducer: score for score in log.results.scores}
    return {
        "metrics": {name: {m.name: number(m.value) for m in score.metrics.values()} for name, score in scores.items()},
        "scored": {name: [score.scored_samples, score.unscored_samples] for name, score in scores.items()},
        "reduced": {r.reducer: {s.sample_id: number(s.value) for s in r.samples} for r in log.reductions},
        "samples": [log.results.total_samples, log.results.completed_samples],
        "headline": log.results.headline.model_dump(),
    }


def told(location: str, again: str) -> dict[str, Any]:
    """One log: as it was written, and as Inspect sums it up."""
    log = read_eval_log(location)
    written = summed_up(log)
    recompute_metrics(log)
    write_eval_log(log, again)
    back = read_eval_log(again)
    first = log.samples[0]
    alone = read_eval_log_sample(location, first.id, first.epoch)
    return {
        "task": log.eval.task,
        "status": log.status,
        "model": log.eval.model,
        "epochs": log.eval.config.epochs,
        "reducers": log.eval.config.epochs_reducer,
        "metadata": log.eval.metadata,
        "usage": {name: usage.model_dump() for name, usage in log.stats.model_usage.items()},
        "roles": {name: usage.model_dump() for name, usage in log.stats.role_usage.items()},
        "written": written,
        "computed": summed_up(log),
        "sample_list": [sample.model_dump(mode="json") for sample in log.samples],
        "summaries": [[s.id, s.epoch, s.message_count] for s in read_eval_log_sample_summaries(location)],
        "is_same_alone": alone == first,
        "is_same_again": [one.messages for one in back.samples] == [one.messages for one in log.samples],
    }


def main(folder: str, again: str) -> None:
    """Every log in a folder."""
    logs = sorted(log.name for log in list_eval_logs(folder))
    samples, evals = samples_df(folder, quiet=True), evals_df(folder, quiet=True)
    found = {
        "logs": [told(name, f"{again}/{place}.eval") for place, name in enumerate(logs)],
        "frame": samples[["id", "epoch", "message_count", "metadata_trial"]].to_dict("records"),
        "scores": [None if str(value) in ("nan", "<NA>") else str(value) for value in samples["score_verdict"]],
        "evals": sorted(evals["task_name"]),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
