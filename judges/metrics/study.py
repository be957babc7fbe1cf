"""A study: campaigns of one or many agents, added up under one policy. Every table and figure is made from it."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from judges.metrics.cost import Bill
from judges.metrics.counted import Counted, added_up, counted
from judges.metrics.counts import DEFAULT, Counts, Policy, by_agent, by_domain
from judges.metrics.failures import Failures, Note, failures_of
from judges.metrics.observed import Observed, observed
from sandbox.prices import PriceTable
from sandbox.refusals import UserFault


class Agent(Struct, frozen=True):
    """All that one agent did."""

    name: str
    counts: Sequence[Counts]
    """Of each task."""
    observed: Observed
    notes: Sequence[Note]
    failures: Failures
    attempts: int
    """Closed trials, those that broke and were made again included."""
    bill: Bill | None
    """None if no model was asked in any of its campaigns."""

    @property
    def domains(self) -> dict[str, list[Counts]]:
        """Its counts by domain."""
        return by_domain(self.counts)


class Study(Struct, frozen=True):
    """Some campaigns."""

    policy: Policy
    campaigns: Sequence[Counted]
    agents: Sequence[Agent]
    """In the order of their names."""

    @property
    def domains(self) -> list[str]:
        """Of all campaigns, by name."""
        return sorted({one.seal.domain for one in self.campaigns})

    @property
    def repetitions(self) -> int:
        """The most that any campaign planned: the k of estimates that need one."""
        return max(one.seal.repetitions for one in self.campaigns)


def study_of(
    paths: Sequence[Path], *, policy: Policy = DEFAULT, mixed: bool = False, prices: PriceTable | None = None
) -> Study:
    """
    The study of some stores.

    Args:
        mixed: whether verdicts of different judge bundles on one task may be summed up.
        prices: other prices than those that the campaigns were run with.

    Raises:
        CountedTwice: two of them hold the same trials, or an agent's settings or a task differ between them.
        MixedBundles: verdicts of different judge bundles may not be summed up, and there are some.
        StreamFault: a trial that was judged has lost its end.
    """
    if not paths:
        raise UserFault("a study of no campaigns; name at least one store")
    campaigns = [counted(path, mixed=mixed, prices=prices) for path in paths]
    counts = by_agent(added_up(campaigns, mixed=mixed))
    return Study(policy, campaigns, [_agent(name, own, campaigns, policy) for name, own in counts.items()])


def _agent(name: str, counts: Sequence[Counts], campaigns: Sequence[Counted], policy: Policy) -> Agent:
    own = [one for one in campaigns if one.seal.agent == name]
    notes = [note for one in own for note in one.notes]
    bills = [one.bill for one in own if one.bill is not None]
    return Agent(
        name,
        counts,
        observed(counts, policy),
        notes,
        failures_of(name, notes),
        sum(one.attempts for one in own),
        sum(bills, Bill()) if bills else None,
    )
