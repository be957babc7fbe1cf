"""The OData `$filter` grammar: a text becomes a tree of `Name`, `Literal` and `Operation`, or a `QueryFault`."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

MAX_LEVELS: Final = 100
"""How deep a filter may nest: a level costs up to six Python frames, of the thousand that there are."""
MAX_LENGTH: Final = 32_768
"""How many characters a filter may have."""

COMPARISONS: Final = frozenset({"eq", "ne", "gt", "ge", "lt", "le"})
FUNCTIONS: Final[dict[str, tuple[int, int]]] = {
    **dict.fromkeys(("now", "mindatetime", "maxdatetime"), (0, 0)),
    **dict.fromkeys(("length", "tolower", "toupper", "trim", "round", "floor", "ceiling", "geo.length"), (1, 1)),
    **dict.fromkeys(("year", "month", "day", "hour", "minute", "second", "fractionalseconds"), (1, 1)),
    **dict.fromkeys(("date", "time", "totalseconds", "totaloffsetminutes"), (1, 1)),
    **dict.fromkeys(("concat", "contains", "startswith", "endswith", "indexof", "matchesPattern"), (2, 2)),
    **dict.fromkeys(("hassubset", "hassubsequence", "geo.distance", "geo.intersects"), (2, 2)),
    "substring": (2, 3),
}
"""Function name to the least and the most arguments it takes."""

_BINDING: Final = {"or": 1, "and": 2, "eq": 3, "ne": 3, "gt": 4, "ge": 4, "lt": 4, "le": 4}
_BINDING.update({"add": 5, "sub": 5, "mul": 6, "div": 6, "mod": 6, "in": 7})
_OPERATOR: Final = "|".join(_BINDING)
_LITERALS: Final = r"""
  (?P<duration>duration'[+-]?P(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?')
| (?P<geography>geography'(?:[^']|'')*')
| (?P<text>'(?:[^']|'')*')
| (?P<guid>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})
| (?P<datetime>[1-9]\d{3}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,12})?)?
    (?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)
| (?P<date>[1-9]\d{3}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01]))
| (?P<time>(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,12})?)
| (?P<decimal>[+-]?\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+))
| (?P<integer>[+-]?\d+)
"""
_NAME: Final = r"(?P<name>[a-z_]\w*(?:\.\w+)*)"
_MARK: Final = r"(?P<mark>[(),/:-])"
_FLAGS: Final = re.IGNORECASE | re.VERBOSE
_PLAIN: Final = re.compile(rf"(?P<blank>\s+)|{_LITERALS}|{_NAME}|{_MARK}", _FLAGS)
_PREFIXED: Final = re.compile(
    rf"""{_LITERALS} | (?P<flag>true|false) | (?P<null>null) | \s+(?P<operator>{_OPERATOR})\s+ | (?P<not>not)\s+
    | (?P<lambda>any|all) | {_NAME} | {_MARK} | (?P<blank>\s+)""",
    _FLAGS,
)
"""Lexer in which keywords are prefixes of what follows and blanks are part of the operators."""

_WORDS: Final = {"true": "flag", "false": "flag", "null": "null", "not": "not", "any": "lambda", "all": "lambda"}
_WORDS.update(dict.fromkeys(_BINDING, "operator"))
_LITERAL_KINDS: Final = frozenset(
    {"duration", "geography", "text", "guid", "datetime", "date", "time", "decimal", "integer", "flag", "null"}
)


class QueryFault(ValueError):
    """A `$filter`, `$orderby` or `$select` that cannot be read or answered; the text is for whoever asked."""


class Name(Struct, frozen=True):
    """A field, with its dotted prefix if it was written with one."""

    name: str


class Literal(Struct, frozen=True):
    """A constant; `kind` is flag, null, text, integer, decimal, date, datetime, time, guid, duration or geography."""

    kind: str
    text: str
    value: object
    """Python value of a text, integer or decimal; None for the other kinds."""


class Operation(Struct, frozen=True):
    """
    An operator, function, list, path or lambda with its operands.

    `op` is the operator or function name in lower case (a namespaced function as written), or one of: "list";
    "neg" (unary minus); "/" (path); "any" and "all", whose operands are a collection, a variable `Name` and a condition
    (`any` may have the collection alone).
    """

    op: str
    operands: tuple["Node", ...]
    height: int
    """Levels of operations in it, itself included."""


Node = Name | Literal | Operation


class _Token(Struct, frozen=True):
    kind: str
    text: str
    at: int


class _Items(Struct, frozen=True):
    nodes: list[Node]
    comma: bool


def parsed(text: str, *, prefix_keywords: bool = False) -> Node:
    """
    Tree of a `$filter`.

    Args:
        text: the filter; not blank.
        prefix_keywords: read it with the oddities of `FilterQuirks.prefix_keywords`.

    Raises:
        QueryFault: it does not parse, is longer than `MAX_LENGTH` or nests deeper than `MAX_LEVELS`.
    """
    if len(text) > MAX_LENGTH:
        raise QueryFault(f"$filter has {len(text)} characters, at most {MAX_LENGTH} are read; ask for less at once")
    parser = _Parser(text, prefix_keywords)
    node = parser.expression(0)
    if parser.kind:
        raise parser.fault()
    return node


def _tokens(text: str, prefix_keywords: bool) -> Iterator[_Token]:
    lexer, at = _PREFIXED if prefix_keywords else _PLAIN, 0
    while at < len(text):
        found = lexer.match(text, at)
        if found is None or found.lastgroup is None:
            raise _unreadable(text, at)
        kind, lexeme = found.lastgroup, found[found.lastgroup]
        if kind == "name" and not prefix_keywords:
            kind = _WORDS.get(lexeme.lower(), "name")
        if kind == "mark":
            kind = lexeme
        if kind != "blank" or prefix_keywords:
            yield _Token(kind, lexeme, at)
        at = found.end()
    yield _Token("", "", at)


def _unreadable(text: str, at: int) -> QueryFault:
    near = f"at {text[at : at + 20]!r} (character {at + 1})" if at < len(text) else "at its end"
    return QueryFault(f"$filter does not parse {near}; write comparisons like: status eq 'open' and priority ne 'low'")


class _Parser:
    """Precedence climbing over the tokens, with one token of look-ahead in `kind`."""

    def __init__(self, text: str, strict: bool) -> None:
        self.text, self.strict, self.levels = text, strict, 0
        self.tokens = _tokens(text, strict)
        self.token = next(self.tokens)

    @property
    def kind(self) -> str:
        return self.token.kind

    def fault(self) -> QueryFault:
        return _unreadable(self.text, self.token.at)

    def take(self, *kinds: str) -> str:
        if self.kind not in kinds:
            raise self.fault()
        lexeme = self.token.text
        self.token = next(self.tokens)
        return lexeme

    def took(self, kind: str) -> bool:
        return self.kind == kind and bool(self.take(kind))

    def expression(self, binding: int) -> Node:
        """An expression whose binary operators bind at least as tightly as `binding`."""
        self.levels += 1
        if self.levels > MAX_LEVELS:
            raise _too_deep()
        node = self.operand()
        while self.kind == "operator" and _BINDING[self.token.text.lower()] >= binding:
            node = self.binary(node)
        self.levels -= 1
        return node

    def binary(self, left: Node) -> Node:
        op = self.take("operator").lower()
        if op == "in":
            return _operation(op, left, self.choices())
        right = self.expression(_BINDING[op] + 1)
        if op not in ("and", "or"):
            return _operation(op, left, right)
        # One flat operation for a whole run of them, so that a thousand conditions are not a thousand levels.
        parts = [left, right]
        while self.kind == "operator" and self.token.text.lower() == op:
            self.take("operator")
            parts.append(self.expression(_BINDING[op] + 1))
        return _operation(op, *parts)

    def choices(self) -> Node:
        """What follows `in`: a list; where blanks do not matter also a list of one or a field that holds a list."""
        if self.strict or self.kind == "(":
            node = self.group()
            if _is_list(node):
                return node
            if self.strict:
                raise self.fault()
            return _operation("list", node)
        return self.operand()

    def operand(self) -> Node:
        if self.kind in _LITERAL_KINDS:
            return self.literal()
        if self.kind == "(":
            return self.group()
        if self.kind in ("not", "-"):
            op = "neg" if self.take("not", "-") == "-" else "not"
            self.took("blank")
            return _operation(op, self.expression(_BINDING["in"]))
        return self.named()

    def literal(self) -> Literal:
        kind, lexeme = self.kind, self.take(*_LITERAL_KINDS)
        if kind == "text":
            lexeme = lexeme[1:-1].replace("''", "'")
            return Literal(kind, lexeme, lexeme)
        if kind in ("duration", "geography"):
            return Literal(kind, lexeme[len(kind) + 1 : -1], None)
        if kind == "decimal":
            return Literal(kind, lexeme, float(lexeme))
        if kind == "integer":
            return Literal(kind, lexeme, _integer(lexeme))
        return Literal(kind, "null" if kind == "null" else lexeme, None)

    def group(self) -> Node:
        """What stands in parentheses: an expression, or a list if there is a comma."""
        self.take("(")
        items = self.items()
        return _operation("list", *items.nodes) if items.comma else items.nodes[0]

    def items(self) -> _Items:
        """One or more expressions up to the closing parenthesis; a single one may have a comma after it."""
        nodes, comma = [self.spaced()], False
        while self.took(","):
            comma = True
            self.took("blank")
            if self.kind == ")" and len(nodes) == 1:
                break
            nodes.append(self.spaced())
        self.take(")")
        return _Items(nodes, comma)

    def spaced(self) -> Node:
        """An expression with blanks around it."""
        self.took("blank")
        node = self.expression(0)
        self.took("blank")
        return node

    def named(self) -> Node:
        """A field, a path, a lambda over one, or a function call."""
        at = self.token.at
        name = self.take("name")
        if self.kind == "(":
            return self.call(name, at)
        node: Node = Name(name)
        while self.took("/"):
            if self.kind == "lambda":
                return self.quantified(node)
            node = _operation("/", node, Name(self.take("name").rpartition(".")[2]))
        return node

    def call(self, name: str, at: int) -> Node:
        self.take("(")
        arguments = [] if self.took(")") else self.items().nodes
        _check_call(name, len(arguments), at)
        return _operation(name, *arguments)

    def quantified(self, collection: Node) -> Node:
        quantifier = self.take("lambda").lower()
        self.take("(")
        if quantifier == "any" and self.took(")"):
            return _operation(quantifier, collection)
        self.took("blank")
        variable = Name(self.take("name"))
        self.took("blank")
        self.take(":")
        condition = self.spaced()
        self.take(")")
        return _operation(quantifier, collection, variable, condition)


def _operation(op: str, *operands: Node) -> Operation:
    height = 1 + max((operand.height for operand in operands if isinstance(operand, Operation)), default=0)
    if height > MAX_LEVELS:
        raise _too_deep()
    return Operation(op, operands, height)


def _too_deep() -> QueryFault:
    return QueryFault(f"$filter nests deeper than {MAX_LEVELS} levels; drop parentheses or split the question")


def _is_list(node: Node) -> bool:
    return isinstance(node, Operation) and node.op == "list"


def _integer(lexeme: str) -> int:
    try:
        return int(lexeme)
    except ValueError:
        raise QueryFault(f"$filter has a number of {len(lexeme)} digits; write a shorter one") from None


def _check_call(name: str, given: int, at: int) -> None:
    """Refuse a function that nobody knows or that takes another number of arguments; other namespaces than geo pass."""
    arity = FUNCTIONS.get(name)
    if arity is None and name.rpartition(".")[0] in ("", "geo"):
        raise QueryFault(
            f"$filter has no function {name[:40]!r} (character {at + 1}); there are: {', '.join(sorted(FUNCTIONS))}"
        )
    if arity is not None and not arity[0] <= given <= arity[1]:
        takes = " or ".join(str(n) for n in sorted(set(arity)))
        raise QueryFault(f"$filter function {name} takes {takes} arguments, got {given} (character {at + 1})")
