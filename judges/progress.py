"""How far a campaign is: counts, money and time left in a terminal; a line for each trial in a log."""

import sys
from collections import Counter
from collections.abc import Iterable
from threading import Lock
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from judges.lines import printable
from judges.record import Judgement
from judges.rubric_calls import JudgeCall
from judges.spending import Call, calls_among
from sandbox.campaign import Closed
from sandbox.prices import Cost, PriceTable, call_cost

KINDS = ("passed", "failed", "ungradeable", "infrastructure")
_NAMES = {"pass": "passed", "fail": "failed", "ungradeable": "ungradeable"}


class Watch:
    """
    Watches a campaign; use it as a context manager.

    Args:
        planned: trials that are to count.
        earlier: judge calls that are on file already.
        console: where to; standard error by default.
    """

    def __init__(
        self, planned: int, prices: PriceTable, earlier: Iterable[Call] = (), console: Console | None = None
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.cost = Cost()
        self._prices = prices
        self._has_calls = False
        self._lock = Lock()
        self._console = console or Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[told]}"),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._pay(earlier)
        self._task = self._bar.add_task("trials", total=planned, told=self.told)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    @property
    def told(self) -> str:
        """Counts and money in words."""
        parts = [f"{self.counts[name]} {name}" for name in KINDS]
        return " · ".join([*parts, *([self.cost.shown()] if self._has_calls else [])])

    def closed(self, closed: Closed, judgement: Judgement) -> None:
        """A trial has ended and was judged."""
        is_ours = closed.end.end == "infrastructure"
        with self._lock:
            self.counts["infrastructure" if is_ours else _NAMES[judgement.verdict.result]] += 1
            self._pay(calls_among(closed.records))
        if self._console.is_terminal:
            self._bar.update(self._task, advance=0 if is_ours else 1, told=self.told)
        else:
            key, result = closed.key, "" if is_ours else judgement.verdict.result
            print(f"{printable(key.task)}/{key.repetition}  {result:11}  {closed.end.end}", file=sys.stderr)

    def judged(self, call: JudgeCall) -> None:
        """The judge has asked its model."""
        with self._lock:
            self._pay([call.made] if call.made else [])

    def _pay(self, calls: Iterable[Call]) -> None:
        for call in calls:
            self._has_calls = True
            self.cost += call_cost(call, self._prices)
