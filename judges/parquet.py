"""Parquet files, from rows that are made one by one. The only module that imports pyarrow."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from sandbox.refusals import UserFault

Shape: TypeAlias = "str | list[Shape] | dict[str, Shape]"
"""A column's type: `string`, `int64`, `float64` or `bool`; `[shape]` for a list, `{name: shape}` for a struct."""

DECIMAL = "decimal"
"""A shape: decimal numbers, exact to `DECIMALS`."""
DECIMALS = 12
AT_ONCE = 50
"""Rows that are converted together."""
GROUP_BYTES = 32 << 20
"""From which a row group is full, as it is in memory."""


def write(
    path: Path, columns: Mapping[str, Shape], rows: Iterable[Mapping[str, Any]], *, most_bytes: int | None = None
) -> int:
    """
    Write rows into a new file, a row group of them in memory at a time, and return how many.

    Args:
        columns: name and type of each. A value that a row does not have is null, as None is.
        most_bytes: stop at about this size, as it is in memory. Rows that are left stay in the iterator.

    Raises:
        UserFault: pyarrow is not installed.
    """
    arrow, parquet = _pyarrow()
    schema = arrow.schema([(name, _type(arrow, shape)) for name, shape in columns.items()])
    count = 0
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for group in _groups(arrow, schema, iter(rows), most_bytes):
            # One call, one row group; its limit of rows is far beyond what the bytes allow.
            writer.write_table(group, row_group_size=max(1, group.num_rows))
            count += group.num_rows
    return count


def _groups(arrow: Any, schema: Any, rows: Iterator[Mapping[str, Any]], most_bytes: int | None) -> Iterator[Any]:
    """Tables of a row group each."""
    waiting: list[Any] = []
    size = whole = 0
    while some := list(islice(rows, AT_ONCE)):
        batch = arrow.RecordBatch.from_pylist(some, schema=schema)
        waiting.append(batch)
        size, whole = size + batch.nbytes, whole + batch.nbytes
        if size >= GROUP_BYTES:
            yield arrow.Table.from_batches(waiting)
            waiting, size = [], 0
        if most_bytes is not None and whole >= most_bytes:
            break
    if waiting:
        yield arrow.Table.from_batches(waiting)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow  # type: ignore[import-untyped]
        from pyarrow import parquet
    except ImportError:
        raise UserFault(
            "Parquet is written by pyarrow, which is not installed; install it with: pip install 'trialbox[report]'"
        ) from None
    return pyarrow, parquet


def _type(arrow: Any, shape: Shape) -> Any:
    if isinstance(shape, list):
        return arrow.list_(_type(arrow, shape[0]))
    if isinstance(shape, dict):
        return arrow.struct([(name, _type(arrow, inner)) for name, inner in shape.items()])
    if shape == DECIMAL:
        return arrow.decimal128(38, DECIMALS)
    return arrow.type_for_alias(shape)
