"""What an agent may be told no with, and the fault that is never told to it."""

from typing import ClassVar


class Refused(Exception):
    """The real system would decline this call; the text goes to the agent, and nothing has changed."""

    kind: ClassVar[str] = "Refused"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Invalid(Refused):
    """The arguments are not of the declared shape."""

    kind = "Invalid"


class NotFound(Refused):
    """No such row."""

    kind = "NotFound"


class Precondition(Refused):
    """The records are not in the state that the call needs."""

    kind = "Precondition"


class Conflict(Refused):
    """The call collides with something that is already there."""

    kind = "Conflict"


class Unsupported(Refused):
    """There is no such tool, table or operation."""

    kind = "Unsupported"


REFUSALS = {kind.kind: kind for kind in (Invalid, NotFound, Precondition, Conflict, Unsupported)}


class SandboxFault(Exception):
    """Something on our side broke: the trial ends as infrastructure, and nothing counts against the agent."""


class UserFault(ValueError):
    """Whoever runs Trialbox asked for what cannot be done; the text says what, why and what to do instead."""
