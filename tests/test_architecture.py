"""Who may look where: the rules hold in the tree, and each of them bites when it is broken."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.architecture import LONGEST, complaints, names_not_exported, public_names

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("sandbox", "domains", "judges", "replay")
FILES = [*ROOT.glob("*.py"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))]
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in FILES)


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def project() -> dict[str, Any]:
    return tomllib.loads(text("pyproject.toml"))


def module_exists(dotted: str) -> bool:
    path = ROOT.joinpath(*dotted.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


@pytest.mark.parametrize("path", MODULES)
def test_module_keeps_to_the_architecture(path: str) -> None:
    assert complaints(path, text(path)) == []


def test_domains_import_only_what_the_sandbox_exports() -> None:
    public = public_names(text("sandbox/__init__.py"))
    assert [wrong for path in MODULES for wrong in names_not_exported(path, text(path), public)] == []


def test_top_level_names_are_the_listed_ones() -> None:
    found = {p.name for p in ROOT.iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()}
    assert found == {*FOLDERS, "tests", "trialbox.py", "pytest_trialbox.py"}


def test_each_folder_is_typed_and_every_folder_with_modules_is_a_package() -> None:
    assert [folder for folder in FOLDERS if not (ROOT / folder / "py.typed").is_file()] == []
    folders = {(ROOT / path).parent for path in MODULES} - {ROOT}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_every_module_that_pyproject_names_exists() -> None:
    stated = project()["project"]
    groups = [stated["scripts"], *stated["entry-points"].values()]
    modules = {target.partition(":")[0] for group in groups for target in group.values()}
    packages = {name for name in project()["tool"]["setuptools"]["packages"]["find"]["include"] if "*" not in name}
    assert packages == set(FOLDERS)
    assert [name for name in sorted(modules | packages) if not module_exists(name)] == []


BROKEN = [
    # directions
    ("sandbox/trial.py", "import judges", "sandbox must not import judges"),
    ("sandbox/trial.py", "def f():\n    from replay.fork import fork", "sandbox must not import replay"),
    ("sandbox/commands.py", "import domains.retail", "sandbox must not import domains"),
    ("sandbox/trial.py", "import trialbox", "sandbox must not import trialbox"),
    ("sandbox/trial.py", "from ..judges import verdict", "sandbox must not import judges"),
    ("sandbox/trial.py", "import_module('judges.rubric')", "sandbox must not import judges"),
    ("domains/retail/orders.py", "from judges import Verdict", "domains must not import judges"),
    ("domains/retail/orders.py", "import replay", "domains must not import replay"),
    ("judges/effects.py", "from domains.retail import domain", "judges must not import domains"),
    ("judges/effects.py", "import replay", "judges must not import replay"),
    ("replay/fork.py", "from domains import retail", "replay must not import domains"),
    ("replay/commands.py", "import trialbox", "replay must not import trialbox"),
    ("judges/effects.py", "from tests.conftest import world", "judges must not import tests"),
    ("trialbox.py", "import tests", "trialbox.py must not import tests"),
    # the sandbox's public names
    ("domains/retail/orders.py", "from sandbox.rows import Row", "sandbox.rows is not public"),
    ("domains/shared/mail.py", "import sandbox.stream", "sandbox.stream is not public"),
    ("domains/retail/orders.py", "import sandbox", "sandbox is not public"),
    ("domains/retail/orders.py", "from sandbox import *", "sandbox is not public"),
    # domains among themselves
    ("domains/retail/orders.py", "from domains.travel import flights", "retail must not import domains.travel.flights"),
    ("domains/retail/orders.py", "from domains import travel", "retail must not import domains.travel"),
    ("domains/retail/orders.py", "from ..travel import flights", "retail must not import domains.travel.flights"),
    ("domains/shared/mail.py", "import domains.retail", "shared must not import domains.retail"),
    ("domains/retail/orders.py", "import domains", "retail must not import domains"),
    # doors
    ("sandbox/views.py", "import eventsourcing.persistence", "eventsourcing is imported only in sandbox/stream*.py"),
    ("sandbox/stream.py", "from sqlalchemy import select", "sqlalchemy is imported only in sandbox/view*.py"),
    ("sandbox/serve.py", "from mcp.server import Server", "mcp is imported only in sandbox/mcp_*.py"),
    ("judges/mcp_door.py", "import mcp_types", "mcp_types is imported only in sandbox/mcp_*.py"),
    ("judges/rubric.py", "import openai", "openai is imported only in sandbox/model.py"),
    ("judges/trials.py", "import pytest", "pytest is imported only in pytest_trialbox.py"),
    ("domains/shared/wiki.py", "import tantivy", "tantivy is imported only in sandbox/search.py"),
    ("replay/exports/rows.py", "import pyarrow.parquet", "pyarrow is imported only in judges/parquet.py"),
    ("replay/exports/spans.py", "from opentelemetry import trace", "opentelemetry is imported only in replay/exports/"),
    # purity of domains
    ("domains/retail/orders.py", "import time", "no time in a domain"),
    ("domains/retail/orders.py", "from datetime import datetime\nt = datetime.now()", "no datetime.now in a domain"),
    ("domains/retail/orders.py", "t = dt.datetime.utcnow()", "no datetime.utcnow in a domain"),
    ("domains/retail/orders.py", "t = date.today()", "no date.today in a domain"),
    ("domains/retail/orders.py", "made = field(default_factory=datetime.now)", "no datetime.now in a domain"),
    ("domains/retail/orders.py", "t = pendulum().now()", "no .now() in a domain"),
    ("domains/retail/orders.py", "from uuid import uuid4", "no uuid in a domain"),
    ("domains/retail/orders.py", "import random", "no random in a domain"),
    ("domains/retail/orders.py", "import secrets", "no secrets in a domain"),
    ("domains/retail/orders.py", "import os.path", "no os in a domain"),
    ("domains/retail/orders.py", "seeds = open('seeds.json')", "no open() in a domain"),
    ("domains/retail/orders.py", "seeds = Path('seeds.json').read_text()", "no .read_text() in a domain"),
    ("domains/retail/orders.py", "Path('log').write_bytes(b'')", "no .write_bytes() in a domain"),
    ("domains/retail/orders.py", "seeds = Path('seeds').glob('*.json')", "no .glob() in a domain"),
    ("domains/retail/importers/orders.py", "Path('a').read_text()", "no .read_text() in a domain"),
    ("domains/importers.py", "Path('a').read_text()", "no .read_text() in a domain"),
    ("domains/importers_too/a.py", "open('a')", "no open() in a domain"),
    ("domains/importers/a.py", "import time", "no time in a domain"),
    ("domains/importers/a.py", "import importlib", "no importlib in a domain"),
    ("domains/importers/a.py", "exec('1')", "no exec() in a domain"),
    ("domains/importers/a.py", "from judges.packs import Pack", "domains must not import judges"),
    ("domains/importers/a.py", "from sandbox.foreign import text_of", "sandbox.foreign is not public"),
    ("domains/importers/a.py", "import domains.retail", "importers must not import domains.retail"),
    ("domains/retail/orders.py", "import domains.importers.a", "retail must not import domains.importers.a"),
    ("domains/retail/orders.py", "import logging", "no logging in a domain"),
    ("domains/retail/orders.py", "import asyncio", "no asyncio in a domain"),
    ("domains/retail/orders.py", "import anyio", "no anyio in a domain"),
    ("domains/retail/orders.py", "async def refund(): ...", "no async in a domain"),
    ("domains/retail/orders.py", "import importlib", "no importlib in a domain"),
    ("domains/retail/orders.py", "eval('1')", "no eval() in a domain"),
    # nothing left for later, nothing too long
    ("judges/effects.py", "def f():\n    raise NotImplementedError", "a function that is not implemented"),
    ("replay/fork.py", "def f():\n    raise NotImplementedError('later')", "a function that is not implemented"),
    ("sandbox/trial.py", "x = 1\n" * (LONGEST + 1), f"{LONGEST + 1} lines"),
]


@pytest.mark.parametrize(("path", "source", "complaint"), BROKEN)
def test_a_broken_rule_is_named_with_its_line(path: str, source: str, complaint: str) -> None:
    [found] = complaints(path, source)
    line = len(source.splitlines())
    assert found.startswith(f"{path}:{line}: ")
    assert complaint in found


ALLOWED = [
    ("sandbox/trial.py", "from sandbox.stream import Stream\nimport os, time, asyncio, uuid"),
    ("sandbox/stream.py", "from eventsourcing.persistence import StoredEvent"),
    ("sandbox/views.py", "import sqlalchemy.orm"),
    ("sandbox/mcp_server.py", "import mcp.server\nfrom mcp_types import Tool"),
    ("sandbox/model.py", "from openai import AsyncOpenAI"),
    ("sandbox/search.py", "import tantivy"),
    ("domains/retail/orders.py", "from sandbox import Call, Row\nfrom domains.retail.rows import Order"),
    ("domains/retail/orders.py", "from domains.shared import helpdesk\nfrom domains.shared.mail import mail"),
    ("domains/shared/mail.py", "from domains.shared.desk import desk"),
    ("domains/retail/orders.py", "from datetime import datetime, timedelta\nt = call.now + timedelta(days=1)"),
    ("domains/importers/a.py", "import os\nfrom sandbox import text_of\nPath('a').read_text()\nPath('a').glob('*')"),
    ("judges/effects.py", "from sandbox.values import equal\nfrom judges.bundle import Bundle"),
    ("replay/rejudge.py", "from judges import Verdict\nfrom sandbox.stream import Stream"),
    ("trialbox.py", "import domains.commands, judges.commands, replay.commands, sandbox.commands"),
    ("sandbox/trial.py", "x = 1\n" * LONGEST),
]


@pytest.mark.parametrize(("path", "source"), ALLOWED)
def test_what_the_architecture_allows_is_not_complained_about(path: str, source: str) -> None:
    assert complaints(path, source) == []


def test_a_submodule_of_the_sandbox_is_not_a_public_name() -> None:
    public = public_names("from sandbox.rows import Row, Rows as Table\nfrom sandbox._x import _hidden\nLIMIT = 3")
    assert public == {"Row", "Table", "LIMIT"}
    assert names_not_exported("domains/retail/orders.py", "from sandbox import Row, stream", public) == [
        "domains/retail/orders.py:1: sandbox does not export stream"
    ]
