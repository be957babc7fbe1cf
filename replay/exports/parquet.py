"""Campaigns as a data set: Parquet files and the card that the Hugging Face hub and its viewer read."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from judges.parquet import write
from replay.exports.card import card_of
from replay.exports.rows import columns, row_of
from replay.exports.source import Source
from replay.exports.target import new_folder
from sandbox.refusals import UserFault

SHARD_BYTES = 256 << 20
"""Of a file, as its rows are in memory; on disk it is a fraction of that."""


def export_parquet(
    sources: Sequence[Source],
    path: Path,
    *,
    licence: str = "unknown",
    with_required: bool = False,
    shard_bytes: int = SHARD_BYTES,
) -> int:
    """
    Write a data set into a new folder, a row for each trial that counts, and return how many.

    Args:
        licence: as the hub names it, for the card.
        with_required: whether findings tell what was required, which is the expectation's.
    """
    shapes = columns(with_required=with_required)
    rows = (row_of(trial, with_required=with_required) for source in sources for trial in source.trials())
    with new_folder(path) as folder:
        data = folder / "data"
        data.mkdir()
        counts = [write(data / str(place), shapes, some, most_bytes=shard_bytes) for place, some in _parts(rows)]
        if not counts:
            names = ", ".join(source.seal.name for source in sources)
            raise UserFault(f"no trial of {names} counts, so there is nothing to export; run the campaign first")
        for place in range(len(counts)):
            (data / str(place)).rename(data / f"train-{place:05d}-of-{len(counts):05d}.parquet")
        size = sum(file.stat().st_size for file in data.iterdir())
        card = card_of(sources, shapes, sum(counts), size, licence)
        (folder / "README.md").write_text(card, encoding="utf-8")
    return sum(counts)


def _parts(rows: Iterator[dict[str, Any]]) -> Iterator[tuple[int, Iterator[dict[str, Any]]]]:
    """All rows that are left, again and again, as long as there are some."""
    for place, first in enumerate(rows):
        yield place, chain([first], rows)
