"""Python's garbage collector while a thousand trials live: what a full pass costs grows with all that is alive."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLDS = (1_000, 5, 50)
"""
Few young objects at one pass, and a full pass for each 700 trials or so: the MCP session of each leaves cycles of 30 kB
that no other pass finds once the trial has taken its time.
"""


@contextmanager
def rarely_collected() -> Iterator[None]:
    """
    Inside, full collections are rare and leave out what was there before: each of them holds up the event loop.

    Cycles are still collected, later. The settings are the process's own, and are as before afterwards.
    """
    before, is_ours = gc.get_threshold(), gc.get_freeze_count() == 0
    if before == _THRESHOLDS:
        # Somebody outside, or beside, has set them and sets them back.
        yield
        return
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if is_ours:
            gc.unfreeze()
