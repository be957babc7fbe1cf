"""Measurements. Each module has `measure() -> list[Line]`; ratios within one run, so that slow machines count too."""

from msgspec import Struct


class Line(Struct, frozen=True):
    """One measured value beside what it should be."""

    name: str
    value: str
    target: str
    met: bool | None
    """None where nothing is demanded."""
