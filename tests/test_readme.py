"""What the README shows is what happens."""

import argparse
import re
import subprocess
import sys
from pathlib import Path

import pytest

import trialbox
from judges.configuration import configuration_in
from sandbox import Domain, Precondition, World
from sandbox.package_data import yaml_in

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def shown(name: str) -> str:
    """The fenced block between the README's markers of this name."""
    found = re.search(rf"<!-- {name} -->\n```\w*\n(.*?)```\n<!-- /{name} -->", README, re.DOTALL)
    assert found, f"README.md shows no {name}"
    return found[1]


def test_the_demo_prints_what_the_readme_shows(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "trialbox", "demo", "--into", str(tmp_path / "demo")],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=120,
    )
    printed = run.stdout.replace(str(tmp_path / "demo"), "runs/demo")
    assert [line.rstrip() for line in printed.splitlines()] == [line.rstrip() for line in shown("demo").splitlines()]


def test_the_domain_of_the_readme_works_and_refuses_as_shown() -> None:
    names: dict[str, object] = {"__name__": "readme_domain"}
    exec(compile(shown("domain"), "README.md", "exec"), names)
    domain = names["domain"]
    assert isinstance(domain, Domain)
    world = World(domain, domain.snapshot, "2026-01-05T09:00:00Z")
    world.call("desk_solve_ticket", id="TK-1", note="It works again.")
    with pytest.raises(Precondition) as refused:
        world.call("desk_solve_ticket", id="TK-1", note="It works again.")
    assert str(refused.value) == shown("refusal").strip()


def test_every_command_is_listed_with_what_its_help_says() -> None:
    parser = trialbox.parser()
    (commands,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    listed = re.findall(r"^trialbox ([\w-]+).*?# (.*)$", shown("commands"), re.MULTILINE)
    assert dict(listed) == {choice.dest: choice.help for choice in commands._choices_actions}


def test_the_configuration_of_the_readme_can_be_used() -> None:
    given = {"MODEL_URL": "http://localhost:8000/v1", "MODEL_KEY": "sk-1"}
    made = configuration_in(yaml_in(shown("configuration"), "README.md"), "README.md", ROOT, given)
    assert made.agent_name == "qwen3-8b"
    assert sorted(made.endpoints) == ["agent", "judge", "user"]
    assert made.judge() is not None
    assert made.gate() is not None
    assert made.prices.price_of("qwen3-8b") is not None


def test_the_suite_of_the_readme_fails_as_shown(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_warranty=shown("suite"))
    result = pytester.runpytest("-p", "no:cacheprovider", "--trialbox-store", "runs/suite")
    result.assert_outcomes(failed=1)
    assert shown("suite output").rstrip() in "\n".join(result.outlines)


def test_every_path_that_the_readme_names_exists() -> None:
    for path in re.findall(r"\]\(([\w./-]+)\)|`((?:\w+/)+)`", README):
        assert (ROOT / (path[0] or path[1])).exists(), path


def test_every_make_target_that_the_readme_names_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"[`$] ?make ([a-z]+)", README)) <= targets
