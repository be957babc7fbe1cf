"""What it costs to seal ten thousand trials, and to verify them: every byte, chain, fold and verdict."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import msgspec
from msgspec.structs import replace

from judges.court import judgements, keep_judgements
from judges.record import Judgement
from replay.seal import seal
from replay.sealed_store import KINDS
from replay.verify import verified
from sandbox.archive import sealed_in
from sandbox.records import Chain, Draft, Record, TrialKey, TrialOpened, decoded, encode_payload
from sandbox.stream import Batch, Store
from sandbox.values import canonical
from tests.bench import Line
from tests.replay.runs import COMMENT, GOLDEN, SOLVE, TASK, ran

TRIALS = 10_000
MOST_VERIFY_S = 60.0


def measure() -> list[Line]:
    """Seal and verify."""
    with TemporaryDirectory() as folder:
        one = ran(Path(folder) / "one.db", [*GOLDEN[:9], SOLVE, COMMENT])
        many, file = Path(folder) / "many.db", Path(folder) / "many.sealed"
        with Store.open(one, read_only=True) as source, Store.open(many, create=True) as store:
            records = multiplied(source, store, TRIALS)
        with Store.open(many, read_only=True) as store:
            start = time.perf_counter()
            seal(store, file)
            sealing = time.perf_counter() - start
        start = time.perf_counter()
        found = verified(file)
        verifying = time.perf_counter() - start
        assert found.is_verified
        assert found.trials == TRIALS
        size = file.stat().st_size / 1e6
    return [
        Line(f"seal {TRIALS:,} trials of {records} records", f"{sealing:.1f} s, {size:.0f} MB", "", None),
        Line(
            f"verify them: {TRIALS:,} folded and judged again",
            f"{verifying:.1f} s",
            f"≤ {MOST_VERIFY_S:.0f} s",
            verifying <= MOST_VERIFY_S,
        ),
    ]


def multiplied(source: Store, store: Store, count: int) -> int:
    """Put a campaign into a store whose trials are all like the one in `source`; how many records each has."""
    campaign = sealed_in(source)
    for kind in (kind for kind in KINDS if kind not in ("judgement", "campaign")):
        for name in source.names(kind):
            store.keep(kind, name, source.kept(kind, name) or b"")
    store.keep("campaign", "seal", canonical(msgspec.to_builtins(replace(campaign, repetitions=count))))
    [judgement] = judgements(source)
    records = source.read(UUID(judgement.trial))
    for start in range(0, count, 500):
        keys = [TrialKey(campaign.name, TASK, number, 1) for number in range(start, min(start + 500, count))]
        batches: list[Batch] = [(key.id, copied(records, key)) for key in keys]
        assert store.append(batches) == [None] * len(batches)
        keep_judgements(store, [of_trial(judgement, key) for key in keys], ())
    return len(records)


def of_trial(judgement: Judgement, key: TrialKey) -> Judgement:
    """The same judgement on another trial."""
    return replace(judgement, trial=key.id.hex)


def copied(records: list[Record], key: TrialKey) -> list[Record]:
    """The same trial under another key."""
    chain, made = Chain(key.id), list[Record]()
    batches: dict[int, list[Record]] = {}
    for record in records:
        batches.setdefault(record.cause or -record.position, []).append(record)
    for batch in batches.values():
        drafts = [Draft(r.topic, r.time, _payload(r, key), r.cause != 0) for r in batch]
        sealed = chain.sealed(drafts, batch[0].telemetry)
        chain.advance(sealed)
        made += sealed
    return made


def _payload(record: Record, key: TrialKey) -> bytes:
    opened = decoded(record)
    return encode_payload(replace(opened, key=key)) if isinstance(opened, TrialOpened) else record.payload
