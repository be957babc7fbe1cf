"""Failure signatures: for each failed trial the first rule that holds, where it shows, and why. docs/signatures.md"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Literal, get_args

from msgspec import Struct

from judges.lines import cut, line
from judges.metrics.calls import ERROR, MadeCall, calls_of, identifiers_in, made_good
from judges.metrics.invented import invented_in, mentioned
from judges.verdict import Verdict
from sandbox.agents import USER_FAULT
from sandbox.records import Record, Said, TrialEnded, UserFaulted, decoded

Name = Literal[
    "user fault", "loop", "stopped", "tool error", "failed precondition", "empty lookup", "invented identifier",
    "no action", "gave up", "wrong state", "broken rule", "incomplete answer",
]  # fmt: skip
"""What a failed trial shows, in the order of the rules."""
Group = Literal["Tool usage", "Wrong state update", "Incomplete user resolution", "No state-changing action"]
"""The four groups of the published study."""
NAMES: tuple[Name, ...] = get_args(Name)
GROUPS: tuple[Group, ...] = get_args(Group)

LOOP = 3
"""Equal calls without a change in between that make a loop."""
LONGEST = 160
"""Characters of a reason."""
NORMAL_ENDS = ("done", "end_turn_tool", "user_done")
"""Ends that the agent or the user brought about."""
_GROUP_OF: dict[Name, Group] = {
    "loop": "Tool usage",
    "tool error": "Tool usage",
    "failed precondition": "Tool usage",
    "empty lookup": "Tool usage",
    "invented identifier": "Tool usage",
    "no action": "No state-changing action",
    "wrong state": "Wrong state update",
    "incomplete answer": "Incomplete user resolution",
}
"""The group of each signature that has one of its own; of the others it depends on what the trial left."""


class Signature(Struct, frozen=True):
    """What a failed trial shows first, by the order of the rules. It is no proof of a cause."""

    name: Name
    group: Group
    position: int
    """Of the record that shows it."""
    reason: str
    """One printable line."""


class Sign(Struct, frozen=True):
    """Where a rule holds, and why."""

    position: int
    reason: str


class FailedTrial(Struct, frozen=True, dict=True):
    """A failed trial, as the rules read it."""

    records: Sequence[Record]
    verdict: Verdict
    known: str
    """From `invented.known_text`."""

    @cached_property
    def calls(self) -> tuple[MadeCall, ...]:
        """The answered calls, in order."""
        return calls_of(self.records)

    @property
    def end(self) -> TrialEnded | None:
        """How it ended; None if it has not."""
        last = decoded(self.records[-1])
        return last if isinstance(last, TrialEnded) else None

    @property
    def end_position(self) -> int:
        """Of its last record."""
        return self.records[-1].position

    @property
    def has_written(self) -> bool:
        """Whether a call of it changed a row, be it back to what it was."""
        return any(call.wrote for call in self.calls)

    def says_no(self, kind: Literal["outcome", "rule"]) -> bool:
        """Whether a check of this kind was answered with no."""
        return any(check.kind == kind and check.result == "no" for check in self.verdict.checks)


Rule = Callable[[FailedTrial], Sign | None]


def signature_of(records: Sequence[Record], verdict: Verdict, known: str = "") -> Signature:
    """
    The signature of a failed trial: that of the first rule that holds, and one always does.

    Args:
        records: of the closed trial, in order.
        verdict: its findings joined to the trial's events.
        known: from `invented.known_text`; what stands there is not invented.

    Raises:
        ValueError: the verdict is no fail, or there are no records.
    """
    if verdict.result != "fail" or not records:
        raise ValueError(f"only a failed trial with records has a signature; this one: {verdict.result}")
    trial = FailedTrial(records, verdict, known)
    name, sign = _first(trial)
    return Signature(name, _GROUP_OF.get(name) or _group_left(trial), sign.position, cut(sign.reason, LONGEST))


def _first(trial: FailedTrial) -> tuple[Name, Sign]:
    for name, rule in RULES:
        sign = rule(trial)
        if sign is not None:
            return name, sign
    return "incomplete answer", _incomplete_answer(trial)


def _group_left(trial: FailedTrial) -> Group:
    """By what a trial left: nothing written, wrongly written, or all right but the answer."""
    if not trial.has_written:
        return "No state-changing action"
    is_wrong = trial.says_no("outcome") or trial.says_no("rule")
    return "Wrong state update" if is_wrong else "Incomplete user resolution"


def _user_fault(trial: FailedTrial) -> Sign | None:
    for record in trial.records:
        payload = decoded(record)
        if isinstance(payload, UserFaulted):
            return Sign(record.position, f"the user did wrong: {payload.kind} {payload.detail}".rstrip())
    if trial.end is not None and USER_FAULT in trial.end.flags:
        return Sign(trial.end_position, "the user did wrong")
    return None


def _loop(trial: FailedTrial) -> Sign | None:
    counts: dict[str, int] = {}
    for call in trial.calls:
        if call.wrote:
            counts.clear()
            continue
        counts[call.request] = counts.get(call.request, 0) + 1
        if counts[call.request] == LOOP:
            return Sign(call.position, f"{call.tool} was called {LOOP} times alike, and nothing changed in between")
    return None


def _stopped(trial: FailedTrial) -> Sign | None:
    if trial.end is None or trial.end.end in NORMAL_ENDS:
        return None
    why = f" ({trial.end.detail})" if trial.end.detail else ""
    return Sign(trial.end_position, f"the trial was stopped: {trial.end.end}{why}")


def _tool_error(trial: FailedTrial) -> Sign | None:
    for _, call in _left_open(trial, "Invalid", "Unsupported", ERROR):
        return Sign(call.position, f"{call.tool} was declined and never made good: {call.refusal}: {call.answer}")
    return None


def _failed_precondition(trial: FailedTrial) -> Sign | None:
    for place, call in _left_open(trial, "Precondition", "Conflict"):
        told = f"{call.tool} was declined ({call.refusal} at {call.position}: {call.answer})"
        write = next((later for later in trial.calls[place + 1 :] if later.wrote), None)
        if write is not None:
            return Sign(write.position, f"carried on with {write.tool} after {told}")
        return Sign(call.position, f"finished after {told}")
    return None


def _left_open(trial: FailedTrial, *refusals: str) -> Iterator[tuple[int, MadeCall]]:
    """The calls that were declined with one of these and that no later call made good, with their places."""
    for place, call in enumerate(trial.calls):
        if call.refusal in refusals and made_good(trial.calls, place) is None:
            yield place, call


def _empty_lookup(trial: FailedTrial) -> Sign | None:
    """Anything found between the lookup and the write clears it: that may be what the write builds on."""
    is_short = any(finding.kind == "missing" for finding in trial.verdict.findings)
    blamed = {finding.cause for finding in trial.verdict.findings}
    lookups = [call for call in trial.calls if call.wrote or call.is_empty or (call.is_good and call.found)]
    for place, (empty, write) in enumerate(pairwise(lookups)):
        if not empty.is_empty or not write.wrote or not (is_short or write.position in blamed):
            continue
        if empty.refusal or _builds_on(write, empty, lookups[:place]):
            asked = f"{empty.tool} at {empty.position} found nothing"
            return Sign(write.position, f"{asked}, and {write.tool} wrote as if it had")
    return None


def _builds_on(write: MadeCall, empty: MadeCall, before: Sequence[MadeCall]) -> bool:
    """
    Whether a write names an identifier that an empty search asked for and that no earlier answer held.

    Without that the search may have been a precaution: no ticket yet, so one is created.
    """
    asked = empty.request.casefold()
    return any(
        mentioned(value, asked) and not any(mentioned(value, call.answer.casefold()) for call in before)
        for _, value in identifiers_in(write.arguments)
    )


def _invented_identifier(trial: FailedTrial) -> Sign | None:
    for invented in invented_in(trial.records, trial.known):
        call = invented.call
        if call.wrote or (not call.is_good and made_good(trial.calls, invented.place) is None):
            return Sign(call.position, f"{call.tool} was given {invented.value!r}, which stood nowhere before")
    return None


def _no_action(trial: FailedTrial) -> Sign | None:
    if trial.has_written or not trial.says_no("outcome"):
        return None
    return Sign(trial.end_position, f"a change was required; calls: {len(trial.calls)}, none of which changed a row")


def _gave_up(trial: FailedTrial) -> Sign | None:
    findings = trial.verdict.findings
    if not findings or any(finding.kind != "missing" for finding in findings):
        return None
    return Sign(trial.end_position, f"ended with required changes missing: {len(findings)}; {line(findings[0])}")


def _wrong_state(trial: FailedTrial) -> Sign | None:
    if not trial.says_no("outcome"):
        return None
    if not trial.verdict.findings:
        return Sign(trial.end_position, "the records are not as required")
    first = min(trial.verdict.findings, key=lambda finding: finding.position or trial.end_position)
    return Sign(first.position or trial.end_position, f"{first.kind}: {line(first)}")


def _broken_rule(trial: FailedTrial) -> Sign | None:
    for check in trial.verdict.checks:
        if check.kind == "rule" and check.result == "no":
            return Sign(check.position or trial.end_position, f"rule {check.name}: {check.reason}")
    return None


def _incomplete_answer(trial: FailedTrial) -> Sign:
    """What is left when the records are right."""
    said = [record.position for record in trial.records if _is_answer(record)]
    names = ", ".join(check.name for check in trial.verdict.checks if check.result == "no")
    return Sign(said[-1] if said else trial.end_position, f"the records are right, the answer is not: {names}")


def _is_answer(record: Record) -> bool:
    payload = decoded(record)
    return isinstance(payload, Said) and payload.role == "assistant"


RULES: tuple[tuple[Name, Rule], ...] = (
    ("user fault", _user_fault),
    ("loop", _loop),
    ("stopped", _stopped),
    ("tool error", _tool_error),
    ("failed precondition", _failed_precondition),
    ("empty lookup", _empty_lookup),
    ("invented identifier", _invented_identifier),
    ("no action", _no_action),
    ("gave up", _gave_up),
    ("wrong state", _wrong_state),
    ("broken rule", _broken_rule),
)
"""In the order in which they are tried; "incomplete answer" is what is left."""
