"""
Exits with 0 when this Python's environment holds all that requirements.lock and pyproject.toml ask for.

With the name of another lock file: when it holds all that this one pins.
"""

import importlib.metadata as metadata
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


def fault(name: str, version: str) -> str | None:
    """What is wrong with an installed distribution, if anything is."""
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return f"{name} {version} is not installed"
    if found.version != version:
        return f"{name} is {found.version}; the lock has {version}"
    # Compiled files come and go; every other file that was installed must still be there.
    lost = [file for file in found.files or () if file.suffix != ".pyc" and not Path(str(file.locate())).exists()]
    return f"{name} has lost {lost[0]}" if lost else None


def misplaced() -> str | None:
    """What is wrong with the place `trialbox` is read from: a copied environment still reads the original."""
    try:
        recorded = metadata.distribution("trialbox").read_text("direct_url.json") or "{}"
    except metadata.PackageNotFoundError:
        return None
    found = json.loads(recorded).get("url")
    return None if found == ROOT.as_uri() else f"trialbox is installed from {found}; this is {ROOT.as_uri()}"


def pins(lock: str) -> list[tuple[str, str]]:
    """The name and version of every distribution in a lock file."""
    return PINNED.findall((ROOT / lock).read_text(encoding="utf-8"))


def faults() -> list[str]:
    """All that keeps this environment from being whole."""
    own = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert own is not None, "pyproject.toml names no version"
    found = [fault(name, version) for name, version in [*pins("requirements.lock"), ("trialbox", own[1])]]
    return [text for text in [*found, misplaced()] if text]


def faults_in(lock: str) -> list[str]:
    """What is wrong with the distributions that a lock file pins."""
    return [text for name, version in pins(lock) if (text := fault(name, version))]


if __name__ == "__main__":
    if sys.argv[1:]:
        wrong = faults_in(sys.argv[1])
    else:
        wrong = ["Python is older than 3.11"] if sys.version_info < (3, 11) else faults()
    sys.exit("\n".join(wrong) or 0)
