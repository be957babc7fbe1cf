"""From a tool's signature to its JSON Schema, and from an agent's text to its arguments."""

import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec.inspect import Metadata, type_info
from msgspec.structs import asdict

from sandbox.coercion import coerced, overlooked
from sandbox.refusals import Invalid
from sandbox.values import OutOfRange, ValueFault, ensure_storable, moment, plain

LARGEST_ARGUMENTS = 1 << 20
"""Characters of argument text that a call may carry."""

DEEPEST_ARGUMENTS = 64
"""How many arrays and objects may stand in each other: a fixed number, since the host's stack differs."""

MOST_FAULTS = 20
"""How many faults one refusal names."""

Strictness = Literal["strict", "lax"]


class Named(Struct, frozen=True):
    """Annotation of a tool's parameter that has another name for the agent, such as `$filter`."""

    name: str
    also: tuple[str, ...] = ()
    """Names that are accepted too; the first one wins when both are given."""


class _Parameter(Struct, frozen=True):
    name: str
    shown: str
    also: tuple[str, ...]
    kind: msgspec.inspect.Type
    annotation: Any
    default: Any
    instant: bool


class Arguments:
    """The declared arguments of one tool."""

    def __init__(self, tool: str, function: Callable[..., Any]) -> None:
        self._parameters = _parameters(tool, function)
        self._by_name = {shown: p for p in self._parameters for shown in (p.shown, *p.also)}
        for shown, parameter in self._by_name.items():
            for p in self._parameters:
                if p is not parameter and shown in (p.shown, *p.also):
                    raise TypeError(
                        f"tool {tool}: parameters `{p.name}` and `{parameter.name}` are both named `{shown}`"
                    )
        fields = [(p.name, p.annotation, p.default) for p in self._parameters]
        self._struct = msgspec.defstruct(
            f"{tool}_arguments", fields, rename={p.name: p.shown for p in self._parameters}
        )
        self._shown = frozenset(p.shown for p in self._parameters)
        self._instants = tuple(p for p in self._parameters if p.instant)

    def schema(self, *, is_open: bool, description: str = "") -> dict[str, Any]:
        """JSON Schema 2020-12 with `type: object` at the root; parameter descriptions from the docstring's `Args:`."""
        (root,), parts = msgspec.json.schema_components([self._struct], ref_template="#/$defs/{name}")
        name = root["$ref"].rpartition("/")[2]
        made = parts.pop(name)
        schema = {"type": "object", "properties": made.get("properties", {}), "required": made.get("required", [])}
        told = argument_descriptions(description)
        for parameter in self._parameters:
            if parameter.name in told:
                schema["properties"][parameter.shown]["description"] = told[parameter.name]
        if not is_open:
            schema["additionalProperties"] = False
        whole: dict[str, Any] = plain(schema | ({"$defs": parts} if parts else {}))
        return whole

    def parsed(self, tool: str, text: str, *, strictness: Strictness, is_open: bool) -> dict[str, Any]:
        """
        Keyword arguments for the tool's function.

        Raises:
            Invalid: the text is no JSON object, or arguments are missing, unknown or of a wrong kind; all are named.
        """
        given = _object(tool, text)
        faults = _repeated(given, text) if strictness == "strict" else []
        values = given if self._shown.issuperset(given) else self._chosen(given, is_open, faults)
        if strictness == "lax":
            values = {shown: coerced(value, self._by_name[shown].kind) for shown, value in values.items()}
            told = {shown: overlooked(value, self._by_name[shown].kind) for shown, value in values.items()}
            faults += [_worded(fault, shown) for shown, fault in told.items() if fault]
        if not faults:
            try:
                made = msgspec.convert(values, self._struct)
            except msgspec.ValidationError:
                faults = self._faults(values)
            else:
                arguments = asdict(made)
                faults = self._instant_faults(arguments) if self._instants else []
        else:
            faults += self._faults(values)
        if faults:
            more = len(faults) - MOST_FAULTS
            raise Invalid(f"{tool}: " + "; ".join(faults[:MOST_FAULTS]) + (f"; and {more} more" if more > 0 else ""))
        return arguments

    def _chosen(self, given: Mapping[str, Any], is_open: bool, faults: list[str]) -> dict[str, Any]:
        """The arguments that are declared, under the names that are shown."""
        values: dict[str, Any] = {}
        for name, value in given.items():
            parameter = self._by_name.get(name)
            if parameter is None:
                if not is_open:
                    nearest = _nearest(name, self._by_name) if len(faults) < MOST_FAULTS else ""
                    faults.append(f"unknown argument `{name[:80]}`{nearest}")
            elif name == parameter.shown or parameter.shown not in given:
                values[parameter.shown] = value
        return values

    def _faults(self, values: Mapping[str, Any]) -> list[str]:
        faults = []
        for p in self._parameters:
            if p.shown not in values:
                if p.default is NODEFAULT:
                    faults.append(f"missing argument `{p.shown}`")
                continue
            try:
                msgspec.convert(values[p.shown], p.annotation)
            except msgspec.ValidationError as error:
                faults.append(_worded(str(error), p.shown))
        return faults

    def _instant_faults(self, arguments: Mapping[str, Any]) -> list[str]:
        faults = []
        for p in self._instants:
            value = arguments[p.name]
            if isinstance(value, str):
                try:
                    moment(value)
                except ValueFault as fault:
                    faults.append(f"{fault} - at `$.{p.shown}`")
        return faults


def _object(tool: str, text: str) -> dict[str, Any]:
    if len(text) > LARGEST_ARGUMENTS:
        raise Invalid(f"{tool}: arguments have more than {LARGEST_ARGUMENTS:,} characters; send at most so many")
    try:
        given = msgspec.json.decode(text) if text.strip() else {}
        ensure_flat(given, text)
        ensure_storable(given)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        half = _half_character(text)
        why = f"{half} is half a character, without its other half" if half else str(error)
        raise Invalid(f"{tool}: arguments are not JSON ({why}); send one JSON object") from None
    except RecursionError:
        raise Invalid(f"{tool}: {_TOO_DEEP}") from None
    except ValueFault as fault:
        raise Invalid(f"{tool}: {fault}") from None
    if not isinstance(given, dict):
        raise Invalid(f"{tool}: arguments must be a JSON object, got {_json_kind(given)}")
    return given


def _half_character(text: str) -> str:
    """The first lone surrogate in a text that is JSON otherwise, as its escape; empty if there is none."""
    try:
        written = json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return ""
    found = _SURROGATE.search(written)
    return f"\\u{ord(found[0]):04x}" if found else ""


def _repeated(given: Mapping[str, Any], text: str) -> list[str]:
    """Keys that an object names twice, of which a decoder keeps one; the text is read again only if it may hold any."""
    if text.count(":") <= len(given):
        return []
    found: dict[str, None] = {}

    def seen(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            found.update(dict.fromkeys(name for name, times in Counter(names).items() if times > 1))

    json.loads(text, object_pairs_hook=seen, parse_int=str, parse_float=str)
    return [f"key `{name[:80]}` is given twice; give it once" for name in found]


_SURROGATE = re.compile("[\ud800-\udfff]")
_TOO_DEEP = f"arguments are nested more than {DEEPEST_ARGUMENTS} levels deep; send a flatter JSON object"


def ensure_flat(given: object, text: str) -> None:
    """Return if decoded text is nested no more than `DEEPEST_ARGUMENTS` levels deep; OutOfRange otherwise."""
    if len(text) <= 2 * DEEPEST_ARGUMENTS or text.count("[") + text.count("{") <= DEEPEST_ARGUMENTS:
        return
    level = [given]
    for _ in range(DEEPEST_ARGUMENTS):
        level = [part for item in level for part in _inside(item)]
        if not level:
            return
    raise OutOfRange(_TOO_DEEP)


def _inside(item: object) -> Iterable[object]:
    parts = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return [part for part in parts if isinstance(part, dict | list)]


def _json_kind(value: object) -> str:
    kinds = {str: "text", bool: "a boolean", int: "a number", float: "a number", list: "an array", type(None): "null"}
    return kinds[type(value)]


_AT = re.compile(r" - at `\$(?P<path>.*)`$")


def _worded(error: str, shown: str) -> str:
    """msgspec's text, its path led by the argument's name."""
    path = _AT.search(error)
    body = error[: path.start()] if path else error
    body = body[0].lower() + body[1:]
    return f"{body} - at `$.{shown}{path['path'] if path else ''}`"


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    close = get_close_matches(name[:80], known, n=1)
    return f"; did you mean `{close[0]}`?" if close else ""


_PLACED_KINDS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_NAMED_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _parameters(tool: str, function: Callable[..., Any]) -> tuple[_Parameter, ...]:
    hints = get_type_hints(function, include_extras=True)
    made = []
    call, *parameters = inspect.signature(function).parameters.values() or (None,)
    if call is None or call.kind not in _PLACED_KINDS:
        raise TypeError(f"tool {tool}: the first parameter must be the call, as in `def {tool}(call: Call, …)`")
    for parameter in parameters:
        if parameter.kind not in _NAMED_KINDS:
            raise TypeError(
                f"tool {tool}: parameter `{parameter.name}` cannot be given by name; arguments are a JSON object"
            )
        if parameter.name not in hints:
            raise TypeError(f"tool {tool}: parameter `{parameter.name}` has no annotation")
        annotation = hints[parameter.name]
        named = _named(annotation, parameter.name)
        kind = type_info(annotation)
        default = NODEFAULT if parameter.default is inspect.Parameter.empty else parameter.default
        instant = _is_instant(kind)
        made.append(_Parameter(parameter.name, named.name, named.also, kind, annotation, default, instant))
    return tuple(made)


def _named(annotation: Any, name: str) -> Named:
    if get_origin(annotation) is Annotated:
        for extra in get_args(annotation)[1:]:
            if isinstance(extra, Named):
                return extra
    return Named(name)


def _is_instant(kind: msgspec.inspect.Type) -> bool:
    if isinstance(kind, Metadata):
        return (kind.extra or {}).get("kind") == "instant" or _is_instant(kind.type)
    return any(_is_instant(part) for part in getattr(kind, "types", ()))


_ARGUMENT = re.compile(r"^(?P<indent>\s+)(?P<name>\w+):\s*(?P<text>.+)$")


def argument_descriptions(docstring: str) -> dict[str, str]:
    """What the `Args:` part of a docstring says of each parameter."""
    told: dict[str, str] = {}
    _, _, block = docstring.partition("\nArgs:\n")
    name = ""
    for line in block.splitlines():
        if line and not line[0].isspace():
            break
        found = _ARGUMENT.match(line)
        if found and (not told or len(found["indent"]) <= 4):
            name = found["name"]
            told[name] = found["text"].strip()
        elif line.strip() and name:
            told[name] += " " + line.strip()
    return told
