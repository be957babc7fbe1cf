"""From a trial's records to its rows in the read models."""

from collections.abc import Iterable, Sequence

from msgspec.structs import asdict

from sandbox.domain import Domain
from sandbox.effects import Effects, effects_digest, effects_of, encode_effects
from sandbox.fold import FoldDiffers, fold
from sandbox.records import (
    Record,
    Replied,
    ToolCalled,
    ToolRefused,
    TrialEnded,
    TrialKey,
    TrialOpened,
    Unanswered,
    decoded,
)
from sandbox.refusals import SandboxFault
from sandbox.snapshot import Snapshot
from sandbox.spent import spent_by
from sandbox.view_rows import EffectsRow, TrialRow, UsageRow


def folded_effects(domain: Domain, snapshot: Snapshot, records: Sequence[Record]) -> Effects:
    """
    The effects of a closed trial, from its events alone.

    Raises:
        FoldDiffers: today's handlers do not give the effects that were recorded at the end.
    """
    effects = effects_of(snapshot, fold(domain, snapshot, records))
    end = decoded(records[-1])
    if isinstance(end, TrialEnded) and end.effects != effects_digest(effects):
        raise FoldDiffers(
            f"the fold of {len(records)} records gives effects {effects_digest(effects)[:12]}, "
            f"recorded are {end.effects[:12]}; the handlers of domain {domain.name} have changed since"
        )
    return effects


def trial_rows(
    key: TrialKey, records: Sequence[Record], effects: Effects, domain_digest: str
) -> tuple[TrialRow, EffectsRow]:
    """A closed trial and its effect set as rows."""
    row = trial_row(key, records, domain_digest)
    return row, EffectsRow(row.effects, domain_digest, encode_effects(effects))


def usage_rows(trial: str, calls: Iterable[Replied | Unanswered]) -> list[UsageRow]:
    """What model calls in, or about, one trial used, as rows."""
    return [UsageRow(trial, **asdict(spent)) for spent in spent_by(calls)]


def trial_row(key: TrialKey, records: Sequence[Record], domain_digest: str) -> TrialRow:
    """
    A closed trial as a row.

    Args:
        domain_digest: of the domain code that folded its effects; empty if none could.
    """
    opened, end = decoded(records[0]), decoded(records[-1])
    if not isinstance(opened, TrialOpened) or not isinstance(end, TrialEnded):
        raise SandboxFault(f"trial {key.id} has no beginning or no end; it cannot be projected")
    payloads = [decoded(record) for record in records]
    return TrialRow(
        trial=key.id.hex,
        campaign=key.campaign,
        task=key.task,
        repetition=key.repetition,
        attempt=key.attempt,
        agent=opened.agent,
        end=end.end,
        flags=" ".join(end.flags),
        detail=end.detail,
        calls=sum(isinstance(payload, ToolCalled) for payload in payloads),
        refused=sum(isinstance(payload, ToolRefused) for payload in payloads),
        records=len(records),
        effects=end.effects,
        domain_digest=domain_digest,
    )
