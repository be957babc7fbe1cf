"""Files of results, read with limits: lines one by one, or one JSON document, as they are or packed with gzip."""

import gzip
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from msgspec import Struct

from sandbox.foreign import ImportFault

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes."""
LARGEST_DOCUMENT = 1024 * 1024 * 1024
"""Bytes, unpacked."""
UNREAD = frozenset({"content", "raw_data", "policy", "result_db_state", "initial_db_state", "golden_db_state"})
"""Fields that may be large, and that no result hangs on: they are dropped while a document is read."""
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile)


class Line(Struct, frozen=True):
    """A line that holds something."""

    number: int
    """From 1."""
    value: Any
    """What its JSON says."""


def sha256_of(path: Path) -> str:
    """Hexadecimal; ImportFault if there is no such file."""
    if not path.is_file():
        raise ImportFault(f"{path} is no file; name the files with the results one by one")
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ImportFault(f"{path} cannot be read: {error.strerror}") from None


def lines_of(path: Path) -> Iterator[Line]:
    """
    What the lines of a file hold, one by one; blank ones are passed over.

    Raises:
        ImportFault: a line is no JSON or too long, the file is empty or cannot be read; file and line are named.
    """
    number, is_empty = 0, True
    with _opened(path) as file:
        while text := file.readline(LONGEST_LINE + 1):
            number += 1
            if len(text) > LONGEST_LINE:
                raise ImportFault(f"{path}, line {number} has more than {LONGEST_LINE:,} bytes; no row is that long")
            if stripped := text.strip():
                is_empty = False
                yield Line(number, json_in(stripped, f"{path}, line {number}", drops=False))
    if is_empty:
        raise ImportFault(f"{path} is empty; there is nothing to import")


def document_of(path: Path) -> Any:
    """The one JSON value in a file, without `UNREAD`; ImportFault if it is none, too large, or cannot be read."""
    with _opened(path) as file:
        content = file.read(LARGEST_DOCUMENT + 1)
    if len(content) > LARGEST_DOCUMENT:
        raise ImportFault(f"{path} has more than {LARGEST_DOCUMENT:,} bytes; split it by tasks and import the parts")
    if not content.strip():
        raise ImportFault(f"{path} is empty; there is nothing to import")
    return json_in(content, str(path), drops=True)


def json_in(content: bytes, where: str, *, drops: bool) -> Any:
    """
    What JSON says.

    Not-a-number is read as such: it may stand where nothing hangs on it, and is refused where something does.

    Args:
        drops: whether `UNREAD` is left out.
    """
    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_kept if drops else _unique)
    except UnicodeDecodeError as error:
        raise ImportFault(f"{where} is not UTF-8: byte {error.start + 1}; save it as UTF-8") from None
    except RecursionError:
        raise ImportFault(f"{where} is no JSON that can be read: it is nested too deep") from None
    except ValueError as error:
        raise ImportFault(f"{where} is no JSON that can be read: {error}") from None


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """A file's bytes, unpacked; what is wrong with them is told with its name."""
    try:
        with path.open("rb") as plain:
            is_packed = plain.read(2) == b"\x1f\x8b"
            plain.seek(0)
            if not is_packed:
                yield plain
                return
            with gzip.open(plain, "rb") as unpacked:
                yield cast(IO[bytes], unpacked)
    except _BROKEN as error:
        raise ImportFault(f"{path} is packed with gzip and damaged: {error}") from None
    except OSError as error:
        raise ImportFault(f"{path} cannot be read: {error.strerror or error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        times = Counter(name for name, _ in pairs)
        raise ValueError(f"key {next(name for name in times if times[name] > 1)[:40]!r} stands twice")
    return made


def _kept(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = _unique(pairs)
    for name in UNREAD & made.keys():
        del made[name]
    return made
