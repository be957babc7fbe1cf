"""What a trial left behind that it should not have, or did not leave behind though it should have."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

FindingKind = Literal["missing", "extra", "wrong"]


class Finding(Struct, frozen=True, gc=False, omit_defaults=True):
    """One difference between a trial's effects and an outcome's."""

    kind: FindingKind
    """`missing`: the trial did not do it; `extra`: nobody asked for it; `wrong`: done, with another value."""
    table: str
    key: str
    """In the trial; of a missing new row, where the golden calls created it."""
    op: Literal["inserted", "updated", "deleted"]
    field: str = ""
    """Empty for a whole row."""
    required: Any | UnsetType = UNSET
    """Plain JSON value, with the trial's ids of new rows; for a whole row its fields. UNSET where there is none."""
    found: Any | UnsetType = UNSET
    position: int = 0
    """Of the event that wrote it last; 0 if that is not known, or nothing was written."""
    topic: str = ""
    """Of that event."""
    cause: int = 0
    """Position of the call that emitted it."""
    tool: str = ""
    """That call's tool."""


Findings = tuple[Finding, ...]
