"""What it costs to lint a pack of the size of a public benchmark."""

from functools import partial
from time import perf_counter
from typing import Any

from judges.lint.pack import Item, Pack
from judges.lint.run import lint
from sandbox.package_data import read_yaml, task_files
from sandbox.registry import domain_named
from tests.bench import Line

COPIES = 39
MOST_S = 30.0


def measure() -> list[Line]:
    """The time for every own retail task 39 times over, each copy under an id of its own and read anew."""
    domain = domain_named("retail")
    files = task_files(domain.package)
    items = [Item(f"{copy}/{file.name}", partial(_copied, file, copy)) for copy in range(COPIES) for file in files]
    started = perf_counter()
    report = lint(Pack("retail", domain, "retail", tuple(items)))
    took_s = perf_counter() - started
    name = f"lint, {report.tasks} tasks, {report.errors} errors"
    return [Line(name, f"{took_s:.1f} s", f"at most {MOST_S:.0f} s", took_s <= MOST_S and not report.errors)]


def _copied(file: Any, copy: int) -> dict[str, Any]:
    content: dict[str, Any] = read_yaml(file)
    return {**content, "id": f"{content['id']}-{copy}"}
