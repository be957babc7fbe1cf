"""What breaks in a tool or a handler: named with the call that brought it about and the place in the code."""

import sys
from pathlib import Path
from traceback import walk_tb

from sandbox.call import apply
from sandbox.domain import Handling
from sandbox.escapes import Escaped
from sandbox.refusals import SandboxFault
from sandbox.world import Decision, Request, World

_MACHINERY = sys.stdlib_module_names | {"sandbox", "judges", "replay", "trialbox"}
"""Modules in which the mistake of somebody's code may come to light, but does not stand."""
_LONGEST_ARGUMENTS = 80
_LONGEST_TEXT = 1000


class Broke(SandboxFault):
    """A tool or a handler raised what is no refusal; the text says what, where, and in which call."""


def decided(world: World, request: Request) -> Decision:
    """
    `world.decide(request)`, whose faults say what they come of.

    Raises:
        Broke: the tool or a handler broke.
    """
    try:
        return world.decide(request)
    except Exception as error:
        raise Broke(f"{told_error(error)}, in {_told_call(error, world, request)}") from error


def told_error(error: Exception) -> str:
    """Class and text of an error, and file and line of the innermost code that is somebody's own."""
    place = place_of(_raised(error))
    where = f" at {Path(place[0]).name}:{place[1]}" if place else ""
    text = " ".join(str(error).split())[:_LONGEST_TEXT]
    if isinstance(error, Escaped):
        return text + where
    return f"{type(error).__name__}: {text}{where}" if text else f"{type(error).__name__}{where}"


def place_of(error: BaseException) -> tuple[str, int] | None:
    """File and line of the innermost code that is neither Trialbox's machinery nor Python's; None if there is none."""
    places = [
        (frame.f_code.co_filename, line)
        for frame, line in walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] not in _MACHINERY
    ]
    return places[-1] if places else None


def _raised(error: BaseException) -> BaseException:
    return error.__cause__ if isinstance(error, Escaped) and error.__cause__ is not None else error


def _told_call(error: BaseException, world: World, request: Request) -> str:
    text = " ".join(request.arguments.split())
    arguments = text if len(text) <= _LONGEST_ARGUMENTS else f"{text[: _LONGEST_ARGUMENTS - 1]}…"
    number, handling = world.calls + 1, _handling(_raised(error))
    if handling is None:
        return f"tool {request.tool}, call {number} {arguments}"
    name = getattr(handling.handler, "__name__", "")
    return f"handler {name} on event {handling.topic}, call {number} {request.tool} {arguments}"


def _handling(error: BaseException) -> Handling | None:
    """Of the event whose handler was running."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__) if frame.f_code is apply.__code__]
    found = frames[-1].f_locals.get("handling") if frames else None
    return found if isinstance(found, Handling) else None
