"""Campaigns with a rubric judge: final verdicts, answers that are used again, and what the judge cost."""

from collections.abc import Sequence
from contextlib import closing
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from msgspec.structs import replace

from domains.probe import domain
from judges.campaigns import rebuilt_views, run_judged, scores_of
from judges.court import judgements
from judges.expectation import Rubric, TaskInvalid
from judges.pack import PackTask
from judges.read_models import views_path
from judges.record import Judgement
from judges.rubric import RubricJudge
from judges.rubric_calls import calls_in
from replay.rejudge import Docket, Rehearing, rejudged
from sandbox.archive import Archive
from sandbox.mcp_session import Session
from sandbox.model_settings import ModelSettings, Secret
from sandbox.prices import Cost, Price, PriceTable, costs_by_party
from sandbox.records import End
from sandbox.stream import Store
from sandbox.view_rows import Score
from sandbox.views import Views
from tests.hard_cases.court import Follower, task
from tests.hard_cases.stage import ask
from tests.sandbox.asking import KEY
from tests.sandbox.parties import settings
from tests.stub import Asked, Outcome, Script, Turn, failing, serving

pytestmark = pytest.mark.anyio

THANKS = "Did the agent thank the customer?"
VASE = ask("refund", order_id="ORD-9", amount=25, reason="damaged")
YES, NO = Turn('{"answer": "yes", "reason": "It does."}'), Turn('{"answer": "no", "reason": "It does not."}')
ITEM = task([VASE], rubrics=[THANKS])
RIGHT_AND_WRONG: Sequence[Any] = ([VASE], [])


async def ran(
    path: Path,
    script: Script | Sequence[Outcome],
    item: PackTask = ITEM,
    scripts: Sequence[Any] = RIGHT_AND_WRONG,
    **options: Any,
) -> list[Asked]:
    """A campaign with a repetition for each of the agent's scripts, judged by the stub; what the judge was asked."""
    agent = Follower({item.task.id: scripts}, "done", "Thanks, it is paid.")
    with anyio.fail_after(60):
        async with serving(script) as stub:
            judge = RubricJudge(settings(stub, key=Secret(KEY)), **options)
            run = partial(run_judged, path, domain, [item], agent, len(scripts), name="c", rubric_judge=judge)
            assert await to_thread.run_sync(run) == []
            return stub.asked


def score(path: Path) -> Score:
    [found] = scores_of(path)
    return found


def kept(path: Path) -> list[Judgement]:
    with Store.open(path, read_only=True) as store:
        return list(judgements(store))


async def test_right_trials_get_final_verdicts_and_wrong_ones_are_not_asked_about(tmp_path: Path) -> None:
    asked = await ran(tmp_path / "a.db", lambda asked: YES)
    found = score(tmp_path / "a.db")
    assert (found.passed, found.failed, found.ungradeable, len(asked)) == (1, 1, 0, 1)
    assert asked[0].body["response_format"]["type"] == "json_schema"


async def test_a_resumed_campaign_asks_nothing_again(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    await ran(path, [NO])
    before = kept(path)
    assert await ran(path, []) == []
    assert kept(path) == before
    assert score(path).failed == 2


async def test_row_27_a_judges_yes_against_the_records_is_a_failure_and_a_flagged_conflict(tmp_path: Path) -> None:
    await ran(tmp_path / "a.db", lambda asked: YES, always=True)
    assert score(tmp_path / "a.db").failed == 1
    [failed] = [one.verdict for one in kept(tmp_path / "a.db") if one.verdict.result == "fail"]
    assert failed.conflicts == (THANKS,)


@pytest.mark.parametrize("status", [401, 429])
async def test_rows_33_to_35_a_judge_that_never_answers_fails_nobody_and_is_named(status: int, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    await ran(path, lambda asked: failing(status), scripts=([VASE], [VASE], []))
    found = score(path)
    assert (found.trials, found.passed, found.failed, found.ungradeable) == (3, 0, 1, 2)
    reasons = [check.reason for one in kept(path) for check in one.verdict.checks if check.kind == "rubric"]
    assert sum("unauthorized: 401" in reason or "rate_limited: 429" in reason for reason in reasons) == 2
    assert sum(reason == "nobody answered it" for reason in reasons) == 1
    await ran(path, lambda asked: YES, scripts=([VASE], [VASE], []))
    assert (score(path).passed, score(path).ungradeable) == (2, 0)
    before = scores_of(path)
    rebuilt_views(path)
    assert scores_of(path) == before


def written(folder: Path) -> bytes:
    """Everything in a folder's files."""
    return b"".join(file.read_bytes() for file in folder.iterdir())


class Failing:
    """Does all that is right, and then breaks down on our side."""

    name = "failing"

    async def attempt(self, session: Session, repetition: int) -> End:
        await session.call(VASE.tool, VASE.arguments)
        raise TimeoutError("the model did not answer")


async def test_what_broke_on_our_side_is_not_asked_about(tmp_path: Path) -> None:
    async with serving([]) as stub:
        judge = RubricJudge(settings(stub))
        run = partial(run_judged, tmp_path / "a.db", domain, [ITEM], Failing(), 1, name="c", rubric_judge=judge)
        assert len(await to_thread.run_sync(run)) == 1
        assert stub.asked == []


async def test_answers_are_used_again_when_stored_trials_are_judged_again(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    await ran(path, [NO], scripts=([VASE],))
    other = ask("refund", order_id="ORD-9", amount=20, reason="damaged")
    both = replace(ITEM.expectation, outcomes=task([VASE], [other]).expectation.outcomes)
    with Store.open(path) as store, closing(Views(views_path(path))) as views:
        archive = Archive(store, domain)
        [trial] = list(rejudged(Rehearing(archive, {ITEM.task.id: both}), Docket(archive, views)))
    assert (trial.before, trial.after, trial.bundle_before == trial.bundle) == ("fail", "fail", False)
    assert [check.result for check in kept(path)[-1].verdict.checks] == ["yes", "no"]


async def test_what_the_judge_cost_is_summed_as_its_own_and_its_key_is_written_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    await ran(path, [failing(429), Turn("?"), YES, failing(401)], scripts=([VASE], [VASE]), votes=1)
    dollar = Decimal(1)
    price = Price(input=dollar, cache_read=dollar, cache_write=dollar, output=dollar)
    table = PriceTable("here", "2026-01-01", {"stub-1": price})
    with Store.open(path, read_only=True) as store:
        costs = costs_by_party(calls_in(store), table)
    assert costs == {"judge": Cost(2 * Decimal("0.00012"))}
    assert KEY.encode() not in written(tmp_path)


async def test_a_task_file_says_which_rubric_is_on_the_whole_dialogue(tmp_path: Path) -> None:
    item = task([VASE], rubrics=[THANKS, {"question": THANKS, "over": "dialogue"}])
    assert [rubric.over for rubric in item.expectation.questions] == ["answer", "dialogue"]
    asked = await ran(tmp_path / "a.db", lambda asked: YES, item, ([VASE],))
    assert ["Please see to my order." in one.text for one in asked] == [False, True]
    assert score(tmp_path / "a.db").passed == 1


TWICE = [
    ([THANKS, {"question": THANKS}], "two rubrics of one name"),
    ([{"question": " ", "over": "dialogue"}], "has an empty rubric"),
    ([{"question": THANKS, "over": "all"}], "over"),
    ([{"question": THANKS, "ovr": "answer"}], "ovr"),
]


@pytest.mark.parametrize(("rubrics", "words"), TWICE, ids=[words for _, words in TWICE])
async def test_a_rubric_that_is_empty_twice_there_or_misspelled_is_refused(rubrics: list[Any], words: str) -> None:
    with pytest.raises(TaskInvalid, match=words):
        task([VASE], rubrics=rubrics)


def test_a_judge_tells_all_that_may_change_its_answers_but_never_its_key() -> None:
    given = ModelSettings("http://localhost/v1", "m", Secret(KEY))
    made = [RubricJudge(given), RubricJudge(given, votes=3), RubricJudge(given, always=True)]
    made.append(RubricJudge(replace(given, temperature=0.5)))
    told = {str(judge.told) for judge in made}
    assert len(told) == len(made)
    assert not any(KEY in one for one in told)


def test_a_rubric_is_told_by_its_name() -> None:
    assert str(Rubric(THANKS, "dialogue")) == f"{THANKS} (whole dialogue)"
