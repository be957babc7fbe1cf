"""The rubric judge: a model that answers narrow questions on what was said, with yes, no, or nothing of use."""

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self

import anyio
from anyio import to_thread
from msgspec import Struct

from judges.court import Court
from judges.expectation import Rubric
from judges.rubric_calls import CallFile, JudgeCall, OnCall
from judges.rubric_form import Question, asking_for_form, given_in, question_of
from judges.verdict import Evidence, JudgeBundle, RubricAnswer, judged
from sandbox.campaign import Closed
from sandbox.model import Model
from sandbox.model_faults import ModelFault, shortened
from sandbox.model_settings import ModelSettings
from sandbox.refusals import UserFault
from sandbox.stream import Store

WITHIN_S = 300.0
_RESULTS: tuple[Literal["yes", "no"], ...] = ("yes", "no")


class Answered(Struct, frozen=True):
    """What a rubric judge says of a trial, and what it was asked for that."""

    answers: Mapping[str, RubricAnswer]
    """By the rubric's name."""
    calls: Sequence[JudgeCall]


NOTHING_ASKED = Answered({}, ())


class RubricJudge:
    """
    Answers the rubrics of any number of trials at once. Use it as an async context manager: it keeps connections open.

    Args:
        votes: how often each question is asked; odd.
        always: whether also trials whose records are wrong are asked about.
        within_s: for one call, its failed attempts included.
        on_call: told of each call that is made.

    Raises:
        UserFault: `votes` is not odd.
    """

    def __init__(
        self,
        settings: ModelSettings,
        *,
        votes: int = 1,
        always: bool = False,
        within_s: float = WITHIN_S,
        on_call: OnCall = lambda call: None,
    ) -> None:
        _ensure_odd(votes)
        self.settings = asking_for_form(settings)
        self._votes = votes
        self._always = always
        self._within_s = within_s
        self._on_call = on_call
        self._model: Model | None = None

    @property
    def told(self) -> dict[str, Any]:
        """What tells it from other judges, without the key."""
        return {"model": self.settings.told, "votes": self._votes, "always": self._always, "within_s": self._within_s}

    async def __aenter__(self) -> Self:
        self._model = Model(self.settings)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._model is not None:
            await self._model.close()
            self._model = None

    async def answered(self, court: Court, closed: Closed) -> Answered:
        """Its answers on a closed trial, those that the court's store keeps used again; none if no trial came about."""
        if self._model is None:
            raise RuntimeError("the rubric judge is not connected; enter it first, as in `async with judge:`")
        bundle = court.bundles[closed.key.task]
        if not bundle.expectation.rubrics or closed.end.end == "infrastructure":
            return NOTHING_ASKED
        evidence = await to_thread.run_sync(court.evidence, closed)
        file = CallFile(court.store, closed.key.id.hex, self._on_call)
        answers = await judge_rubrics(
            self._model,
            bundle,
            evidence,
            votes=self._votes,
            always=self._always,
            within_s=self._within_s,
            file=file,
        )
        return Answered(answers, tuple(file.seen.values()))


async def judge_rubrics(
    model: Model,
    bundle: JudgeBundle,
    evidence: Evidence,
    *,
    votes: int = 1,
    always: bool = False,
    within_s: float = WITHIN_S,
    file: CallFile | None = None,
) -> dict[str, RubricAnswer]:
    """
    The answers to a bundle's rubrics by name; none where a deterministic check does not say yes.

    A model that cannot be asked, or that answers in another form twice, has not answered: `could not check`.

    Args:
        always: whether to ask whatever the other checks say.
        file: where calls are kept and kept answers come from.

    Raises:
        UserFault: `votes` is not odd.
    """
    _ensure_odd(votes)
    rubrics = bundle.expectation.questions
    if not rubrics or not (always or await to_thread.run_sync(_is_right, bundle, evidence)):
        return {}
    questions = {rubric: question_of(rubric, evidence) for rubric in rubrics}
    sitting = _Sitting(model, file or CallFile(Store.in_memory(), ""), votes, within_s)
    await sitting.open(questions.values())
    return {rubric.name: await sitting.answer(rubric, question) for rubric, question in questions.items()}


def _ensure_odd(votes: int) -> None:
    if votes < 1 or votes % 2 == 0:
        raise UserFault(f"{votes} votes on a rubric can end without a majority; take an odd number, such as 1 or 3")


def _is_right(bundle: JudgeBundle, evidence: Evidence) -> bool:
    return all(check.result == "yes" for check in judged(bundle, evidence).checks if check.kind != "rubric")


class _Sitting:
    """The questions on one trial."""

    def __init__(self, model: Model, file: CallFile, votes: int, within_s: float) -> None:
        self._model = model
        self._file = file
        self._votes = votes
        self._within_s = within_s
        self._calls: dict[str, list[JudgeCall]] = {}

    async def open(self, questions: Iterable[Question | None]) -> None:
        """Read what is on file of these questions."""
        for question in questions:
            if question is not None:
                self._calls[question.digest] = await to_thread.run_sync(self._file.calls, question.digest)

    async def answer(self, rubric: Rubric, question: Question | None) -> RubricAnswer:
        if question is None:
            return RubricAnswer("could not check", f"the trial's {rubric.over} is not at hand")
        calls = self._calls[question.digest]
        cast = [call for call in calls if call.is_answer][: self._votes]
        while len(cast) < self._votes:
            vote = await self._vote(question)
            if not vote.is_answer:
                return counted(cast, self._votes, vote)
            cast.append(vote)
        return counted(cast, self._votes)

    async def _vote(self, question: Question) -> JudgeCall:
        """A vote, for which a reply in another form is asked for once more."""
        call = await self._call(question, is_again=False)
        return await self._call(question, is_again=True) if call.result == "unusable" else call

    async def _call(self, question: Question, *, is_again: bool) -> JudgeCall:
        calls, number = self._calls[question.digest], sum(map(len, self._calls.values())) + 1
        call = await self._asked(question, number, is_again=is_again)
        calls.append(call)
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(self._file.keep, question.digest, len(calls), call)
        return call

    async def _asked(self, question: Question, number: int, *, is_again: bool) -> JudgeCall:
        name, messages = question.rubric.name, question.messages(is_again=is_again)
        deadline, occasion = anyio.current_time() + self._within_s, f"{self._file.trial}/judge/{number}"
        try:
            reply = await self._model.complete(messages, deadline=deadline, occasion=occasion)
        except ModelFault as fault:
            told = f"the judge model did not answer: {fault.kind}: {fault.message}"
            return JudgeCall(name, "unanswered", told, unanswered=fault.unanswered("judge", number))
        given, replied = given_in(reply), reply.replied("judge", number)
        if given is None:
            told = f"no answer in the form that was asked for: {_shown(reply.text)}"
            return JudgeCall(name, "unusable", told, replied)
        return JudgeCall(name, given.result, given.reason, replied)


def _shown(text: str) -> str:
    return repr(shortened(text)) if text.strip() else "no words at all"


def counted(cast: Sequence[JudgeCall], votes: int, spoiled: JudgeCall | None = None) -> RubricAnswer:
    """
    What the votes say together; a yes or a no wants more than half of all votes.

    Args:
        spoiled: the call that brought no vote, after which nothing more was asked.
    """
    by_result = {result: [call for call in cast if call.result == result] for result in _RESULTS}
    told = [
        f"{len(same)} of {votes} votes say {result}: {same[0].reason}" for result, same in by_result.items() if same
    ]
    if spoiled is not None:
        told.append(spoiled.reason)
    for result, same in by_result.items():
        if 2 * len(same) > votes:
            return RubricAnswer(result, same[0].reason if len(same) == votes else "; ".join(told))
    return RubricAnswer("could not check", "; ".join(told))
