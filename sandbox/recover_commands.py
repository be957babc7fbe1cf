"""`trialbox recover`: go on with a store whose write-ahead log is gone, after saying what is in it."""

import argparse
from itertools import takewhile
from pathlib import Path
from typing import Any

from sandbox.archive import attempts_of, keys_of, newest_seal
from sandbox.fold import end_of
from sandbox.refusals import UserFault
from sandbox.store_file import log_of, read_header
from sandbox.stream import Store


def add_to(commands: Any) -> None:
    """`recover`."""
    told = commands.add_parser("recover", help="go on with a store whose write-ahead log is gone")
    told.add_argument("store", type=Path, help="a file that was not closed, and whose -wal file is not there")
    told.set_defaults(run=_recover)


def _recover(options: argparse.Namespace) -> int:
    path: Path = options.store
    log = log_of(path)
    if not read_header(path).being_written or (log.exists() and log.stat().st_size):
        raise UserFault(f"{path}: there is nothing to recover; it was closed, or its log {log.name} is there")
    with Store.open(path, without_log=True) as store:
        print(f"{path}: {_told(store)}")
    print("if another program closed the log, that is all there was; if it was lost, its last records are missing")
    return 0


def _told(store: Store) -> str:
    """What is there, every chain verified; StreamFault at the first that is broken."""
    seal = newest_seal(store)
    if seal is None:
        return "no campaign had begun"
    ended = begun = 0
    for first in keys_of(seal):
        streams = (store.read(key.id) for key in attempts_of(first))
        for records in takewhile(bool, streams):
            begun += 1
            ended += end_of(records) is not None
    return f"campaign {seal.name!r}: {ended} trials ended, {begun - ended} interrupted"
