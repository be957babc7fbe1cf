"""The floor: what agents get who change nothing. A task that they pass measures nothing, unless it is a refusal."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.table import Table
from rich.text import Text

from judges.expectation import GoldenCall
from judges.lint.case import Case
from judges.lint.criteria import refusal_reasons
from judges.lint.rehearsal import rehearsed
from judges.tables import plain_table
from judges.verdict import Evidence, judged
from sandbox.agents import GOODBYE, LOOKED
from sandbox.records import Said


class Passed(Struct, frozen=True):
    """A task that an agent passes without changing anything."""

    pack: str
    task: str
    agents: tuple[str, ...]
    reasons: tuple[str, ...]
    """Why it may be passed: `rubric`, `note`, `trap` of a refusal task, or `no_change`; empty if it may not."""

    @property
    def is_fault(self) -> bool:
        """Whether the task should not be passed like this."""
        return not self.reasons

    def __str__(self) -> str:
        who = f"{' and '.join(self.agents)} pass{'' if len(self.agents) > 1 else 'es'}"
        if "no_change" in self.reasons:
            return f"{self.pack}/{self.task}: {who}; it says `no_change: true`"
        if self.reasons:
            return f"{self.pack}/{self.task}: {who}; it is a refusal task with a {' and a '.join(self.reasons)}"
        return f"{self.pack}/{self.task}: error: {who} without changing anything; see trialbox lint {self.pack}"


class Floor(Struct, frozen=True):
    """What `null` and `reader` get on one pack."""

    pack: str
    tasks: int
    refusals: int
    null: int
    reader: int
    passed: tuple[Passed, ...]
    unjudged: tuple[str, ...]
    """Tasks that cannot be judged at all."""

    @property
    def errors(self) -> int:
        return sum(one.is_fault for one in self.passed) + len(self.unjudged)


def floor(pack: str, cases: Sequence[Case]) -> Floor:
    """`null` and `reader` on every task of a pack."""
    passed = tuple(_passed(pack, cases))
    return Floor(
        pack,
        len(cases),
        sum(case.expectation.refusal for case in cases),
        sum("null" in one.agents for one in passed),
        sum("reader" in one.agents for one in passed),
        passed,
        tuple(case.task.id for case in cases if case.bundle is None),
    )


def floor_table(floors: Sequence[Floor]) -> Table:
    """One line for each pack."""
    made = plain_table("pack", "tasks", "refusal tasks", "null passes", "reader passes")
    for one in floors:
        made.add_row(Text(one.pack), str(one.tasks), str(one.refusals), str(one.null), str(one.reader))
    return made


def _passed(pack: str, cases: Sequence[Case]) -> Iterator[Passed]:
    for case in cases:
        attempts = {"null": _left(case, (), GOODBYE), "reader": _left(case, _reads(case), LOOKED)}
        agents = tuple(name for name, evidence in attempts.items() if _passes(case, evidence))
        if agents:
            yield Passed(pack, case.task.id, agents, _reasons(case))


def _reasons(case: Case) -> tuple[str, ...]:
    if case.expectation.no_change:
        return ("no_change",)
    return refusal_reasons(case) if case.expectation.refusal else ()


def _passes(case: Case, evidence: Evidence) -> bool:
    return case.bundle is not None and judged(case.bundle, evidence).result == "pass"


def _reads(case: Case) -> list[GoldenCall]:
    """The reads among the golden calls of the first outcome."""
    calls = (call for accepted in case.expectation.outcomes[:1] for call in accepted.calls)
    return [call for call in calls if call.tool in case.visible and case.domain.tools[call.tool].is_read]


def _left(case: Case, calls: Sequence[GoldenCall], answer: str) -> Evidence:
    """What an agent leaves behind that makes these calls and says goodbye."""
    attempt = rehearsed(case.domain, case.snapshot, case.task.instant, calls)
    dialogue = (Said("user", case.task.goal), Said("assistant", answer))
    return Evidence(attempt.effects, attempt.events, answer, dialogue)
