"""Test cases in Python files, read from their syntax trees: settings in YAML literals, and what their bodies call."""

import ast
import re
from collections.abc import Iterator, Mapping
from textwrap import dedent
from typing import Any

from msgspec import Struct

from sandbox import ImportFault, yaml_of

VALIDATORS: Mapping[str, int] = {"validate_database": 1, "validate_rubrics_yesno": 2}
"""What a body may call, and with how many arguments."""


class Case(Struct, frozen=True):
    """One test case of a file."""

    uid: str
    """`FILE:FUNCTION`."""
    settings: Mapping[str, Any]
    """The function's own over the file's."""
    unknown: tuple[str, ...]
    """Names of the function's own settings that mean nothing."""
    validators: tuple[str, ...]
    custom_line: int = 0
    """Of the first statement that is no call of a validator; 0 if there is none."""


KNOWN_SETTINGS = frozenset(
    {"scenario", "query", "user_context", "max_user_sim_turns", "max_agent_sim_turns", "bot_instructions", "history"}
    | {"init", "format_query", "tags"}
)


def cases_in(source: str, file: str) -> dict[str, Case]:
    """
    The cases of a file by uid, in order.

    Raises:
        ImportFault: it is no Python, a literal holds no YAML mapping, or two cases have one name.
    """
    try:
        body = ast.parse(source, file).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        raise ImportFault(f"{file}{f':{line}' if line else ''} is no Python that can be read: {error}") from None
    shared: dict[str, Any] = {}
    for statement in body:
        shared.update(_settings(statement, file) or {})
    found: dict[str, Case] = {}
    for function, own in _functions(body, file):
        case = _case(function, shared, own, file)
        if case.uid in found:
            raise ImportFault(f"{file}:{function.lineno}: two functions are named {function.name!r}; which one counts?")
        found[case.uid] = case
    return found


def _functions(body: list[ast.stmt], file: str) -> Iterator[tuple[ast.FunctionDef, dict[str, Any]]]:
    for statement in body:
        if isinstance(statement, ast.FunctionDef):
            own = _settings(statement.body[0], file)
            if own is not None:
                yield statement, own


def _case(function: ast.FunctionDef, shared: Mapping[str, Any], own: Mapping[str, Any], file: str) -> Case:
    called: list[str] = []
    custom_line = 0
    parameters = [argument.arg for argument in function.args.args]
    for statement in function.body[1:]:
        name = _validator(statement, parameters)
        if name:
            called.append(name)
        elif not isinstance(statement, ast.Pass):
            custom_line = custom_line or statement.lineno
    unknown = tuple(str(key) for key in own if key not in KNOWN_SETTINGS)
    return Case(f"{file}:{function.name}", {**shared, **own}, unknown, tuple(called), custom_line)


def _validator(statement: ast.stmt, parameters: list[str]) -> str:
    """The validator that a statement calls with the function's own first parameters; empty if it does anything else."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=arguments, keywords=[])) if name in VALIDATORS:
            given = [argument.id if isinstance(argument, ast.Name) else "" for argument in arguments]
            return name if given and given == parameters[: VALIDATORS[name]] else ""
    return ""


def _settings(statement: ast.stmt, file: str) -> dict[str, Any] | None:
    """What a statement holds that is a text literal beginning with `!`; None for any other statement."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))) if text.startswith("!"):
            first, _, rest = text[1:].partition("\n")
            # Tabs stay: they may stand inside a text block.
            content = yaml_of(f"{first.strip()}\n{dedent(rest)}", f"{file}:{statement.lineno}")
            if content is None:
                return {}
            if not isinstance(content, dict):
                raise ImportFault(f"{file}:{statement.lineno}: settings are a mapping, not {type(content).__name__}")
            return content
    return None


def is_file_name(name: str) -> bool:
    """Whether a name is that of a Python file and nothing more: no folder, nothing above."""
    return re.fullmatch(r"[A-Za-z0-9_][\w.-]*\.py", name) is not None
