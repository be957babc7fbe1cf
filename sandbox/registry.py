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

from sandbox.breakage import place_of
from sandbox.domain import Domain, Mounting
from sandbox.escapes import is_interrupt
from sandbox.foreign import Imported
from sandbox.refusals import UserFault

DOMAINS = "trialbox.domains"
PUBLIC_DOMAINS = "trialbox.public_domains"
IMPORTERS = "trialbox.importers"

Importer = Callable[[Path], Imported]


class Unloadable(UserFault):
    """What is installed cannot be used; the text names it, its entry point, the place in its code, and the error."""


class NoSuchDomain(UserFault):
    """No domain of that name is installed; the text names the nearest one."""


class OnlyResults(UserFault):
    """There are results that another tool gave, and no streams that anything could be shown or replayed of."""


def domain_names() -> list[str]:
    """Names of all installed domains, sorted."""
    return sorted(_points())


def domain_named(name: str) -> Domain:
    """
    The installed domain of that name.

    Raises:
        NoSuchDomain: there is none.
        Unloadable: its code breaks when it is imported, or its entry point leads to no Domain, or to one of another
            name.
    """
    point = _points().get(name)
    if point is None:
        close = get_close_matches(name, _points(), n=1)
        hint = f"did you mean {close[0]!r}? List" if close else "list"
        raise NoSuchDomain(f"no domain {name!r}; {hint} them with: trialbox domains")
    return _domain(point, _of_foreign_code(point, point.load))


def public_domain_named(name: str, seed: Mapping[str, Sequence[Mapping[str, Any]]]) -> Domain:
    """
    The installed domain of that name as the public benchmark's servers behave.

    Args:
        seed: its rows by public table name.

    Raises:
        NoSuchDomain: there is none, or it has no public mount.
        Unloadable: its code breaks, or its entry point makes no Domain, or one of another name.
    """
    points = _points(PUBLIC_DOMAINS)
    if name not in points:
        raise NoSuchDomain(f"no public mount of a domain {name!r}; {_nearest(name, points)}")
    point = points[name]
    made = _domain(point, _of_foreign_code(point, lambda: point.load()(seed)))
    return Domain(made.name, *made.mounts, seed=seed, refusals=made.refusals, mounting="public")


def domain_mounted(name: str, mounting: Mounting) -> Domain:
    """
    The installed domain in one of its mounts, to read what was recorded with it; a public one has no rows.

    Raises:
        OnlyResults: it was never mounted, since only results were imported.
    """
    if mounting == "imported":
        raise OnlyResults(f"results about {name!r} were imported; there is no domain to look at them with")
    return domain_named(name) if mounting == "own" else public_domain_named(name, {})


def importer_named(name: str) -> Importer:
    """The installed importer of that name; UserFault if there is none, or its code breaks when it is imported."""
    points = _points(IMPORTERS)
    if name not in points:
        raise UserFault(f"no importer {name!r}; {_nearest(name, points)}")
    importer: Importer = _of_foreign_code(points[name], points[name].load)
    return importer


def _domain(point: EntryPoint, found: object) -> Domain:
    if not isinstance(found, Domain):
        raise Unloadable(
            f"entry point {_told(point)} is no Domain, but {type(found).__name__}; let it lead to the package's Domain"
        )
    if found.name != point.name:
        raise Unloadable(
            f"entry point {_told(point)} leads to the domain {found.name!r}; give both one name, which stands in "
            f"every record"
        )
    return found


def _of_foreign_code(point: EntryPoint, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except BaseException as error:
        if is_interrupt(error):
            raise
        kind, place = point.group.removeprefix("trialbox.").replace("_", " ").removesuffix("s"), _place(error)
        told = " ".join(str(error).split()) or "no reason given"
        raise Unloadable(
            f"{kind} {point.name!r} cannot be loaded from entry point {_told(point)}: "
            f"{type(error).__name__}{f' at {place}' if place else ''}: {told}; correct it, or uninstall its package"
        ) from error


def _place(error: BaseException) -> str:
    """File and line of the innermost code that is neither Trialbox's machinery nor Python's; empty if there is none."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    place = place_of(error)
    return f"{place[0]}:{place[1]}" if place else ""


def _told(point: EntryPoint) -> str:
    return f"{point.name} = {point.value}"


def _nearest(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, sorted(known), n=1)
    return f"did you mean {close[0]!r}?" if close else f"installed: {', '.join(sorted(known)) or 'none'}"


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
