"""Users: what they see, how they leave, and that what they do wrong is theirs."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.protocols import Limits, Plain
from sandbox.records import Replied, Said, Unanswered, UserFaulted
from sandbox.user import Answer, Line, Script, ScriptedUser
from sandbox.user_faults import faults_in, invented, stopped_early, unasked
from tests.sandbox.parties import DONE, REMARK, Tried, sides, tried, turns
from tests.stub import Answer as Http
from tests.stub import Outcome, Turn, call, failing

pytestmark = pytest.mark.anyio

CONTEXT = (
    "You are Ann Lee, customer C-17. You want a remark on order SO-1 that says: ring twice. "
    "If the desk cannot do that, you would be content with a phone call at 14:30 on 2025-10-03. "
    "You paid $1,250.00 for it with the card that ends in 4421."
)
ASKS = Turn("Which order is it about?")
LEAVES = call("end_conversation", {"reason": "done"}, "e1")


async def met(agent: Sequence[Outcome], user: Sequence[Outcome], **more: object) -> Tried:
    return await tried(turns(agent, user), context=CONTEXT, **more)  # type: ignore[arg-type]


# What it sees and does


async def test_the_user_sees_the_dialogue_and_its_context_and_no_call_result_or_thought() -> None:
    agent = [Turn("", [REMARK]), Turn("Anything else?", reasoning="a secret thought"), DONE]
    trial = await met(agent, [Turn("No, that is all.")])
    [asked] = sides(trial.stub.asked, "user")
    system, opening, goal, line = asked.body["messages"]
    assert CONTEXT in system["content"]
    assert "2025-10-01T13:00:00Z" in system["content"]
    assert [opening["role"], goal["role"], line["role"]] == ["user", "assistant", "user"]
    assert (goal["content"], line["content"]) == ("Please see to remark.", "Anything else?")
    assert [tool["function"]["name"] for tool in asked.body["tools"]] == ["end_conversation"]
    assert not any(word in asked.text for word in ("shop_remark", "secret thought", "ring twice, hello"))


async def test_the_context_is_in_no_request_of_the_agents() -> None:
    trial = await met([ASKS, DONE], [Turn("SO-1")])
    for asked in sides(trial.stub.asked, "stub-1"):
        assert not any(word in asked.text for word in ("4421", "Ann Lee", "end_conversation"))


async def test_the_users_model_calls_are_recorded_as_its_own() -> None:
    trial = await met([ASKS, ASKS, DONE], [Turn("SO-1"), Turn("SO-1 it is")])
    assert [(one.party, one.number) for one in trial.all(Replied)] == [
        *(("agent", 1), ("user", 1), ("agent", 2), ("user", 2), ("agent", 3))
    ]


async def test_the_user_leaves_by_its_signal_and_its_last_words_are_kept() -> None:
    trial = await met([ASKS], [Turn("Never mind, thank you.", [LEAVES])])
    assert (trial.end.end, trial.end.flags) == ("user_done", ("no_action",))
    assert trial.dialogue[-1] == ("user", "Never mind, thank you.")
    silent = await met([ASKS], [Turn("", [LEAVES])])
    assert (silent.end.end, silent.end.flags, silent.dialogue[-1][0]) == ("user_done", ("no_action",), "assistant")


@pytest.mark.parametrize("text", ['end_conversation(reason="done")', '{"name": "end_conversation"}', "###STOP###"])
@pytest.mark.parametrize("party", ["agent", "user"])
async def test_no_text_of_anybody_is_the_signal(text: str, party: str) -> None:
    agent = [Turn(text if party == "agent" else "Which one?"), DONE]
    trial = await met(agent, [Turn(text if party == "user" else "It is SO-1.")])
    assert (trial.end.end, len(trial.dialogue)) == ("done", 4)


@pytest.mark.parametrize("arguments", ["", "{}", '{"reason": "bored"}', '{"reason": "done", "x": 1}', "[]", "done"])
async def test_a_signal_of_another_form_is_none_and_a_fault(arguments: str) -> None:
    odd = Turn("", [call("end_conversation", arguments, "e1")])
    trial = await met([ASKS, DONE], [odd, Turn("It is SO-1.")])
    assert (trial.end.end, trial.end.flags) == ("done", ("no_action", "user_fault"))
    assert [fault.kind for fault in trial.all(UserFaulted)] == ["malformed"]


async def test_a_user_model_that_fails_is_nobodys_turn_but_infrastructure() -> None:
    trial = await met([ASKS], [failing(400, "context_length_exceeded: maximum context"), failing(500)])
    assert trial.end.end == "infrastructure"
    [unanswered] = trial.all(Unanswered)
    assert unanswered.party == "user"


async def test_a_user_model_that_hangs_is_late_and_that_is_no_failure_of_the_agent() -> None:
    trial = await met([ASKS], [Http(breaks="hangs")], limits=Limits(trial_s=0.5))
    assert (trial.end.end, trial.end.flags) == ("infrastructure", ("no_action", "user_fault"))
    assert trial.end.detail == "the user had not answered when time was over"
    later = await met([ASKS, ASKS], [Turn("SO-1"), Http(breaks="hangs")], limits=Limits(trial_s=0.5))
    assert (later.end.end, later.end.flags) == ("deadline", ("no_action", "user_fault"))
    assert [fault.kind for fault in trial.all(UserFaulted)] == ["late"]


# Faults


async def test_a_user_that_stays_silent_ends_the_trial_by_its_own_fault() -> None:
    trial = await met([ASKS], [Turn(""), Turn("", reasoning="hm"), Turn(None)])
    assert (trial.end.end, trial.end.flags) == ("user_limit", ("no_action", "user_fault"))
    assert trial.end.detail == "the user had no words"
    assert [fault.kind for fault in trial.all(UserFaulted)] == ["empty"] * 3


async def test_a_fault_stands_before_its_line_and_the_trial_goes_on() -> None:
    trial = await met([ASKS, DONE], [Turn("It is SO-77.")])
    places = [record.topic for record in trial.records]
    assert places[places.index("trial.user-faulted.1") + 1] == "trial.said.1"
    assert trial.all(UserFaulted) == [UserFaulted("invented", "in neither context nor dialogue: SO-77")]
    assert (trial.end.end, trial.end.flags) == ("done", ("no_action", "user_fault"))


async def test_such_a_trial_is_infrastructure_if_the_campaign_retries_it() -> None:
    trial = await tried(turns([ASKS, DONE], [Turn("It is SO-77.")]), context=CONTEXT, retries_user_faults=True)
    assert (trial.end.end, "user_fault" in trial.end.flags) == ("infrastructure", True)


DIALOGUE = [Said("user", "Please see to it."), Said("assistant", "I found invoice INV-3 over 80 EUR. Which order?")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It is SO-1.",
        "it's order #so1, thanks",
        "INV-3, the one over 80.00 EUR",
        "I paid 1250 dollars, card 4421",
        "I paid $1,250.00",
        "On October 3rd, 2025",
        "on 3/10/2025 at 14:30",
        "2 of them, the 1st one",
        "C-17/SO-1",
    ],
)
def test_facts_that_were_given_are_not_invented_however_they_are_written(text: str) -> None:
    assert faults_in(text, DIALOGUE, CONTEXT) == ()


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("It is SO-2.", "SO-2"),
        ("It is SO-11.", "SO-11"),
        ("card 4422", "4422"),
        ("I paid 1250.50", "1250.50"),
        ("I paid $12,500", "12500"),
        ("on 2025-10-04", "2025-10-04"),
        ("write to ann@example.com", "ann@example.com"),
        ("C17B", "C17B"),
        ("It is INV-3 over 81", "81"),
    ],
)
def test_an_id_amount_date_or_address_that_nobody_gave_is_invented(text: str, fact: str) -> None:
    fault = invented(text, [CONTEXT, *(line.text for line in DIALOGUE)])
    assert fault == UserFaulted("invented", f"in neither context nor dialogue: {fact}")


@given(st.text(max_size=80), st.text(max_size=80))
def test_what_the_context_says_is_never_invented(before: str, after: str) -> None:
    context = f"{before} {after}"
    assert invented(context, [context]) is None


def test_a_long_copied_sentence_that_answers_no_question_is_given_unasked() -> None:
    given_away = "If the desk cannot do that, you would be content with a phone call at 14:30 on 2025-10-03."
    fault = unasked(given_away, DIALOGUE, CONTEXT)
    assert fault is not None
    assert fault.kind == "unasked"
    asked = [Said("assistant", "When would a phone call suit you?")]
    assert unasked(given_away, asked, CONTEXT) is None
    assert unasked("You are Ann Lee.", DIALOGUE, CONTEXT) is None
    assert unasked("A call would be fine too.", DIALOGUE, CONTEXT) is None
    assert unasked(given_away, [Said("user", given_away), *DIALOGUE], CONTEXT) is None


@pytest.mark.parametrize("question", ["Shall I proceed?", "Is that correct?", "Do you want me to refund it?"])
@pytest.mark.parametrize("goodbye", ["", "Yes.", "yes, go ahead, bye", "Thanks"])
def test_to_leave_while_a_yes_is_waited_for_is_too_early(question: str, goodbye: str) -> None:
    fault = stopped_early(goodbye, [Said("assistant", question)])
    assert fault is not None
    assert fault.kind == "early_stop"


@pytest.mark.parametrize(
    ("line", "goodbye"),
    [
        ("Shall I proceed?", "No, leave it."),
        ("Shall I proceed?", "Don’t."),
        ("Would you like me to help with anything else?", "Thanks, bye"),
        ("It is done.", "Thank you"),
        ("Which order?", "Oh, forget it."),
    ],
)
def test_to_decline_or_to_leave_when_nothing_is_open_is_no_fault(line: str, goodbye: str) -> None:
    assert stopped_early(goodbye, [Said("assistant", line)]) is None


# Scripted


async def test_a_script_answers_by_words_and_else_takes_its_turns() -> None:
    answers = (Answer(("which", "order id"), Line("SO-1")), Answer(("city",), Line("Bern")))
    script = Script((Line("First."), Line("Second.")), answers)
    said = ["So?", "And WHICH  order-id is it?", "Hm?", "capacity?", "Your city, please"]
    trial = await tried(
        [Turn(text) for text in said],
        protocol=Plain(),
        user=ScriptedUser({"remark": script}),
        limits=Limits(trial_s=20),
    )
    heard = [text for role, text in trial.dialogue if role == "user"][1:]
    assert heard[:4] == ["First.", "SO-1", "Second.", "Thank you, that is all."]
    assert trial.end.end == "user_done"


async def test_a_scripted_turn_without_a_word_is_a_fault() -> None:
    trial = await tried([ASKS], user=ScriptedUser({"remark": Script((Line("  "),))}))
    assert (trial.end.end, trial.end.flags) == ("user_limit", ("no_action", "user_fault"))
