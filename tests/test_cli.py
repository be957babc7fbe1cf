"""The command line says what it did, what it could not do and why, and where a stranger stands in its way."""

import argparse
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from sandbox.refusals import UserFault
from sandbox.registry import NoSuchDomain, domain_named, domain_names
from sandbox.store_file import StoreUnusable
from sandbox.stream import Store
from trialbox import main, parser, told_faults

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


def test_a_name_that_an_installed_domain_has_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "domain", "retail", "--into", str(tmp_path)]) == 2
    assert "a domain 'retail' is installed already; choose another name" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("source", ["1 / 0", "import sys\nsys.exit(3)"], ids=["error", "exit"])
def test_a_broken_domain_is_named_and_the_others_are_listed(bakery: Path, source: str) -> None:
    (bakery / "bakery" / "__init__.py").write_text(source)
    done = run("-m", "trialbox", "domains", path=bakery)
    assert done.returncode == 1
    assert [line.split()[0] for line in done.stdout.splitlines()] == domain_names()
    assert done.stderr.startswith("trialbox domains: domain 'bakery' cannot be loaded from entry point ")
    assert run("-m", "trialbox", "domains", "bakery", path=bakery).returncode == 2


def test_a_domain_with_rows_that_cannot_be_loaded_is_named_too(bakery: Path) -> None:
    (bakery / "bakery" / "seed" / "desk_tickets.yaml").write_text("- {id: TK-1}\n")
    done = run("-m", "trialbox", "domains", path=bakery)
    assert done.returncode == 1
    assert "retail" in done.stdout
    assert done.stderr.startswith("trialbox domains: domain 'bakery': desk_tickets[0]: ")


BREAKING = 'call.get(Ticket, id).status == "solved":'


def test_a_tool_that_breaks_on_a_mistake_is_named_by_mutate_in_a_line(bakery: Path) -> None:
    path = bakery / "bakery" / "__init__.py"
    source = path.read_text()
    assert BREAKING in source
    broken = f"{BREAKING}\n        raise RuntimeError('no paper')\n    if {BREAKING}"
    path.write_text(source.replace(BREAKING, broken))
    done = run("-m", "trialbox", "mutate", "bakery", path=bakery)
    assert done.returncode == 2, done.stdout
    [line] = done.stderr.splitlines()
    assert line.startswith("trialbox mutate: task cold-oven, ")
    assert "RuntimeError: no paper at __init__.py:" in line
    assert "in tool desk_solve_ticket, call 3 " in line


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


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"trialbox {version('trialbox')}\n"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("run x --agent null -o y", "; what was finished is kept, and the same command goes on from there"),
        ("fork s T@1 --agent null", "; what was finished is kept, and the same command goes on from there"),
        ("rejudge s", "; verdicts that it had kept stay"),
        *((f"{command} -o y", "; nothing was written") for command in ("seal s", "unseal s", "export otel s")),
        *((command, "") for command in ("replay s", "stats s", "verify s", "show s T", "tree s t", "domains")),
    ],
)
def test_who_stops_a_command_is_told_what_it_leaves_behind(
    command: str, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "open", stopped)
    monkeypatch.setattr("judges.run_commands.configuration_named", stopped)
    monkeypatch.setattr("replay.fork_commands.configuration_named", stopped)
    for module in ("sandbox.commands.domain_names", "replay.seal.open_sealed", "replay.verify.open_sealed"):
        monkeypatch.setattr(module, stopped)
    assert main(command.split()) == 130
    assert capsys.readouterr().err == f"trialbox {command.split()[0]}: stopped{told}\n"


def test_a_fault_that_quotes_a_pack_cannot_draw_or_forge_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> list[str]:
        raise UserFault("no \x1b[31m\u202ex\r\nverdict: pass \udcff")

    monkeypatch.setattr("sandbox.commands.domain_names", broken)
    assert main(["domains"]) == 2
    assert capsys.readouterr().err == "trialbox domains: no ·[31m·x·\n  verdict: pass \\udcff\n"


def arguments_of(command: str) -> list[argparse.Action]:
    (commands,) = [action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)]
    return list(commands.choices[command]._actions)


RECORDED = "show blame step replay rejudge fork forks diff tree repair no-return seal verify unseal"


@pytest.mark.parametrize("command", RECORDED.split())
def test_every_argument_of_a_command_on_recorded_trials_is_explained(command: str) -> None:
    assert [action.dest for action in arguments_of(command) if not action.help] == []


def test_the_help_of_diff_tells_its_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["diff", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "Exit code: 0 if they do not differ, 1 if they do, 2 if they cannot be compared." in told


def test_the_help_of_seal_tells_what_redaction_leaves_in_clear(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["seal", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "what belongs to the tasks stays in clear: goals, policies, seed rows" in told
    assert "golden texts, and what findings say was required" in told
