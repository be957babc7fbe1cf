"""Stores that somebody damaged: records deleted with SQLite, so that what is left is chained as it was."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from uuid import UUID


def without(store: Path, copy: Path, *streams: UUID, after: int = 0) -> Path:
    """A copy of a store whose streams end after a position; by default they are gone."""
    shutil.copy(store, copy)
    with closing(sqlite3.connect(copy)) as connection, connection:
        [(table,)] = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%originator_id%' AND name LIKE '%events'"
        )
        for stream in streams:
            lost = (stream.hex, after)
            query = f"DELETE FROM {table} WHERE originator_id = ? AND originator_version > ?"
            assert connection.execute(query, lost).rowcount > 0
    return copy
