"""
Mutation of tasks: the golden calls with every kind of mistake in them, each run and judged.

A task whose judges let a mistake pass that left other rows behind has a hole; one whose judges fail the right thing
done in another way raises false alarms. Both are found here, before an agent finds them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from judges.expectation import Expectation
from judges.lines import check_line, line
from judges.mutation.equivalence import only_in_events, same_rows
from judges.mutation.mistakes import MISTAKES
from judges.mutation.mutants import Golden, Maker, Mutant
from judges.mutation.neutral import NEUTRAL
from judges.mutation.stage import Play, Stage
from judges.pack import PackTask
from judges.profile import Profile, profile_of
from judges.rules import prepared_rule
from judges.strict import strict_policies
from judges.verdict import JudgeBundle, Verdict, bundle_of, judged
from sandbox.breakage import Broke
from sandbox.domain import Domain
from sandbox.refusals import UserFault

MOST = 150
"""Mutants of one kind of one outcome's calls; of more, as many are taken, evenly spread."""
LEAST_KILLED = 0.99

Fate = Literal["killed", "equivalent", "survivor", "passed", "false alarm"]
"""
Of a mistake: failed, as it should be; passed since the rows end equal; passed, or not judged, though they do not.
Of a neutral change: passed, as it should. A false alarm is a neutral change that does not pass, or a mistake after
which the rows end equal and are found to differ.
"""


class Unmutable(UserFault):
    """A tool or a handler breaks on a mistaken call; the text names task, mistake, call and error."""


class Case(Struct, frozen=True):
    """One mutant, and what the judges said."""

    task: str
    outcome: str
    """The accepted outcome whose calls were changed."""
    kind: str
    note: str
    fate: Fate
    reason: str = ""
    """Why it passed, for a mistake; what was found, for a neutral change."""


class Tally(Struct, frozen=True):
    """The mutants of one kind of one task, counted."""

    task: str
    kind: str
    mutants: int
    killed: int = 0
    equivalent: int = 0
    survivors: int = 0
    false_alarms: int = 0

    @property
    def kill_rate(self) -> float | None:
        """Share of the mistakes that were failed, equivalent ones aside; None where there is none."""
        return kill_rate(self.killed, self.survivors)


class Report(Struct, frozen=True):
    """What mutation found in some tasks."""

    cases: tuple[Case, ...]
    left_out: int = 0
    """Mutants that were not made because there were more than `MOST` of a kind."""
    untouched: tuple[str, ...] = ()
    """Tasks without golden calls that write, which cannot be mutated."""

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """A line for each task and kind, in order."""
        fates: dict[tuple[str, str], Counter[Fate]] = {}
        for case in self.cases:
            fates.setdefault((case.task, case.kind), Counter())[case.fate] += 1
        return tuple(_tally(task, kind, counted) for (task, kind), counted in fates.items())

    @property
    def kill_rate(self) -> float | None:
        """Of all mistakes that left other rows behind."""
        fates = Counter(case.fate for case in self.cases)
        return kill_rate(fates["killed"], fates["survivor"])

    @property
    def is_good(self) -> bool:
        """Whether enough was killed, and nothing was failed wrongly."""
        rate = self.kill_rate
        return (rate is None or rate >= LEAST_KILLED) and not self.of("false alarm")

    def of(self, *fates: Fate) -> list[Case]:
        """The mutants that came to one of these ends."""
        return [case for case in self.cases if case.fate in fates]


def kill_rate(killed: int, survivors: int) -> float | None:
    """Share of mistakes that were failed; None where there is none."""
    return killed / (killed + survivors) if killed or survivors else None


def mutated(domain: Domain, tasks: Iterable[PackTask], most: int = MOST) -> Report:
    """
    Every mutant of the tasks, run and judged. The same tasks give the same report.

    Rubrics are left aside: nobody answers them here.

    Raises:
        TaskInvalid: no trial of a task could be judged rightly.
        Unmutable: a tool or a handler breaks on a mistaken call.
    """
    cases: list[Case] = []
    untouched: list[str] = []
    left_out = 0
    for item in tasks:
        bench = Bench(domain, item, most)
        if not bench.goldens:
            untouched.append(item.task.id)
        cases += bench.cases()
        left_out += bench.left_out
    return Report(tuple(cases), left_out, tuple(untouched))


class Bench:
    """One task, ready to be mutated."""

    def __init__(self, domain: Domain, item: PackTask, most: int = MOST) -> None:
        self.task = item.task
        self.most = most
        self.left_out = 0
        expectation: Expectation = replace(item.expectation, rubrics=())
        self.stage = Stage(domain, item.task)
        self.goldens: dict[str, Golden] = {}
        if not any(map(self.stage.writes, (call for accepted in expectation.outcomes for call in accepted.calls))):
            return
        self.bundle: JudgeBundle = bundle_of(domain, item.task, expectation)
        rules = tuple(prepared_rule(domain, rule, item.task.id) for rule in expectation.rules)
        for accepted, outcome in zip(expectation.outcomes, self.bundle.outcomes, strict=True):
            profile = _profile(domain, item, changes_nothing=not outcome.effects)
            self.goldens[accepted.name] = Golden(self.stage, accepted.calls, profile, rules)

    def cases(self) -> Iterator[Case]:
        """Every mutant of every outcome's calls, judged."""
        for outcome, golden in self.goldens.items():
            yield from self._cases(outcome, golden, MISTAKES, is_neutral=False)
            yield from self._cases(outcome, golden, NEUTRAL, is_neutral=True)

    def _cases(self, outcome: str, golden: Golden, makers: Mapping[str, Maker], *, is_neutral: bool) -> Iterator[Case]:
        for kind, maker in makers.items():
            made = _distinct(golden, maker(golden))
            chosen = _spread(made, self.most)
            self.left_out += len(made) - len(chosen)
            for mutant in chosen:
                play = self._played(kind, mutant)
                verdict = judged(self.bundle, play.evidence)
                fate, reason = self._neutral(verdict, play) if is_neutral else self._mistake(verdict, play, outcome)
                yield Case(self.task.id, outcome, kind, mutant.note, fate, reason)

    def _played(self, kind: str, mutant: Mutant) -> Play:
        try:
            return self.stage.played(mutant.calls)
        except Broke as fault:
            raise Unmutable(
                f"task {self.task.id}, {kind}: {mutant.note}: {fault}; "
                f"no arguments may break a tool or a handler: correct it, or let it decline them"
            ) from fault

    def _mistake(self, verdict: Verdict, play: Play, mutated_outcome: str) -> tuple[Fate, str]:
        same = self._same(play, mutated_outcome)
        refused = f"refused ({play.refused[0].refusal}); " if play.refused else ""
        if verdict.result == "fail":
            unequal = any(check.kind == "outcome" and check.result == "no" for check in verdict.checks)
            return ("false alarm", f"{same}, and yet: {_told(verdict, play)}") if same and unequal else ("killed", "")
        if same and verdict.result == "pass":
            return "equivalent", f"{refused}{same}"
        if verdict.result == "ungradeable":
            return "survivor", f"not judged: {_told(verdict, play)}"
        return "survivor", f"{refused}passed, though the rows do not end as any golden calls leave them"

    def _same(self, play: Play, mutated_outcome: str) -> str:
        """In what way the rows end as some golden calls leave them; empty if they do not."""
        domain = self.stage.domain
        for outcome, golden in self.goldens.items():
            same = same_rows(domain, self.stage.snapshot, golden.profile, golden.play.effects, play.effects)
            if same:
                facts = only_in_events(domain, golden.play.events, play.events)
                told = f"; only events tell {', '.join(facts)}" if facts else ""
                where = "" if outcome == mutated_outcome else f", as in outcome {outcome!r}"
                return f"{same}{told}{where}"
        return ""

    def _neutral(self, verdict: Verdict, play: Play) -> tuple[Fate, str]:
        return ("passed", "") if verdict.result == "pass" else ("false alarm", _told(verdict, play))


def _told(verdict: Verdict, play: Play) -> str:
    """What was refused, which checks did not hold, and what they found."""
    found = [f"{move.call.tool} is refused ({move.refusal})" for move in play.refused]
    found += [check_line(check) for check in verdict.checks if check.result != "yes"]
    return "; ".join([*found, *map(line, verdict.findings)])


def _profile(domain: Domain, item: PackTask, *, changes_nothing: bool) -> Profile:
    expectation = item.expectation
    if expectation.profile != "own":
        return strict_policies(domain, aligned=False)
    return profile_of(domain, expectation.compare, item.task.id, refusal=changes_nothing)


def _distinct(golden: Golden, mutants: Iterable[Mutant]) -> list[Mutant]:
    """Those whose calls differ from the golden ones and from each other's, also in how numbers are written."""
    seen = {repr(golden.calls)}
    found = []
    for mutant in mutants:
        written = repr(mutant.calls)
        if written not in seen:
            seen.add(written)
            found.append(mutant)
    return found


def _spread(mutants: Sequence[Mutant], most: int) -> list[Mutant]:
    """At most so many, evenly from the first to the last."""
    if len(mutants) <= most:
        return list(mutants)
    return [mutants[place * len(mutants) // most] for place in range(most)]


def _tally(task: str, kind: str, fates: Counter[Fate]) -> Tally:
    counts = (fates[fate] for fate in ("killed", "equivalent", "survivor", "false alarm"))
    return Tally(task, kind, fates.total(), *counts)
