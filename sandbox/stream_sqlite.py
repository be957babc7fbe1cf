"""The recorder of `eventsourcing` over one SQLite file, with one connection and one complete file left behind."""

import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from eventsourcing.sqlite import SQLiteAggregateRecorder, SQLiteConnection, SQLiteConnectionPool, SQLiteDatastore

from sandbox.store_file import APPLICATION_ID, FORMAT


class WriterConnection(SQLiteConnection):
    """A connection that ends a failed commit, and leaves one complete file behind."""

    def commit(self) -> None:
        try:
            super().commit()
        except sqlite3.Error:
            self.rollback()
            raise

    def _close(self) -> None:
        # What is committed is in the log already: where a reader or a full disk is in the way, the log stays.
        with suppress(sqlite3.Error):
            for statement in ("wal_checkpoint(PASSIVE)", f"user_version={FORMAT}", "journal_mode=DELETE"):
                self._sqlite_conn.execute(f"PRAGMA {statement}").fetchall()
        super()._close()


class Pool(SQLiteConnectionPool):
    """One connection for everything: SQLite has one writer, and a refused second connection would keep its place."""

    def __init__(self, uri: str, lock_timeout_s: int, synchronous: str | None) -> None:
        super().__init__(db_name=uri, lock_timeout=lock_timeout_s, pool_size=1, max_overflow=0, pool_timeout=60)
        self.synchronous = synchronous

    def _create_connection(self) -> SQLiteConnection:
        connection = sqlite3.connect(
            self.db_name, timeout=self.lock_timeout or 0, isolation_level=None, check_same_thread=False, uri=True
        )
        try:
            connection.row_factory = sqlite3.Row
            if self.synchronous is None:
                return SQLiteConnection(connection, max_age=None)
            if connection.execute("PRAGMA journal_mode=WAL").fetchone()[0] != "wal":
                raise sqlite3.OperationalError("its file system cannot share memory; put it on a local disk")
            for statement in (f"synchronous={self.synchronous}", f"user_version=-{FORMAT}", "wal_checkpoint(PASSIVE)"):
                connection.execute(f"PRAGMA {statement}").fetchall()
        except BaseException:
            connection.close()
            raise
        return WriterConnection(connection, max_age=None)


class Datastore(SQLiteDatastore):
    """A store's file; for reading only if `synchronous` is None."""

    def __init__(self, path: Path, lock_timeout_s: int, synchronous: str | None) -> None:
        uri = f"{path.absolute().as_uri()}?mode={'ro' if synchronous is None else 'rw'}"
        super().__init__(uri)
        self.pool = Pool(uri, lock_timeout_s, synchronous)


class Recorder(SQLiteAggregateRecorder):
    """Streams as rows of one table."""

    def differing(self, lengths: Mapping[str, int]) -> list[str]:
        """As `Store.differing`, in one statement: a seek in the key for each stream, in its order."""
        last = (
            f"SELECT COALESCE(MAX(originator_version), 0) FROM {self.events_table_name} WHERE originator_id = asked.key"
        )
        with self.datastore.transaction(commit=False) as cursor:
            cursor.execute(
                f"SELECT asked.key FROM json_each(?) AS asked WHERE ({last}) <> asked.value",
                [msgspec.json.encode(lengths, order="sorted").decode()],
            )
            return [row[0] for row in cursor.fetchall()]

    def lacking(self, parts: Mapping[str, str]) -> list[str]:
        """As `Store.lacking`, in one statement: a seek in the key for each stream, in its order."""
        has_it = (
            f"EXISTS (SELECT 1 FROM {self.events_table_name} WHERE originator_id = asked.key "
            f"AND originator_version = 1 AND instr(state, CAST(asked.value AS BLOB)))"
        )
        with self.datastore.transaction(commit=False) as cursor:
            cursor.execute(
                f"SELECT asked.key FROM json_each(?) AS asked WHERE NOT {has_it}",
                [msgspec.json.encode(parts, order="sorted").decode()],
            )
            return [row[0] for row in cursor.fetchall()]


def fill(draft: Path) -> None:
    """Make an empty store in a new file."""
    datastore = SQLiteDatastore(f"{draft.absolute().as_uri()}?mode=rwc")
    try:
        SQLiteAggregateRecorder(datastore).create_table()
        with datastore.get_connection(commit=False) as connection:
            for statement in (f"application_id={APPLICATION_ID}", f"user_version={FORMAT}", "journal_mode=DELETE"):
                connection.cursor().execute(f"PRAGMA {statement}")
    finally:
        datastore.close()
