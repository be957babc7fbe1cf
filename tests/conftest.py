"""What every test runs under: examples that never change from run to run, and one event loop."""

import signal

import pytest
from hypothesis import settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell in the background ignores it for all that it starts; tests that interrupt a child need it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["pytester"]

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.load_profile("fixed")


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that tests marked `anyio` run on."""
    return "asyncio"
