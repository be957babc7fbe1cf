"""Sealed files: zip archives whose bytes depend on their parts alone, under a manifest with a digest of each part."""

import struct
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct

from sandbox.drafts import draft_beside
from sandbox.refusals import UserFault
from sandbox.values import canonical, digest

FORMAT = 1
MANIFEST, ROOT = "manifest.json", "root.txt"
CHUNK = 1 << 20

Part = tuple[str, bytes]


class Versions(Struct, frozen=True):
    """What code the campaign was run and judged with."""

    trialbox: str
    domain: str
    """Digest of the domain code."""
    judges: str
    """Digest of the judge code that was installed when the file was sealed."""


class About(Struct, frozen=True):
    """What a manifest says besides its parts."""

    campaign: str
    versions: Versions
    redacted: tuple[str, ...] = ()
    """What was replaced by digests: `texts`, or nothing."""
    missing: tuple[str, ...] = ()
    """Repetitions without a trial that counts, as TASK/REPETITION."""


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """All parts of a sealed file with their digests, by name. Its own digest is the root digest."""

    format: int
    about: About
    parts: tuple[tuple[str, str], ...]


class SealBroken(UserFault):
    """The file is no sealed file, or one that cannot be read at all; the text says where it is damaged."""


_DAMAGED = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, ValueError, OverflowError),
    *(EOFError, OSError, KeyError, IndexError, struct.error),
)
"""What `zipfile` raises for archives that are not as they should be."""


def write_sealed(path: Path, about: About, parts: Iterable[Part]) -> str:
    """
    Write a sealed file; its root digest, 64 hexadecimal characters.

    Args:
        parts: in the order of their names.
    """
    digests: list[tuple[str, str]] = []
    draft = draft_beside(path)
    try:
        with zipfile.ZipFile(draft, "w") as archive:
            for name, content in parts:
                digests.append((name, digest(content).hex()))
                archive.writestr(_entry(name), content)
            manifest = canonical(Manifest(FORMAT, about, tuple(digests)))
            root = digest(manifest).hex()
            archive.writestr(_entry(MANIFEST), manifest)
            archive.writestr(_entry(ROOT), f"{root}\n".encode())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return root


def _entry(name: str) -> zipfile.ZipInfo:
    """A directory entry that says nothing but the name."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.create_system = 3
    entry.external_attr = 0o100644 << 16
    return entry


class SealedFile:
    """
    An open sealed file. What it holds counts only as far as `faults` is empty.

    Raises:
        SealBroken: no manifest can be read from it.
    """

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self._archive = archive
        self._entries = {entry.filename: entry for entry in archive.infolist()}
        try:
            self.manifest = msgspec.json.decode(self.read(MANIFEST), type=Manifest)
        except msgspec.DecodeError as fault:
            raise SealBroken(f"{path}: its manifest cannot be read: {fault}") from None
        if self.manifest.format != FORMAT:
            raise SealBroken(f"{path}: has format {self.manifest.format}, and this version reads {FORMAT}")
        self.names = tuple(name for name, _ in self.manifest.parts)

    @property
    def root(self) -> str:
        """Digest of the manifest, and so of all parts; only as good as where it is compared with."""
        return digest(self.read(MANIFEST)).hex()

    def read(self, name: str) -> bytes:
        """
        The content of a part.

        Raises:
            SealBroken: it is not there or damaged.
        """
        entry = self._entries.get(name)
        if entry is None:
            raise SealBroken(f"{name} is missing")
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise SealBroken(f"{name} is packed in another way than it was sealed")
        try:
            return self._archive.read(entry)
        except _DAMAGED as fault:
            raise SealBroken(f"{name} is damaged: {fault}") from None

    def has(self, name: str) -> bool:
        """Whether there is such a part."""
        return name in self._entries

    def faults(self) -> Iterator[str]:
        """Whatever is not as it was sealed, as far as the file shows it: parts, root digest, every other byte."""
        listed = [*self.names, MANIFEST, ROOT]
        if list(self.names) != sorted(set(self.names)):
            yield f"{MANIFEST} lists parts twice or in another order"
        yield from (f"{name} was added" for name in self._entries if name not in set(listed))
        is_whole = True
        for name, recorded in self.manifest.parts:
            try:
                if digest(self.read(name)).hex() != recorded:
                    yield f"{name} was changed: its digest is not the one in {MANIFEST}"
            except SealBroken as fault:
                is_whole = False
                yield str(fault)
        yield from self._root_faults()
        if is_whole and self.has(ROOT):
            yield from self._frame_faults(listed)

    def _root_faults(self) -> Iterator[str]:
        try:
            if self.read(ROOT) != f"{self.root}\n".encode():
                yield f"{MANIFEST} was changed: its digest is not the one in {ROOT}"
            if canonical(self.manifest) != self.read(MANIFEST):
                yield f"{MANIFEST} is written in another way than it was sealed"
        except SealBroken as fault:
            yield str(fault)

    def _frame_faults(self, listed: list[str]) -> Iterator[str]:
        """Bytes that belong to no part: headers, directory, and what stands before, between or behind."""
        with TemporaryDirectory() as folder:
            again = Path(folder) / "again"
            try:
                with zipfile.ZipFile(again, "w") as archive:
                    for name in listed:
                        archive.writestr(_entry(name), self.read(name))
            except SealBroken as fault:
                yield str(fault)
                return
            place = _first_difference(self.path, again)
        if place is not None:
            before = [entry for entry in self._entries.values() if entry.header_offset <= place]
            near = max(before, key=lambda entry: entry.header_offset).filename if before else "the beginning"
            yield f"byte {place} of the file is not as it was sealed (a header or the directory; at or after {near})"


@contextmanager
def open_sealed(path: Path) -> Iterator[SealedFile]:
    """
    A sealed file, to be read.

    Raises:
        SealBroken: it is none, or so damaged that nothing can be read from it.
    """
    if path.exists() and not path.is_file():
        raise SealBroken(f"{path}: is no regular file, so it can be no sealed campaign: check the path")
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise SealBroken(f"{path}: there is no such file") from None
    except _DAMAGED as fault:
        raise SealBroken(f"{path}: is no zip archive, or damaged: {fault}") from None
    with archive:
        try:
            sealed = SealedFile(path, archive)
        except SealBroken as fault:
            raise SealBroken(f"{path}: no sealed campaign can be read from it: {fault}") from None
        yield sealed


def _first_difference(one: Path, other: Path) -> int | None:
    """The first byte in which two files differ, from 0; None if they are equal."""
    with one.open("rb") as first, other.open("rb") as second:
        place = 0
        while True:
            a, b = first.read(CHUNK), second.read(CHUNK)
            if a != b:
                shared = zip(a, b, strict=False)
                return place + next((at for at, (x, y) in enumerate(shared) if x != y), min(len(a), len(b)))
            if not a:
                return None
            place += len(a)
