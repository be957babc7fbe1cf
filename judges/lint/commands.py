"""Commands for people who write tasks: `lint` and `schema`."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import msgspec
from rich.console import Console

from judges.lint.floor import Floor, floor, floor_table
from judges.lint.pack import Pack, opened
from judges.lint.report import Report
from judges.lint.run import lint, read
from judges.lint.task_schema import task_schema
from sandbox.registry import domain_names

SCHEMAS = {"task": task_schema}


def add_to(commands: Any) -> None:
    """`lint` and `schema`."""
    linting = commands.add_parser("lint", help="find what is wrong with tasks before an agent is tried on them")
    linting.add_argument("pack", nargs="?", help="a domain, or the folder of a pack; all installed domains by default")
    linting.add_argument("--floor", action="store_true", help="what agents get who change nothing")
    linting.add_argument("--json", action="store_true", help="for programs")
    linting.set_defaults(run=_lint)
    shown = commands.add_parser("schema", help="print the JSON Schema of a task file")
    shown.add_argument("kind", choices=sorted(SCHEMAS))
    shown.set_defaults(run=_schema)


def _lint(options: argparse.Namespace) -> int:
    packs = [opened(name) for name in ([options.pack] if options.pack else domain_names())]
    return _floor(packs, options.json) if options.floor else _remarks(packs, options.json)


def _remarks(packs: Sequence[Pack], as_json: bool) -> int:
    reports = [lint(pack) for pack in packs]
    if as_json:
        print(_json(reports))
    else:
        for report in reports:
            for remark in report.remarks:
                print(remark)
            print(_summed(report))
    return max((report.exit_code for report in reports), default=0)


def _summed(report: Report) -> str:
    return f"{report.pack}: {report.tasks} tasks, {report.errors} errors, {report.warnings} warnings"


def _floor(packs: Sequence[Pack], as_json: bool) -> int:
    floors: list[Floor] = []
    codes = []
    for pack in packs:
        reading = read(pack)
        floors.append(floor(pack.name, reading.cases))
        codes.append(Report(pack.name, len(reading.cases), reading.remarks).exit_code or int(floors[-1].errors > 0))
        for remark in reading.remarks:
            print(remark, file=sys.stderr)
    if as_json:
        print(_json(floors))
    else:
        Console(soft_wrap=True).print(floor_table(floors))
        for one in floors:
            for line in (*one.passed, *one.unjudged):
                print(line)
    return max(codes, default=0)


def _json(values: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(values), indent=2).decode()


def _schema(options: argparse.Namespace) -> int:
    print(json.dumps(SCHEMAS[options.kind](), indent=2))
    return 0
