"""The files of a pack, from its folder or from a ZIP archive of it, read with limits."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from stat import S_IFMT, S_ISLNK
from zipfile import BadZipFile, ZipFile, ZipInfo
from zlib import error as ZlibError

from sandbox.refusals import UserFault

MOST_BYTES = 64 * 1024 * 1024
"""Of one file."""
MOST_TOTAL_BYTES = 256 * 1024 * 1024
MOST_FILES = 20_000
_UNREADABLE = (BadZipFile, ZlibError, OSError, EOFError, NotImplementedError, RuntimeError)


class PackFault(UserFault):
    """A pack that cannot be used; the text names file, place, value, reason and the nearest valid name."""


class PackFiles:
    """
    The texts of a pack by their names: `pack.yaml`, `seed/crm_users.json`. All of it is read at once.

    Args:
        path: the folder, or a .zip archive that holds the files or one folder with them.

    Raises:
        PackFault: there is no such folder or archive, or a file in it is a link, outside of it, huge or no UTF-8.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.is_dir():
            # Looked for first: what else stands in a folder that is no pack is nobody's mistake.
            self._texts = _of_folder(path) if (path / "pack.yaml").exists() else {}
        elif path.is_file():
            self._texts = _of_archive(path)
        else:
            raise PackFault(f"there is no pack {path}; name a folder with a pack.yaml, or a .zip archive of it")
        if "pack.yaml" not in self._texts:
            raise PackFault(f"{path} holds no pack.yaml, so it is no pack; see docs/packs.md")

    @property
    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._texts)

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return name in self._texts

    def text(self, name: str) -> str:
        """A file's text; nothing if it is not there."""
        return self._texts.get(name, "")

    def within(self, folder: str) -> list[str]:
        """The names of a folder's files, sorted."""
        return [name for name in self.names if name.startswith(f"{folder}/")]

    def fault(self, name: str, reason: str) -> PackFault:
        """What is wrong with one file."""
        return PackFault(f"{self.path}/{name}: {reason}")


def _of_folder(folder: Path) -> dict[str, str]:
    texts: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if _is_hidden(name):
            continue
        if path.is_symlink():
            raise PackFault(f"{folder}/{name} is a link; a pack holds its files itself")
        if path.is_file():
            _ensure_small(f"{folder}/{name}", path.stat().st_size, len(texts))
            texts[name] = _text(f"{folder}/{name}", path.read_bytes)
    return texts


def _of_archive(path: Path) -> dict[str, str]:
    try:
        with ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            total = sum(entry.file_size for entry in entries)
            if total > MOST_TOTAL_BYTES:
                raise PackFault(f"{path} unpacks to {total} bytes; a pack has at most {MOST_TOTAL_BYTES}")
            texts: dict[str, str] = {}
            for entry in entries:
                _ensure_inside(path, entry)
                if _is_hidden(entry.filename):
                    continue
                if entry.filename in texts:
                    raise PackFault(f"{path}/{entry.filename} is in the archive twice; make the archive anew")
                _ensure_small(f"{path}/{entry.filename}", entry.file_size, len(texts))
                texts[entry.filename] = _text(f"{path}/{entry.filename}", partial(archive.read, entry))
    except _UNREADABLE as error:
        raise PackFault(f"{path} is no ZIP archive that can be read: {error}") from None
    tops = {name.partition("/")[0] for name in texts}
    if "pack.yaml" not in texts and len(tops) == 1:
        return {name.partition("/")[2]: text for name, text in texts.items()}
    return texts


def _ensure_inside(path: Path, entry: ZipInfo) -> None:
    name = entry.filename
    kind = entry.external_attr >> 16
    if S_IFMT(kind) and S_ISLNK(kind):
        raise PackFault(f"{path}/{name} is a link; a pack holds its files itself")
    if name.startswith("/") or "\\" in name or ":" in name or any(part in ("", ".", "..") for part in name.split("/")):
        raise PackFault(f"{path}: entry {name!r} leads out of the archive; make the archive anew")


def _ensure_small(where: str, size: int, files: int) -> None:
    if size > MOST_BYTES:
        raise PackFault(f"{where} has {size} bytes; a file of a pack has at most {MOST_BYTES}")
    if files >= MOST_FILES:
        raise PackFault(f"{where} is one file too many; a pack has at most {MOST_FILES}")


def _is_hidden(name: str) -> bool:
    """What operating systems and editors leave behind."""
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/"))


def _text(where: str, read: Callable[[], bytes]) -> str:
    try:
        return read().decode()
    except UnicodeDecodeError as error:
        raise PackFault(f"{where} is no UTF-8 text: {error}") from None
