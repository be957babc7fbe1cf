"""What lint has to say: remarks, each with its place, its reason and what to do about it."""

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from judges.lines import printable

Level = Literal["error", "warning"]


class Remark(Struct, frozen=True):
    """One thing that is wrong with a pack, or may be."""

    level: Level
    check: str
    """Which check says so, such as `invented-value`."""
    file: str
    path: str
    """In the file, such as `$.expect.outcomes[0].calls[2]`."""
    value: Any
    """What stands there, as a plain JSON value; None where nothing does."""
    reason: str
    advice: str
    task: str = ""

    def __str__(self) -> str:
        stands = "" if self.value is None else f": {_shown(self.value)}"
        told = f"{self.file}: {self.path}{stands}: {self.level}: {self.reason}; {self.advice} [{self.check}]"
        return printable(told)


class Report(Struct, frozen=True):
    """All remarks on a pack."""

    pack: str
    tasks: int
    """Task files that could be read."""
    remarks: tuple[Remark, ...]

    @property
    def errors(self) -> int:
        return sum(remark.level == "error" for remark in self.remarks)

    @property
    def warnings(self) -> int:
        return len(self.remarks) - self.errors

    @property
    def exit_code(self) -> int:
        """0: no error. 1: errors. 2: a task file could not be read."""
        if any(remark.check == UNREADABLE for remark in self.remarks):
            return 2
        return 1 if self.errors else 0


UNREADABLE: Final = "unreadable"
LONGEST_VALUE = 60


def stepped(path: str, step: str | int) -> str:
    """A path and one step further down."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    return f"{path}.{step}" if step.isidentifier() else f"{path}[{msgspec.json.encode(step).decode()}]"


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
