"""The garbage collector's settings while many trials live."""

import gc
import weakref

import pytest

from sandbox.garbage import rarely_collected


@pytest.fixture(autouse=True)
def nothing_frozen() -> None:
    """Another test may have started the command line, which freezes what it imports."""
    gc.unfreeze()


class Ring:
    """Refers to itself, so that only a collection finds it."""

    def __init__(self) -> None:
        self.self = self


def test_full_collections_are_rare_inside_and_all_is_as_before_afterwards() -> None:
    before = gc.get_threshold()
    with rarely_collected():
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold()[2] > before[2]
        with rarely_collected():
            pass
        assert gc.get_freeze_count() > 0
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


def test_two_that_overlap_leave_the_settings_as_they_were() -> None:
    before = gc.get_threshold()
    first, second = rarely_collected(), rarely_collected()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


def test_what_somebody_else_froze_stays_so() -> None:
    gc.freeze()
    try:
        with rarely_collected():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_cycles_that_are_made_inside_are_still_found() -> None:
    with rarely_collected():
        ring = Ring()
        seen = weakref.ref(ring)
        del ring
        gc.collect()
        assert seen() is None
