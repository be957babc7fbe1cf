"""The table of hard cases names the tests that there are."""

import re
from pathlib import Path

HERE = Path(__file__).parent
ROW = re.compile(r"^\| (\d+) \|[^|]+\|([^|]+)\|$", re.MULTILINE)
TABLE = ROW.findall((HERE / "README.md").read_text(encoding="utf-8"))
LISTED = {int(row): set(re.findall(r"`(test_\w+\.py)`", where)) for row, where in TABLE}


def carried() -> dict[int, set[str]]:
    """Rows with the modules that have a test of theirs."""
    found: dict[int, set[str]] = {}
    for path in HERE.glob("test_*.py"):
        for row in re.findall(r"^(?:async )?def test_row_(\d+)_", path.read_text(encoding="utf-8"), re.MULTILINE):
            found.setdefault(int(row), set()).add(path.name)
    return found


def test_every_row_with_a_test_is_listed_with_its_module_and_no_other_is() -> None:
    assert len(LISTED) == 48
    assert {row: modules for row, modules in LISTED.items() if modules} == carried()
