"""A model as the agent, a model or a script as the user, over real HTTP: rows 31, 32, 33, 35, 37, 46, 47, 51 and 53."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import anyio
import pytest
from msgspec import Struct

from domains.probe import domain
from judges.court import Court
from judges.pack import tasks_of
from judges.record import Judgement
from replay.fork import fork_point, forked
from sandbox.agents import Agent
from sandbox.archive import Archive
from sandbox.campaign import Campaign, Closed
from sandbox.loop import ModelAgent
from sandbox.protocols import Limits, ThinkingBox
from sandbox.records import Said, ToolCalled, ToolRefused, Unanswered, UserFaulted, decoded
from sandbox.simulated_user import SimulatedUser
from sandbox.stream import Store
from sandbox.task import Task, UserContext
from sandbox.user import Conversation, Line, Note, Script, ScriptedUser, User
from tests.hard_cases.stage import events_in
from tests.sandbox.parties import DONE, Tried, settings, tried, turns
from tests.stub import OVERFLOWS, Answer, Asked, Outcome, Turn, call, failing, serving

P = TypeVar("P")

pytestmark = pytest.mark.anyio

PACK = {item.task.id: item for item in tasks_of(domain)}
VASE = PACK["one-broken-vase"]
REFUND = call("refund", {"order_id": "ORD-9", "amount": 25.0, "reason": "damaged"}, "c1")
POP = call("pop_next_ticket", {}, "c1")
ASKS = Turn("I can pay back 25.00 for one vase of ORD-9. Shall I proceed?")


class Run(Struct):
    """A campaign that is over."""

    store: Store
    closed: list[Closed]
    judgements: list[Judgement]
    unresolved: int
    requests: int


async def run(
    script: Callable[[Asked], Outcome],
    names: Sequence[str] = (VASE.task.id,),
    *,
    limits: Limits = Limits(trial_s=20),  # noqa: B008
    user: User | None = None,
    retries_user_faults: bool = False,
) -> Run:
    """A judged campaign of these tasks whose agent is scripted by the stub."""
    items, store = [PACK[name] for name in names], Store.in_memory()
    court = Court(store, domain, items)
    campaign = Campaign(store, "c", domain, [item.task for item in items], 1, "stub")
    made = Run(store, [], [], 0, 0)

    async def keep(closed: Closed) -> None:
        made.closed.append(closed)
        made.judgements.append(court.judge(closed, campaign.snapshots[closed.key.task]))

    with anyio.fail_after(60):
        async with serving(script) as stub:
            agent: Agent = ModelAgent("stub", settings(stub), ThinkingBox(), limits, user)
            left = await campaign.run(agent, on_closed=keep, retries_user_faults=retries_user_faults)
            made.unresolved, made.requests = len(left), len(stub.asked)
    return made


def payloads(trial: Closed, kind: type[P]) -> list[P]:
    return [payload for record in trial.records if isinstance(payload := decoded(record), kind)]


def has_called(asked: Asked) -> bool:
    """Whether the agent has an answer to a call already."""
    return any(message["role"] == "tool" for message in asked.body["messages"])


async def alone(*outcomes: Outcome) -> Tried:
    return await tried(outcomes, domain=domain, task=VASE.task)


async def test_row_31_a_model_that_invents_a_tool_is_told_so_and_counted_once() -> None:
    script = [Turn("", [call("delete_everything_v2", {"sure": True}, "c0")]), Turn("", [REFUND]), DONE]
    made = await run(lambda asked: script[asked.number - 1])
    [closed], [judgement] = made.closed, made.judgements
    assert payloads(closed, ToolRefused) == [ToolRefused("Unsupported", "no tool 'delete_everything_v2'")]
    assert (closed.end.end, judgement.verdict.result, made.unresolved) == ("done", "pass", 0)


@pytest.mark.parametrize("provider", list(OVERFLOWS))
async def test_row_32_an_overflow_ends_the_one_attempt_and_is_judged_on_what_it_left(provider: str) -> None:
    made = await run(lambda asked: OVERFLOWS[provider] if has_called(asked) else Turn("", [REFUND]))
    [closed], [judgement] = made.closed, made.judgements
    assert (closed.end.end, closed.key.attempt, made.requests, made.unresolved) == ("context_overflow", 1, 2, 0)
    assert [one.fault for one in payloads(closed, Unanswered)] == ["context_overflow"]
    assert judgement.verdict.result == "pass"


async def test_row_33_a_lasting_rate_limit_is_nobodys_failure_and_is_named() -> None:
    def script(asked: Asked) -> Outcome:
        return failing(429) if "ORD-9" in asked.text else DONE

    made = await run(script, [VASE.task.id, "three-tickets"])
    attempts = [closed.end.end for closed in made.closed if closed.key.task == VASE.task.id]
    assert (attempts, made.unresolved) == (["infrastructure"] * 3, 1)
    assert {payloads(one, Unanswered)[0].fault for one in made.closed if payloads(one, Unanswered)} == {"rate_limited"}


async def test_row_33_one_that_passes_costs_no_attempt() -> None:
    made = await run(lambda asked: failing(429, retry_after="0") if asked.number == 1 else DONE)
    assert [closed.end.end for closed in made.closed] == ["done"]


async def test_row_35_an_agent_that_hangs_after_its_last_right_write_passes() -> None:
    def script(asked: Asked) -> Outcome:
        return Answer(breaks="hangs") if has_called(asked) else Turn("", [REFUND])

    made = await run(script, limits=Limits(trial_s=1))
    [closed], [judgement] = made.closed, made.judgements
    assert (closed.end.end, judgement.verdict.result, made.unresolved) == ("deadline", "pass", 0)


async def test_row_37_a_models_failed_calls_stand_in_the_log_with_their_errors() -> None:
    wrong = [call("refund", {"order_id": "ORD-404", "amount": 25}, "a"), call("refund", "{", "b")]
    trial = await alone(Turn("", wrong), DONE)
    assert [one.call_id for one in trial.all(ToolCalled)] == ["a", "b"]
    assert [one.refusal for one in trial.all(ToolRefused)] == ["NotFound", "Invalid"]


@pytest.mark.parametrize("call_id", ["c1", "", None])
async def test_row_46_two_calls_of_one_id_are_two_calls_with_two_answers(call_id: str | None) -> None:
    one = {**POP, "id": call_id} if call_id is not None else {n: v for n, v in POP.items() if n != "id"}
    trial = await alone(Turn("", [one, one]), DONE)
    assert [made.number for made in trial.all(ToolCalled)] == [1, 2]
    assert events_in(trial.records) == ["probe.ticket-taken.1"] * 2
    first, second = trial.sent(2)[-2:]
    assert "TIC-4" in first["content"]
    assert "TIC-6" in second["content"]
    assert first["tool_call_id"] != second["tool_call_id"]


async def test_row_47_a_model_that_does_it_again_does_it_twice_and_is_flagged() -> None:
    trial = await alone(Turn("", [REFUND]), Turn("", [REFUND]), DONE)
    assert events_in(trial.records) == ["probe.refund-issued.1"] * 2
    assert trial.end.flags == ("suspected_duplicate",)


def confirming(asked: Asked) -> Outcome:
    """An agent that asks, and acts only on a yes."""
    last = asked.body["messages"][-1]
    if last["role"] == "tool":
        return DONE
    return Turn("", [REFUND]) if last["content"].startswith("yes") else ASKS


def saying(line: Line) -> ScriptedUser:
    return ScriptedUser({VASE.task.id: Script((line,))})


async def test_row_51_a_user_who_leaves_with_its_yes_is_flagged_and_another_goes_on_from_there() -> None:
    made = await run(confirming, user=saying(Line("yes ###STOP###", ends=True)))
    [closed], [judgement] = made.closed, made.judgements
    assert (closed.end.end, closed.end.flags) == ("user_done", ("no_action", "user_fault"))
    assert [fault.kind for fault in payloads(closed, UserFaulted)] == ["early_stop"]
    assert judgement.verdict.result == "fail"

    fault = next(record for record in closed.records if record.topic == "trial.user-faulted.1")
    archive = Archive(made.store, domain)
    point = fork_point(made.store, closed.key, fault.position - 1)
    async with serving(confirming) as stub:
        agent = ModelAgent("good", settings(stub), ThinkingBox(), Limits(trial_s=20), saying(Line("yes, please")))
        [(_, child)] = await forked(archive, point, agent)
    assert (child.end.end, child.end.flags) == ("done", ())
    assert [line.text for line in payloads(child, Said)][2:] == ["yes, please", DONE.text]
    court = Court(made.store, domain, [VASE])
    assert court.judge(child, archive.snapshots[VASE.task.id]).verdict.result == "pass"


async def test_row_51_a_stop_word_in_a_text_stops_nothing() -> None:
    made = await run(confirming, user=saying(Line("yes ###STOP###")))
    assert [(one.end.end, one.end.flags) for one in made.closed] == [("done", ())]


async def test_row_51_a_campaign_may_try_such_a_trial_again_and_counts_one() -> None:
    leaving, staying = Line("yes", ends=True), Line("yes, please")

    class Wavering(ScriptedUser):
        left = iter([leaving, staying])

        def __init__(self) -> None:
            super().__init__({})

        def joins(self, task: Task, occasion: str, note: Note) -> Conversation:
            return saying(next(self.left)).joins(task, occasion, note)

    made = await run(confirming, user=Wavering(), retries_user_faults=True)
    assert [(one.key.attempt, one.end.end) for one in made.closed] == [(1, "infrastructure"), (2, "done")]
    assert (made.judgements[-1].verdict.result, made.unresolved) == ("pass", 0)


async def test_row_53_an_empty_turn_is_the_users_fault_and_no_error_of_the_agents() -> None:
    made = await run(confirming, user=saying(Line("")))
    assert [(one.end.end, one.end.flags) for one in made.closed] == [("user_limit", ("no_action", "user_fault"))]


async def test_row_53_thoughts_of_either_model_stay_where_they_are() -> None:
    agent = [Turn("<think>I tell nobody.</think>Shall I proceed?", reasoning="Hush."), DONE]
    user = [Turn("<think>###STOP###</think>", reasoning="Leave?"), Turn("<think>###STOP###</think>yes, please")]
    trial = await tried(turns(agent, user), domain=domain, task=VASE.task, context=VASE.user.text)
    assert [text for _, text in trial.dialogue[1:]] == ["Shall I proceed?", "yes, please", DONE.text]
    assert [fault.kind for fault in trial.all(UserFaulted)] == ["empty"]
    asked = "".join(one.text for one in trial.stub.asked)
    assert not any(word in asked for word in ("STOP", "Leave?", "I tell nobody", "Hush"))


async def test_row_53_a_user_model_that_breaks_is_infrastructure_and_named_as_the_users() -> None:
    def script(asked: Asked) -> Outcome:
        return failing(500) if asked.body["model"] == "user" else ASKS

    async with serving(script) as stub:
        context = {VASE.task.id: UserContext(VASE.task.id, VASE.user.text)}
        made = await run(script, user=SimulatedUser(settings(stub, model="user"), context))
    assert (made.unresolved, {one.end.end for one in made.closed}) == (1, {"infrastructure"})
    assert {one.party for closed in made.closed for one in payloads(closed, Unanswered)} == {"user"}
