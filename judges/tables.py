"""Tables for the terminal."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from judges.campaigns import Reliability
from sandbox.views import Score


def reliability_table(found: Sequence[Reliability], repetitions: int = 0) -> Table:
    """One line for each agent: best of one, and passed every time."""
    every = f"{repetitions}/{repetitions}" if repetitions else "n of n"
    table = plain_table("agent", "tasks", "trials", "pass@1", f"observed {every}", "ungradeable")
    for one in found:
        share = f"{one.pass_at_1:.1%}"
        every_time = f"{one.every_time} of {one.tasks} tasks"
        table.add_row(Text(one.agent), str(one.tasks), str(one.trials), share, every_time, str(one.ungradeable))
    return table


def task_table(scores: Sequence[Score]) -> Table:
    """One line for each agent and task."""
    table = plain_table("agent", "task", "trials", "passed", "failed", "ungradeable")
    for score in scores:
        counts = (score.trials, score.passed, score.failed, score.ungradeable)
        table.add_row(Text(score.agent), Text(score.task), *map(str, counts))
    return table


def plain_table(*columns: str) -> Table:
    """A table without lines; numbers to the right, the first column and tasks to the left."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place == 0 or name == "task" else "right")
    return table
