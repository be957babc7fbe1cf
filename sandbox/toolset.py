"""Toolsets: tables, events, handlers and tools, declared once and mounted in any number of businesses."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from sandbox.arguments import Arguments, Strictness
from sandbox.clock import Clock, Pinned, Ticking
from sandbox.declarations import Event, Gone, Row, Shape
from sandbox.ids import IdRule, counted_free
from sandbox.values import OutOfRange, moment

R = TypeVar("R", bound=type[Row])
F = TypeVar("F", bound=Callable[..., Any])
Handler = Callable[..., "Row | Gone | Iterable[Row | Gone]"]
Upcaster = Callable[[dict[str, Any]], dict[str, Any]]


class TableSpec(Struct, frozen=True):
    """A declared table."""

    name: str
    row_type: type[Row]
    key: tuple[str, ...]
    ids: IdRule | None
    search: tuple[str, ...]
    """Fields that full-text search looks at; none: the table cannot be searched."""
    drops_unknown: bool
    """Whether an unknown field of a loaded row is dropped instead of refused."""
    example: str
    """What an id looks like, for the text of a refusal."""
    documents: str
    """Folder of the domain's package whose Markdown files are rows (`name`, `text`); none: rows are in seed files."""

    def key_of(self, row: Row) -> str:
        """
        The row's key as text; the parts of a composite key joined by `:`.

        Raises:
            OutOfRange: a part before the last one holds `:`, so that two rows could have one key.
        """
        if len(self.key) == 1:
            return str(getattr(row, self.key[0]))
        parts = [str(getattr(row, name)) for name in self.key]
        for name, part in zip(self.key[:-1], parts, strict=False):
            if ":" in part:
                raise OutOfRange(f"{name} of a row of {self.name} cannot hold ':', which joins the parts of its key")
        return ":".join(parts)


class ToolSpec(Struct, frozen=True):
    """A declared tool."""

    name: str
    function: Callable[..., Any]
    emits: tuple[type[Event], ...]
    idempotent: bool
    description: str
    arguments: Arguments


class Toolset:
    """Where a domain declares its tables (`@table`), event handlers (`@on`) and tools (`@tool`)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tables: dict[type[Row], TableSpec] = {}
        self.handlers: dict[type[Event], Handler] = {}
        self.upcasters: dict[tuple[str, int], Upcaster] = {}
        self.tools: dict[str, ToolSpec] = {}

    def table(
        self,
        name: str,
        *,
        key: str | tuple[str, ...] = "id",
        ids: str | IdRule | None = None,
        search: tuple[str, ...] = (),
        drops_unknown: bool = False,
        documents: str = "",
    ) -> Callable[[R], R]:
        """
        Declare a row class as a table.

        Args:
            name: of the table, without the mount's name.
            key: the field, or fields, that name a row.
            ids: how new ids come about; text is a prefix, "TK" giving TK-1, TK-2, …
            search: the text fields that `call.search` looks at.
            drops_unknown: whether rows that are loaded may have more fields, which are dropped.
            documents: a folder of the domain's package; each Markdown file in it is a row (`name`, `text`).
        """

        def declare(row_type: R) -> R:
            for other in self.tables.values():
                if other.name == name:
                    raise TypeError(f"table {name} is already {_where(other.row_type)}, and again {_where(row_type)}")
            fields = {field.name for field in Shape(row_type).fields}
            parts = (key,) if isinstance(key, str) else key
            for part in (*parts, *search):
                if part not in fields:
                    raise TypeError(f"table {name}: {_where(row_type)} has no field `{part}`")
            rule = counted_free(f"{ids}-", offset=1) if isinstance(ids, str) else ids
            example = f"{ids}-1" if isinstance(ids, str) else ""
            self.tables[row_type] = TableSpec(name, row_type, parts, rule, search, drops_unknown, example, documents)
            return row_type

        return declare

    def on(self, event_type: type[Event]) -> Callable[[F], F]:
        """Declare the one handler of an event: pure, (rows, event) → the rows that changed, or `Gone`."""

        def declare(handler: F) -> F:
            _ensure_plain("handler", handler, may_yield=True)
            if not event_type.event_tag or event_type.event_version < 1:
                raise TypeError(f"{_where(event_type)} has no tag and version; both stand in every log")
            known = self.handlers.get(event_type)
            if known is not None:
                raise TypeError(
                    f"event {event_type.__name__} already has a handler, {_where(known)}; "
                    f"one event, one handler, so not {_where(handler)} too"
                )
            for other in self.handlers:
                if other.event_tag == event_type.event_tag:
                    raise TypeError(f"tag {event_type.event_tag!r} is {_where(other)} and {_where(event_type)}")
            self.handlers[event_type] = handler
            return handler

        return declare

    def upcast(self, tag: str, version: int) -> Callable[[F], F]:
        """Declare how the payload of an old version of an event becomes the next version's."""

        def declare(upcaster: F) -> F:
            _ensure_plain("upcaster", upcaster)
            known = self.upcasters.get((tag, version))
            if known is not None:
                raise TypeError(f"{tag}.{version} is upcast by {_where(known)} and by {_where(upcaster)}")
            self.upcasters[tag, version] = upcaster
            return upcaster

        return declare

    def tool(self, *, emits: Iterable[type[Event]] = (), idempotent: bool = False, name: str = "") -> Callable[[F], F]:
        """
        Declare a tool: (call, arguments) → answer. Name, docstring and annotations are all that the agent sees.

        Args:
            emits: the events it may emit; none: a read.
            idempotent: whether a repeated call with equal arguments changes nothing more.
            name: for the agent, without the mount's prefix; the function's name by default.
        """

        def declare(function: F) -> F:
            _ensure_plain("tool", function)
            shown = name or function.__name__
            known = self.tools.get(shown)
            if known is not None:
                raise TypeError(f"tool {shown} is {_where(known.function)} and {_where(function)}")
            description = inspect.getdoc(function)
            if not description:
                raise TypeError(f"tool {_where(function)} has no docstring; it is all that the agent is told")
            declared = tuple(emits)
            for event_type in _events_named_in(function):
                if event_type not in declared:
                    raise TypeError(
                        f"tool {_where(function)} makes {_where(event_type)} without declaring it; "
                        f"write emits=[…, {event_type.__name__}]"
                    )
            self.tools[shown] = ToolSpec(shown, function, declared, idempotent, description, Arguments(shown, function))
            return function

        return declare

    def mount(
        self,
        name: str = "",
        *,
        prefix: str | None = None,
        clock: Clock | None = None,
        quirks: object = None,
        arguments: Strictness = "strict",
        is_open: Mapping[str, bool] | bool = False,
        ids: Mapping[type[Row], IdRule] | None = None,
        table_names: Mapping[str, str] | None = None,
    ) -> "Mount":
        """
        This toolset as a part of one business.

        Args:
            name: stands before its tables and in every event of a log; the toolset's own by default.
            prefix: stands before the names of its tools; `name_` by default.
            clock: ticking by default.
            quirks: what the tools get from `call.quirks`.
            arguments: "lax" repairs what can be read ("2" for 2) before it is checked.
            is_open: whether unknown arguments are ignored instead of refused, for all tools or by tool.
            ids: other id rules than the declared ones, by table.
            table_names: whole names for tables that are not to be called `name_table`.
        """
        self._check_upcasters()
        self._check_names("is_open", is_open if isinstance(is_open, Mapping) else (), self.tools)
        self._check_names("table_names", table_names or (), [spec.name for spec in self.tables.values()])
        self._check_names("ids", [row.__name__ for row in ids or ()], [row.__name__ for row in self.tables])
        if isinstance(clock, Pinned):
            for instant in (clock.at, *clock.occasions.values()):
                moment(instant)
        for tool in self.tools.values():
            for event_type in tool.emits:
                if event_type not in self.handlers:
                    raise TypeError(
                        f"tool {_where(tool.function)} emits {_where(event_type)}, which has no handler; "
                        f"write one with @{self.name}.on({event_type.__name__})"
                    )
        name = name or self.name
        opened = dict(is_open) if isinstance(is_open, Mapping) else dict.fromkeys(self.tools, is_open)
        return Mount(
            self,
            name,
            f"{name}_" if prefix is None else prefix,
            clock or Ticking(),
            quirks,
            arguments,
            opened,
            dict(ids or {}),
            dict(table_names or {}),
        )

    def _check_names(self, setting: str, given: Iterable[str], known: Iterable[str]) -> None:
        for name in given:
            if name not in known:
                raise TypeError(
                    f"toolset {self.name} is mounted with {setting} for {name!r}; it has {', '.join(known)}"
                )

    def _check_upcasters(self) -> None:
        for event_type in self.handlers:
            self._check_chain(event_type)
        newest = {event_type.event_tag: event_type.event_version for event_type in self.handlers}
        for (tag, version), upcaster in self.upcasters.items():
            if version >= newest.get(tag, 0):
                raise TypeError(
                    f"{_where(upcaster)} upcasts {tag}.{version}, but toolset {self.name} has no later version of it; "
                    f"declare the event with version={version + 1}"
                )

    def _check_chain(self, event_type: type[Event]) -> None:
        versions = [version for tag, version in self.upcasters if tag == event_type.event_tag]
        for version in range(min(versions, default=event_type.event_version), event_type.event_version):
            if version not in versions:
                raise TypeError(f"{_where(event_type)}: version {version} cannot be upcast; declare @upcast for it")


class Mount(Struct, frozen=True):
    """A toolset under a name, with its clock and settings."""

    toolset: Toolset
    name: str
    prefix: str
    clock: Clock
    quirks: Any
    arguments: Strictness
    is_open: Mapping[str, bool]
    ids: Mapping[type[Row], IdRule]
    table_names: Mapping[str, str]


def _events_named_in(function: Callable[..., Any]) -> list[type[Event]]:
    """Event classes that the function's own code names."""
    code, known = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    named = [known.get(name) for name in (code.co_names if code else ())]
    return [item for item in named if isinstance(item, type) and issubclass(item, Event) and item is not Event]


def _ensure_plain(kind: str, function: Callable[..., Any], *, may_yield: bool = False) -> None:
    """Return if a call of the function gives its result; a coroutine or an unused generator would be taken for it."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{kind} {_where(function)} is `async`; nothing in a domain waits, so write a plain `def`")
    if inspect.isgeneratorfunction(function) and not may_yield:
        raise TypeError(f"{kind} {_where(function)} is a generator, which gives no result; write `return`, no `yield`")


def _where(declared: Any) -> str:
    """A declaration's name and place, for the text of an error."""
    code = getattr(declared, "__code__", None)
    if code is not None:
        return f"{declared.__name__}() in {declared.__module__}:{code.co_firstlineno}"
    return f"{declared.__module__}.{declared.__qualname__}"
