"""What a campaign could not resolve, as JSON Lines beside its store: which trial, at whose hands, whether to retry."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from judges.court import judgements
from judges.lines import printable
from judges.record import Judgement
from judges.rubric_calls import JudgeCall, newest_calls
from sandbox.agents import USER_FAULT
from sandbox.archive import Archive, domain_of
from sandbox.model_faults import is_retryable
from sandbox.records import Record, TrialEnded, TrialKey, Unanswered, decoded
from sandbox.stream import Store
from sandbox.values import canonical


class Unresolved(Struct, frozen=True):
    """A repetition without a verdict."""

    campaign: str
    task: str
    repetition: int
    attempt: int
    trial: str
    fault: str
    """The class of what went wrong."""
    stage: str
    """agent, user, trial or judge."""
    message: str
    """One printable line."""
    retryable: bool
    """Whether the same may succeed without a change."""

    @property
    def told(self) -> bytes:
        """As one line."""
        named = {"class" if name == "fault" else name: getattr(self, name) for name in self.__struct_fields__}
        return canonical(named) + b"\n"


def errors_path(store: Path) -> Path:
    """Where the errors of a store are: `CAMPAIGN.errors.jsonl` beside `CAMPAIGN.db`."""
    return store.with_name(f"{store.name.removesuffix('.db')}.errors.jsonl")


def write_errors(path: Path, errors: Iterable[Unresolved]) -> Path | None:
    """Write them beside a store; None, and no file, if there are none."""
    target, lines = errors_path(path), [error.told for error in errors]
    if not lines:
        target.unlink(missing_ok=True)
        return None
    target.write_bytes(b"".join(lines))
    return target


def errors_in(path: Path, unresolved: Iterable[TrialKey]) -> list[Unresolved]:
    """
    What is unresolved in a store.

    Args:
        unresolved: the first attempts of repetitions without a trial that counts.
    """
    with Store.open(path, read_only=True) as store:
        archive = Archive(store, domain_of(store))
        places = {(first.task, first.repetition) for first in unresolved}
        given, asked = {one.trial: one for one in judgements(store)}, newest_calls(store)
        found: dict[tuple[str, int], Unresolved] = {}
        for key, records in archive.closed():
            end = decoded(records[-1])
            if not isinstance(end, TrialEnded):
                continue
            if end.end != "infrastructure":
                for error in _unjudged(key, given.get(key.id.hex), asked.get(key.id.hex)):
                    found[key.task, key.repetition] = error
            elif (key.task, key.repetition) in places:
                found[key.task, key.repetition] = _broken(key, records, end)
    return [found[place] for place in sorted(found)]


def _broken(key: TrialKey, records: list[Record], end: TrialEnded) -> Unresolved:
    given_up = [payload for record in records if isinstance(payload := decoded(record), Unanswered)]
    if given_up:
        last = given_up[-1]
        return _unresolved(key, last.fault, last.party, last.message, is_retryable(last.fault))
    if USER_FAULT in end.flags:
        return _unresolved(key, USER_FAULT, "user", end.detail, retryable=True)
    kind, _, message = end.detail.partition(": ")
    return _unresolved(key, kind, "trial", message or kind, retryable=False)


def _unjudged(key: TrialKey, judgement: Judgement | None, asked: JudgeCall | None) -> Iterator[Unresolved]:
    if judgement is None:
        yield _unresolved(key, "not_judged", "judge", "the trial has not been judged", retryable=True)
    elif judgement.verdict.result == "ungradeable":
        open_checks = [check for check in judgement.verdict.checks if check.result == "could not check"]
        message = "; ".join(f"{check.kind} {check.name}: {check.reason}" for check in open_checks)
        if asked is not None and asked.unanswered is not None:
            yield _unresolved(key, asked.unanswered.fault, "judge", message, is_retryable(asked.unanswered.fault))
        else:
            is_unusable = asked is not None and asked.result == "unusable"
            yield _unresolved(key, "unusable" if is_unusable else "ungradeable", "judge", message, is_unusable)


def _unresolved(key: TrialKey, fault: str, stage: str, message: str, retryable: bool) -> Unresolved:
    return Unresolved(
        key.campaign,
        key.task,
        key.repetition,
        key.attempt,
        str(key.id),
        printable(fault),
        stage,
        printable(message),
        retryable,
    )
