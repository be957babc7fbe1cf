"""What every test runs under: examples that never change from run to run, and one event loop."""

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.load_profile("fixed")


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that tests marked `anyio` run on."""
    return "asyncio"
