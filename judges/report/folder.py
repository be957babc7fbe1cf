"""The folder of a report: written whole, or not at all; and never over anything else."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from judges.lines import printable
from judges.report.markdown import markdown
from judges.report.page import page
from judges.report.plain import csv, write_parquet
from judges.report.report import Report
from judges.report.table import as_values
from sandbox.drafts import draft_beside
from sandbox.refusals import UserFault

FORMAT = 1
KIND = "trialbox report"
INDEX = "report.json"


class FolderFault(UserFault):
    """A folder that a report may not be written to; the text says why."""


def write_report(report: Report, folder: Path) -> list[str]:
    """
    Write a report, and return its files, as paths in the folder.

    Everything is written beside the folder first and then put in its place: a reader finds the old one or the new one.

    Raises:
        FolderFault: the folder has something else in it than a report, or cannot be written.
    """
    whole = folder.resolve()
    ensure_replaceable(whole)
    try:
        whole.parent.mkdir(parents=True, exist_ok=True)
        with _beside(whole) as new:
            files = _write(report, new)
            _put_in_place(new, whole)
    except OSError as error:
        raise FolderFault(f"{folder} cannot be written: {error.strerror or error}; give another with -o") from None
    return files


def ensure_replaceable(folder: Path) -> None:
    """Return if a folder is not there, empty, or a report and nothing else; FolderFault says what is in the way."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise FolderFault(f"{folder} is a file; name a folder with -o")
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_symlink() or path.is_file()}
    if not found and not any(folder.iterdir()):
        return
    own = _files_of(folder / INDEX)
    if own is None:
        raise FolderFault(f"{folder} is not empty and holds no report; name a new folder, or a report to replace")
    if strange := sorted(found - own):
        raise FolderFault(f"{folder} holds a report, and {strange[0]}, which is none of it; move it away first")


def _files_of(index: Path) -> set[str] | None:
    """What a report says that it consists of; None if it is none."""
    try:
        content = json.loads(index.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or content.get("kind") != KIND or not isinstance(content.get("files"), list):
        return None
    return {str(name) for name in content["files"]}


@contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """The path of a folder beside another; what is in it afterwards, or was left in it, is thrown away."""
    path = draft_beside(folder)
    shutil.rmtree(path, ignore_errors=True)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _put_in_place(new: Path, folder: Path) -> None:
    with _beside(folder.with_name(f"{folder.name}.old")) as old:
        if not folder.exists():
            new.rename(folder)
            return
        folder.rename(old)
        try:
            new.rename(folder)
        except OSError:
            old.rename(folder)
            raise


def _write(report: Report, folder: Path) -> list[str]:
    for place in (folder, folder / "tables", folder / "figures"):
        place.mkdir()
    files = ["index.html", "report.md", INDEX]
    for table in report.tables:
        _write_text(folder / "tables" / f"{table.name}.csv", csv(table))
        write_parquet(folder / "tables" / f"{table.name}.parquet", table)
        files += [f"tables/{table.name}.csv", f"tables/{table.name}.parquet"]
    for picture in report.pictures:
        for ending, content in (("svg", picture.svg), ("png", picture.png)):
            (folder / "figures" / f"{picture.name}.{ending}").write_bytes(content)
            files.append(f"figures/{picture.name}.{ending}")
    _write_text(folder / "index.html", page(report))
    _write_text(folder / "report.md", markdown(report))
    _write_text(folder / INDEX, json.dumps(values(report, files), ensure_ascii=False, indent=1) + "\n")
    return files


def _write_text(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "backslashreplace"))


def values(report: Report, files: list[str]) -> dict[str, Any]:
    """A report as JSON values: everything but the pictures themselves, unrounded; every text is printable."""
    found: dict[str, Any] = _printable(_values(report, files))
    return found


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(name): _printable(item) for name, item in value.items()}
    return [_printable(item) for item in value] if isinstance(value, list | tuple) else value


def _values(report: Report, files: list[str]) -> dict[str, Any]:
    return {
        "kind": KIND,
        "format": FORMAT,
        "version": report.version,
        "title": report.title,
        "policy": report.policy,
        "summary": list(report.summary),
        "stores": list(report.stores),
        "tables": as_values(report.tables),
        "figures": [
            {"name": picture.name, "table": section.table.name, "alt": picture.alt, "caption": picture.caption}
            for section in report.sections
            for picture in section.pictures
        ],
        "files": files,
    }
