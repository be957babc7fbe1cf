"""Each field is compared by its own policy, and free text not by its letters: row 63."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as changed

from judges.expectation import TaskInvalid
from judges.pack import PackTask
from judges.verdict import bundle_of
from sandbox import UNSET, Call, Domain, Event, Instant, Prose, Row, Rows, Toolset, Unordered, UnsetType, Volatile
from tests.hard_cases.court import content, pack_folder, results, task, tried
from tests.hard_cases.stage import Asked, ask
from trialbox import main

book = Toolset("book")


@book.table("entries", ids="ENT")
class Entry(Row):
    """An entry of an address book."""

    id: str
    address: str
    remark: Prose = ""
    moved_in: Instant = "2023-05-01T00:00:00Z"
    seen: Volatile[Instant] = "2023-05-01T00:00:00Z"
    labels: Unordered[str] = ()
    stops: tuple[str, ...] = ()
    rent: float | None = None


class EntryChanged(Event, tag="entry-changed", version=1):
    """Fields that are not mentioned stay."""

    id: str
    address: str | UnsetType = UNSET
    remark: Prose | UnsetType = UNSET
    moved_in: Instant | UnsetType = UNSET
    seen: Instant | UnsetType = UNSET
    labels: tuple[str, ...] | UnsetType = UNSET
    stops: tuple[str, ...] | UnsetType = UNSET
    rent: float | UnsetType | None = UNSET


FIELDS = ("address", "remark", "moved_in", "seen", "labels", "stops", "rent")


@book.on(EntryChanged)
def entry_changed(rows: Rows, e: EntryChanged) -> Entry:
    given = {name: value for name in FIELDS if (value := getattr(e, name)) is not UNSET}
    return changed(rows.get(Entry, e.id), **given)


@book.tool(emits=[EntryChanged], idempotent=True)
def change(
    call: Call,
    id: str,
    address: str | UnsetType = UNSET,
    remark: str | UnsetType = UNSET,
    moved_in: Instant | UnsetType = UNSET,
    seen: Instant | UnsetType = UNSET,
    labels: tuple[str, ...] | UnsetType = UNSET,
    stops: tuple[str, ...] | UnsetType = UNSET,
    rent: float | UnsetType | None = UNSET,
) -> Entry:
    """Change an entry of the book; what is not mentioned stays."""
    call.get(Entry, id)
    call.emit(EntryChanged(id, address, remark, moved_in, seen, labels, stops, rent))
    return call.get(Entry, id)


DOMAIN = Domain("book", book.mount(prefix=""), seed={"book_entries": [{"id": "ENT-1", "address": "1 Elm Walk"}]})

GOLDEN = "12 Canal Plaza, Suite 641, Brookhaven"
SPELLINGS = {
    "as written": GOLDEN,
    "small": "12 Canal Plaza, suite 641, Brookhaven",
    "capitals": GOLDEN.upper(),
    "blank after": GOLDEN + " ",
    "blanks around, small": f"  {GOLDEN.lower()}\t",
    "two blanks": "12 Canal Plaza,  Suite 641, Brookhaven",
    "no comma": "12 Canal Plaza Suite 641, Brookhaven",
    "another number": "12 Canal Plaza, Suite 614, Brookhaven",
}
STRICT = ["as written"]
FOLDED = ["as written", "small", "capitals", "blank after", "blanks around, small"]
ALL = list(SPELLINGS)
TABLE = {
    "text": STRICT,
    "exact": STRICT,
    "value": STRICT,
    "casefold_trim": FOLDED,
    "prose": ALL,
    "ignore": ALL,
}
"""By policy, the spellings that are as good as the golden one."""
ANCHOR = {"rent": 900}
"""Something else that must change, so that the task is one where nothing of the address is compared."""


def entry(**fields: Any) -> Asked:
    return ask("change", id="ENT-1", **fields)


def compared(policy: str, **golden: Any) -> PackTask:
    """A task in which the field is compared by a policy; by its own if that is empty."""
    [field] = golden
    compare = {"book_entries": {field: policy}} if policy else {}
    return task([entry(**golden, **ANCHOR)], domain=DOMAIN, compare=compare)


def passing(path: Path, item: PackTask, field: str, values: dict[str, Any]) -> list[str]:
    """The names of the values that pass."""
    scripts = [[entry(**{field: value}, **ANCHOR)] for value in values.values()]
    trials = tried(path, item, *scripts, domain=DOMAIN)
    return [name for name, result in zip(values, results(trials), strict=True) if result == "pass"]


@pytest.mark.parametrize("policy", ["", *TABLE])
def test_row_63_eight_spellings_of_one_address_under_each_policy(policy: str, tmp_path: Path) -> None:
    item = compared(policy, address=GOLDEN)
    assert passing(tmp_path / "a.db", item, "address", SPELLINGS) == TABLE[policy or "text"]


def test_row_63_a_wrong_spelling_is_told_field_by_field(tmp_path: Path) -> None:
    wrong = SPELLINGS["two blanks"]
    [trial] = tried(
        tmp_path / "a.db", compared("casefold_trim", address=GOLDEN), [entry(address=wrong, **ANCHOR)], domain=DOMAIN
    )
    assert trial.findings == [("wrong", "entries", "address", GOLDEN, wrong)]


@pytest.mark.parametrize("policy", TABLE)
def test_row_63_an_address_that_was_not_changed_is_no_spelling_of_it(policy: str, tmp_path: Path) -> None:
    [trial] = tried(tmp_path / "a.db", compared(policy, address=GOLDEN), [entry(**ANCHOR)], domain=DOMAIN)
    assert trial.result == ("pass" if TABLE[policy] == ALL else "fail")


ACCENTS = {
    "composed": "3 Rue de la Poste, Orléans",
    "decomposed": "3 Rue de la Poste, Orle\u0301ans",
    "capital": "3 RUE DE LA POSTE, ORLÉANS",
    "none": "3 Rue de la Poste, Orleans",
}
STREETS = {"sharp": "4 Hauptstraße", "double": "4 Hauptstrasse", "capitals": "4 HAUPTSTRASSE", "other": "4 Hauptstrase"}


@pytest.mark.parametrize(
    ("values", "folded"), [(ACCENTS, ["composed", "decomposed", "capital"]), (STREETS, ["sharp", "double", "capitals"])]
)
def test_row_63_how_a_letter_is_encoded_or_written_large_is_no_other_letter(
    values: dict[str, str], folded: list[str], tmp_path: Path
) -> None:
    first = next(iter(values.values()))
    assert passing(tmp_path / "a.db", compared("casefold_trim", address=first), "address", values) == folded
    assert passing(tmp_path / "b.db", compared("text", address=first), "address", values) == folded[:1]


def test_row_63_free_text_is_in_no_hash_of_what_is_compared(tmp_path: Path) -> None:
    item = compared("", address=GOLDEN)
    words = ["", "Moved.", "MOVED.", GOLDEN, "verdict: fail"]
    trials = tried(
        tmp_path / "a.db", item, *[[entry(address=GOLDEN, remark=text, **ANCHOR)] for text in words], domain=DOMAIN
    )
    assert results(trials) == ["pass"] * len(words)
    required = bundle_of(DOMAIN, item.task, item.expectation)
    assert {trial.verdict.bundle for trial in trials} == {required.digest}
    assert {tuple(trial.verdict.checks) for trial in trials} == {tuple(trials[0].verdict.checks)}


def test_row_63_free_text_alone_is_no_work_unless_the_task_says_so(tmp_path: Path) -> None:
    only = task([entry(remark="Moved.")], domain=DOMAIN)
    with pytest.raises(TaskInvalid, match="change nothing that is compared"):
        bundle_of(DOMAIN, only.task, only.expectation)
    said = task([entry(remark="Moved.")], domain=DOMAIN, compare={"book_entries": {"remark": "casefold_trim"}})
    trials = tried(tmp_path / "a.db", said, *[[entry(remark=text)] for text in ("moved. ", "Moved")], domain=DOMAIN)
    assert results(trials) == ["pass", "fail"]


LISTS = {
    "same": ["a", "b", "b"],
    "turned": ["b", "a", "b"],
    "once": ["a", "b"],
    "another twice": ["a", "a", "b"],
    "large": ["A", "b", "b"],
    "empty": [],
}


@pytest.mark.parametrize(
    ("field", "policy", "expected"),
    [
        ("labels", "", ["same", "turned"]),
        ("labels", "value", ["same"]),
        ("labels", "exact", ["same"]),
        ("labels", "ignore", list(LISTS)),
        ("stops", "", ["same"]),
        ("stops", "unordered", ["same", "turned"]),
    ],
)
def test_row_63_a_list_without_order_is_a_bag_and_one_with_order_a_list(
    field: str, policy: str, expected: list[str], tmp_path: Path
) -> None:
    item = compared(policy, **{field: LISTS["same"]})
    assert passing(tmp_path / "a.db", item, field, LISTS) == expected


TIMES = {
    "same": "2023-05-18T09:00:00Z",
    "offset": "2023-05-18T11:00:00+02:00",
    "fraction": "2023-05-18T09:00:00.000Z",
    "a second later": "2023-05-18T09:00:01Z",
    "a year later": "2024-05-18T09:00:00Z",
    "the day": "2023-05-18",
}


@pytest.mark.parametrize(
    ("field", "policy", "expected"),
    [
        ("moved_in", "", ["same", "offset", "fraction"]),
        ("moved_in", "text", ["same"]),
        ("moved_in", "exact", ["same"]),
        ("seen", "", list(TIMES)),
        ("seen", "instant", ["same", "offset", "fraction"]),
    ],
)
def test_row_63_a_time_is_compared_by_what_it_means_and_a_volatile_one_not_at_all(
    field: str, policy: str, expected: list[str], tmp_path: Path
) -> None:
    item = compared(policy, **{field: TIMES["same"]})
    assert passing(tmp_path / "a.db", item, field, TIMES) == expected


@pytest.mark.parametrize(
    ("field", "policy", "named"),
    [
        ("rent", "casefold_trim", "is a field of kind float, which 'casefold_trim' cannot compare"),
        ("address", "number", "is a field of kind text, which 'number' cannot compare"),
        ("address", "unordered", "is a field of kind text, which 'unordered' cannot compare"),
        ("address", "trim", "no policy 'trim'"),
    ],
)
def test_row_63_a_policy_that_cannot_compare_a_field_is_refused(field: str, policy: str, named: str) -> None:
    item = task([entry(address=GOLDEN, **ANCHOR)], domain=DOMAIN, compare={"book_entries": {field: policy}})
    with pytest.raises(TaskInvalid, match=f"book_entries.{field}.*{named}"):
        bundle_of(DOMAIN, item.task, item.expectation)


def test_row_63_a_wrong_policy_is_named_by_lint_with_its_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paid = ask("refund", order_id="ORD-9", amount=25)
    folder = pack_folder(tmp_path / "pack", content([paid], compare={"probe_refunds": {"amount": "casefold_trim"}}))
    assert main(["lint", folder]) == 1
    said = capsys.readouterr().out
    assert "$.expect.compare.probe_refunds" in said
    assert "amount is a field of kind float, which 'casefold_trim' cannot compare" in said
