"""A package for somebody's own domain, small enough to read in a minute and complete enough to run."""

import keyword
import re
import sys
from pathlib import Path

from sandbox.refusals import UserFault
from sandbox.registry import domain_names

_PYPROJECT = """[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["trialbox"]

[project.entry-points."trialbox.domains"]
{name} = "{name}:domain"

[tool.setuptools]
packages = ["{name}"]

[tool.setuptools.package-data]
{name} = ["*.md", "seed/*.yaml", "tasks/*.yaml"]
"""

_DOMAIN = '''"""{Name}: people ask, agents answer, tickets get solved."""

from typing import Literal

from msgspec.structs import replace

from sandbox import Call, Domain, Event, Precondition, Prose, Row, Rows, Toolset

desk = Toolset("desk")


@desk.table("tickets", ids="TK")
class Ticket(Row):
    """A ticket."""

    id: str
    subject: Prose
    requester: str
    status: Literal["open", "solved"] = "open"


class TicketSolved(Event, tag="ticket-solved", version=1):
    """An agent solved a ticket."""

    id: str
    note: Prose


@desk.on(TicketSolved)
def solved(rows: Rows, e: TicketSolved) -> Ticket:
    """The ticket is solved."""
    return replace(rows.get(Ticket, e.id), status="solved")


@desk.tool()
def get_ticket(call: Call, id: str) -> Ticket:
    """Read a ticket."""
    return call.get(Ticket, id)


@desk.tool(emits=[TicketSolved])
def solve_ticket(call: Call, id: str, note: str) -> Ticket:
    """Solve an open ticket, with a note for its requester."""
    if call.get(Ticket, id).status == "solved":
        raise Precondition(f"ticket {{id}} is already solved; open a new one instead")
    call.emit(TicketSolved(id, note))
    return call.get(Ticket, id)


domain = Domain("{name}", desk, package=__name__)
'''

_SEED = """- {id: TK-1, subject: The oven stays cold, requester: ada@example.org}
- {id: TK-2, subject: Where is my parcel?, requester: bo@example.org}
"""

_TASK = """id: cold-oven
instant: 2026-01-05T09:00:00Z
goal: My oven works again, you can close my ticket. I am ada@example.org.
expect:
  outcomes:
    - name: solved
      calls:
        - desk_get_ticket: {{id: TK-1}}
        - desk_solve_ticket: {{id: TK-1, note: It works again.}}
"""

_INSTRUCTIONS = """You answer for {Name}. Use the tools; what you change is what counts.
"""


_TAKEN = ("sandbox", "domains", "judges", "replay", "trialbox", "tests")


def written_to(folder: Path, name: str) -> Path:
    """
    Write the package.

    Returns:
        The folder that holds it.

    Raises:
        UserFault: the name is no package name or is taken, or something stands there already.
    """
    if not re.fullmatch("[a-z]([a-z0-9_]*[a-z0-9])?", name) or keyword.iskeyword(name):
        raise UserFault(f"{name!r} cannot name a package; use lower-case letters, digits and underscores")
    if name in _TAKEN or name in sys.stdlib_module_names:
        raise UserFault(f"a package {name!r} would stand in the way of another one of that name; choose another name")
    if name in domain_names():
        raise UserFault(f"a domain {name!r} is installed already; choose another name")
    home = folder / name
    if home.exists():
        raise UserFault(f"{home} is there already; choose another name or folder")
    words = {"name": name, "Name": name.replace("_", " ").capitalize()}
    files = {
        "pyproject.toml": _PYPROJECT.format(**words),
        f"{name}/__init__.py": _DOMAIN.format(**words),
        f"{name}/instructions.md": _INSTRUCTIONS.format(**words),
        f"{name}/seed/desk_tickets.yaml": _SEED,
        f"{name}/tasks/cold-oven.yaml": _TASK.format(**words),
    }
    for path, text in files.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text, encoding="utf-8")
    return home
