"""
The pytest plugin: agents on trial in a suite of one's own.

It stands outside the folders, and imports them when a test asks for a trial: another suite neither waits for them nor
finds a package of its own, such as `judges`, taken.
"""

import itertools
import os
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from judges.configuration import Configuration
    from judges.own_agent import AgentFunction, OwnAgent
    from judges.pack_commands import Suite
    from judges.trials import OnTrial, TaskTrials
    from judges.verdict import Verdict
    from sandbox.agents import Agent

    AnyAgent = str | Path | Agent | AgentFunction

MOST = 10_000
WIDEST = 1000
"""Characters of a line that agents may have had a hand in."""
RESULT = "trialbox"
"""The property of a test's report that holds a line of the summary, its cells parted by tabs."""
COLUMNS = ("task", "agent", "passed", "cost", "store")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--trialbox-…`."""
    group = parser.getgroup("trialbox", "agents on trial")
    group.addoption("--trialbox-k", type=_count, metavar="N", help="try each task N times, whatever a test says")
    group.addoption("--trialbox-agent", metavar="AGENT", help="put this agent on trial, whatever a test says")
    group.addoption("--trialbox-store", metavar="DIR", help="keep the stores here, a folder for each test")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= MOST:
        raise ArgumentTypeError(f"{text!r} is no whole number from 1 to {MOST:,}")
    return int(text)


def pytest_configure(config: pytest.Config) -> None:
    """The marker `trialbox`."""
    told = "trialbox: given to every test that uses the fixture `trialbox`, to choose them or leave them out with -m"
    config.addinivalue_line("markers", told)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what puts agents on trial."""
    if "trialbox" in getattr(item, "fixturenames", ()):
        item.add_marker("trialbox")


@pytest.fixture
def trialbox(request: pytest.FixtureRequest, tmp_path: Path) -> "Trialbox":
    """Puts an agent on trial: `trialbox.run(PACK, TASK, agent=AGENT, k=5).must_pass()`."""
    return Trialbox(request.node, tmp_path)


def task_names(pack: str | Path) -> list[str]:
    """The ids of all tasks of a domain or a pack, for `@pytest.mark.parametrize("task", task_names("retail"))`."""
    with _told(pytest.Collector.CollectError):
        from judges.pack_commands import suites_of

        [suite] = suites_of(*_domain_or_pack(pack, [Path()]), [])
        return [item.task.id for item in suite.tasks]


class Trials:
    """What an agent made of a task, again and again."""

    def __init__(self, made: "TaskTrials", asked: int) -> None:
        self.verdicts: tuple[Verdict, ...] = tuple(trial.verdict for trial in made.judged)
        """Of the repetitions that came to an end which is the agent's, in their order."""
        self.trials: int = len(self.verdicts)
        self.passed: int = made.passed
        self.store: Path = made.store
        """For `trialbox explain STORE TASK/REPETITION` and every other command."""
        self._made = made
        self._asked = asked

    def must_pass(self, *, at_least: int | None = None, rule: str = "") -> None:
        """
        Fail the test unless every repetition passed, and say which records were wrong.

        Args:
            at_least: so many are enough.
            rule: a rate is what counts, such as `pass^3 >= 0.5`.
        """
        __tracebackhide__ = True
        from judges.told_trials import told_failure, told_open
        from judges.trials import required

        with _told():
            requirement = required(self._asked, self._made.repetitions, at_least=at_least, rule=rule)
        if requirement.rule and requirement.rule.statistic.k > self._made.repetitions:
            pytest.skip(f"{rule} needs {requirement.rule.statistic.k} repetitions, and --trialbox-k gave fewer")
        answer = requirement.answer(self._made.counts)
        if answer != "yes":
            told = told_failure if answer == "no" else told_open
            pytest.fail(told(self._made, requirement), pytrace=False)

    def __repr__(self) -> str:
        from judges.lines import cut
        from judges.told_trials import outcome

        return f"<{self._made.task}: {cut(self._made.agent)} passed {outcome(self._made)}>"


class Trialbox:
    """Puts agents on trial in one test."""

    def __init__(self, test: pytest.Item, tmp_path: Path) -> None:
        self._test = test
        self._tmp_path = tmp_path
        self._folder: Path | None = None

    def run(
        self,
        pack: str | Path,
        task: str,
        *,
        agent: "AnyAgent",
        k: int = 5,
        concurrency: int = 8,
        trial_s: float | None = None,
    ) -> Trials:
        """
        Let an agent attempt a task k times, each time in a fresh copy of the backend, and judge what it left.

        An event loop that the test runs in waits meanwhile; the agent runs in another one.

        Args:
            pack: name of an installed domain, or path of a pack. Paths start beside the test's file, or in the root
                folder of the suite.
            task: its id.
            agent: name of a scripted agent, path of a configuration, or one of your own: an async function that takes
                the session, or an object with a `name` and `async attempt(session, repetition)`.
            k: repetitions; `--trialbox-k` overrides it.
            concurrency: attempts at once.
            trial_s: seconds for an attempt, after which it ends as `deadline`, which counts; by default those of the
                configuration, 1800 without one.
        """
        config = self._test.config
        repetitions: int = config.getoption("trialbox_k") or k
        with _told():
            from judges.own_agent import OwnAgent
            from judges.pack_commands import suites_of
            from judges.trials import tried

            [suite] = suites_of(*_domain_or_pack(pack, self._places), [task])
            on_trial = self._on_trial(agent, suite, trial_s)
            store = self._new_store(f"{task}-{on_trial.agent.name}")
            made = tried(store, suite, on_trial, repetitions, concurrency=concurrency)
        self._report(made, on_trial.agent if isinstance(on_trial.agent, OwnAgent) else None)
        return Trials(made, k)

    @property
    def _places(self) -> list[Path]:
        """Where paths start."""
        return [self._test.path.parent, self._test.config.rootpath]

    def _on_trial(self, agent: "AnyAgent", suite: "Suite", trial_s: float | None) -> "OnTrial":
        from msgspec.structs import replace

        from judges.own_agent import LONGEST_S, OwnAgent
        from judges.trials import OnTrial, configured

        given = self._test.config.getoption("trialbox_agent") or agent
        if not isinstance(given, str | Path):
            return OnTrial(OwnAgent(given, LONGEST_S if trial_s is None else trial_s))
        made = configured(self._configuration(given), suite)
        return made if trial_s is None else replace(made, agent=OwnAgent(made.agent, trial_s))

    def _configuration(self, agent: str | Path) -> "Configuration":
        from judges.configuration import load_configuration, scripted
        from judges.expectation import nearest
        from sandbox.agents import SCRIPTED
        from sandbox.refusals import UserFault

        if agent in SCRIPTED:
            return scripted(str(agent), 0)
        is_said = self._test.config.getoption("trialbox_agent")
        places = [self._test.config.invocation_params.dir] if is_said else self._places
        path = _found(agent, places)
        if path is None or not path.is_file():
            where = " or ".join(str(place) for place in dict.fromkeys(places))
            known = nearest(str(agent), SCRIPTED)
            raise UserFault(
                f"no agent {str(agent)!r}, and no such file in {where}; give a configuration file, or {known}"
            )
        return load_configuration(path)

    def _new_store(self, stem: str) -> Path:
        """A path that no store has: what an earlier run left says nothing about this one."""
        if self._folder is None:
            kept: str | None = self._test.config.getoption("trialbox_store")
            self._folder = self._tmp_path if kept is None else self._new_folder(kept)
        names = (f"{_plain(stem)}{number}.db" for number in _endings())
        return next(path for name in names if not (path := self._folder / name).exists())

    def _new_folder(self, within: str) -> Path:
        """One of this test's own; other processes may be making theirs."""
        whole = self._test.config.invocation_params.dir / within
        whole.mkdir(parents=True, exist_ok=True)
        for number in _endings():
            path = whole / f"{_plain(self._test.nodeid)}{number}"
            try:
                path.mkdir()
            except FileExistsError:
                continue
            return path
        raise AssertionError("numbers have no end")

    def _report(self, made: "TaskTrials", own: "OwnAgent | None") -> None:
        from judges.lines import cut
        from judges.told_trials import outcome

        cells = (made.task, made.agent, outcome(made), made.cost.shown() if made.cost else "", str(made.store))
        self._test.user_properties.append((RESULT, "\t".join(cut(cell, WIDEST) for cell in cells)))
        raised = own.tracebacks if own is not None else {}
        for text in dict.fromkeys(raised[one.trial] for one in made.unresolved if one.trial in raised):
            printable = "\n".join(cut(line, WIDEST) for line in text.splitlines())
            self._test.add_report_section("call", f"exception of {cut(made.agent)}", printable)


def _failed(text: str) -> BaseException:
    return pytest.fail.Exception(text, pytrace=False)


@contextmanager
def _told(kind: Callable[[str], BaseException] = _failed) -> Iterator[None]:
    """What whoever runs the suite can do something about, in one line."""
    from trialbox import Intruder, ensure_own, told_faults

    try:
        ensure_own()
        yield
    except Exception as error:
        faults = [error] if isinstance(error, Intruder) else told_faults(error)
        if not faults:
            raise
        raise kind(f"trialbox: {faults[0]}") from None


def _domain_or_pack(name: str | Path, places: Sequence[Path]) -> tuple[str | None, list[Path]]:
    """As `suites_of` takes them."""
    from sandbox.refusals import UserFault
    from sandbox.registry import domain_names

    path = _found(name, places)
    if str(name) in domain_names() or (path is None and Path(name).name == str(name)):
        return str(name), []
    if path is None:
        where = " or ".join(str(place.absolute()) for place in dict.fromkeys(places))
        raise UserFault(f"no pack {str(name)!r} in {where}; give the name of a domain, or the path of a pack")
    return None, [path]


def _found(name: str | Path, places: Sequence[Path]) -> Path | None:
    return next((path for place in places if (path := place / name).exists()), None)


def _plain(name: str) -> str:
    """As part of a file's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[-100:]


def _endings() -> Iterator[str]:
    return itertools.chain([""], (f"-{number}" for number in itertools.count(2)))


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter") -> None:
    """A line for each task that was tried; nothing if none was."""
    ended = (r for found in terminalreporter.stats.values() for r in found if getattr(r, "when", "") == "teardown")
    lines = [value.split("\t") for report in ended for name, value in report.user_properties if name == RESULT]
    if not lines:
        return
    for line in lines:
        if Path(line[-1]).is_relative_to(Path.cwd()):
            line[-1] = os.path.relpath(line[-1])
    kept = [place for place in range(len(COLUMNS)) if any(line[place] for line in lines)]
    table = [[line[place] for place in kept] for line in [list(COLUMNS), *lines]]
    widths = [max(len(line[place]) for line in table) for place in range(len(kept))]
    terminalreporter.section("trialbox")
    for line in table:
        terminalreporter.write_line(
            "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
        )
