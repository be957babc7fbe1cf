"""Campaigns as Inspect logs: a zip archive each, in the form of version 2, whose bytes depend on the store alone."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from judges.campaigns import MixedBundles
from replay.exports.inspect_sample import NO_MODEL, SCORER, Sample, added, sample_of
from replay.exports.inspect_scores import reducers, reductions_of, results_of
from replay.exports.source import Source
from replay.exports.target import new_folder
from replay.exports.times import utc_text
from sandbox.values import digest_of

VERSION = 2
"""Of the form."""


def export_inspect(
    sources: Sequence[Source], path: Path, *, with_required: bool = False, mixed: bool = False
) -> list[str]:
    """
    Write a log for each campaign into a new folder, and return their names.

    Args:
        with_required: whether findings tell what was required, which is the expectation's.
        mixed: whether verdicts of different judge bundles on one task may be summed up.

    Raises:
        MixedBundles: they may not, and there are some.
    """
    names: list[str] = []
    with new_folder(path) as folder:
        for place, source in enumerate(sources):
            draft = folder / str(place)
            with ZipFile(draft, "w", ZIP_DEFLATED) as archive:
                log = _Log(source)
                for name, content in log.entries(with_required):
                    archive.writestr(_entry(name), _json(content))
            if not mixed:
                _ensure_one_bundle(source)
            names.append(log.name)
            draft.rename(folder / log.name)
    return names


def _ensure_one_bundle(source: Source) -> None:
    tasks = sorted(task for task, bundles in source.bundles.items() if len(bundles) > 1)
    if tasks:
        raise MixedBundles(
            f"{source.path}: different judges gave the verdicts on {', '.join(tasks)}, and a log sums them up; "
            f"judge all of them again with `trialbox rejudge`, or say --mixed"
        )


class _Log:
    """A log in the making; of its samples only the summaries are kept."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._seal = source.seal
        self._summaries: list[Any] = []
        self._values: dict[str, list[Any]] = {task.id: [] for task in source.seal.tasks}
        self._usage: dict[str, dict[str, dict[str, Any]]] = {"model_usage": {}, "role_usage": {}}
        self._model = NO_MODEL
        self._times: list[float] = []

    @property
    def name(self) -> str:
        """Of its file, in the form that Inspect lists."""
        created = re.sub(r"\.\d+|[:+]", lambda found: "" if found[0].startswith(".") else "-", self._created)
        return f"{created}_{re.sub('[^A-Za-z0-9-]+', '-', self._seal.name)}_{self._id('task')}.eval"

    def entries(self, with_required: bool) -> Iterator[tuple[str, Any]]:
        """What is in it, by name, one sample after the other."""
        for trial in self._source.trials():
            sample = sample_of(trial, with_required=with_required)
            self._note(sample)
            yield f"samples/{trial.key.task}_epoch_{trial.key.repetition + 1}.json", sample.content
        start = {"version": VERSION, "eval": self._eval(), "plan": self._plan()}
        reductions = reductions_of(self._values, self._seal.repetitions)
        yield "_journal/start.json", start
        yield "summaries.json", self._summaries
        yield "reductions.json", reductions
        results = results_of(reductions, len(self._summaries))
        yield "header.json", {**start, "status": "success", "results": results, "stats": self._stats()}

    def _note(self, sample: Sample) -> None:
        self._summaries.append(sample.summary)
        self._values[sample.content["id"]].append(sample.content["scores"][SCORER]["value"])
        self._model = sample.model if self._model == NO_MODEL else self._model
        self._times = [
            min([*self._times[:1], sample.started]),
            max([*self._times[1:], sample.completed]),
        ]
        for kind, known in self._usage.items():
            for name, used in sample.content[kind].items():
                known[name] = added(known[name], used) if name in known else used

    @property
    def _created(self) -> str:
        return utc_text(self._times[0] if self._times else 0.0)

    def _id(self, of: str) -> str:
        return digest_of([self._seal.name, of])[:22]

    def _eval(self) -> dict[str, Any]:
        seal = self._seal
        tasks = [task.id for task in seal.tasks]
        metrics = [{"name": f"inspect_ai/{name}", "options": {}} for name in ("accuracy", "stderr")]
        return {
            "eval_id": self._id("eval"),
            "run_id": self._id("run"),
            "created": self._created,
            "task": seal.name,
            "task_id": self._id("task"),
            "task_version": 0,
            "task_display_name": seal.name,
            "solver": seal.agent,
            "dataset": {"name": seal.domain, "samples": len(tasks), "sample_ids": tasks, "shuffled": False},
            "model": self._model,
            "config": {"epochs": seal.repetitions, "epochs_reducer": reducers(seal.repetitions)},
            "packages": {},
            "scorers": [{"name": SCORER, "options": {}, "metrics": metrics, "metadata": {}}],
            "metadata": self._metadata(),
        }

    def _metadata(self) -> dict[str, Any]:
        source, seal = self._source, self._seal
        return {
            "trialbox": seal.version,
            "agent": seal.agent,
            "domain": seal.domain,
            "mounting": seal.mounting,
            "domain_digest": seal.domain_digest,
            "planned": source.planned,
            "counted": sum(source.results.values()),
            "attempts_left_out": source.broken,
            "forks_left_out": source.forks,
            "judge_bundles": {task: sorted(bundles) for task, bundles in source.bundles.items()},
            "texts_are_redacted": source.is_redacted,
        }

    def _plan(self) -> dict[str, Any]:
        return {
            "name": "plan",
            "steps": [{"solver": self._seal.agent, "params": {}, "params_passed": {}}],
            "config": {},
        }

    def _stats(self) -> dict[str, Any]:
        times = {name: utc_text(wall) for name, wall in zip(("started_at", "completed_at"), self._times, strict=False)}
        return {**times, **self._usage}


def _json(content: Any) -> bytes:
    # msgspec writes not-a-number as null, but that is how Inspect tells a score that does not count.
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.create_system, entry.external_attr, entry.compress_type = 3, 0o100644 << 16, ZIP_DEFLATED
    return entry
