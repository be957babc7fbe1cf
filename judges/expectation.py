"""What a task expects of a trial: accepted outcomes, event rules, rubrics, and how fields are compared."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, Literal

from msgspec import Struct

from sandbox.refusals import UserFault
from sandbox.values import digest_of

PROFILES = ("own", "thinkingbox")
"""`own` compares effects, field by field; `thinkingbox` whole states, as the public benchmark does."""


class TaskInvalid(UserFault):
    """A task that no trial can be judged by; the text names the task, the place and the reason."""


class GoldenCall(Struct, frozen=True, forbid_unknown_fields=True):
    """One call of a way to solve the task."""

    tool: str
    arguments: dict[str, Any] = {}


class Accepted(Struct, frozen=True, forbid_unknown_fields=True):
    """One accepted outcome: whatever these calls bring about, on whatever way."""

    name: str
    calls: tuple[GoldenCall, ...]


Comparison = Literal[">", ">=", "<", "<="]
Condition = None | bool | int | float | str | dict[Comparison, int | float]
"""A value that the event's field must equal, or bounds that a number field must keep, such as {">": 500}."""
Where = dict[str, Condition]
"""Conditions by field of the event; all must hold. A null field keeps no bounds."""


class Never(Struct, frozen=True, forbid_unknown_fields=True, tag="never"):
    """No such event happens."""

    event: str
    """Tag of the event, or `mount.tag` where several mounts have one of that tag."""
    where: Where = {}


class AtMostOnce(Struct, frozen=True, forbid_unknown_fields=True, tag="at_most_once"):
    """Such an event happens once or not at all."""

    event: str
    where: Where = {}


class Before(Struct, frozen=True, forbid_unknown_fields=True, tag="before"):
    """Each event `then` has an event `event` somewhere before it."""

    event: str
    then: str
    where: Where = {}
    then_where: Where = {}


Rule = Never | AtMostOnce | Before


class Rubric(Struct, frozen=True, forbid_unknown_fields=True):
    """A question on what was said, to be answered yes or no; yes is good."""

    question: str
    over: Literal["answer", "dialogue"] = "answer"
    """What is shown to whoever answers: the agent's last words, or all that was said."""

    @property
    def name(self) -> str:
        """Tells it from the others of its task."""
        return self.question if self.over == "answer" else f"{self.question} (whole dialogue)"

    def __str__(self) -> str:
        return self.name


class Expectation(Struct, frozen=True, forbid_unknown_fields=True):
    """The evaluator's part of a task."""

    outcomes: tuple[Accepted, ...] = ()
    rules: tuple[Rule, ...] = ()
    rubrics: tuple[str | Rubric, ...] = ()
    """A question alone is one on the agent's last words."""
    compare: dict[str, dict[str, str]] = {}
    """Policy names by table and field, instead of the field's own."""
    refusal: bool = False
    """
    Whether the right thing is not to do what is asked for.

    Without outcomes nothing at all may change. With outcomes their effects are required, such as a note on a ticket.
    """
    profile: str = "own"
    """One of `PROFILES`."""
    no_change: bool = False
    """Whether the golden calls of a public task are known to change nothing, so that doing nothing passes."""

    @property
    def questions(self) -> tuple[Rubric, ...]:
        """The rubrics, all written out."""
        return tuple(Rubric(rubric) if isinstance(rubric, str) else rubric for rubric in self.rubrics)

    @property
    def digest(self) -> str:
        """Digest of the whole expectation, 64 hexadecimal characters."""
        return digest_of(self)


class CriterionFault(Struct, frozen=True):
    """A criterion that judges nothing: where it stands in the expectation, and the words for it."""

    path: str
    """Such as `.outcomes[0]`; empty for the whole expectation."""
    reason: str
    """To be read after `task NAME`."""
    advice: str


def ensure_criteria(expectation: Expectation, task: str) -> None:
    """
    Return if there is something to judge by.

    Raises:
        TaskInvalid: nothing is expected, or a criterion is empty, twice there, or contradicts another.
    """
    for fault in criterion_faults(expectation):
        raise TaskInvalid(f"task {task}{fault.reason}; {fault.advice}")


def criterion_faults(expectation: Expectation) -> Iterator[CriterionFault]:
    """Every criterion that is empty or twice there; one for the whole if nothing is expected."""
    if not (expectation.outcomes or expectation.rules or expectation.rubrics or expectation.refusal):
        yield CriterionFault("", " expects nothing", "give outcomes, rules or rubrics, or say `refusal: true`")
    for place, accepted in enumerate(expectation.outcomes):
        if not accepted.calls and not expectation.refusal:
            reason = f", outcome {accepted.name!r} has no golden calls, so that doing nothing would be accepted"
            yield CriterionFault(f".outcomes[{place}].calls", reason, "write them, or say `refusal: true`")
    for place, rubric in enumerate(expectation.questions):
        if not rubric.question.strip():
            yield CriterionFault(f".rubrics[{place}]", " has an empty rubric", "write a question or delete it")
    if expectation.profile not in PROFILES:
        reason = f": no profile {expectation.profile!r}"
        yield CriterionFault(".profile", reason, nearest(expectation.profile, PROFILES))
    if expectation.no_change and expectation.profile == "own":
        reason = " says `no_change: true`, which only tasks of another profile may"
        yield CriterionFault(".no_change", reason, "say `refusal: true`")
    if expectation.compare and expectation.profile != "own":
        reason = f" overrides policies, but profile {expectation.profile} has none"
        yield CriterionFault(".compare", reason, "delete `compare`")
    for kind, names in (
        ("outcomes", [accepted.name for accepted in expectation.outcomes]),
        ("rubrics", [rubric.name for rubric in expectation.questions]),
    ):
        if len(set(names)) < len(names):
            reason = f" has two {kind} of one name: {', '.join(names)}"
            yield CriterionFault(f".{kind}", reason, "name them apart or delete one")


def nearest(name: str, names: Iterable[str]) -> str:
    """The end of an error text on an unknown name: the nearest known one, or all of them."""
    known = sorted(names)
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known) or 'none'}"
