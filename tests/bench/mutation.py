"""What it costs to put every mistake into the retail tasks, and what share of them is noticed."""

import time

from domains.retail import domain
from judges.mutation.run import LEAST_KILLED, mutated
from judges.pack import tasks_of
from tests.bench import Line

TASKS = 12
MOST_S = 20.0


def measure() -> list[Line]:
    """Time, kill rate and false alarms of twelve tasks."""
    tasks = tasks_of(domain)[:TASKS]
    start = time.perf_counter()
    report = mutated(domain, tasks)
    took_s = time.perf_counter() - start
    rate, alarms = report.kill_rate or 0.0, len(report.of("false alarm"))
    return [
        Line(
            f"mutants of {TASKS} retail tasks",
            f"{len(report.cases)} in {took_s:.1f} s",
            f"≤ {MOST_S:.0f} s",
            took_s <= MOST_S,
        ),
        Line("mistakes that matter, killed", f"{rate:.2%}", f"≥ {LEAST_KILLED:.0%}", rate >= LEAST_KILLED),
        Line("false alarms", str(alarms), "0", alarms == 0),
        Line("equivalent mutants", str(len(report.of("equivalent"))), "", None),
    ]
