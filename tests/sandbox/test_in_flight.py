"""A call that may have been on the way when a process was killed is found in the last record."""

import json
from typing import Any

import pytest
from msgspec import Struct

from sandbox.in_flight import call_on_the_way
from sandbox.records import Chain, Replied, Said, Told, ToolReturned, Unanswered, draft
from sandbox.usage import Usage
from tests.sandbox.desk import START
from tests.sandbox.taped import KEY

BOTH = json.dumps({"agent": {"model": {"model": "a"}}, "user": {"model": {"model": "u"}}})
AGENT_ALONE = json.dumps({"model": {"model": "a"}, "user": {"person": True}})
SCRIPTED = json.dumps({"agent": {"scripted": "oracle"}, "judge": {"model": {"model": "j"}}})


def replied(party: str) -> Replied:
    return Replied(party, 1, "m", "m", "", "{}", "stop", Usage())


@pytest.mark.parametrize(
    ("last", "settings", "party"),
    [
        (Said("user", "hi"), BOTH, "agent"),
        (ToolReturned("{}"), AGENT_ALONE, "agent"),
        (Told("empty_reply", "go on"), BOTH, "agent"),
        (Said("assistant", "hi"), BOTH, "user"),
        (replied("user"), BOTH, "user"),
        (replied("agent"), BOTH, ""),
        (Unanswered("agent", 1, "m", "", "stopped", ""), BOTH, ""),
        (Said("assistant", "hi"), AGENT_ALONE, ""),
        (Said("user", "hi"), SCRIPTED, ""),
        (Said("user", "hi"), "", ""),
        (Said("user", "hi"), "[]", ""),
    ],
)
def test_whose_model_was_to_speak_next_may_have_been_asked(last: Struct, settings: str, party: str) -> None:
    records: Any = Chain(KEY.id).sealed([draft(last, START)], b"")
    found = call_on_the_way(records, settings)
    assert (found.party if found else "") == party
    assert found is None or [attempt.lost for attempt in found.failed] == [True]
