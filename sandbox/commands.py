"""Commands about domains, and the model that comes along."""

import argparse
import sys
from pathlib import Path
from typing import Any

from sandbox.domain import Domain
from sandbox.local_commands import add_to as add_local_to
from sandbox.new_domain import written_to
from sandbox.price_commands import add_to as add_prices_to
from sandbox.recover_commands import add_to as add_recover_to
from sandbox.refusals import UserFault
from sandbox.registry import Unloadable, domain_named, domain_names

Commands = Any
"""What `add_subparsers` returns; argparse has no public name for it."""


def add_to(commands: Commands) -> None:
    """`domains`, `new`, `prices`, `recover` and `serve-model`."""
    listing = commands.add_parser("domains", help="list the installed domains and their tools")
    listing.add_argument("name", nargs="?", help="one domain: its tables and tools in full")
    listing.set_defaults(run=_domains)
    new = commands.add_parser("new", help="make a package for a domain of your own")
    new.add_argument("kind", choices=["domain"])
    new.add_argument("name", help="of the package, such as bakery")
    new.add_argument("--into", type=Path, default=Path(), help="folder to make it in; the present one by default")
    new.set_defaults(run=_new)
    add_local_to(commands)
    add_prices_to(commands)
    add_recover_to(commands)


def _domains(options: argparse.Namespace) -> int:
    if options.name:
        _describe(options.name)
        return 0
    broken = 0
    for name in domain_names():
        try:
            print(_summed(domain_named(name)))
        except UserFault as fault:
            broken += 1
            named = fault if isinstance(fault, Unloadable) else f"domain {name!r}: {fault}"
            print(f"trialbox domains: {named}", file=sys.stderr)
    return 1 if broken else 0


def _summed(domain: Domain) -> str:
    rows = sum(len(items) for items in domain.seed.tables.values())
    return f"{domain.name:16} {len(domain.tools):3} tools  {len(domain.tables):3} tables  {rows:5} seed rows"


def _describe(name: str) -> None:
    domain = domain_named(name)
    print(f"{name}\n\ntables")
    for table in domain.tables.values():
        fields = ", ".join(field.name for field in table.shape.fields)
        print(f"  {table.name} ({len(domain.seed.tables.get(table.name, ()))} rows): {fields}")
    print("\ntools")
    for tool in domain.tools.values():
        first = tool.spec.description.partition("\n")[0]
        print(f"  {tool.name}{'' if tool.is_read else ' *'}: {first}")
    print("\n* changes records")


def _new(options: argparse.Namespace) -> int:
    made = written_to(options.into, options.name)
    print(f"made {made}; next:\n  pip install -e {made}\n  trialbox run {options.name} --agent oracle")
    return 0
