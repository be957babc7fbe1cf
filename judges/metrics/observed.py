"""What was literally observed: tasks passed every time, at least once, never. Counts, no estimates."""

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from judges.metrics.counts import DEFAULT, Counts, Coverage, Policy, Sample, coverage, ensure_one_agent, settled


class Tally(Struct, frozen=True):
    """How many tasks it is, and how many it may become once everything that is open has a result."""

    least: int
    """Tasks of which it is so, whatever comes."""
    most: int
    """These, and those of which it still may be so."""

    @property
    def shown(self) -> str:
        """Such as `3`, or `0 to 4` while something is open."""
        return spanned(self.least, self.most)


def spanned(least: int, most: int) -> str:
    """One number where both are the same, else from where to where."""
    return str(least) if least == most else f"{least} to {most}"


class Observed(Struct, frozen=True):
    """
    Every one of the repetitions (consistency), at least one (breadth), none: literal counts of one agent's tasks.

    1 of 1 says less than 20 of 20: `fewest` and `most` belong beside the counts.
    """

    policy: Policy
    coverage: Coverage
    tasks: int
    fewest: int
    """Trials of the task with the fewest."""
    most: int
    """Trials of the task with the most."""
    every_time: Tally
    at_least_once: Tally
    never: Tally
    untested: int
    """Tasks without a single trial that counts."""
    passed: int
    trials: int

    @property
    def trials_per_task(self) -> str:
        """Such as `5`, or `3 to 5`."""
        return spanned(self.fewest, self.most)

    @property
    def every_time_share(self) -> Fraction | None:
        """Tasks that were passed every time, of all tasks; None without tasks."""
        return Fraction(self.every_time.least, self.tasks) if self.tasks else None

    @property
    def breadth(self) -> Fraction | None:
        """Tasks that were passed at least once, of all tasks; None without tasks."""
        return Fraction(self.at_least_once.least, self.tasks) if self.tasks else None

    @property
    def retention(self) -> Fraction | None:
        """
        Share of tasks passed every time ÷ pass@1 (trial-pooled): how much of the success is dependable.

        0 to 1 where all tasks had as many trials as each other; None if nothing passed.
        """
        share = self.every_time_share
        return None if share is None or not self.passed else share / Fraction(self.passed, self.trials)


def observed(counts: Sequence[Counts], policy: Policy = DEFAULT) -> Observed:
    """
    The literal counts of one agent over some tasks.

    Raises:
        ValueError: the counts are of several agents, or of one task twice.
    """
    ensure_one_agent(counts)
    samples = [settled(item, policy) for item in counts]
    trials = [sample.trials for sample in samples]
    return Observed(
        policy=policy,
        coverage=coverage(counts),
        tasks=len(samples),
        fewest=min(trials, default=0),
        most=max(trials, default=0),
        every_time=_tally([s for s in samples if s.passed == s.trials]),
        at_least_once=Tally(
            sum(s.passed > 0 for s in samples),
            sum(s.passed + s.open > 0 for s in samples),
        ),
        never=_tally([s for s in samples if s.passed == 0]),
        untested=trials.count(0),
        passed=sum(s.passed for s in samples),
        trials=sum(trials),
    )


def _tally(still_true: Sequence[Sample]) -> Tally:
    """Settled where trials were made and nothing is open; of a task without either nothing is known or will be."""
    return Tally(
        sum(s.trials > 0 and not s.open for s in still_true),
        sum(s.trials + s.open > 0 for s in still_true),
    )
