"""Shares of failures, findings, clean-looking ends and recovery are counts that can be done by hand."""

import json
from fractions import Fraction
from io import StringIO

import pytest
from rich.console import Console

from judges.metrics.calls import calls_of, identifiers_in
from judges.metrics.commands import SECTIONS, share_table
from judges.metrics.failures import (
    Failures,
    Note,
    Recovery,
    by_agent,
    failures_of,
    mean_share,
    recoveries,
)
from judges.metrics.invented import MOST, invented_in, known_text, mentioned
from judges.metrics.rounding import percent
from judges.metrics.signatures import GROUPS, NAMES
from judges.verdict import Check, Verdict
from sandbox.task import Task
from tests.judges.metrics.library import GOLDEN, KNOWN, LOOK, START, WRONG, asked, domain, noted, tried

RIGHT = GOLDEN[0]
LENT = asked("lend", id="BK-2", reader="RD-8")
TAKEN_BACK = asked("take_back", id="BK-2")

PUBLISHED_GROUPS = {
    # percent: the announcement, the first and the second version of the paper
    "Tool usage": ("79.9", "77.5", "79.9"),
    "Wrong state update": ("10.3", "12.1", "9.4"),
    "Incomplete user resolution": ("7.0", "7.9", "7.5"),
    "No state-changing action": ("2.9", "2.5", "3.2"),
}
PUBLISHED_FINDINGS = {"wrong": "77.61", "extra": "43.30", "missing": "25.36"}
PUBLISHED_CLEAN = ("84.86", "80.88", "67.24")


def failures(agent: str, groups: tuple[int, int, int, int], findings: tuple[int, int, int] = (0, 0, 0)) -> Failures:
    """Failures of which only groups and findings are told."""
    return Failures(
        agent=agent,
        trials=sum(groups),
        failed=sum(groups),
        signatures={},
        groups=dict(zip(GROUPS, groups, strict=True)),
        findings=dict(zip(PUBLISHED_FINDINGS, findings, strict=True)),
        ended_normally=0,
        wrote=0,
        looks_clean=0,
        signed=sum(groups),
    )


def hundredths(text: str) -> int:
    """A number with up to two decimals as so many hundredths."""
    whole, _, decimals = text.partition(".")
    return int(whole) * 100 + int(decimals.ljust(2, "0"))


@pytest.mark.parametrize(("column", "total"), [(0, 10_010), (1, 10_000), (2, 10_000)])
def test_the_published_groups_sum_to_a_hundred_percent_but_for_rounding(column: int, total: int) -> None:
    assert list(PUBLISHED_GROUPS) == list(GROUPS)
    assert sum(hundredths(columns[column]) for columns in PUBLISHED_GROUPS.values()) == total


def test_unweighted_means_that_sum_to_one_can_be_shown_as_the_published_100_1() -> None:
    agents = [failures("a", (8086, 926, 698, 290)), failures("b", (3943, 563, 349, 145))]
    means = [mean_share(agents, lambda one, group=group: one.groups[group]) for group in GROUPS]  # type: ignore[misc]
    exact = [mean for mean in means if mean is not None]
    assert sum(exact) == 1
    assert [str(percent(mean, 1)) for mean in exact] == [columns[0] for columns in PUBLISHED_GROUPS.values()]


def test_published_findings_overlap_and_published_clean_ends_shrink_step_by_step() -> None:
    assert sum(map(hundredths, PUBLISHED_FINDINGS.values())) == 14_627
    assert sorted(PUBLISHED_CLEAN, reverse=True) == list(PUBLISHED_CLEAN)


def test_the_mean_of_shares_weighs_agents_alike_and_leaves_out_who_never_failed() -> None:
    agents = [failures("a", (9, 1, 0, 0)), failures("b", (0, 1, 0, 0)), failures("c", (0, 0, 0, 0))]
    assert mean_share(agents, lambda one: one.groups["Tool usage"]) == Fraction(9, 20)
    assert mean_share(agents[2:], lambda one: one.groups["Tool usage"]) is None
    assert agents[2].share(0) is None


def test_signatures_groups_and_overlapping_findings_are_counted_for_each_agent() -> None:
    notes = [
        tried(RIGHT).noted(),
        tried(RIGHT, WRONG).noted(),
        tried(asked("lend", id="BK-1", reader="RD-7"), WRONG).noted(),
        tried(WRONG).noted(),
        tried().noted(),
        tried().noted("bob"),
    ]
    ada, bob = by_agent(notes)
    assert (ada.trials, ada.failed, bob.agent, bob.failed) == (5, 4, "bob", 1)
    assert {name: n for name, n in ada.signatures.items() if n} == {"wrong state": 3, "no action": 1}
    assert ada.groups == dict(zip(GROUPS, (0, 3, 0, 1), strict=True))
    assert ada.findings == {"wrong": 1, "extra": 3, "missing": 2}
    assert list(ada.signatures) == list(NAMES)


def test_a_clean_looking_failure_ended_normally_wrote_and_was_not_refused_last() -> None:
    clean, stopped = tried(WRONG), tried(WRONG, end="agent_limit")
    reading, refused, error = tried(LOOK), tried(WRONG, LENT), tried(WRONG, asked("renew", id="BK-1"))
    made_good = tried(LENT, WRONG)
    every = [trial.noted() for trial in (clean, stopped, reading, refused, error, made_good)]
    assert [note.looks_clean for note in every] == [True, False, False, False, False, True]
    assert not tried().noted().last_is_good
    found = failures_of("ada", every)
    assert (found.failed, found.ended_normally, found.wrote, found.looks_clean) == (6, 5, 4, 2)


def test_a_passed_trial_is_no_clean_looking_failure() -> None:
    found = failures_of("ada", [tried(RIGHT).noted()])
    assert (found.trials, found.failed, found.looks_clean) == (1, 0, 0)


def test_recovery_counts_trials_by_class_and_tells_made_good_from_passed() -> None:
    taken = (TAKEN_BACK, RIGHT)
    notes = [
        tried(LENT, TAKEN_BACK, RIGHT, golden=taken).noted(),  # left open, and passed
        tried(LENT, TAKEN_BACK, LENT, WRONG).noted(),  # made good, and failed
        tried(LENT, TAKEN_BACK, LENT, LENT).noted(),  # the later one left open
        tried(LENT, RIGHT, RIGHT, asked("take_back", id="BK-1"), RIGHT, WRONG).noted(),  # the earlier one left open
        tried(asked("get_book", id="BK-7"), LOOK, RIGHT).noted(),
        tried(RIGHT).noted(),
    ]
    assert recoveries(notes) == [Recovery("NotFound", 1, 1, 1), Recovery("Precondition", 4, 1, 1)]


def test_a_trial_that_nobody_judged_is_no_failure_and_no_pass() -> None:
    trial = tried(LENT, TAKEN_BACK, LENT)
    for verdict in (None, Verdict("ungradeable", "", (Check("rubric", "r", "could not check"),))):
        note: Note = noted("ada", trial.records, verdict)
        assert (note.result, note.signature) == ("ungradeable", "")
        assert recoveries([note]) == [Recovery("Precondition", 1, 1, 0)]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"id": 7, "note": "about BK-1 of today"}, [("id", "7")]),
        ({"order": "ORD-1", "status": "open"}, [("order", "ord-1")]),
        ({"item": {"requester_id": "522"}, "userIds": ["9"]}, [("item.requester_id", "522"), ("userIds.0", "9")]),
        ({"email": "Ana@shop.example", "to": "@you"}, [("email", "ana@shop.example")]),
        ({"on": "2026-03-12", "at": "10:30am", "weight": "20kg", "n": 5, "valid_id": True}, []),
        ("no JSON 5", []),
        (json.loads("[" * 900 + '{"id": 7}' + "]" * 900), [("0." * 900 + "id", "7")]),
    ],
)
def test_identifiers_are_whole_values_that_look_or_are_named_so(
    arguments: object, found: list[tuple[str, str]]
) -> None:
    assert list(identifiers_in(arguments)) == found


def test_a_write_that_looks_for_nothing_to_be_there_is_no_empty_lookup() -> None:
    [call] = calls_of(tried(asked("lend_first", id="BK-1", reader="RD-8")).records)
    assert (call.found, call.is_empty, call.is_good) == (0, False, True)


def test_known_is_what_stands_in_rows_goal_policy_and_tools() -> None:
    text = known_text(domain, domain.snapshot, Task("t", "library", START, "To RD-8.", ("books_lend",), "Ask CH-1."))
    assert all(mentioned(value, text) for value in ("bk-3", "rd-7", "rd-8", "ch-1", "books_lend", "lend a book"))
    assert not mentioned("books_move", text)


@pytest.mark.parametrize(("before", "names"), [(MOST - 1, ["rd-99"]), (MOST, [])])
def test_of_one_call_so_many_identifiers_are_looked_up(before: int, names: list[str]) -> None:
    records = tried(asked("get_book", ids=[*["BK-1"] * before, "RD-99"])).records
    assert [invented.value for invented in invented_in(records, KNOWN)] == names


def test_an_agent_whose_name_looks_like_markup_is_shown_as_it_is() -> None:
    console = Console(width=120, record=True, file=StringIO())
    console.print(share_table("group", SECTIONS[1][1], [failures("[red]a[/red]", (1, 0, 0, 1))]))
    assert "[red]a[/red] (2 of 2 failed)" in console.export_text()


@pytest.mark.parametrize(
    ("text", "is_there"),
    [("tk-1", True), ('"tk-1",', True), ("see tk-1.", True), ("tk-12", False), ("xtk-1", False), ("tk-12 tk-1", True)],
)
def test_a_value_is_mentioned_as_a_whole_word_only(text: str, is_there: bool) -> None:
    assert mentioned("tk-1", text) is is_there
