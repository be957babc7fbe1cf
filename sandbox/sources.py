"""Source text as evidence: which code stands behind a digest."""

import ast
import inspect
import sys
from collections.abc import Iterable


def sources_of(modules: Iterable[str]) -> dict[str, str]:
    """
    Source of the modules and of all that they import from their own packages, by module name.

    Own packages are those under the same first name: `domains.retail` brings in what it uses of `domains.shared`.
    A module without a source (typed at a prompt) stands for itself by its name.
    """
    found: dict[str, str] = {}
    waiting = list(modules)
    tops = {name.partition(".")[0] for name in waiting}
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = _source(name)
            waiting += [
                used for used in _imported(found[name]) if used.partition(".")[0] in tops and used in sys.modules
            ]
    return found


def _source(module: str) -> str:
    try:
        return inspect.getsource(sys.modules[module])
    except (OSError, KeyError, TypeError):
        return module


def _imported(source: str) -> Iterable[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
