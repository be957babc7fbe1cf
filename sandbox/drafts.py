"""Drafts: what is written beside its place until it is whole, and what killed processes left of theirs."""

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path


def draft_beside(path: Path) -> Path:
    """Where this process writes what is to be at a path; what dead processes left of the same is removed."""
    mine = re.compile(rf"\.{re.escape(path.name)}\.([1-9][0-9]*)(?:-wal|-shm|-journal|\.lock)?")
    with suppress(OSError):
        for left in list(path.parent.iterdir()):
            found = mine.fullmatch(left.name)
            if found is not None and not _is_alive(int(found[1])):
                _remove(left)
    return path.with_name(f".{path.name}.{os.getpid()}")


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # it is somebody else's
    return True


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        path.unlink(missing_ok=True)
