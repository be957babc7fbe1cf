"""The probe's toolset, and what its modules share."""

from sandbox import Call, Instant, Toolset, Volatile, moment

probe = Toolset("probe")

Stamp = Volatile[Instant]
"""The time of the call that wrote it: equal behaviour with one more look at the records gives another."""


def today(call: Call) -> Instant:
    """The date in this world, such as `2023-05-18`."""
    return moment(call.now).date().isoformat()
