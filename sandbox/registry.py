"""
What is installed: entry points, the bundled ones among them.

`trialbox.domains` leads to a Domain, `trialbox.public_domains` to a function from seed rows to a Domain as the public
benchmark's servers behave, `trialbox.importers` to a function from the path of a checkout to the packs in it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from sandbox.domain import Domain, Mounting
from sandbox.foreign import Imported
from sandbox.refusals import UserFault

DOMAINS = "trialbox.domains"
PUBLIC_DOMAINS = "trialbox.public_domains"
IMPORTERS = "trialbox.importers"

Importer = Callable[[Path], Imported]


class NoSuchDomain(UserFault):
    """No domain of that name is installed; the text names the nearest one."""


def domain_names() -> list[str]:
    """Names of all installed domains, sorted."""
    return sorted(_points())


def domain_named(name: str) -> Domain:
    """
    The installed domain of that name.

    Raises:
        NoSuchDomain: there is none.
        TypeError: its entry point leads to something that is no Domain.
    """
    point = _points().get(name)
    if point is None:
        close = get_close_matches(name, _points(), n=1)
        hint = f"did you mean {close[0]!r}? List" if close else "list"
        raise NoSuchDomain(f"no domain {name!r}; {hint} them with: trialbox domains")
    return _domain(point, point.load())


def public_domain_named(name: str, seed: Mapping[str, Sequence[Mapping[str, Any]]]) -> Domain:
    """
    The installed domain of that name as the public benchmark's servers behave.

    Args:
        seed: its rows by public table name.

    Raises:
        NoSuchDomain: there is none, or it has no public mount.
        TypeError: its entry point makes something that is no Domain.
    """
    points = _points(PUBLIC_DOMAINS)
    if name not in points:
        raise NoSuchDomain(f"no public mount of a domain {name!r}; {_nearest(name, points)}")
    made = _domain(points[name], points[name].load()(seed))
    return Domain(made.name, *made.mounts, seed=seed, refusals=made.refusals, mounting="public")


def domain_mounted(name: str, mounting: Mounting) -> Domain:
    """The installed domain in one of its mounts, to read what was recorded with it; a public one has no rows."""
    return domain_named(name) if mounting == "own" else public_domain_named(name, {})


def importer_named(name: str) -> Importer:
    """The installed importer of that name; UserFault if there is none."""
    points = _points(IMPORTERS)
    if name not in points:
        raise UserFault(f"no importer {name!r}; {_nearest(name, points)}")
    importer: Importer = points[name].load()
    return importer


def _domain(point: EntryPoint, found: object) -> Domain:
    if not isinstance(found, Domain):
        raise TypeError(f"entry point {point.name} = {point.value} is no Domain, but {type(found).__name__}")
    return found


def _nearest(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, sorted(known), n=1)
    return f"did you mean {close[0]!r}?" if close else f"installed: {', '.join(sorted(known)) or 'none'}"


def package_of(name: str) -> str:
    """The package that an installed domain's data files are in."""
    return domain_named(name).package


def _points(group: str = DOMAINS) -> dict[str, EntryPoint]:
    points: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        known = points.setdefault(point.name, point)
        if known.value != point.value:
            raise UserFault(
                f"two {group.partition('.')[2].replace('_', ' ')} are named {point.name!r}: "
                f"{known.value} and {point.value}; uninstall one package"
            )
    return points
