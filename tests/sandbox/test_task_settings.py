"""What a task says of how it is attempted, beside what the agent is configured to."""

from sandbox.protocols import EndTurnTool, Limits, Plain, ThinkingBox, limits_for, protocol_for
from sandbox.task import Task, TaskLimits


def task(**given: object) -> Task:
    return Task("t", "shop", "2026-01-05T09:00:00Z", "Hello", **given)  # type: ignore[arg-type]


def test_a_task_may_ask_for_a_protocol_and_an_agent_keeps_the_settings_of_its_own() -> None:
    own = ThinkingBox((EndTurnTool("hand_over"),))
    assert protocol_for(task(), own) is own
    assert protocol_for(task(protocol="thinkingbox"), own) is own
    assert protocol_for(task(protocol="plain"), own) == Plain()
    assert protocol_for(task(protocol="thinkingbox"), Plain()) == ThinkingBox()


def test_a_task_tightens_limits_and_loosens_none() -> None:
    own = Limits(max_agent_turns=50, max_user_turns=10)
    assert limits_for(task(), own) == own
    tight = limits_for(task(limits=TaskLimits(max_agent_turns=5, max_user_turns=2)), own)
    assert (tight.max_agent_turns, tight.max_user_turns, tight.trial_s) == (5, 2, own.trial_s)
    loose = limits_for(task(limits=TaskLimits(max_agent_turns=500, max_user_turns=20)), own)
    assert (loose.max_agent_turns, loose.max_user_turns) == (50, 10)
    assert limits_for(task(limits=TaskLimits(max_agent_turns=5)), Limits(max_agent_turns=None)).max_agent_turns == 5
