"""The scripted endpoint runs in a process of its own too."""

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from sandbox.messages import User
from sandbox.model import Model
from sandbox.model_settings import ModelSettings

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parent.parent


async def test_the_stub_serves_from_a_process_of_its_own_at_the_url_it_prints() -> None:
    command = [sys.executable, "-m", "tests.stub", "--latency-s", "0.01"]
    with anyio.fail_after(60):
        async with await anyio.open_process(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            url = (await process.stdout.receive()).decode().strip()
            async with Model(ModelSettings(url, "m")) as model:
                reply = await model.complete([User("hi")], deadline=anyio.current_time() + 30, occasion="t/1")
            process.terminate()
    assert reply.text == "All is done. <DONE>"
