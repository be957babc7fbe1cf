"""Tables of the read models, one for each kind of row."""

import sqlalchemy as sa
from msgspec import Struct

from sandbox.spent import BUCKETS
from sandbox.view_rows import EffectsRow, NoteRow, TrialRow, UsageRow, VerdictRow

metadata = sa.MetaData()


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _numbers(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.Integer, nullable=False) for name in names]


trials = sa.Table(
    "trials",
    metadata,
    sa.Column("trial", sa.String(32), primary_key=True),
    *_texts("campaign", "task"),
    *_numbers("repetition", "attempt"),
    *_texts("agent", "end", "flags", "detail"),
    *_numbers("calls", "refused", "records"),
    sa.Column("effects", sa.String(64), nullable=False),
    sa.Column("domain_digest", sa.String(64), nullable=False),
    sa.Index("trials_by_task", "agent", "task"),
)
effects = sa.Table(
    "effects",
    metadata,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("domain_digest", sa.String(64), primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
verdicts = sa.Table(
    "verdicts",
    metadata,
    sa.Column("trial", sa.String(32), primary_key=True),
    sa.Column("bundle", sa.String(64), primary_key=True),
    *_texts("result", "outcome"),
    *_numbers("findings", "place"),
    *_texts("kinds"),
    *_numbers("refusal"),
    *_texts("signature", "grouping"),
    *_numbers("position"),
    *_texts("reason", "kept"),
)
notes = sa.Table(
    "notes",
    metadata,
    sa.Column("trial", sa.String(32), primary_key=True),
    *_numbers("wrote", "last_is_good"),
    *_texts("declined"),
    *_numbers("judge_calls"),
)
usage = sa.Table(
    "usage",
    metadata,
    sa.Column("trial", sa.String(32), primary_key=True),
    *(sa.Column(name, sa.Text, primary_key=True) for name in ("party", "model", "served", "shape")),
    *_numbers("attempts", *BUCKETS, "least", "most"),
)
about = sa.Table("about", metadata, sa.Column("campaign", sa.String(64), primary_key=True))

TABLES: dict[type[Struct], sa.Table] = {
    TrialRow: trials,
    EffectsRow: effects,
    VerdictRow: verdicts,
    NoteRow: notes,
    UsageRow: usage,
}
