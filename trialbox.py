"""The command line: `trialbox COMMAND`. The only module that sees all folders."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

FOLDERS = ("sandbox", "domains", "judges", "replay")


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
    commands = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for folder in ("sandbox", "judges", "replay"):
        import_module(f"{folder}.commands").add_to(commands)
    return made


def told_faults(error: Exception) -> list[Exception]:
    """The faults that whoever runs Trialbox can do something about; none if anything else broke as well."""
    from sandbox.refusals import UserFault
    from sandbox.store_file import StreamFault

    if isinstance(error, ExceptionGroup):
        inner = [told_faults(part) for part in error.exceptions]
        return [fault for faults in inner for fault in faults] if all(inner) else []
    return [error] if isinstance(error, UserFault | StreamFault) else []


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run one command.

    Returns:
        0: done. 1: done, and the answer is no. 2: what was asked cannot be done; the text says why.
    """
    try:
        ensure_own()
        options = parser().parse_args(arguments)
        try:
            return int(options.run(options))
        except Exception as error:
            faults = told_faults(error)
            if not faults:
                raise
            print(f"trialbox {options.command}: {faults[0]}", file=sys.stderr)
            return 2
    except Intruder as fault:
        print(f"trialbox: {fault}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("trialbox: stopped; what was finished is kept, and the same command goes on from there", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
