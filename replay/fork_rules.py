"""What held for a campaign's agent, from its seal, so that who goes on from a position works under the same."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from judges.configuration import Configuration
from judges.lines import cut
from judges.pack import PackTask
from sandbox.archive import Archive
from sandbox.gate import Approver, Gate, GateSettings
from sandbox.protocols import Limits, Plain, ThinkingBox
from sandbox.records import Gated, Record, decoded
from sandbox.refusals import UserFault
from sandbox.values import digest_of

_WITHOUT = "or fork without it: --no-gate"


def under_seal(configuration: Configuration, settings: str, *, gated: bool = True) -> Configuration:
    """
    A configuration with protocol, limits and gate as a campaign's sealed settings have them, as far as they do.

    Args:
        gated: whether the campaign's gate is wanted; False leaves it out.

    Raises:
        UserFault: they are written in a form that is not known here.
    """
    told, written = _told(settings), configuration.written
    if told.get("protocol"):
        written = replace(written, protocol=_converted(told["protocol"], ThinkingBox | Plain, "protocol"))
    if told.get("limits"):
        written = replace(written, limits=_converted(told["limits"], Limits, "limits"))
    if not gated:
        written = replace(written, gate=None)
    elif "gate" in told:
        written = replace(written, gate=_converted(told["gate"], GateSettings | None, "gate", f"; {_WITHOUT}"))
    return replace(configuration, written=written)


def has_gate(settings: str) -> bool:
    """Whether a campaign was sealed with a gate."""
    return bool(_told(settings).get("gate"))


def gate_of(configuration: Configuration, approver: Approver | None) -> Gate | None:
    """The gate that stands in front of calls; UserFault if it asks, and nobody is there to answer."""
    settings = configuration.written.gate
    if settings is not None and approver is None and any(rule.action == "ask" for rule in settings.rules):
        raise UserFault(f"the campaign's gate asks a person, and nobody is there; fork in a terminal, {_WITHOUT}")
    return configuration.gate(approver)


def ensure_known(configuration: Configuration, records: Sequence[Record]) -> None:
    """Return if it is known what stood in front of a trial's calls; UserFault if a gate did that no seal tells."""
    if configuration.written.gate is None and any(isinstance(decoded(record), Gated) for record in records):
        raise UserFault(
            f"the trial had a gate that its campaign's seal does not tell; it cannot be made again, {_WITHOUT}"
        )


def briefed(archive: Archive, item: PackTask, packed: Sequence[PackTask]) -> PackTask:
    """
    A stored task with what its user knows, which no store keeps.

    Args:
        packed: tasks as their pack has them today.

    Raises:
        UserFault: none of them is this task, or its user was told something else when the campaign was sealed.
    """
    sealed = next(task for task in archive.seal.tasks if task.id == item.task.id)
    for one in packed:
        if one.task.digest == sealed.digest and sealed.user in ("", digest_of(one.user)):
            return PackTask(item.task, one.user, item.expectation)
    raise UserFault(
        f"a store does not keep what the user of {cut(item.task.id)} knows, and no task at hand is the one "
        f"that was sealed; name its pack with --pack"
    )


def _told(settings: str) -> dict[str, Any]:
    """The sealed settings; empty where they are not those of a configuration."""
    try:
        return msgspec.json.decode(settings, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}


def _converted(content: Any, kind: Any, name: str, instead: str = "") -> Any:
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as fault:
        raise UserFault(f"the {name} that the campaign was sealed with cannot be read here: {fault}{instead}") from None
