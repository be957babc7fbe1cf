"""`trialbox report` reads stores and writes a folder, or says in one line why not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import trialbox
from tests.judges.metrics.stores import judged_again, ran


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tasks × 3 repetitions: one of each broke, and of one another was judged a fail; the others passed."""
    path = ran(tmp_path_factory.mktemp("report") / "a.db", breaks=(1,))
    judged_again(path, "fail")
    return path


def test_it_writes_a_report_and_says_where_to_look(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert trialbox.main(["report", str(store), "-o", str(tmp_path / "r"), "--mixed", "--title", "Mine"]) == 0
    printed = capsys.readouterr()
    assert f"Look first at:  {tmp_path / 'r' / 'index.html'}" in printed.out
    assert "moody passes 75.0% of its trials" in printed.out
    assert "mixed bundles: verdicts of different judges on stuck-warranty" in printed.err
    values = json.loads((tmp_path / "r" / "report.json").read_text(encoding="utf-8"))
    assert values["title"] == "Mine"
    [stored] = values["stores"]
    assert (stored["path"], stored["campaign"], stored["agent"], stored["domain"]) == (
        str(store),
        "c",
        "moody",
        "retail",
    )
    assert len(stored["judge_bundles"]) == 3
    assert [task["id"] for task in stored["tasks"]] == ["promised-by-a-colleague", "stuck-warranty"]


def test_the_policy_is_that_of_the_numbers(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["report", str(store), "-o", str(tmp_path / "r"), "--mixed", "--policy", "failures"]
    assert trialbox.main(arguments) == 0
    # of two tasks: one user fault each is a failure now, and so is the repetition that broke
    assert "moody passes 16.7% of its trials" in capsys.readouterr().out


def test_mixed_bundles_are_refused_unless_asked_for(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert trialbox.main(["report", str(store), "-o", str(tmp_path / "r")]) == 2
    assert "stuck-warranty" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_a_folder_that_is_taken_is_refused_before_a_store_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")
    assert trialbox.main(["report", str(tmp_path / "none.db"), "-o", str(tmp_path)]) == 2
    assert "is not empty and holds no report" in capsys.readouterr().err


@pytest.mark.parametrize("package", ["matplotlib", "pyarrow"])
def test_a_missing_package_is_named_with_what_to_install(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert trialbox.main(["report", str(tmp_path / "a.db"), "-o", str(tmp_path / "r")]) == 2
    assert (
        capsys.readouterr()
        .err.strip()
        .endswith(
            f"a report is made with {package}, which is not installed; install what is needed with: "
            "pip install 'trialbox[report]'"
        )
    )


def test_no_other_command_waits_for_matplotlib() -> None:
    program = "import sys, trialbox; trialbox.parser(); print(*{'matplotlib', 'pyarrow', 'numpy'} & sys.modules.keys())"
    ran_program = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran_program.stdout.strip() == ""
