"""
Picking rows by the help desk's query language: `$filter`, `$orderby`, paging and `$select`, over rows in JSON form.

Without quirks it is OData v4: three-valued logic, nulls first, several keys, functions, dates as instants.
Each quirk of `FilterQuirks` brings in one oddity that public servers of this language were seen to have.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from domains.shared.odata_syntax import COMPARISONS, Literal, Name, Node, Operation, QueryFault, parsed
from domains.shared.odata_values import applied, calculated, clock, compared, in_order, instant, kind, negated

__all__ = ["NO_QUIRKS", "FilterQuirks", "QueryFault", "matches", "ordered", "projected", "select_rows"]

Row = Mapping[str, object]


class FilterQuirks(Struct, frozen=True):
    """Oddities of the query language, each off by default."""

    prefix_keywords: bool = False
    """
    A lexer without word boundaries. null, true, false, any and all are read at the start of any word, so `allow eq 1`
    does not parse; `not` and the binary operators need their blanks, so `not(...)` and `in('a', 'b')` are unknown
    functions; blanks around the whole text are an error, and so is a list of one without a comma.
    """
    ne_ge_le_always_hold: bool = False
    """Conditions with ne, ge and le hold for every row, without comparing."""
    only_comparisons_evaluated: bool = False
    """
    Only comparisons, `and` and `or` are evaluated. `not`, `in`, functions, lambdas, fields and literals hold as
    conditions; as operands, operations equal only an identical text and have no order, so `not a eq 'x'` never holds.
    """
    literals_not_values: bool = False
    """true and false are their own text; null, dates and GUIDs equal only the same literal, never a value in a row."""
    python_comparison: bool = False
    """Booleans are the numbers 1 and 0; an order with null, or with a list's items of mixed kinds, is an error."""
    unknown_names_pass: bool = False
    """A name that is no field is null in `$filter`, where a dotted prefix is dropped first, and ignored elsewhere."""
    first_order_key_only: bool = False
    """`$orderby` is read up to its second word: a field, and `desc` or anything else for ascending (`desc,` too)."""
    mixed_values_unordered: bool = False
    """Where two values of the order key have no order between them, null and text say, rows stay as they are."""
    table_name_is_field: bool = False
    """`table_name` is a field that holds the name of the table."""


NO_QUIRKS: Final = FilterQuirks()
MAX_LAMBDAS: Final = 2
"""How deep any and all may nest: each level multiplies the work by the length of a list."""


def select_rows(
    rows: Iterable[Row],
    *,
    where: str | None,
    order: str | None,
    skip: int,
    top: int | None,
    fields: str | None,
    columns: Sequence[str],
    quirks: FilterQuirks = NO_QUIRKS,
    table: str = "",
) -> list[dict[str, object]]:
    """
    Rows that a query asks for: filtered, then ordered, then the page, then reduced to some fields.

    Args:
        rows: in storage order, which is the answer's order where `order` decides nothing.
        where: the `$filter`; None or "" keeps all rows.
        order: the `$orderby`; None or a blank one keeps the order.
        skip: how many rows to leave out at the start, 0 or more.
        top: how many rows to give at most, None for all.
        fields: the `$select`; None or "" keeps all fields.
        columns: names of the table's fields.
        quirks: oddities to follow.
        table: name of the table, for `FilterQuirks.table_name_is_field`.

    Raises:
        QueryFault: the query cannot be read, or cannot be answered for a row that it reaches.
    """
    if skip < 0 or (top is not None and top < 0):
        raise QueryFault(f"$skip {skip} and $top {top} cannot be negative; count rows from 0")
    kept = matches(rows, where, columns=columns, quirks=quirks, table=table)
    page = ordered(kept, order, columns=columns, quirks=quirks)[skip:][:top]
    return projected(page, fields, columns=columns, quirks=quirks)


def matches(
    rows: Iterable[Row], where: str | None, *, columns: Sequence[str], quirks: FilterQuirks = NO_QUIRKS, table: str = ""
) -> list[Row]:
    """Rows for which a `$filter` holds; see `select_rows`."""
    if not where or not (quirks.prefix_keywords or where.strip()):
        return list(rows)
    condition = parsed(where, prefix_keywords=quirks.prefix_keywords)
    if not quirks.unknown_names_pass:
        for name in _names(condition, frozenset()):
            _check_name("$filter", name, columns)
    implied = {"table_name": table} if quirks.table_name_is_field else {}
    evaluation = _Evaluation(quirks)
    return [row for row in rows if evaluation.truth(condition, {**implied, **row} if implied else row) is True]


def ordered(
    rows: Iterable[Row], order: str | None, *, columns: Sequence[str], quirks: FilterQuirks = NO_QUIRKS
) -> list[Row]:
    """Rows in the order of an `$orderby`, equal ones as they were, also where it descends; see `select_rows`."""
    result = list(rows)
    if not order or not order.strip():
        return result
    for key in reversed(list(_order_keys(order, columns, quirks))):
        result = _sorted(result, key, quirks)
    return result


def projected(
    rows: Iterable[Row], fields: str | None, *, columns: Sequence[str], quirks: FilterQuirks = NO_QUIRKS
) -> list[dict[str, object]]:
    """New rows with the fields that a `$select` names, in the order that they have in the row; see `select_rows`."""
    if not fields:
        return [dict(row) for row in rows]
    names = {name.strip() for name in fields.split(",")}
    if not quirks.unknown_names_pass:
        if "*" in names:
            names.update(columns)
        for name in sorted(names - {"*"}):
            _check_name("$select", name, columns)
    return [{name: value for name, value in row.items() if name in names} for row in rows]


class _OrderKey(Struct, frozen=True):
    field: str
    descending: bool


def _order_keys(order: str, columns: Sequence[str], quirks: FilterQuirks) -> Iterator[_OrderKey]:
    if quirks.first_order_key_only:
        field, direction = (*order.split(), "")[:2]
        yield _OrderKey(field, direction.lower() == "desc")
        return
    for part in order.split(","):
        words = part.split()
        if not 1 <= len(words) <= 2 or (words[1:] and words[1].lower() not in ("asc", "desc")):
            raise QueryFault(f"$orderby does not parse at {part[:40]!r}; write: created_at desc, id")
        if not quirks.unknown_names_pass:
            _check_name("$orderby", words[0], columns)
        yield _OrderKey(words[0], words[-1].lower() == "desc" and len(words) == 2)


def _sorted(rows: list[Row], key: _OrderKey, quirks: FilterQuirks) -> list[Row]:
    if not quirks.mixed_values_unordered:
        return sorted(rows, key=lambda row: _rank(row.get(key.field)), reverse=key.descending)
    try:
        return sorted(rows, key=lambda row: row.get(key.field), reverse=key.descending)  # type: ignore[arg-type, return-value]
    except TypeError:
        return rows


def _rank(value: object) -> tuple[object, ...]:
    """Sort key with which nulls come first and values of different kinds never meet."""
    if value is None:
        return (0,)
    if isinstance(value, list | tuple):
        return (4, tuple(_rank(item) for item in value))
    if isinstance(value, str):
        return (3, value)
    return (1 if isinstance(value, bool) else 2, value)


def _names(node: Node, bound: frozenset[str]) -> Iterator[str]:
    """Field names in a condition; variables that a lambda binds are none."""
    if isinstance(node, Name):
        if node.name not in bound:
            yield node.name
    elif isinstance(node, Operation):
        if node.op == "/":
            raise _path()
        for operand in node.operands[:1]:
            yield from _names(operand, bound)
        if node.op in ("any", "all"):
            bound = bound.union(operand.name for operand in node.operands[1:2] if isinstance(operand, Name))
        for operand in node.operands[1:]:
            yield from _names(operand, bound)


def _path() -> QueryFault:
    return QueryFault("$filter has a path with '/', but rows are flat; name the field alone, or use any or all")


def _check_name(where: str, name: str, columns: Sequence[str]) -> None:
    if name in columns:
        return
    near = difflib.get_close_matches(name[:100].lower(), columns, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"fields are: {', '.join(columns)}"
    quotes = "; text stands in single quotes" if where == "$filter" else ""
    raise QueryFault(f"{where} names {name[:40]!r}, which is no field of this table; {hint}{quotes}")


class _Evaluation:
    """What the parts of a condition mean for a row."""

    def __init__(self, quirks: FilterQuirks) -> None:
        self.quirks, self.open_lambdas = quirks, 0

    def truth(self, node: Node, row: Row) -> bool | None:
        """Whether a condition holds for a row; None is "unknown", because of a null."""
        op = node.op if isinstance(node, Operation) else ""
        if isinstance(node, Operation) and op in ("and", "or"):
            return self.joined(op, node.operands, row)
        if op in ("ne", "ge", "le") and self.quirks.ne_ge_le_always_hold:
            return True
        if isinstance(node, Operation) and op in COMPARISONS:
            return self.comparison(op, self.value(node.operands[0], row), self.value(node.operands[1], row))
        if self.quirks.only_comparisons_evaluated:
            return True
        value = self.value(node, row)
        if value is None or isinstance(value, bool):
            return value
        raise QueryFault(
            f"$filter takes {kind(value)} for a condition; compare it, and put what 'not' denies in parentheses: "
            "not (status eq 'open')"
        )

    def joined(self, op: str, conditions: Sequence[Node], row: Row) -> bool | None:
        """`and` or `or` from left to right, up to the first that decides."""
        decides, unknown = op == "or", False
        for condition in conditions:
            truth = self.truth(condition, row)
            if truth is decides:
                return decides
            unknown = unknown or truth is None
        return None if unknown else not decides

    def comparison(self, op: str, left: object, right: object) -> bool:
        if op in ("eq", "ne") and (self.quirks.python_comparison or isinstance(left, Node) or isinstance(right, Node)):
            return (left == right) is (op == "eq")
        return in_order(op, left, right) if self.quirks.python_comparison else compared(op, left, right)

    def value(self, node: Node, row: Row) -> object:
        """Value of an operand; the node itself where a quirk says that it has none."""
        if isinstance(node, Name):
            return self.field(node.name, row)
        if isinstance(node, Literal):
            return self.literal(node)
        if self.quirks.only_comparisons_evaluated:
            return node
        return self.result(node, row)

    def field(self, name: str, row: Row) -> object:
        return row.get(name.rpartition(".")[2] if self.quirks.unknown_names_pass else name)

    def literal(self, node: Literal) -> object:
        if node.kind in ("text", "integer", "decimal"):
            return node.value
        if self.quirks.literals_not_values:
            return node.text if node.kind == "flag" else node
        if node.kind in ("flag", "null"):
            return node.text.lower() == "true" if node.kind == "flag" else None
        if node.kind in ("date", "datetime"):
            return _existing(instant(node.text), node.text)
        if node.kind in ("time", "guid"):
            return clock(node.text) if node.kind == "time" else node.text
        raise QueryFault(f"$filter cannot use a {node.kind}; compare with a date: created_at ge 2025-01-31")

    def result(self, node: Operation, row: Row) -> object:
        op, operands = node.op, node.operands
        if op in COMPARISONS or op in ("and", "or"):
            return self.truth(node, row)
        if op == "not":
            truth = self.truth(operands[0], row)
            return None if truth is None else not truth
        if op in ("any", "all"):
            return self.quantified(op, operands, row)
        values = [self.value(operand, row) for operand in operands]
        if op == "list":
            return values
        if op == "in":
            return any(self.comparison("eq", values[0], choice) for choice in _items("in", values[1]))
        if op == "neg":
            return negated(values[0])
        if op in ("add", "sub", "mul", "div", "mod"):
            return calculated(op, values[0], values[1])
        if op == "/":
            raise _path()
        return applied(op, values)

    def quantified(self, op: str, operands: Sequence[Node], row: Row) -> bool | None:
        items = _items(op, self.value(operands[0], row))
        if len(operands) == 1:
            return bool(items)
        if self.open_lambdas == MAX_LAMBDAS:
            raise QueryFault(f"$filter nests any and all deeper than {MAX_LAMBDAS}; split the question")
        self.open_lambdas += 1
        variable = operands[1].name if isinstance(operands[1], Name) else ""
        truths = [self.truth(operands[2], {**row, variable: item}) for item in items]
        self.open_lambdas -= 1
        return any(truth is True for truth in truths) if op == "any" else all(truth is True for truth in truths)


def _existing(value: object, text: str) -> object:
    if value is None:
        raise QueryFault(f"$filter has the date {text}, which the calendar has not; write one that exists")
    return value


def _items(op: str, value: object) -> Sequence[object]:
    """The members of a list; null has none."""
    if value is None:
        return ()
    if isinstance(value, list | tuple):
        return value
    raise QueryFault(f"$filter: {op} takes a list, got {kind(value)}; write: status in ('open', 'pending')")
