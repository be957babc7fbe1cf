"""Rules on who may import what, as pure functions: (path, source) → complaints, each with its line."""

import ast
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import NamedTuple

Rule = Callable[[str, ast.Module], Iterator[str]]

MAY_IMPORT = {
    "sandbox": {"sandbox"},
    "domains": {"domains", "sandbox"},
    "judges": {"judges", "sandbox"},
    "replay": {"replay", "judges", "sandbox"},
    "trialbox.py": {"sandbox", "domains", "judges", "replay"},
    "pytest_trialbox.py": {"trialbox", "sandbox", "judges"},
}
OWN = {"sandbox", "domains", "judges", "replay", "trialbox", "pytest_trialbox", "tests"}
DOORS = {
    "eventsourcing": "sandbox/stream*.py",
    "sqlalchemy": "sandbox/view*.py",
    "matplotlib": "judges/report/figures*.py",
    "mcp": "sandbox/mcp_*.py",
    "mcp_types": "sandbox/mcp_*.py",
    "httpx2": "sandbox/model.py",
    "openai": "sandbox/model.py",
    "starlette": "sandbox/local_server.py",
    "pytest": "pytest_trialbox.py",
    "tantivy": "sandbox/search.py",
    "textual": "replay/step_*.py",
    "pyarrow": "judges/parquet.py",
    "opentelemetry": "replay/exports/otlp_http.py",
    "uvicorn": "sandbox/local_server.py",
    "xllamacpp": "sandbox/local_model.py",
}
LONGEST = 450

CLOCK = "time is call.now"
CHANCE = "ids are call.new_id(Row), and nothing is left to chance"
FILES = "seeds and documents are read by the sandbox's loader"
LOGGING = "the stream is the record"
WAITING = "a domain never waits"
DYNAMIC = "imports are written out"
BANNED_MODULES = {
    "time": CLOCK,
    **dict.fromkeys(("uuid", "random", "secrets"), CHANCE),
    **dict.fromkeys(("os", "io", "shutil", "tempfile", "glob", "fileinput", "subprocess", "socket", "sqlite3"), FILES),
    "logging": LOGGING,
    **dict.fromkeys(("asyncio", "anyio", "trio", "concurrent", "threading", "multiprocessing"), WAITING),
    "importlib": DYNAMIC,
}
BANNED_CALLS = {"open": FILES, "__import__": DYNAMIC, "eval": DYNAMIC, "exec": DYNAMIC}
CLOCK_METHODS = {"now", "utcnow", "today"}
CLOCK_TYPES = {"datetime", "date"}
FILE_METHODS = {
    *("open", "read_text", "read_bytes", "write_text", "write_bytes"),
    *("iterdir", "glob", "rglob", "is_file", "is_dir", "mkdir", "touch", "unlink", "rmdir"),
}
READS_FILES = "domains/importers/"
"""Importers read what others wrote, wherever it lies; the rest of what a domain must not do holds for them too."""


class Import(NamedTuple):
    """One imported name: `import a.b` is (a.b, None), `from a.b import c` is (a.b, c)."""

    line: int
    module: str
    name: str | None

    @property
    def root(self) -> str:
        """The top-level package."""
        return self.module.partition(".")[0]

    @property
    def parts(self) -> list[str]:
        """The dotted name in parts, as far as it is written."""
        return [*self.module.split("."), *([self.name] if self.name else [])]


def imports(path: str, tree: ast.Module) -> Iterator[Import]:
    """Every import at any depth, also `import_module("literal")`; relative ones are resolved."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (Import(node.lineno, alias.name, None) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                origin = ".".join(filter(None, [_package(path, level), module]))
                yield from (Import(node.lineno, origin, alias.name) for alias in names)
            case ast.Call(func=called, args=[ast.Constant(value=str(module)), *_]) if _last_name(called) in {
                "import_module",
                "__import__",
            }:
                yield Import(node.lineno, module, None)


def _package(path: str, level: int) -> str:
    """The package that a relative import of this level starts from; empty for an absolute one."""
    folders = PurePosixPath(path).parts[:-1]
    return ".".join(folders[: len(folders) - level + 1]) if level else ""


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _folder(path: str) -> str:
    return PurePosixPath(path).parts[0]


def directions(path: str, tree: ast.Module) -> Iterator[str]:
    """A folder imports only what lies below it."""
    for found in imports(path, tree):
        if found.root in OWN - MAY_IMPORT[_folder(path)]:
            yield f"{path}:{found.line}: {_folder(path)} must not import {found.root}"


def public_names_only(path: str, tree: ast.Module) -> Iterator[str]:
    """Under domains/ the sandbox is imported as `from sandbox import X`."""
    if _folder(path) != "domains":
        return
    for found in imports(path, tree):
        if found.root == "sandbox" and (found.module != "sandbox" or found.name in (None, "*")):
            yield f"{path}:{found.line}: {found.module} is not public; write `from sandbox import Name`"


def no_other_domain(path: str, tree: ast.Module) -> Iterator[str]:
    """A domain imports itself and domains.shared, and domains.shared only itself."""
    if _folder(path) != "domains":
        return
    own = PurePosixPath(path).with_suffix("").parts[1]
    for found in imports(path, tree):
        if found.root == "domains" and (not found.parts[1:] or found.parts[1] not in (own, "shared")):
            yield f"{path}:{found.line}: {own} must not import {'.'.join(found.parts)}; only domains.shared is shared"


def doors(path: str, tree: ast.Module) -> Iterator[str]:
    """Each heavy package is imported through its one door."""
    for found in imports(path, tree):
        door = DOORS.get(found.root)
        if door and not fnmatch(path, door):
            yield f"{path}:{found.line}: {found.root} is imported only in {door}"


def pure_domains(path: str, tree: ast.Module) -> Iterator[str]:
    """Under domains/ there are no clocks, chance, files, logging or waiting."""
    if _folder(path) != "domains":
        return
    for line, wrong in _impurities(path, tree):
        if not (path.startswith(READS_FILES) and wrong.endswith(FILES)):
            yield f"{path}:{line}: {wrong}"


def _impurities(path: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    for found in imports(path, tree):
        if found.root in BANNED_MODULES:
            yield found.line, f"no {found.root} in a domain: {BANNED_MODULES[found.root]}"
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt) and (wrong := _impure(node)):
            yield node.lineno, wrong


def _impure(node: ast.AST) -> str | None:
    match node:
        case ast.AsyncFunctionDef() | ast.AsyncFor() | ast.AsyncWith() | ast.Await():
            return f"no async in a domain: {WAITING}"
        case ast.Call(func=ast.Name(id=name)) if name in BANNED_CALLS:
            return f"no {name}() in a domain: {BANNED_CALLS[name]}"
        case ast.Attribute(value=owner, attr=name) if name in CLOCK_METHODS and _last_name(owner) in CLOCK_TYPES:
            return f"no {_last_name(owner)}.{name} in a domain: {CLOCK}"
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if (
            name in CLOCK_METHODS and _last_name(owner) not in CLOCK_TYPES
        ):
            return f"no .{name}() in a domain: {CLOCK}"
        case ast.Call(func=ast.Attribute(attr=name)) if name in FILE_METHODS:
            return f"no .{name}() in a domain: {FILES}"
    return None


def finished(path: str, tree: ast.Module) -> Iterator[str]:
    """No function is left for later."""
    for node in ast.walk(tree):
        match node:
            case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
                yield f"{path}:{node.lineno}: a function that is not implemented"


RULES: tuple[Rule, ...] = (directions, public_names_only, no_other_domain, doors, pure_domains, finished)


def complaints(path: str, source: str) -> list[str]:
    """
    All that is wrong with one module.

    Args:
        path: from the root of the project, with slashes: `domains/retail/orders.py`.
    """
    tree = ast.parse(source, path)
    lines = len(source.splitlines())
    too_long = [f"{path}:{lines}: {lines} lines; split a module before {LONGEST}"] if lines > LONGEST else []
    return [*(text for rule in RULES for text in rule(path, tree)), *too_long]


def public_names(source: str) -> set[str]:
    """The names that a package's `__init__` imports or defines, without a leading underscore."""
    bound: set[str] = set()
    for node in ast.parse(source).body:
        match node:
            case ast.ImportFrom(names=names) | ast.Import(names=names):
                bound |= {alias.asname or alias.name for alias in names}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.Assign(targets=targets):
                bound |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in bound if not name.startswith("_")}


def names_not_exported(path: str, source: str, public: Iterable[str]) -> list[str]:
    """What a domain imports from the sandbox though its `__init__` does not export it, such as a submodule."""
    if _folder(path) != "domains":
        return []
    return [
        f"{path}:{found.line}: sandbox does not export {found.name}"
        for found in imports(path, ast.parse(source, path))
        if found.module == "sandbox" and found.name not in (None, "*", *public)
    ]
