"""How long a pack as large as the whole public benchmark takes until it could be run."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from domains.importers.thinkingbox import read_checkout
from judges.importing import written_to
from judges.packs import open_pack
from judges.verdict import bundle_of
from tests.bench import Line
from tests.conformance.records import BENCH
from tests.domains.checkout import write_checkout

TASKS = 507
MOST_S = 3.0


def measure() -> list[Line]:
    """Opening it, and building the outcomes of all its tasks; nothing where the recorded tasks are not at hand."""
    if not BENCH.exists():
        return []
    with TemporaryDirectory() as folder:
        pack = large_pack(Path(folder))
        start = perf_counter()
        opened = open_pack(pack)
        read_s = perf_counter() - start
        for item in opened.tasks:
            bundle_of(opened.domain, item.task, item.expectation)
        whole_s = perf_counter() - start
    return [
        Line(f"opening a pack of {len(opened.tasks)} tasks", f"{read_s:.2f} s", "", None),
        Line("the same with every outcome built", f"{whole_s:.2f} s", f"at most {MOST_S:.0f} s", whole_s <= MOST_S),
    ]


def large_pack(folder: Path) -> Path:
    """The recorded retail tasks, repeated under other ids."""
    imported = read_checkout(write_checkout(folder / "checkout", ["retail"]))
    [pack] = written_to(folder / "packs", imported.packs)
    lines = (pack / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
    tasks = [json.loads(lines[number % len(lines)]) for number in range(TASKS)]
    copies = [{**task, "id": f"{task['id']}-{number}"} for number, task in enumerate(tasks)]
    (pack / "tasks.jsonl").write_text("".join(f"{json.dumps(copy)}\n" for copy in copies), encoding="utf-8")
    return pack
