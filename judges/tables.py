"""Tables for the terminal."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judges.lines import cut
from judges.metrics.observed import Tally
from judges.metrics.rounding import percent
from judges.metrics.standing import Standing
from sandbox.prices import Cost
from sandbox.view_rows import Score

NO_COSTS: Mapping[str, Cost] = {}


def standing_table(found: Sequence[Standing], repetitions: int = 0, costs: Mapping[str, Cost] = NO_COSTS) -> Table:
    """One line for each agent: best of one, passed every time, and what it cost where that is told of any."""
    every = f"{repetitions}/{repetitions}" if repetitions else "n of n"
    table = plain_table(
        "agent", "tasks", "trials", "pass@1", f"observed {every}", "ungradeable", *(["cost"] if costs else [])
    )
    for one in found:
        share = "–" if one.pass_at_1 is None else f"{percent(one.pass_at_1, 1)}%"
        every_time = f"{spanned(one.every_time)} of {one.tasks} tasks"
        table.add_row(
            Text(cut(one.agent)),
            str(one.tasks),
            counted(one.trials, one.planned),
            share,
            every_time,
            str(one.ungradeable),
            *([costs[one.agent].shown() if one.agent in costs else "no model"] if costs else []),
        )
    return table


def spanned(found: Tally) -> str:
    """A count of tasks, or the least and the most that it may become."""
    return str(found.least) if found.least == found.most else f"{found.least} to {found.most}"


def task_table(scores: Sequence[Score]) -> Table:
    """One line for each agent and task."""
    table = plain_table("agent", "task", "trials", "passed", "failed", "ungradeable")
    for score in scores:
        counts = (counted(score.trials, score.planned), score.passed, score.failed, score.ungradeable)
        table.add_row(Text(score.agent), Text(score.task), *map(str, counts))
    return table


def counted(trials: int, planned: int) -> str:
    """How many trials count, and of how many if some are missing."""
    return str(trials) if trials == planned else f"{trials} of {planned}"


def plain_table(*columns: str) -> Table:
    """A table without lines; numbers to the right, the first column and tasks to the left."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place == 0 or name == "task" else "right")
    return table


def wide_console(least: int = 0) -> Console:
    """Standard output: as wide as the terminal, or `least`; wide enough for any table where there is no terminal."""
    console = Console()
    return Console(width=max(least, console.width) if console.is_terminal else 200)
