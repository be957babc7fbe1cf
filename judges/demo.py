"""The demo: scripted agents on the retail tasks, and one trial that ended politely and failed."""

from collections.abc import Callable, Iterable
from pathlib import Path

from rich.console import Console

from judges.campaigns import run_judged, told_trial
from judges.court import judgements, plans_of
from judges.explain import summary
from judges.metrics.counted import counts_of
from judges.metrics.standing import standings
from judges.pack import tasks_of
from judges.record import Judgement
from judges.tables import standing_table
from sandbox.agents import SCRIPTED
from sandbox.archive import Archive
from sandbox.domain import Domain
from sandbox.registry import domain_named
from sandbox.slips import FINISHED
from sandbox.stream import Store

REPETITIONS = 5
SEED = 51
"""Of the careless agent; with this one it resolves, among other slips, a ticket that must stay on hold."""
LEFT_BY_RUNS = (".db", ".db-wal", ".db-shm", ".db.lock", ".views.db", ".frames.db")
"""What an earlier demo left of a store; nothing else in the folder is touched."""
SHOWN = "careless"
"""The agent whose failure is shown."""
Choice = Callable[[Iterable[Judgement], Archive], str]
"""Id of the failed trial to show; empty for none."""


def demo(into: Path) -> int:
    """Run every scripted agent, print the table, and tell one failure; the stores stay in `into`."""
    domain = domain_named("retail")
    tasks = tasks_of(domain)
    console = Console(soft_wrap=True)
    console.print(
        f"{len(tasks)} retail tasks × {REPETITIONS} repetitions × {len(SCRIPTED)} scripted agents, over MCP\n"
    )
    stores = []
    for name, make in SCRIPTED.items():
        stores.append(cleared(into, name))
        run_judged(stores[-1], domain, tasks, make(plans_of(tasks), SEED), REPETITIONS, name=f"demo-{name}")
    console.print(standing_table(standings(item for path in stores for item in counts_of(path)), REPETITIONS))
    show_failure("One trial that ended politely and failed", into / f"{SHOWN}.db", domain, console, polite_failure)
    return 0


def cleared(into: Path, name: str) -> Path:
    """Where a store of this name goes; the one that an earlier demo left there is gone."""
    for file in into.glob(f"{name}.*"):
        if file.name.removeprefix(name) in LEFT_BY_RUNS:
            file.unlink()
    return into / f"{name}.db"


def show_failure(title: str, path: Path, domain: Domain, console: Console, choose: Choice) -> None:
    """Print one failed trial of a store: what was said, and what the records say; a line if there is none."""
    with Store.open(path, read_only=True) as store:
        trial = choose(judgements(store), Archive(store, domain))
        lines = list(summary(told_trial(store, domain, trial), domain)) if trial else []
    if not lines:
        console.print("\nNo trial failed.", highlight=False)
        return
    console.print(f"\n{title}\n", style="bold")
    console.print("\n".join(lines), markup=False, highlight=False)
    console.print(f"\nEvery record of it:  .venv/bin/trialbox explain {path} {trial[:8]} --all", highlight=False)


def polite_failure(found: Iterable[Judgement], archive: Archive) -> str:
    """Id of the failed trial that is told soonest: done, one wrong value, an event that wrote it; empty for none."""
    ended = {key.id.hex for key, _ in archive.closed()}
    failed = [one for one in found if one.verdict.result == "fail" and one.trial in ended]
    return min(failed, key=lambda one: (_rank(one), one.trial)).trial if failed else ""


def _rank(judgement: Judgement) -> tuple[int, int]:
    """Best is what looks finished and is not."""
    wrong = [
        one for one in judgement.verdict.findings if one.kind == "wrong" and one.field == "status" and one.position
    ]
    best = min((FINISHED.index(one.found) if one.found in FINISHED else len(FINISHED) for one in wrong), default=99)
    return best, len(judgement.verdict.findings)
