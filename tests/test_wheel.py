"""What a user installs: the four folders with their data, the command and the pytest plugin, and nothing else."""

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ("sandbox", "domains", "judges", "replay", "trialbox.py", "pytest_trialbox.py")
PIP = ("-m", "pip", "wheel", "-qq", "--no-index", "--no-deps", "--no-build-isolation")


def left_out(_folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name.startswith(".") or name in ("__pycache__", "build", "dist")}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, since a build leaves files beside its sources."""
    return Path(shutil.copytree(ROOT, tmp_path_factory.mktemp("wheel") / "source", ignore=left_out))


@pytest.fixture(scope="module")
def shipped(source: Path) -> set[str]:
    """The files in the wheel, without its own metadata."""
    (source / "domains" / "shared" / "deep").mkdir()
    (source / "domains" / "shared" / "deep" / "policy.md").write_text("Be kind.\n", encoding="utf-8")
    built = source.parent / "built"
    subprocess.run([sys.executable, *PIP, "-w", str(built), str(source)], check=True, timeout=120)
    [wheel] = built.glob("trialbox-*.whl")
    with ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_the_wheel_ships_only_the_folders_and_the_command(shipped: set[str]) -> None:
    assert {name.partition("/")[0] for name in shipped} == set(SHIPPED)


def test_the_wheel_ships_every_module_and_data_file(source: Path, shipped: set[str]) -> None:
    files = {
        path.relative_to(source).as_posix()
        for folder in SHIPPED
        for path in [source / folder, *(source / folder).rglob("*")]
        if path.suffix in (".py", ".json", ".md", ".yaml", ".typed")
    }
    assert "domains/shared/deep/policy.md" in files
    assert shipped == files
