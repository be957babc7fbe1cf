"""Where an export goes: it is there as a whole, or not at all."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.drafts import draft_beside
from sandbox.refusals import UserFault


class NotWritten(UserFault):
    """An export that could not be written; nothing of it is left."""


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """
    A file to write, which is renamed to `path` when the block has ended well.

    Raises:
        NotWritten: something is there already, or the disk says no.
    """
    with _placed(path) as draft:
        try:
            yield draft
        except BaseException:
            draft.unlink(missing_ok=True)
            raise


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """As `new_file`, with a folder."""
    with _placed(path) as draft:
        draft.mkdir()
        try:
            yield draft
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise


@contextmanager
def _placed(path: Path) -> Iterator[Path]:
    ensure_free(path)
    draft = draft_beside(path)
    try:
        yield draft
        ensure_free(path)
        draft.rename(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise NotWritten(f"{path}: cannot be written: {reason}; nothing of it is left, mend that and repeat") from error


def ensure_free(path: Path) -> None:
    """Return if nothing is at a path; NotWritten if something is."""
    if path.exists() or path.is_symlink():
        raise NotWritten(f"{path} is there already; what was exported is not overwritten, so choose another name")
