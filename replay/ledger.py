"""The flip ledger: which verdicts became others and why, and what agents are worth before and after."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import comb

from msgspec import Struct
from msgspec.structs import replace

from replay.rejudge import Again


class Heard(Struct, frozen=True):
    """The trials of one store, judged again."""

    store: str
    domain: str
    agent: str
    repetitions: int
    trials: Sequence[Again]
    absent: tuple[str, ...] = ()
    """Tasks that have no expectation today; their trials keep their verdicts."""
    changed: tuple[str, ...] = ()
    """Tasks whose public part has changed; their trials are judged on what was sealed."""


class Flip(Struct, frozen=True):
    """A trial whose verdict is another one now."""

    store: str
    agent: str
    trial: Again


class Group(Struct, frozen=True):
    """Flips in one direction, of one cause, in the same fields."""

    before: str
    after: str
    causes: tuple[str, ...]
    fields: tuple[str, ...]
    flips: tuple[Flip, ...]


class Standing(Struct, frozen=True):
    """An agent's trials under one state of the verdicts."""

    agent: str
    tasks: int
    trials: int
    ungradeable: int
    pass_1: float
    """Mean over its tasks of the share that passed; an ungradeable trial counts as not passed."""
    pass_k: float | None
    """Mean over its tasks of the chance that k attempts all pass; None where a task has fewer than k trials."""
    rank: int
    """By pass@1, the best is 1; equal agents have the same."""


class Ledger(Struct, frozen=True):
    """All that judging again has changed."""

    heard: tuple[Heard, ...]
    k: int
    """The repetitions of the campaign that has the fewest."""
    flips: tuple[Flip, ...]
    before: tuple[Standing, ...]
    after: tuple[Standing, ...]
    mixed_before: tuple[str, ...]
    """Tasks with verdicts of several judge bundles, before; their rates compare what cannot be compared."""
    mixed: tuple[str, ...]

    @property
    def trials(self) -> int:
        """How many were looked at."""
        return sum(len(one.trials) for one in self.heard)

    @property
    def ungradeable(self) -> int:
        """How many that count have no verdict now."""
        return sum(trial.after == "ungradeable" and trial.is_counted for one in self.heard for trial in one.trials)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The flips by direction, causes and fields, the largest group first."""
        found: dict[tuple[str, str, tuple[str, ...], tuple[str, ...]], list[Flip]] = {}
        for flip in self.flips:
            one = flip.trial
            found.setdefault((one.before, one.after, one.causes, one.fields), []).append(flip)
        groups = [Group(*about, tuple(flips)) for about, flips in found.items()]
        return tuple(sorted(groups, key=lambda group: -len(group.flips)))


def ledger_of(heard: Sequence[Heard]) -> Ledger:
    """What changed in these stores, and where their agents stand."""
    k = min((one.repetitions for one in heard), default=1)
    return Ledger(
        tuple(heard),
        k,
        tuple(Flip(one.store, one.agent, trial) for one in heard for trial in one.trials if trial.is_flip),
        standings(heard, k, lambda trial: trial.before),
        standings(heard, k, lambda trial: trial.after),
        _mixed(heard, lambda trial: trial.bundle_before),
        _mixed(heard, lambda trial: trial.bundle),
    )


def standings(heard: Iterable[Heard], k: int, result: Callable[[Again], str]) -> tuple[Standing, ...]:
    """Where each agent stands, by rank and then by name; trials that ended as infrastructure do not count."""
    results: dict[str, dict[tuple[str, str], list[str]]] = {}
    for one in heard:
        by_task = results.setdefault(one.agent, {})
        for trial in one.trials:
            if trial.is_counted:
                by_task.setdefault((one.domain, trial.key.task), []).append(result(trial))
    found = [_standing(agent, by_task, k) for agent, by_task in results.items() if by_task]
    rates = sorted((one.pass_1 for one in found), reverse=True)
    ranked = [replace(one, rank=1 + rates.index(one.pass_1)) for one in found]
    return tuple(sorted(ranked, key=lambda one: (one.rank, one.agent)))


def _standing(agent: str, by_task: Mapping[tuple[str, str], Sequence[str]], k: int) -> Standing:
    counts = [(given.count("pass"), len(given)) for given in by_task.values()]
    ungradeable = sum(given.count("ungradeable") for given in by_task.values())
    every = [pass_hat_k(passed, trials, k) for passed, trials in counts if trials >= k]
    return Standing(
        agent,
        len(counts),
        sum(trials for _, trials in counts),
        ungradeable,
        sum(pass_hat_k(passed, trials, 1) for passed, trials in counts) / len(counts),
        sum(every) / len(every) if len(every) == len(counts) else None,
        0,
    )


def pass_hat_k(passed: int, trials: int, k: int) -> float:
    """
    Probability that k independent attempts all pass, unbiased: C(passed, k) / C(trials, k) (arXiv:2406.12045).

    Args:
        passed: attempts that passed, 0 to `trials`.
        k: 1 to `trials`.

    Raises:
        ValueError: k is not from 1 to `trials`; no estimate exists then.
    """
    if not 1 <= k <= trials:
        raise ValueError(f"pass^{k} of {trials} trials does not exist; k is from 1 to the number of trials")
    return comb(passed, k) / comb(trials, k)


def _mixed(heard: Iterable[Heard], bundle: Callable[[Again], str]) -> tuple[str, ...]:
    found: dict[tuple[str, str], set[str]] = {}
    for one in heard:
        for trial in one.trials:
            if trial.is_counted and bundle(trial):
                found.setdefault((one.domain, trial.key.task), set()).add(bundle(trial))
    return tuple(sorted({task for (_, task), bundles in found.items() if len(bundles) > 1}))
