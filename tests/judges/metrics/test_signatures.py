"""Each rule has a trial that shows it and one that nearly does; the earlier of two wins; every failed trial has one."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.metrics.signatures import GROUPS, LOOP, NAMES, RULES
from judges.verdict import Check
from sandbox.records import Edited, End, Said, ToolReturned, UserFaulted
from tests.judges.metrics.library import GOLDEN, LOOK, WRONG, Step, Tried, asked, tried

RIGHT = GOLDEN[0]
INVALID = asked("lend", id="BK-1", reader=["RD-8"])
LENT = asked("lend", id="BK-2", reader="RD-8")
"""Refused: somebody has it."""
ABSENT = asked("get_book", id="BK-7")
WRONG_TOO = asked("move", id="BK-1", shelf=5)
FAULT = UserFaulted("invented", "RD-9")
BROKEN = Check("rule", "looks first", "no", "lent before it was looked at", 4, 3)
UNSAID = Check("rubric", "names the day", "no")
ANSWER = Said("assistant", "Done!")

SHOWN: dict[str, tuple[Tried, int, str]] = {
    # trial, the position that shows it, its group
    "user fault": (tried(RIGHT, FAULT, WRONG), 6, "Wrong state update"),
    "loop": (tried(LOOK, LOOK, LOOK), 7, "Tool usage"),
    "stopped": (tried(LOOK, end="agent_limit"), 5, "No state-changing action"),
    "tool error": (tried(INVALID), 3, "Tool usage"),
    "failed precondition": (tried(LENT, LOOK, WRONG), 7, "Tool usage"),
    "empty lookup": (tried(ABSENT, WRONG), 5, "Tool usage"),
    "invented identifier": (tried(asked("lend", id="BK-1", reader="RD-99")), 3, "Tool usage"),
    "no action": (tried(LOOK, ANSWER), 6, "No state-changing action"),
    "gave up": (tried(RIGHT, golden=(RIGHT, WRONG)), 6, "Wrong state update"),
    "wrong state": (tried(RIGHT, WRONG), 7, "Wrong state update"),
    "broken rule": (tried(RIGHT, checks=[BROKEN]), 4, "Wrong state update"),
    "incomplete answer": (tried(RIGHT, ANSWER, checks=[UNSAID]), 6, "Incomplete user resolution"),
}


@pytest.mark.parametrize("name", NAMES)
def test_each_rule_has_a_trial_that_shows_it_at_a_position(name: str) -> None:
    trial, position, group = SHOWN[name]
    found = trial.signature
    assert (found.name, found.position, found.group) == (name, position, group)


NEARLY: dict[str, tuple[Tried, str]] = {
    # a trial that lacks one thing for the rule, and what it shows instead
    "user fault": (tried(RIGHT, WRONG), "wrong state"),
    "loop, too few": (tried(*[LOOK] * (LOOP - 1)), "no action"),
    "loop, other arguments": (tried(LOOK, LOOK, asked("get_book", id="BK-2")), "no action"),
    "loop, a change in between": (tried(LOOK, LOOK, WRONG, LOOK, RIGHT), "wrong state"),
    "stopped": (tried(LOOK, end="user_done"), "no action"),
    "tool error, made good": (tried(INVALID, RIGHT, WRONG), "wrong state"),
    "tool error, an error that is none": (tried(asked("renew", id="BK-1", error=None)), "no action"),
    "tool error, made good by another tool": (tried(asked("lendd", id="BK-1"), RIGHT, WRONG), "wrong state"),
    "failed precondition, made good": (tried(LENT, asked("take_back", id="BK-2"), LENT), "wrong state"),
    "empty lookup, something found": (tried(ABSENT, LOOK, WRONG), "wrong state"),
    "empty lookup, nothing written": (tried(asked("lent_books", reader="RD-8")), "no action"),
    "empty lookup, of what is not written": (tried(asked("lent_books", reader="RD-8"), WRONG), "wrong state"),
    "empty lookup, the write is right": (
        tried(WRONG, asked("get_book", id="RD-7"), RIGHT),
        "wrong state",
    ),
    "empty lookup, known from an answer": (
        tried(asked("get_book", id="BK-2"), asked("lent_books", reader="BK-2"), asked("move", id="BK-2", shelf=3)),
        "wrong state",
    ),
    "invented identifier, the user said it": (
        tried(Said("user", "Or RD-99."), asked("lend", id="BK-1", reader="RD-99")),
        "wrong state",
    ),
    "invented identifier, an answer said it": (
        tried(asked("next_reader"), asked("lend", id="BK-1", reader="RD-55")),
        "wrong state",
    ),
    "invented identifier, an edited answer said it": (
        tried(Edited(3, '"RD-99"'), asked("lend", id="BK-1", reader="RD-99")),
        "wrong state",
    ),
    "invented identifier, it stands in a row": (tried(asked("lend", id="BK-1", reader="RD-7")), "wrong state"),
    "no action": (tried(WRONG, asked("move", id="BK-3", shelf=1)), "gave up"),
    "gave up": (tried(RIGHT, asked("move", id="BK-3", shelf=8), golden=(RIGHT, WRONG)), "wrong state"),
    "wrong state": (tried(RIGHT, checks=[UNSAID]), "incomplete answer"),
    "broken rule": (tried(RIGHT, checks=[UNSAID, Check("rule", "looks first", "yes")]), "incomplete answer"),
}


@pytest.mark.parametrize("nearly", NEARLY)
def test_a_trial_that_lacks_one_thing_shows_something_else(nearly: str) -> None:
    trial, instead = NEARLY[nearly]
    assert trial.name == instead


ALSO: dict[str, tuple[Tried, str, int]] = {
    # the other forms of a rule: a trial, what it shows, and where
    "the flag of a user fault alone": (tried(flags=("user_fault",)), "user fault", 3),
    "a refused call again and again": (tried(LENT, LENT, LENT), "loop", 7),
    "equal arguments in another order": (tried(LENT, asked("lend", reader="RD-8", id="BK-2"), LENT), "loop", 7),
    "a deadline": (tried(RIGHT, WRONG, end="deadline"), "stopped", 9),
    "a tool that there is not": (tried(asked("lendd", id="BK-1")), "tool error", 3),
    "an answer that is an error": (tried(asked("renew", id="BK-1"), RIGHT, WRONG), "tool error", 3),
    "the same tool on something else": (tried(INVALID, asked("lend", id="BK-3", reader="RD-8")), "tool error", 3),
    "refused again": (tried(INVALID, INVALID, WRONG), "tool error", 3),
    "a conflict": (tried(RIGHT, asked("move", id="BK-3", shelf=1), WRONG_TOO), "failed precondition", 8),
    "finished after a failed precondition": (tried(RIGHT, LENT, golden=(RIGHT, WRONG)), "failed precondition", 6),
    "nobody there, and lent all the same": (
        tried(asked("lent_books", reader="RD-8"), asked("lend", id="BK-3", reader="RD-8")),
        "empty lookup",
        5,
    ),
    "a right write after it, and more is missing": (
        tried(asked("get_book", id="RD-7"), RIGHT, golden=(RIGHT, WRONG)),
        "empty lookup",
        5,
    ),
    "an invented id that was not there either": (tried(asked("get_book", id="BK-77")), "invented identifier", 3),
    "an invented id that only a refusal and the agent named": (
        tried(
            asked("get_book", id="RD-99"), Said("assistant", "RD-99?"), LOOK, asked("lend", id="BK-1", reader="RD-99")
        ),
        "invented identifier",
        8,
    ),
    "the first of two wrong writes": (tried(WRONG, WRONG_TOO, RIGHT), "wrong state", 4),
    "a rule broken without a change": (tried(golden=(), checks=[BROKEN]), "broken rule", 4),
    "the last of two answers": (tried(ANSWER, RIGHT, ANSWER, checks=[UNSAID]), "incomplete answer", 7),
}


@pytest.mark.parametrize("case", ALSO)
def test_a_rule_holds_in_its_other_forms_too(case: str) -> None:
    trial, name, position = ALSO[case]
    assert (trial.name, trial.signature.position) == (name, position)


@pytest.mark.parametrize(
    ("trial", "group"),
    [
        (tried(FAULT, LOOK), "No state-changing action"),
        (tried(FAULT, WRONG), "Wrong state update"),
        (tried(FAULT, RIGHT, checks=[BROKEN]), "Wrong state update"),
        (tried(FAULT, RIGHT, checks=[UNSAID]), "Incomplete user resolution"),
    ],
)
def test_a_signature_without_a_group_of_its_own_is_grouped_by_what_the_trial_left(trial: Tried, group: str) -> None:
    assert (trial.name, trial.signature.group) == ("user fault", group)


BOTH: list[tuple[str, str, Tried]] = [
    ("user fault", "loop", tried(FAULT, LOOK, LOOK, LOOK)),
    ("loop", "stopped", tried(LOOK, LOOK, LOOK, end="agent_limit")),
    ("stopped", "tool error", tried(INVALID, end="agent_limit")),
    ("tool error", "failed precondition", tried(LENT, WRONG, asked("move", id="BK-3", shelf="x9"), INVALID)),
    ("failed precondition", "empty lookup", tried(LENT, ABSENT, WRONG)),
    ("empty lookup", "invented identifier", tried(asked("lend", id="BK-1", reader="RD-99"), ABSENT, WRONG)),
    ("invented identifier", "no action", tried(asked("get_book", id="BK-77"))),
    ("no action", "broken rule", tried(LOOK, checks=[BROKEN])),
    ("gave up", "incomplete answer", tried(RIGHT, golden=(RIGHT, WRONG), checks=[UNSAID])),
    ("wrong state", "broken rule", tried(RIGHT, WRONG, checks=[BROKEN])),
    ("broken rule", "incomplete answer", tried(RIGHT, checks=[UNSAID, BROKEN])),
]


@pytest.mark.parametrize(("earlier", "later", "trial"), BOTH, ids=[f"{one[0]}, {one[1]}" for one in BOTH])
def test_of_two_rules_that_hold_the_earlier_one_wins(earlier: str, later: str, trial: Tried) -> None:
    assert NAMES.index(earlier) < NAMES.index(later)
    assert trial.name == earlier


def test_the_rules_are_tried_in_the_order_of_the_names() -> None:
    assert (*(name for name, _ in RULES), "incomplete answer") == NAMES


STEPS: list[Step] = [
    *(LOOK, WRONG, RIGHT, INVALID, LENT, ABSENT, FAULT, ANSWER),
    asked("lendd", id="BK-1"),
    asked("renew", id="BK-1"),
    asked("lend", id="BK-1", reader="RD-99"),
    asked("lent_books", reader="RD-8"),
    asked("take_back", id="BK-2"),
    ToolReturned("{}"),
]
ENDS: list[End] = list(get_args(End))


@given(
    st.lists(st.sampled_from(STEPS), max_size=8),
    st.sampled_from(ENDS),
    st.lists(st.sampled_from([BROKEN, UNSAID]), max_size=2),
)
def test_every_failed_trial_has_one_signature_and_no_other_trial_has(
    steps: list[Step], end: End, checks: list[Check]
) -> None:
    trial = tried(*steps, end=end, checks=checks)
    if trial.verdict.result != "fail":
        with pytest.raises(ValueError, match="only a failed trial"):
            _ = trial.signature
        return
    found = trial.signature
    assert found == trial.signature
    assert found.name in NAMES
    assert found.group in GROUPS
    assert 1 <= found.position <= len(trial.records)
    assert found.reason.isprintable()
