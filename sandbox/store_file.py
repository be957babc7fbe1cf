"""The file that holds a campaign: what its header says, who works on it, and what SQLite's complaints mean."""

import fcntl
import os
import shlex
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID

from msgspec import Struct

from sandbox.drafts import draft_beside

FORMAT = 1
"""Of the store. A store with a higher number is refused."""

APPLICATION_ID = 0x74726278
"""Marks the file as ours, "trbx"."""

_MAGIC = b"SQLite format 3\x00"

_UNWRITABLE = (
    "cannot be written; nothing of this was stored: check the permissions of the file and of its folder, "
    "or open the store for reading only"
)
_REASONS = {
    "SQLITE_FULL": "the disk is full; nothing of this was stored: free some space and append again",
    "SQLITE_BUSY": "the database is locked; nothing of this was stored: end the other process that writes it",
    "SQLITE_LOCKED": "the database is locked; nothing of this was stored: end the other process that writes it",
    "SQLITE_READONLY": _UNWRITABLE,
    "SQLITE_PERM": _UNWRITABLE,
    "SQLITE_CANTOPEN": "cannot be opened: check that its folder exists and can be written; where it cannot, "
    "copy the file and, if it is there, its -wal to another folder",
    "SQLITE_CORRUPT": "the file is damaged: restore it from a copy",
    "SQLITE_NOTADB": "is no Trialbox store: check the path",
    "SQLITE_IOERR": "the disk reported an error, and what was being stored may be there or not: "
    "check the disk and append again, which is safe",
}


class StreamFault(Exception):
    """A stream, or the store, cannot be used as asked; the text names where, why, and what to do."""

    def __init__(self, text: str, *, stream: UUID | None = None, position: int | None = None) -> None:
        super().__init__(text)
        self.stream = stream
        self.position = position


class StreamConflict(StreamFault):
    """Somebody else wrote something else at this position."""


class StoreUnusable(StreamFault):
    """The whole store, not one of its streams, is the trouble."""


class Header(Struct, frozen=True):
    """What the first page of the file says. It is read without SQLite, which would change the folder."""

    application: int
    format: int
    being_written: bool
    """Set while a writer has the store open, and left set by one that was killed."""


def read_header(path: Path) -> Header:
    """
    The header of a store.

    Raises:
        StoreUnusable: no file, no store, or one of a newer format.
    """
    if _is_special(path):
        raise StoreUnusable(f"{path}: is no regular file, so it can be no store: check the path")
    try:
        with path.open("rb") as file:
            page = file.read(100)
    except FileNotFoundError:
        raise StoreUnusable(f"{path}: there is no such store; check the path, or create one") from None
    except OSError as error:
        raise StoreUnusable(f"{path}: cannot be read: {error.strerror}") from error
    version = int.from_bytes(page[60:64], "big", signed=True)
    header = Header(int.from_bytes(page[68:72], "big"), abs(version), version < 0)
    if len(page) < 100 or not page.startswith(_MAGIC) or header.application != APPLICATION_ID:
        raise StoreUnusable(f"{path}: is no Trialbox store: check the path")
    if header.format > FORMAT:
        raise StoreUnusable(
            f"{path}: was written in format {header.format}, and this version reads format {FORMAT}: update Trialbox"
        )
    return header


def is_store(path: Path) -> bool:
    """Whether a file is marked as a store, of whatever format."""
    if _is_special(path):
        return False
    with suppress(OSError), path.open("rb") as file:
        page = file.read(100)
        return page.startswith(_MAGIC) and int.from_bytes(page[68:72], "big") == APPLICATION_ID
    return False


def _is_special(path: Path) -> bool:
    """Whether a path is a pipe, a socket or a device; to read a pipe would wait for whoever writes into it."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def ensure_complete(path: Path, header: Header) -> None:
    """
    Return if the write-ahead log is where it has to be.

    A writer sets its mark in the main file, keeps a log that is never empty, and takes back the mark before it removes
    the log. So a mark without a log says that somebody moved the file alone. A log that lost its end looks like one
    that was never longer: that cannot be seen here.
    """
    log = log_of(path)
    if header.being_written and not (log.exists() and log.stat().st_size):
        raise StoreUnusable(
            f"{path}: was not closed, and its write-ahead log {log.name} is missing: records may be lost, unless "
            f"another program has closed the log; copy {log.name} beside it, or go on with what is there: "
            f"trialbox recover {shlex.quote(str(path))}"
        )


def place_whole(path: Path, fill: Callable[[Path], None]) -> None:
    """Make a file that is whole from its first moment; one that somebody else placed meanwhile is left alone."""
    draft = draft_beside(path)
    try:
        draft.unlink(missing_ok=True)
        fill(draft)
        with suppress(FileExistsError):
            os.link(draft, path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise StoreUnusable(f"{path}: cannot be created: {error.strerror}") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def log_of(path: Path) -> Path:
    """Where SQLite keeps what is not yet in the main file."""
    return path.with_name(f"{path.name}-wal")


def explained(path: object, error: BaseException) -> StoreUnusable:
    """A database error in words."""
    origin: BaseException | None = error
    while origin is not None and not isinstance(origin, sqlite3.Error):
        origin = origin.__cause__
    name = str(getattr(origin, "sqlite_errorname", ""))
    reason = next((text for prefix, text in _REASONS.items() if name.startswith(prefix)), None)
    return StoreUnusable(f"{path}: {reason or 'the store refused: ' + (str(error) or type(error).__name__)}")


@contextmanager
def leased(path: Path, holder: str) -> Iterator[None]:
    """
    Keep everybody else off while inside. The lock dies with the process; the file stays and is never waited for.

    Args:
        holder: who this is, as others will read it.

    Raises:
        StoreUnusable: somebody else has it; named.
    """
    lock = path.with_name(f"{path.name}.lock")
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise StoreUnusable(f"{lock}: cannot be created, so the campaign cannot be leased: {error.strerror}") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = os.pread(handle, 1000, 0).decode(errors="replace") or "somebody"
            raise StoreUnusable(f"{path}: {other} is working on it; wait until that ends, or stop it") from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{holder} (process {os.getpid()})".encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)
