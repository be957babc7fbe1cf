"""Model calls on the way when their process was killed: nobody wrote them down, and they may have been paid for."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sandbox.model_faults import Stopped
from sandbox.records import (
    FailedAttempt,
    Record,
    Replied,
    Said,
    Told,
    ToolRefused,
    ToolReturned,
    Unanswered,
    decoded,
)

KILLED = "the process was killed; nobody knows whether the model was being asked"


def call_on_the_way(records: Sequence[Record], settings: str) -> Unanswered | None:
    """
    The call that a trial without an end may have been waiting for, as one lost attempt.

    None if its last record shows that no model was being asked: one has just answered or been given up, or the party
    whose turn it was is none.

    Args:
        records: of the trial, in order.
        settings: of its campaign's seal.
    """
    last = decoded(records[-1]) if records else None
    party = _next_to_speak(last)
    model = _model_of(settings, party)
    if model is None:
        return None
    made = [payload for record in records if isinstance(payload := decoded(record), Replied | Unanswered)]
    number = 1 + sum(call.party == party for call in made)
    lost = FailedAttempt(Stopped.kind, lost=True, message=KILLED)
    return Unanswered(party, number, model, "", Stopped.kind, KILLED, (lost,))


def _next_to_speak(last: object) -> str:
    match last:
        case Said(role="assistant") | Replied(party="user"):
            return "user"
        case Said(role="user") | ToolReturned() | ToolRefused() | Told():
            return "agent"
    return ""


def _model_of(settings: str, party: str) -> str | None:
    """The model of a party, as `ModelAgent.told` and configurations tell it; None if it is none."""
    try:
        told = msgspec.json.decode(settings)
    except msgspec.DecodeError:
        return None
    if not isinstance(told, Mapping) or not party:
        return None
    part: Any = told if party == "agent" and "model" in told else told.get(party)
    model = part.get("model") if isinstance(part, Mapping) else None
    name = model.get("model") if isinstance(model, Mapping) else None
    return name if isinstance(name, str) else None
