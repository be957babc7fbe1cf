"""A domain: mounted toolsets, their seed rows and documents, looked up by name, row class or topic."""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from sandbox.coercion import coerced, overlooked
from sandbox.declarations import Event, Gone, Row, Shape
from sandbox.ids import IdRule
from sandbox.package_data import document_rows, instructions_of, seed_rows
from sandbox.records import RESERVED_MOUNTS
from sandbox.refusals import SandboxFault, UserFault
from sandbox.snapshot import Layer, Snapshot
from sandbox.sources import sources_of
from sandbox.toolset import Handler, Mount, TableSpec, Toolset, ToolSpec, Upcaster
from sandbox.values import ValueFault, digest_of, ensure_storable

R = TypeVar("R", bound=Row)
Mounting = Literal["own", "public", "imported"]
"""How a campaign's domain was mounted; of an imported one only results are known."""


class RowFault(UserFault):
    """A row that cannot be loaded; the text names table, row, field and reason."""


class Table(Struct, frozen=True, eq=False):
    """A table of a mounted toolset."""

    name: str
    spec: TableSpec
    shape: Shape[Any]
    ids: IdRule | None
    mount: Mount

    def beside(self, name: str) -> str:
        """The whole name of another table of the same mount."""
        return self.mount.table_names.get(name, f"{self.mount.name}_{name}")


class Tool(Struct, frozen=True, eq=False):
    """A tool of a mounted toolset, under the name that the agent uses."""

    name: str
    spec: ToolSpec
    schema: Mapping[str, Any]
    mount: Mount
    tables: Mapping[type[Row], Table]
    topics: Mapping[type[Event], str]

    @property
    def is_read(self) -> bool:
        """Whether it declares no event."""
        return not self.spec.emits


class Handling(Struct, frozen=True, eq=False):
    """How an event of one topic is read and what it does."""

    topic: str
    event_type: type[Event]
    shape: Shape[Any]
    handler: Handler
    tables: Mapping[type[Row], Table]


class Domain:
    """
    One business.

    Args:
        name: of the domain: ASCII letters, digits, `_`, `-`, `.`.
        mounts: toolsets, or toolsets mounted under other names and settings.
        seed: rows by mounted table name; read from `package` when left out.
        package: a package with `seed/` (a YAML file for each table), document folders and `instructions.md`.
        refusals: how the agent sees a refusal: as an MCP "error", or as an "object" with `error` and `tool`.
        mounting: "own", or "public" for a business as the public benchmark's servers were seen to behave.
    """

    def __init__(
        self,
        name: str,
        *mounts: Toolset | Mount,
        seed: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
        package: str = "",
        refusals: Literal["error", "object"] = "error",
        mounting: Mounting = "own",
    ) -> None:
        if not re.fullmatch(r"\w[\w.-]*", name, re.ASCII):
            raise TypeError(f"{name!r} cannot name a domain; use letters, digits, `_`, `-` and `.`")
        self.name = name
        self.mounts = tuple(mount.mount() if isinstance(mount, Toolset) else mount for mount in mounts)
        self.refusals = refusals
        self.mounting: Mounting = mounting
        self.package = package
        self._seed_rows = seed
        self.tables: dict[str, Table] = {}
        self.tools: dict[str, Tool] = {}
        self.handlings: dict[str, Handling] = {}
        self.upcasters: dict[str, tuple[str, Upcaster]] = {}
        for mount in self.mounts:
            self._add_tables(mount)
            self._ensure_references(mount)
        for mount in self.mounts:
            self._add_tools_and_handlers(mount)

    def furnished(self, seed: Mapping[str, Sequence[Mapping[str, Any]]] | None, instructions: str | None) -> "Domain":
        """The same business with other seed rows, documents among them, and other instructions; None: its own."""
        made = Domain(
            self.name,
            *self.mounts,
            seed=self._seed_rows if seed is None else seed,
            package=self.package,
            refusals=self.refusals,
            mounting=self.mounting,
        )
        if instructions is not None:
            made.instructions = instructions
        return made

    def _add_tables(self, mount: Mount) -> None:
        if mount.name in RESERVED_MOUNTS:
            raise TypeError(
                f"domain {self.name} mounts toolset {mount.toolset.name} as {mount.name!r}, which names Trialbox's own "
                f"records; mount it under another name"
            )
        for spec in mount.toolset.tables.values():
            name = mount.table_names.get(spec.name, f"{mount.name}_{spec.name}")
            if name in self.tables:
                raise TypeError(f"domain {self.name} has two tables {name}; mount one toolset under another name")
            ids = mount.ids.get(spec.row_type, spec.ids)
            self.tables[name] = Table(name, spec, Shape(spec.row_type), ids, mount)

    def _ensure_references(self, mount: Mount) -> None:
        declared = {spec.name for spec in mount.toolset.tables.values()}
        for table in self.tables.values():
            for field in table.shape.fields:
                if table.mount is mount and field.refers and field.refers not in declared:
                    raise TypeError(
                        f"{table.name}.{field.name} refers to table {field.refers!r}, which toolset "
                        f"{mount.toolset.name} does not declare"
                    )

    def _add_tools_and_handlers(self, mount: Mount) -> None:
        tables = self._tables_seen_from(mount)
        topics = {event_type: _topic(mount, event_type) for event_type in mount.toolset.handlers}
        for event_type, handler in mount.toolset.handlers.items():
            topic = topics[event_type]
            if topic in self.handlings:
                raise TypeError(f"domain {self.name} has two events {topic}; mount one toolset under another name")
            self.handlings[topic] = Handling(topic, event_type, Shape(event_type), handler, tables)
        for (tag, version), upcaster in mount.toolset.upcasters.items():
            self.upcasters[f"{mount.name}.{tag}.{version}"] = (f"{mount.name}.{tag}.{version + 1}", upcaster)
        for spec in mount.toolset.tools.values():
            name = mount.prefix + spec.name
            if name in self.tools:
                raise TypeError(f"domain {self.name} has two tools {name}; give one mount another prefix")
            schema = spec.arguments.schema(is_open=mount.is_open.get(spec.name, False), description=spec.description)
            self.tools[name] = Tool(name, spec, schema, mount, tables, topics)

    def _tables_seen_from(self, mount: Mount) -> dict[type[Row], Table]:
        """Tables by row class; where a class is mounted twice, the mount's own."""
        seen: dict[type[Row], Table] = {}
        for table in self.tables.values():
            if table.spec.row_type not in seen or table.mount is mount:
                seen[table.spec.row_type] = table
        return seen

    @cached_property
    def seed(self) -> Layer:
        """The rows that every task starts from."""
        if self._seed_rows is not None:
            return self.layer(self._seed_rows)
        rows = dict(seed_rows(self.package)) if self.package else {}
        for table in self.tables.values():
            if table.spec.documents and self.package:
                rows[table.name] = document_rows(self.package, table.spec.documents)
        return self.layer(rows)

    @cached_property
    def instructions(self) -> str:
        """What an agent of this business is told first: role, policy in short, how to work."""
        return instructions_of(self.package) if self.package else ""

    @cached_property
    def digest(self) -> str:
        """Digest of the code that declares this domain, of what that uses of its packages, and of mount settings."""
        modules = {str(item.__module__) for mount in self.mounts for item in _declared(mount.toolset)}
        settings = [
            (m.name, m.prefix, repr(m.clock), repr(m.quirks), m.arguments, m.is_open, m.table_names, _rules(m.ids))
            for m in self.mounts
        ]
        return digest_of([self.name, sources_of(modules), settings])

    def layer(self, rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> Layer:
        """
        Rows as an immutable layer.

        In a lax mount a later row replaces an earlier one with its key, in that one's place.

        Raises:
            RowFault: an unknown table, a row that is not of its table's shape, or two rows with one key.
        """
        made = {}
        for name, items in rows.items():
            table = self.tables.get(name)
            if table is None:
                raise RowFault(f"no table {name!r} in domain {self.name}; it has {', '.join(sorted(self.tables))}")
            made[name] = _loaded(table, items)
        return Layer(made)

    def layer_from(self, content: bytes) -> Layer:
        """A layer again from its stored content; SandboxFault if the row classes no longer fit it."""
        try:
            return self.layer(msgspec.json.decode(content))
        except RowFault as fault:
            raise SandboxFault(f"a stored layer does not fit domain {self.name}: {fault}") from fault

    @cached_property
    def snapshot(self) -> Snapshot:
        """The seed alone."""
        return Snapshot([self.seed])


def _loaded(table: Table, items: Iterable[Mapping[str, Any]]) -> dict[str, Row]:
    loaded: dict[str, Row] = {}
    places: dict[str, int] = {}
    for position, item in enumerate(items):
        at = f"{table.name}[{position}]"
        row = _row(table, item, at)
        key = table.spec.key_of(row)
        first = places.setdefault(key, position)
        if first != position and table.mount.arguments == "strict":
            raise RowFault(f"{at}: {table.name}[{first}] has the key {key!r} already; give one of them another key")
        loaded[key] = row
    return loaded


def _row(table: Table, item: Mapping[str, Any], at: str) -> Row:
    try:
        if not isinstance(item, Mapping):
            raise ValueFault(f"a row is an object, got {type(item).__name__}")
        known = {field.name for field in table.shape.fields}
        given = {name: value for name, value in item.items() if name in known or not table.spec.drops_unknown}
        if table.mount.arguments == "lax":
            kinds = table.shape.kinds
            given = {name: coerced(value, kinds[name]) if name in kinds else value for name, value in given.items()}
            for name, kind in kinds.items():
                if name in given and (fault := overlooked(given[name], kind)):
                    raise ValueFault(f"{name}: {fault}")
        ensure_storable(given)
        row: Row = table.shape.checked(msgspec.convert(given, table.spec.row_type))
        table.spec.key_of(row)
    except (msgspec.ValidationError, ValueFault) as error:
        raise RowFault(f"{at}: {error}") from None
    return row


def rows_of(result: "Row | Gone | Iterable[Row | Gone]") -> Iterable[Row | Gone]:
    """What a handler returned, as a sequence."""
    return (result,) if isinstance(result, Row) or not isinstance(result, Iterable) else result


def _topic(mount: Mount, event_type: type[Event]) -> str:
    return f"{mount.name}.{event_type.event_tag}.{event_type.event_version}"


def _rules(ids: Mapping[type[Row], IdRule]) -> list[list[str]]:
    """Id rules as text: for which rows, which function, and what it was made with."""
    return [
        [row_type.__qualname__, str(getattr(rule, "__qualname__", "")), _made_with(rule)]
        for row_type, rule in ids.items()
    ]


def _made_with(rule: IdRule) -> str:
    if not inspect.isfunction(rule):
        return ""
    return repr(
        [item for item in sorted(inspect.getclosurevars(rule).nonlocals.items()) if isinstance(item[1], str | int)]
    )


def _declared(toolset: Toolset) -> Iterable[Any]:
    yield from toolset.tables
    yield from toolset.handlers
    yield from toolset.handlers.values()
    yield from toolset.upcasters.values()
    yield from (spec.function for spec in toolset.tools.values())
