"""Which code stands behind a digest."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.sources import sources_of


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package `bakery` whose module `oven` uses `shelf`, and nobody `till`."""
    home = tmp_path / "bakery"
    home.mkdir()
    (home / "__init__.py").write_text("")
    (home / "oven.py").write_text("import json\nfrom bakery import shelf\n")
    (home / "shelf.py").write_text("WIDTH = 1\n")
    (home / "till.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("bakery.oven")
    __import__("bakery.till")
    yield home
    for name in [name for name in sys.modules if name.partition(".")[0] == "bakery"]:
        del sys.modules[name]


def test_a_module_brings_in_what_it_uses_of_its_own_package(package: Path) -> None:
    found = sources_of(["bakery.oven"])
    assert set(found) == {"bakery", "bakery.oven", "bakery.shelf"}
    assert found["bakery.shelf"] == "WIDTH = 1\n"


def test_a_module_without_source_stands_for_itself() -> None:
    assert sources_of(["no_such_module"]) == {"no_such_module": "no_such_module"}


def test_a_help_desk_brings_in_its_query_language() -> None:
    __import__("domains.shared.helpdesk")
    assert "domains.shared.odata_syntax" in sources_of(["domains.shared.helpdesk"])
