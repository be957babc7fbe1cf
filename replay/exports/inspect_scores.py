"""What an Inspect log sums up: the epochs of a sample reduced to one number, and metrics over the samples."""

from collections.abc import Mapping, Sequence
from math import isnan, nan, sqrt
from statistics import fmean, stdev
from typing import Any

from judges.metrics.estimators import pass_at_k, pass_hat_k
from replay.exports.inspect_sample import SCORER


def reducers(repetitions: int) -> list[str]:
    """The mean, and with several repetitions pass@k and pass^k of all of them, by the names that Inspect gives them."""
    return ["mean", *([f"pass_at_{repetitions}", f"pass_k_{repetitions}"] if repetitions > 1 else [])]


def reductions_of(values: Mapping[str, Sequence[Any]], repetitions: int) -> list[dict[str, Any]]:
    """
    For each reducer a number for each sample with scores.

    Args:
        values: of each sample's epochs: C, I, or not-a-number, which counts nowhere.
    """
    return [
        {
            "scorer": SCORER,
            "reducer": reducer,
            "samples": [
                {"value": _reduced(reducer, scores, repetitions), "history": [], "sample_id": sample}
                for sample, scores in values.items()
                if scores
            ],
        }
        for reducer in reducers(repetitions)
    ]


def _reduced(reducer: str, scores: Sequence[Any], repetitions: int) -> float:
    passed, counted = list(scores).count("C"), sum(isinstance(score, str) for score in scores)
    if counted == 0 or (reducer != "mean" and counted < repetitions):
        return nan
    if reducer == "mean":
        return passed / counted
    estimate = pass_at_k if reducer.startswith("pass_at") else pass_hat_k
    return float(estimate(passed, counted, repetitions))


def results_of(reductions: Sequence[Mapping[str, Any]], samples: int) -> dict[str, Any]:
    """Accuracy and its standard error over the samples, for each reducer."""
    headline = {"scorer": SCORER, "score": SCORER, "metric": "accuracy", "reducer": "mean"}
    scores = [_score(reduction) for reduction in reductions]
    return {"total_samples": samples, "completed_samples": samples, "scores": scores, "headline": headline}


def _score(reduction: Mapping[str, Any]) -> dict[str, Any]:
    values = [sample["value"] for sample in reduction["samples"]]
    counted = [value for value in values if not isnan(value)]
    metrics = {"accuracy": nan, "stderr": nan}
    if counted:
        metrics = {
            "accuracy": fmean(counted),
            "stderr": stdev(counted) / sqrt(len(counted)) if len(counted) > 1 else 0.0,
        }
    return {
        "name": SCORER,
        "scorer": SCORER,
        "reducer": reduction["reducer"],
        "scored_samples": len(counted),
        "unscored_samples": len(values) - len(counted),
        "params": {},
        "metrics": {name: {"name": name, "value": value, "params": {}} for name, value in metrics.items()},
    }
