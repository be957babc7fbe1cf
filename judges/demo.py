"""The demo: scripted agents on the retail tasks, and one trial that ended politely and failed."""

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from judges.campaigns import reliability, run_judged, scores_of, told_trial
from judges.court import judgements, plans_of
from judges.explain import summary
from judges.pack import tasks_of
from judges.record import Judgement
from judges.tables import reliability_table
from sandbox.agents import SCRIPTED
from sandbox.archive import Archive
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
        stores.append(into / f"{name}.db")
        for file in into.glob(f"{name}.*"):
            if file.name.removeprefix(name) in LEFT_BY_RUNS:
                file.unlink()
        run_judged(stores[-1], domain, tasks, make(plans_of(tasks), SEED), REPETITIONS, name=f"demo-{name}")
    console.print(reliability_table(reliability(score for path in stores for score in scores_of(path)), REPETITIONS))
    path = into / f"{SHOWN}.db"
    with Store.open(path, read_only=True) as store:
        trial = polite_failure(judgements(store), Archive(store, domain))
        told = told_trial(store, domain, trial)
        lines = list(summary(told, domain))
    console.print("\nOne trial that ended politely and failed\n", style="bold")
    console.print("\n".join(lines), markup=False, highlight=False)
    console.print(f"\nEvery record of it:  .venv/bin/trialbox explain {path} {trial[:8]} --all", highlight=False)
    return 0


def polite_failure(found: Iterable[Judgement], archive: Archive) -> str:
    """Id of the failed trial that is told soonest: done, one wrong value, an event that wrote it."""
    ended = {key.id.hex for key, _ in archive.closed()}
    failed = [one for one in found if one.verdict.result == "fail" and one.trial in ended]
    return min(failed, key=lambda one: (_rank(one), one.trial)).trial


def _rank(judgement: Judgement) -> tuple[int, int]:
    """Best is what looks finished and is not."""
    wrong = [
        one for one in judgement.verdict.findings if one.kind == "wrong" and one.field == "status" and one.position
    ]
    best = min((FINISHED.index(one.found) if one.found in FINISHED else len(FINISHED) for one in wrong), default=99)
    return best, len(judgement.verdict.findings)
