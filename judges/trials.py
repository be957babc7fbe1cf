"""One task tried several times: run, judged, and what is asked of all trials together."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from pathlib import Path
from typing import TypeVar

import anyio
from msgspec import Struct

from judges.campaigns import run_judged
from judges.configuration import Configuration
from judges.errors_file import Unresolved, errors_in
from judges.metrics.counts import Counts
from judges.metrics.gate_commands import Answer, RateRule, RuleInvalid, check, parsed
from judges.metrics.reliability_commands import POLICIES
from judges.pack_commands import Suite
from judges.record import Judgement
from judges.rubric import RubricJudge
from judges.spending import costs_of
from judges.verdict import Verdict
from sandbox.agents import Agent
from sandbox.campaign import Closed
from sandbox.gate import Gate
from sandbox.prices import NO_PRICES, Cost, PriceTable, total
from sandbox.records import TrialEnded
from sandbox.refusals import UserFault

T = TypeVar("T")


class OnTrial(Struct, frozen=True):
    """An agent, and what else a campaign of it is run with."""

    agent: Agent
    settings: str = ""
    rubric_judge: RubricJudge | None = None
    gate: Gate | None = None
    retries_user_faults: bool = False
    prices: PriceTable = NO_PRICES
    users: Mapping[str, str] = {}


def configured(configuration: Configuration, suite: Suite) -> OnTrial:
    """
    Who is on trial by a configuration.

    Raises:
        UserFault: its gate asks, and nobody is there to answer, or names a tool that is not there.
    """
    configuration.ensure_gate_fits(suite.domain.tools)
    return OnTrial(
        configuration.agent(suite.tasks),
        configuration.settings,
        configuration.judge(),
        configuration.gate(),
        configuration.written.retries_user_faults,
        configuration.prices,
        configuration.users(suite.tasks),
    )


class JudgedTrial(Struct, frozen=True):
    """A repetition that came to an end which is the agent's."""

    repetition: int
    end: TrialEnded
    verdict: Verdict


class TaskTrials(Struct, frozen=True):
    """What one agent made of one task."""

    domain: str
    task: str
    agent: str
    repetitions: int
    """That were to be."""
    judged: tuple[JudgedTrial, ...]
    """In the order of repetitions, ungradeable ones included."""
    unresolved: tuple[Unresolved, ...]
    """The repetitions without a yes or no, none of which says anything about the agent."""
    store: Path
    cost: Cost | None
    """None if no model was asked."""

    @property
    def passed(self) -> int:
        """Repetitions that passed."""
        return sum(trial.verdict.result == "pass" for trial in self.judged)

    @property
    def failed(self) -> tuple[JudgedTrial, ...]:
        """Repetitions that did not."""
        return tuple(trial for trial in self.judged if trial.verdict.result == "fail")

    @property
    def counts(self) -> Counts:
        """As every metric takes them."""
        return Counts(
            agent=self.agent,
            domain=self.domain,
            task=self.task,
            trials=len(self.judged),
            passed=self.passed,
            ungradeable=len(self.judged) - self.passed - len(self.failed),
            infrastructure=self.repetitions - len(self.judged),
        )


def tried(path: Path, suite: Suite, on_trial: OnTrial, repetitions: int, *, concurrency: int = 8) -> TaskTrials:
    """
    Run the one task of a suite into a new store, and judge every trial. It may be called where an event loop runs.

    Raises:
        UserFault: nothing can be run; the text says why.
    """
    if concurrency < 1:
        raise UserFault(f"concurrency={concurrency}; give the number of trials at once, 1 or more")
    [item] = suite.tasks
    judged: dict[int, JudgedTrial] = {}

    def take(closed: Closed, judgement: Judgement) -> None:
        if closed.end.end != "infrastructure":
            repetition = closed.key.repetition
            judged[repetition] = JudgedTrial(repetition, closed.end, judgement.verdict)

    unresolved = outside_any_loop(
        lambda: run_judged(
            path,
            suite.domain,
            suite.tasks,
            on_trial.agent,
            repetitions,
            name=f"{suite.name}-{on_trial.agent.name}",
            settings=on_trial.settings,
            concurrency=concurrency,
            on_judged=take,
            origin=suite.origin,
            rubric_judge=on_trial.rubric_judge,
            gate=on_trial.gate,
            retries_user_faults=on_trial.retries_user_faults,
            prices=on_trial.prices,
            users=on_trial.users,
        )
    )
    costs = costs_of(path)
    return TaskTrials(
        suite.domain.name,
        item.task.id,
        on_trial.agent.name,
        repetitions,
        tuple(judged[repetition] for repetition in sorted(judged)),
        tuple(errors_in(path, unresolved)),
        path,
        total(costs.values()) if costs else None,
    )


def outside_any_loop(work: Callable[[], T]) -> T:
    """The result of work that runs an event loop of its own: here, or in a thread if one runs here already."""
    if not _in_loop():
        return work()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(Context().run, work).result()


def _in_loop() -> bool:
    try:
        anyio.get_current_task()
    except anyio.NoEventLoopError:
        return False
    return True


class Requirement(Struct, frozen=True):
    """What all repetitions of a task together must be: a number of passes, or a rule on their rate."""

    told: str
    at_least: int = 0
    rule: RateRule | None = None

    def answer(self, counts: Counts) -> Answer:
        """Yes or no only if it is so whatever becomes of the repetitions without a verdict; else `open`."""
        if self.rule is not None:
            return check(self.rule, [counts], None, POLICIES["default"]).answer
        if counts.passed >= self.at_least:
            return "yes"
        return "no" if counts.planned - counts.failed < self.at_least else "open"

    def found(self, counts: Counts) -> str:
        """The value of the rule's rate, if it is one."""
        if self.rule is None:
            return ""
        return f", found {check(self.rule, [counts], None, POLICIES['default']).value}"


def required(asked: int, repetitions: int, *, at_least: int | None = None, rule: str = "") -> Requirement:
    """
    A requirement as a test states it; without a number and a rule, that every repetition passes.

    Args:
        asked: repetitions that it was stated for.
        repetitions: those that were run. Of another number the same share is required, rounded up.

    Raises:
        UserFault: it cannot be kept, or not be checked, by any agent.
    """
    if rule and at_least is not None:
        raise UserFault("at_least and rule are two requirements; call must_pass once for each")
    if rule:
        return Requirement(rule, rule=_rate_rule(rule, asked))
    if at_least is None:
        return Requirement("every one", repetitions)
    if not 1 <= at_least <= asked:
        raise UserFault(f"at_least={at_least} of {asked} repetitions; give a number from 1 to {asked}")
    share = -(-at_least * repetitions // asked)
    told = f"at least {at_least}" if asked == repetitions else f"at least {share} ({at_least} of {asked} in the test)"
    return Requirement(told, share)


def _rate_rule(text: str, asked: int) -> RateRule:
    rule = parsed(text)
    if not isinstance(rule, RateRule):
        raise RuleInvalid(f"rule {text!r} compares two campaigns; keep both stores and use `trialbox gate`")
    if rule.statistic.k > asked:
        raise RuleInvalid(
            f"rule {text!r} needs {rule.statistic.k} repetitions, there are {asked}; give k={rule.statistic.k} or more"
        )
    return rule
