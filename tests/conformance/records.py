"""The recorded answers of one business of the public benchmark, read from `../shared/bench`."""

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, UnsetType, convert

BENCH = Path(__file__).resolve().parents[3] / "shared" / "bench"
ABSENT = f"the recorded answers are not here: ../{BENCH.parent.name}/{BENCH.name}"
KINDS = ("golden", "perturbed", "probes", "quirks")

ANY = "refused"
"""The class of a refusal where only that there is one is compared: a call that hung there."""

Wordings = tuple[tuple[str, str], ...]
"""Patterns for the words of recorded refusals, each with the class that it tells; the first that matches decides."""

_WORDINGS: Wordings = (
    (r"Input validation failed|validation error", "Invalid"),
    (r"Unsupported table|not updatable|Unknown tool", "Unsupported"),
    (r"already exists", "Conflict"),
    (r"Invalid \S+ parameter|Invalid date format|Invalid parameters: provide|Invalid charge amount", "Invalid"),
    (r"Invalid (email|booking reference) format|Check-in date must be before", "Invalid"),
    (r"out of stock|must be provided|is required when|Failed to parse|Must provide either", "Precondition"),
    (r"Invalid VIN format|cannot be modified\. Current status|is not associated with", "Precondition"),
    (r"not found|\bNo ", "NotFound"),
    (r"^DRIVER_TIMEOUT", ANY),
)


class Answer(Struct, frozen=True):
    """A recorded result, or the words of a refusal."""

    result: Any = UNSET
    error: str | UnsetType = UNSET


class Step(Struct, frozen=True):
    """A recorded call. Its changes are unknown for a mistaken trial."""

    tool: str
    arguments: dict[str, Any]
    result: Any = UNSET
    error: str | UnsetType = UNSET
    changes: list[dict[str, Any]] | UnsetType = UNSET
    at_scenario_clock: Answer | None = None
    """What the call gives at the scenario's time, where the recorded answer came from the host's clock."""

    @property
    def answer(self) -> Answer:
        return self.at_scenario_clock or Answer(self.result, self.error)


class Trajectory(Struct, frozen=True):
    """Recorded calls on a patched state."""

    kind: str
    name: str
    task: str
    """The task whose golden calls the verdict compares with; empty for none."""
    patch: dict[str, list[dict[str, Any]]]
    steps: list[Step]
    initial_hash: str | None = None
    final_hash: str | None = None
    golden_hash: str | None = None
    equal: bool | None = None
    """The recorded verdict."""


class Records:
    """All that was recorded of one business."""

    def __init__(self, business: str) -> None:
        self.business = business

    @cached_property
    def interface(self) -> dict[str, Any]:
        """Tools and tables as the servers describe them."""
        return json.loads((BENCH / "interface" / f"{self.business}.json").read_text())  # type: ignore[no-any-return]

    @property
    def seed(self) -> dict[str, list[dict[str, Any]]]:
        """The rows that are loaded before any patch, and the scenario's policies."""
        rows = {table["table"]: table["seed_rows"] for table in self.interface["tables"]}
        return {**rows, "knowledge_policies": self.policies}

    @property
    def policies(self) -> list[dict[str, Any]]:
        """The scenario's policy documents."""
        scenario = json.loads((BENCH / "scenarios" / f"{self.business}.json").read_text())
        return [{"name": source["name"], "text": "\n\n".join(source["snippets"])} for source in scenario["sources"]]

    @cached_property
    def patches(self) -> dict[str, dict[str, list[dict[str, Any]]]]:
        """The data patch of each task."""
        return {line["uid"]: line["data_patch"] or {} for line in self._lines("tasks")}

    def trajectories(self, kind: str) -> Iterator[Trajectory]:
        """The recorded trajectories of one of `KINDS`; a probe is one of a single call, or of the call repeated."""
        for number, line in enumerate(self._lines(kind)):
            yield getattr(self, f"_{kind}")(line, number)

    def _golden(self, line: Mapping[str, Any], _: int) -> Trajectory:
        return Trajectory(
            "golden",
            line["uid"],
            line["uid"],
            self.patches[line["uid"]],
            convert(line["steps"], list[Step]),
            line["initial_hash"],
            line["final_hash"],
        )

    def _perturbed(self, line: Mapping[str, Any], _: int) -> Trajectory:
        return Trajectory(
            "perturbed",
            line["perturbation_id"],
            line["uid"],
            self.patches[line["uid"]],
            convert(line["calls"], list[Step]),
            final_hash=line["final_hash"],
            golden_hash=line["golden_hash"],
            equal=line["equal"],
        )

    def _probes(self, line: Mapping[str, Any], number: int) -> Trajectory:
        lines = [line] + ([{**line, "at_scenario_clock": None, **line["repeat"]}] if "repeat" in line else [])
        name = f"{number}:{line['tool']}:{line['label']}"
        return Trajectory("probes", name, "", self.patches[line["base_uid"]], convert(lines, list[Step]))

    def _quirks(self, line: Mapping[str, Any], _: int) -> Trajectory:
        steps = convert(line.get("steps", []), list[Step])
        patch = line["data_patch"] or {}
        return Trajectory("quirks", line["name"], "", patch, steps, line.get("initial_hash"), line.get("final_hash"))

    def _lines(self, kind: str) -> Iterator[dict[str, Any]]:
        path = next((BENCH / kind).glob(f"{self.business}.jsonl*"))
        content = path.read_bytes()
        yield from map(json.loads, (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines())


def refusal_class(words: str, first: Wordings = ()) -> str:
    """
    The class of a recorded refusal.

    Args:
        words: of the refusal.
        first: patterns of one business, tried before those of all.

    Raises:
        ValueError: no pattern matches.
    """
    for pattern, name in (*first, *_WORDINGS):
        if re.search(pattern, words):
            return name
    raise ValueError(f"a recorded refusal of no known class: {words}")
