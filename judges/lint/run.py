"""Lint: what is wrong with the tasks of a pack, before any agent is tried on them."""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from judges.lint import criteria, golden
from judges.lint.case import Case, Unreadable, case_of
from judges.lint.giveaways import given_away
from judges.lint.order import dependent
from judges.lint.pack import Item, Pack, duplicates, unused_documents
from judges.lint.report import UNREADABLE, Remark, Report
from judges.lint.rows import Seed, interchangeable, satisfied
from judges.lint.values import invented

Check = Callable[[Case], Iterator[Remark]]

CHECKS: tuple[Check, ...] = (
    golden.calls,
    golden.effects,
    golden.rules,
    criteria.empty,
    criteria.overrides,
    criteria.rubrics,
    criteria.refusal,
    criteria.idle,
    dependent,
)


class Reading(Struct, frozen=True, eq=False):
    """The task files of a pack: those that could be tried out, and remarks on the others."""

    cases: tuple[Case, ...]
    remarks: tuple[Remark, ...]


def lint(pack: Pack) -> Report:
    """Every remark on a pack: those on the whole, then by file, in each file errors first."""
    reading = read(pack)
    remarks = [*reading.remarks, *duplicates(reading.cases), *unused_documents(pack, reading.cases)]
    seeds: dict[str, Seed] = {}
    for case in reading.cases:
        digest = case.snapshot.digest
        if digest not in seeds:
            seeds[digest] = Seed(pack.domain, case.snapshot)
        remarks += remarks_on(case, seeds[digest])
    places = {item.file: place for place, item in enumerate(pack.items)}
    remarks.sort(key=lambda remark: (places.get(remark.file, -1), remark.level))
    return Report(pack.name, len(reading.cases), tuple(remarks))


def read(pack: Pack) -> Reading:
    """All task files of a pack, tried out."""
    cases, remarks = [], []
    for item in pack.items:
        try:
            cases.append(case_of(pack.domain, item.file, _content(item), item.task))
        except Unreadable as fault:
            advice = "correct the file" if fault.check == UNREADABLE else "correct the row"
            remarks.append(Remark("error", fault.check, item.file, fault.path, None, fault.reason, advice))
    return Reading(tuple(cases), tuple(remarks))


def _content(item: Item) -> Any:
    try:
        return item.content()
    except ValueError as error:
        raise Unreadable("$", str(error), UNREADABLE) from None


def remarks_on(case: Case, seed: Seed) -> list[Remark]:
    """All that is to be said of one task alone; what no check explains is told in the words of the refused load."""
    found = [remark for check in CHECKS for remark in check(case)]
    found += satisfied(case, seed)
    found += interchangeable(case, seed)
    found += invented(case, seed.corpus)
    found += given_away(case, seed)
    if case.invalid and not any(remark.level == "error" for remark in found):
        found.append(case.error("invalid", "$", None, case.invalid, "correct the task"))
    return found
