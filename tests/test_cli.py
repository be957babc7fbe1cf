"""The command line says what it did, what it could not do and why, and where a stranger stands in its way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.refusals import UserFault
from sandbox.registry import NoSuchDomain, domain_named, domain_names
from sandbox.store_file import StoreUnusable
from trialbox import main, told_faults

ROOT = Path(__file__).resolve().parent.parent

USED = """
import json
from bakery import domain
from sandbox import Precondition, World

world = World(domain, domain.snapshot, "2026-01-05T09:00:00Z")
solved = world.call("desk_solve_ticket", id="TK-1", note="done")
try:
    world.call("desk_solve_ticket", id="TK-1", note="again")
except Precondition as refused:
    told = str(refused)
print(json.dumps([domain.name, solved["status"], told, len(world.effects), domain.instructions.strip()]))
"""


def run(*command: str, path: Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """A command with a folder ahead of ours on the import path."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(path), str(ROOT)))}
    return subprocess.run(
        [sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def bakery(tmp_path: Path) -> Path:
    """A folder to put on the import path, with the package that `trialbox new domain bakery` makes, installed."""
    assert main(["new", "domain", "bakery", "--into", str(tmp_path)]) == 0
    home = tmp_path / "bakery"
    installed = home / "bakery-0.1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: bakery\nVersion: 0.1.0\n")
    project = (home / "pyproject.toml").read_text()
    group, point = '[project.entry-points."trialbox.domains"]', 'bakery = "bakery:domain"'
    assert f"{group}\n{point}\n" in project
    (installed / "entry_points.txt").write_text("[trialbox.domains]\nbakery = bakery:domain\n")
    return home


def test_a_new_domain_works_as_it_is_made(bakery: Path) -> None:
    done = run("-c", USED, path=bakery)
    assert done.returncode == 0, done.stderr
    refusal = "ticket TK-1 is already solved; open a new one instead"
    instructions = "You answer for Bakery. Use the tools; what you change is what counts."
    assert done.stdout.strip() == f'["bakery", "solved", "{refusal}", 1, "{instructions}"]'


def test_new_says_what_it_made_and_what_comes_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "domain", "bakery", "--into", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"made {tmp_path / 'bakery'}; next:\n  pip install -e ")
    assert "trialbox run bakery --agent oracle" in told


def test_domains_lists_an_installed_domain(bakery: Path) -> None:
    done = run("-m", "trialbox", "domains", path=bakery)
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stdout.splitlines() if line.startswith("bakery")]
    assert line.split() == ["bakery", "2", "tools", "1", "tables", "2", "seed", "rows"]


def test_domains_describes_one_domain_in_full(bakery: Path) -> None:
    done = run("-m", "trialbox", "domains", "bakery", path=bakery)
    assert done.returncode == 0, done.stderr
    assert "  desk_tickets (2 rows): id, subject, requester, status\n" in done.stdout
    assert "  desk_get_ticket: Read a ticket.\n" in done.stdout
    assert "  desk_solve_ticket *: Solve an open ticket, with a note for its requester.\n" in done.stdout


def test_an_unknown_domain_is_named_with_the_nearest(bakery: Path) -> None:
    done = run("-m", "trialbox", "domains", "bakry", path=bakery)
    assert done.returncode == 2
    told = "no domain 'bakry'; did you mean 'bakery'? List them with: trialbox domains"
    assert done.stderr == f"trialbox domains: {told}\n"


def test_an_unknown_domain_without_a_near_one_is_told_plainly() -> None:
    with pytest.raises(NoSuchDomain, match=r"^no domain 'zzzzzzzz'; list them with: trialbox domains$"):
        domain_named("zzzzzzzz")
    assert domain_names() == sorted(domain_names())


def test_an_entry_point_that_is_no_domain_is_named(bakery: Path) -> None:
    (bakery / "bakery-0.1.0.dist-info" / "entry_points.txt").write_text("[trialbox.domains]\nbakery = bakery:desk\n")
    done = run("-m", "trialbox", "domains", "bakery", path=bakery)
    assert done.returncode == 2
    told = "entry point bakery = bakery:desk is no Domain, but Toolset; let it lead to the package's Domain"
    assert done.stderr == f"trialbox domains: {told}\n"


def test_two_domains_of_one_name_are_both_named(bakery: Path) -> None:
    other = bakery / "other-0.1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 0.1.0\n")
    (other / "entry_points.txt").write_text("[trialbox.domains]\nbakery = other:domain\n")
    done = run("-m", "trialbox", "domains", path=bakery)
    assert done.returncode == 2
    assert "two domains are named 'bakery': " in done.stderr
    assert {"bakery:domain", "other:domain"} <= set(done.stderr.replace(";", "").split())


NO_PACKAGES = ["Bakery", "1x", "a-b", "_x", "x_", "", "bäckerei", "class", "a.b", "../x"]


@pytest.mark.parametrize("name", [*NO_PACKAGES, "json", "sandbox", "judges", "domains", "trialbox"])
def test_a_name_that_would_not_work_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "domain", "--into", str(tmp_path), "--", name]) == 2
    told = capsys.readouterr().err
    assert f"{name!r} cannot name a package" in told if name in NO_PACKAGES else "would stand in the way" in told
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bakery").mkdir()
    assert main(["new", "domain", "bakery", "--into", str(tmp_path)]) == 2
    assert "is there already; choose another name or folder" in capsys.readouterr().err
    assert list((tmp_path / "bakery").iterdir()) == []


@pytest.mark.parametrize("arguments", [["domans"], [], ["new"], ["domains", "--colour"]], ids=" ".join)
def test_a_command_that_is_not_there_is_refused_with_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: trialbox" in capsys.readouterr().err


def test_another_projects_folder_of_our_name_is_named(tmp_path: Path) -> None:
    (tmp_path / "judges").mkdir()
    (tmp_path / "judges" / "__init__.py").write_text("")
    done = run("-m", "trialbox", "domains", path=tmp_path, cwd=tmp_path)
    assert done.returncode == 2
    where = tmp_path / "judges" / "__init__.py"
    assert done.stderr == (
        f"trialbox: package 'judges' was imported from {where}, not from {ROOT}; "
        f"run trialbox from another folder, or take the other one off PYTHONPATH\n"
    )


def test_a_bare_folder_of_our_name_stands_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "judges").mkdir()
    assert run("-m", "trialbox", "--help", path=tmp_path, cwd=tmp_path).returncode == 0


def test_only_faults_that_somebody_can_mend_are_told_in_a_line() -> None:
    user, store, bug = UserFault("a"), StoreUnusable("b"), KeyError("c")
    assert told_faults(user) == [user]
    assert told_faults(bug) == []
    assert told_faults(ExceptionGroup("", [ExceptionGroup("", [store]), user])) == [store, user]
    assert told_faults(ExceptionGroup("", [store, bug])) == []


def test_a_file_that_is_no_store_is_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.db").write_text("x" * 200)
    assert main(["explain", str(tmp_path / "c.db"), "one/0"]) == 2
    assert capsys.readouterr().err == f"trialbox explain: {tmp_path / 'c.db'}: is no Trialbox store: check the path\n"
