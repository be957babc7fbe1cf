"""Recorded trajectories with one mistake in them, judged by the own comparison instead of the public hash."""

from collections import Counter

import pytest
from msgspec import Struct

from domains.retail import public_domain
from judges.compare import Required
from judges.expectation import Accepted, Expectation, GoldenCall
from judges.mutation.equivalence import same_rows
from judges.mutation.mistakes import MISTAKES
from judges.mutation.neutral import NEUTRAL
from judges.mutation.run import Report, mutated
from judges.mutation.stage import Play, Stage
from judges.outcome import Outcome
from judges.pack import PackTask
from judges.profile import profile_of
from sandbox.task import Task, UserContext
from tests.conformance.records import ABSENT, BENCH, Records, Trajectory
from tests.conformance.run import START

pytestmark = pytest.mark.skipif(not BENCH.exists(), reason=ABSENT)


class Recorded(Struct, frozen=True):
    """One recorded trajectory: what was said of it there, and what is said of it here."""

    name: str
    kind: str
    there: bool
    here: bool
    proof: str
    """In what way the rows end as the golden calls leave them; empty if they do not."""


class Bench:
    """Retail as it was recorded, with the own comparison."""

    def __init__(self) -> None:
        self.records = Records("retail")
        self.domain = public_domain(self.records.seed)
        self.profile = profile_of(self.domain, {}, "recorded")
        self._golden = {golden.task: golden for golden in self.records.trajectories("golden")}
        self._stages: dict[str, tuple[Stage, Required, Play]] = {}

    def judged(self) -> list[Recorded]:
        return [self._judged(trajectory) for trajectory in self.records.trajectories("perturbed")]

    def _judged(self, trajectory: Trajectory) -> Recorded:
        stage, required, golden = self._stage(trajectory)
        played = stage.played(_calls(trajectory))
        equal = required.compare(played.effects).equal
        assert equal != "could not check", trajectory.name
        proof = same_rows(self.domain, stage.snapshot, self.profile, golden.effects, played.effects)
        kind = trajectory.name.rpartition(":")[2]
        return Recorded(trajectory.name, kind, bool(trajectory.equal), equal == "yes", proof)

    def _stage(self, trajectory: Trajectory) -> tuple[Stage, Required, Play]:
        if trajectory.task not in self._stages:
            stage = Stage(self.domain, Task(trajectory.task, "retail", START, "recorded", patch=trajectory.patch))
            golden = stage.played(_calls(self._golden[trajectory.task]))
            required = Required(Outcome("golden", golden.effects), self.domain, stage.snapshot, self.profile)
            self._stages[trajectory.task] = (stage, required, golden)
        return self._stages[trajectory.task]


def _calls(trajectory: Trajectory) -> list[GoldenCall]:
    return [GoldenCall(step.tool, step.arguments) for step in trajectory.steps]


@pytest.fixture(scope="module")
def found() -> list[Recorded]:
    judged = Bench().judged()
    counts = Counter((one.kind, one.there == one.here) for one in judged)
    print()
    for kind in sorted({one.kind for one in judged}):
        print(f"{kind:26} {counts[kind, True]:3} agree {counts[kind, False]:3} differ")
    for one in judged:
        if one.there != one.here:
            words = {True: "passes", False: "fails"}
            print(f"  {one.name} {words[one.there]} there, {words[one.here]} here: {one.proof or 'rows differ'}")
    return judged


def test_the_recorded_kinds_are_among_ours(found: list[Recorded]) -> None:
    assert {one.kind for one in found} <= {*MISTAKES, *NEUTRAL}


def test_a_neutral_change_that_passed_there_passes_here(found: list[Recorded]) -> None:
    neutral = [one for one in found if one.kind in (*NEUTRAL, "null_to_absent", "absent_to_null") and one.there]
    assert len(neutral) > 100
    assert [one.name for one in neutral if not one.here] == []


def test_whatever_passed_there_passes_here(found: list[Recorded]) -> None:
    assert [one.name for one in found if one.there and not one.here] == []


def test_what_failed_there_passes_here_only_where_the_rows_end_equal(found: list[Recorded]) -> None:
    assert [one.name for one in found if one.here and not one.proof] == []
    assert [one.name for one in found if one.proof and not one.here] == []


def test_our_own_mutants_of_the_public_tasks_are_killed_or_equivalent_too() -> None:
    records = Records("retail")
    tasks = []
    for golden in records.trajectories("golden"):
        task = Task(golden.task, "retail", START, "recorded", patch=golden.patch)
        expectation = Expectation((Accepted("golden", tuple(_calls(golden))),))
        tasks.append(PackTask(task, UserContext(task.id), expectation))
    report: Report = mutated(public_domain(records.seed), tasks, most=6)
    assert report.of("survivor", "false alarm") == []
    assert len(report.of("killed")) > 2_000
