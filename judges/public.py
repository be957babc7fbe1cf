"""The judge of the strict profile: whole states, equal or not; what differs is explained, and never decides."""

from functools import cached_property

from judges.compare import Comparison, Required
from judges.findings import Findings
from judges.outcome import Outcome
from judges.state import state_from
from judges.strict import THINKINGBOX, comparison_form, state_hash, strict_policies
from sandbox.domain import Domain
from sandbox.effects import Effects
from sandbox.snapshot import Snapshot

NO_CHANGE = "the golden calls change nothing, so doing nothing passes"


class RequiredState:
    """
    The state that an outcome's golden calls leave, prepared for many comparisons.

    Args:
        snapshot: the rows that the outcome and every trial of the task start from.
    """

    def __init__(self, outcome: Outcome, domain: Domain, snapshot: Snapshot) -> None:
        self.name = outcome.name
        self._outcome = outcome
        self._domain = domain
        self._snapshot = snapshot

    def compare(self, effects: Effects) -> Comparison:
        """Equal if and only if the states' hashes are; the findings, if any, explain the difference."""
        found = self._hash_of(effects)
        if found == self.hash:
            return Comparison("yes", self.name, reason="" if self._outcome.effects else NO_CHANGE)
        told = f"state {found[:12]}, required {self.hash[:12]}"
        return Comparison("no", self.name, self._differences(effects), told)

    @cached_property
    def hash(self) -> str:
        """Of the required state, as the public benchmark computes it."""
        return self._hash_of(self._outcome.effects)

    def _hash_of(self, effects: Effects) -> str:
        state = state_from(self._domain.tables, self._snapshot, effects)
        return state_hash(comparison_form(state, THINKINGBOX))

    def _differences(self, effects: Effects) -> Findings:
        """New rows paired by content where that explains something, else by their ids: other ids count here."""
        for required in self._explanations:
            findings = required.compare(effects).findings
            if findings:
                return findings
        return ()

    @cached_property
    def _explanations(self) -> list[Required]:
        profiles = [strict_policies(self._domain, aligned=is_aligned) for is_aligned in (True, False)]
        return [Required(self._outcome, self._domain, self._snapshot, profile) for profile in profiles]
