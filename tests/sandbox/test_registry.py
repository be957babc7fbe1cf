"""Mistakes in somebody's installed package are told to its author in a line that names the place."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.registry import Unloadable, domain_named, importer_named, public_domain_named
from trialbox import main

GOOD = """
from sandbox import Domain, Row, Toolset

desk = Toolset("desk")


@desk.table("tickets")
class Ticket(Row):
    id: str


"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the import path, with a distribution whose entry points all lead to `patisserie:domain`."""
    installed = tmp_path / "patisserie-0.1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: patisserie\nVersion: 0.1.0\n")
    groups = ("domains", "public_domains", "importers")
    points = "".join(f"[trialbox.{group}]\npatisserie = patisserie:domain\n" for group in groups)
    (installed / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("patisserie", None)


@pytest.mark.parametrize(
    ("source", "line", "told"),
    [
        ("import nothing_of_this_name", 1, "ModuleNotFoundError at PLACE: No module named 'nothing_of_this_name'"),
        ("x = 1\ndef (", 2, "SyntaxError at PLACE: "),
        ("a = 1 / 0", 1, "ZeroDivisionError at PLACE: division by zero"),
        ("from json import loads\nloads('{')", 2, "JSONDecodeError at PLACE: Expecting property name"),
        ("from sandbox import Domain\ndomain = Domain('a b')", 2, "TypeError at PLACE: 'a b' cannot name a domain"),
        (GOOD + "@desk.tool()\ndef read(call): pass", 12, "TypeError at PLACE: tool read() in patisserie:12 has no"),
        (GOOD + "domain = Domain('patisserie', desk, seed={'x': []})\ndomain.seed", 13, "RowFault at PLACE: no table"),
    ],
    ids=["import", "syntax", "own", "library", "name", "declaration", "seed"],
)
def test_what_breaks_a_package_is_told_with_its_place(home: Path, source: str, line: int, told: str) -> None:
    (home / "patisserie.py").write_text(source)
    beginning = "domain 'patisserie' cannot be loaded from entry point patisserie = patisserie:domain: "
    with pytest.raises(Unloadable) as fault:
        domain_named("patisserie")
    assert str(fault.value).startswith(beginning + told.replace("PLACE", f"{home / 'patisserie.py'}:{line}"))
    assert str(fault.value).endswith("; correct it, or uninstall its package")


def test_an_entry_point_that_leads_nowhere_is_told(home: Path) -> None:
    with pytest.raises(Unloadable, match="ModuleNotFoundError: No module named 'patisserie'; correct it"):
        domain_named("patisserie")
    (home / "patisserie.py").write_text("domian = 1")
    with pytest.raises(Unloadable, match="AttributeError: module 'patisserie' has no attribute 'domain'; correct it"):
        domain_named("patisserie")


def test_the_other_kinds_of_entry_points_are_loaded_as_carefully(home: Path) -> None:
    (home / "patisserie.py").write_text("def domain(seed):\n    return seed['x']")
    with pytest.raises(Unloadable, match=r"public domain 'patisserie' .*KeyError at .*patisserie\.py:2: 'x'"):
        public_domain_named("patisserie", {})
    sys.modules.pop("patisserie")
    (home / "patisserie.py").write_text("import nothing_of_this_name\n")
    with pytest.raises(Unloadable, match="importer 'patisserie' cannot be loaded"):
        importer_named("patisserie")


def test_a_domain_has_the_name_of_its_entry_point(home: Path) -> None:
    (home / "patisserie.py").write_text(GOOD + "domain = Domain('bakery', desk)")
    told = "entry point patisserie = patisserie:domain leads to the domain 'bakery'; give both one name"
    with pytest.raises(Unloadable, match=told):
        domain_named("patisserie")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- {id: a, name: x}", "desk_tickets[0]: Object contains unknown field `name`"),
        ("- {id: a}\n- {id: b}\n- {id: a}", "desk_tickets[2]: desk_tickets[0] has the key 'a' already"),
        ("- {id: a, id: b}", "patisserie: seed/desk_tickets.yaml is no YAML that can be read: key 'id' stands twice"),
        ("- [", "patisserie: seed/desk_tickets.yaml is no YAML that can be read: "),
        ("a: 1", "patisserie: seed/desk_tickets.yaml holds dict, no list of rows"),
    ],
    ids=["field", "key", "twice", "yaml", "mapping"],
)
def test_a_seed_that_does_not_fit_is_told_in_a_line(
    home: Path, text: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = home / "patisserie" / "seed"
    seed.mkdir(parents=True)
    (seed.parent / "__init__.py").write_text(GOOD + "domain = Domain('patisserie', desk, package='patisserie')")
    (seed / "desk_tickets.yaml").write_text(text)
    assert main(["domains", "patisserie"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"trialbox domains: {told}")
