"""The command line: `trialbox COMMAND`. The only module that sees all folders."""

import argparse
import codecs
import errno
import gc
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

FOLDERS = ("sandbox", "domains", "judges", "replay")
PIPE_CLOSED = 141
"""What a shell reports of a program that wrote to a pipe which nobody reads any more."""
KEPT = "what was finished is kept, and the same command goes on from there"
NOTHING = "nothing was written"
AFTER_STOP = {
    **dict.fromkeys(("run", "fork"), KEPT),
    **dict.fromkeys(("seal", "unseal", "export"), NOTHING),
    "rejudge": "verdicts that it had kept stay",
}
"""What Ctrl-C leaves behind, by command; of the others nothing needs to be said."""
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What is wrong with a disk, told without a file's name by the write that met it."""


class Intruder(RuntimeError):
    """A folder of another project stands in the way of one of ours."""


def ensure_own(folders: Sequence[str] = FOLDERS) -> None:
    """
    Return if every folder was imported from beside this file.

    Raises:
        Intruder: one was not; the names are short, and another project may use one too.
    """
    home = Path(__file__).resolve().parent
    for name in folders:
        found = import_module(name).__file__
        if found is None or Path(found).resolve().parent.parent != home:
            where = found or "a folder without __init__.py"
            raise Intruder(
                f"package {name!r} was imported from {where}, not from {home}; "
                f"run trialbox from another folder, or take the other one off PYTHONPATH"
            )


def parser() -> argparse.ArgumentParser:
    """The whole command line; each folder's commands.py adds its own."""
    made = argparse.ArgumentParser(prog="trialbox", description="Put AI agents on trial by the records they leave.")
    made.add_argument("--version", action=_Version, nargs=0, help="print which version this is")
    commands = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for folder in ("sandbox", "judges", "replay"):
        import_module(f"{folder}.commands").add_to(commands)
    return made


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *given: object) -> None:
        print(f"trialbox {version('trialbox')}")
        parser.exit()


def told_faults(error: Exception) -> list[Exception]:
    """The faults that whoever runs Trialbox can do something about; none if anything else broke as well."""
    from sandbox.refusals import UserFault
    from sandbox.store_file import StreamFault

    if isinstance(error, ExceptionGroup):
        inner = [told_faults(part) for part in error.exceptions]
        return [fault for faults in inner for fault in faults] if all(inner) else []
    if isinstance(error, OSError):
        is_told = error.filename is not None or error.errno in _DISK or isinstance(error, BrokenPipeError)
    else:
        is_told = isinstance(error, UserFault | StreamFault)
    return [error] if is_told else []


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run one command.

    Returns:
        0: done. 1: done, and the answer is no. 2: what was asked cannot be done, or its output cannot be written; the
        text says why. 130: stopped. 141: nobody reads the output any more. What a command had finished is kept.
    """
    codecs.register_error("trialbox", _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="trialbox")
    try:
        code = _answered(arguments)
    except SystemExit as stopped:
        # argparse ends with its own code, and rich with 1 where the pipe is closed.
        is_closed = isinstance(stopped.__context__, BrokenPipeError)
        raise SystemExit(_output_ended(PIPE_CLOSED if is_closed else stopped.code)) from None
    return int(_output_ended(code) or 0)


@contextmanager
def _uncollected() -> Iterator[None]:
    """What is imported stays: neither now nor later is it looked through for garbage, over and over again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            # Once: what is frozen later, where `main` is called again and again, may be garbage one day.
            if not gc.get_freeze_count():
                gc.freeze()
            gc.enable()


def _answered(arguments: Sequence[str] | None) -> int:
    command = ""
    try:
        with _uncollected():
            ensure_own()
            options = parser().parse_args(arguments)
        command = options.command
        try:
            return int(options.run(options))
        except Exception as error:
            faults = told_faults(error)
            if not faults:
                raise
            told = [fault for fault in faults if not isinstance(fault, BrokenPipeError)]
            if not told:
                return PIPE_CLOSED
            _say(f"trialbox {command}: {_worded(told[0])}")
            return 2
    except Intruder as fault:
        _say(f"trialbox: {fault}")
        return 2
    except KeyboardInterrupt:
        left = AFTER_STOP.get(command)
        _say(f"trialbox {command}".rstrip() + ": stopped" + (f"; {left}" if left else ""))
        return 130


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Characters that the terminal's encoding lacks, as `\\u2026`: legible, and JSON stays JSON."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _worded(fault: Exception) -> str:
    if not isinstance(fault, OSError):
        return str(fault)
    if fault.filename is None:
        return f"cannot be written: {fault.strerror}; check the disk and where the output goes"
    return f"{fault.filename}: {fault.strerror}; check the path and its permissions"


def _say(text: str) -> None:
    with suppress(OSError):
        print(_legible(text), file=sys.stderr)


def _legible(text: str) -> str:
    """
    A text that moves no cursor and turns no direction of writing: faults quote packs, stores and agents.

    Bytes of file names that are no text stay, to be written as escapes. A line after the first is indented, so that
    none looks as if it came from elsewhere.
    """
    shown = "".join(c if c.isprintable() or c == "\n" or "\ud800" <= c <= "\udfff" else "·" for c in text)
    return shown.replace("\n", "\n  ")


def _output_ended(code: str | int | None) -> str | int | None:
    """The exit code, once all output is written; another one if it cannot be."""
    fault = _written_out(sys.stdout)
    if isinstance(fault, BrokenPipeError):
        code = PIPE_CLOSED
    elif fault is not None and code != 2:
        _say(f"trialbox: the output {_worded(fault)}")
        code = 2
    _written_out(sys.stderr)
    return code


def _written_out(stream: TextIO | None) -> OSError | None:
    """Why a stream cannot be written; it leads nowhere then, so that the interpreter does not try and complain."""
    if stream is None:
        return None
    try:
        stream.flush()
    except OSError as fault:
        with suppress(OSError), open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())
        return fault
    return None


if __name__ == "__main__":
    sys.exit(main())
