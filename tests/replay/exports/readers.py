"""Other people's readers, in an environment of their own, which `make readers` installs."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Self

import pytest

ROOT = Path(__file__).parents[3]
PYTHON = ROOT / "build" / "readers" / "bin" / "python"
SCRIPTS = ROOT / "tests" / "readers"


class Readers:
    """The scripts under tests/readers, run without a network."""

    def __init__(self, home: Path) -> None:
        self._environment = {
            "PATH": os.defpath,
            "HOME": str(home),
            "HF_HOME": str(home),
            "HF_HUB_OFFLINE": "1",
            "PYTHONWARNINGS": "ignore",
        }

    @classmethod
    def installed(cls, home: Path) -> Self:
        """The readers; pytest's skip if they are not there, or not as they are pinned."""
        check = [str(PYTHON), "-I", str(ROOT / ".ci" / "environment.py"), "tests/readers/requirements.lock"]
        if not PYTHON.exists() or subprocess.run(check, capture_output=True, timeout=60, check=False).returncode:
            pytest.skip("the readers of exports are not installed: make readers")
        return cls(home)

    def read(self, script: str, *arguments: object) -> Any:
        """What a script prints, as JSON."""
        done = subprocess.run(
            [str(PYTHON), str(SCRIPTS / script), *map(str, arguments)],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
