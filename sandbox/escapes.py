"""
What leaves somebody's code and is no ordinary error: SystemExit, a CancelledError of its own, and their like.

Uncaught, each would end the whole campaign. Ctrl-C and a cancellation from outside are told apart, and go through.
"""

import math
import signal
import threading
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Iterator
from traceback import walk_tb
from typing import TypeVar

import anyio

from sandbox.refusals import SandboxFault

T = TypeVar("T")


class Escaped(SandboxFault):
    """Somebody's code raised what is meant to end programs or tasks; the cause says what."""


def escaped(error: BaseException) -> Escaped:
    """As an error that ends one trial, in the words of what it is made of."""
    leaf = next(_leaves(error))
    name = type(leaf).__name__
    if isinstance(leaf, CancelledError):
        return Escaped(f"{name}: raised in the code itself, nobody had cancelled the trial")
    return Escaped(f"{name}: {leaf}" if str(leaf) else name)


def is_interrupt(error: BaseException) -> bool:
    """Whether it is, or holds, a KeyboardInterrupt that comes from the terminal, as far as can be told."""
    return any(isinstance(leaf, KeyboardInterrupt) and _is_from_a_signal(leaf) for leaf in _leaves(error))


def is_stop(error: BaseException) -> bool:
    """Whether the running task is cancelled from outside, or Ctrl-C was pressed: not the doing of the code in it."""
    is_cancelled = isinstance(error, CancelledError)
    return is_interrupt(error) or (is_cancelled and anyio.current_effective_deadline() == -math.inf)


async def contained(work: Callable[[], Awaitable[T]]) -> T:
    """
    The result of the work, which may raise and cancel whatever it likes.

    Raises:
        Exception: as the work raised it; Escaped, from what else it raised.
    """
    made: list[T] = []
    raised: list[Exception] = []

    async def run() -> None:
        try:
            made.append(await work())
        except Exception as error:  # noqa: BLE001 - it is raised again, in the task that asked for the work
            raised.append(error)
        except BaseException as error:
            if is_stop(error):
                raise
            fault = escaped(error)
            fault.__cause__ = error
            raised.append(fault)

    # A task of its own: to whoever cancels the task it runs in, the campaign's is out of reach.
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
    if raised:
        raise raised[0]
    return made[0]


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _leaves(part)
    else:
        yield error


def _is_from_a_signal(error: KeyboardInterrupt) -> bool:
    if threading.current_thread() is not threading.main_thread():
        return False
    handler = getattr(signal.getsignal(signal.SIGINT), "func", None)
    if getattr(handler, "__module__", "") != "asyncio.runners":
        return True
    # The runner cancels on the first Ctrl-C, and raises on the second one, from a function of its own.
    frames = list(walk_tb(error.__traceback__))
    return bool(frames) and frames[-1][0].f_globals.get("__name__") == "asyncio.runners"
