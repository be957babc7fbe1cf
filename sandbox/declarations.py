"""Rows and events: what a domain's records look like, and what is known of each field."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, dataclass_transform

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec.inspect import AnyType, FloatType, Metadata, StructType, UnionType, type_info
from msgspec.inspect import Field as InspectedField

from sandbox.values import OutOfRange, ValueFault, ensure_storable, moment

S = TypeVar("S", bound=Struct)

_MUTABLE = ("ListType", "DictType", "SetType", "ByteArrayType", "TypedDictType", "DataclassType")


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Row(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """One record of a table. Immutable: lists are tuples, a change is a new row."""


class _EventType(msgspec.StructMeta):
    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        tag: str = "",
        version: int = 0,
        **config: Any,
    ) -> "_EventType":
        made: Any = super().__new__(cls, name, bases, namespace, **config)
        made.event_tag, made.event_version = tag, version
        return made  # type: ignore[no-any-return]

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **_: Any) -> None:
        super().__init__(name, bases, namespace)


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Event(Struct, frozen=True, gc=False, forbid_unknown_fields=True, metaclass=_EventType):
    """What happened, in the past tense, with all its facts; `tag` and `version` name it in every log for ever."""

    event_tag: ClassVar[str]
    event_version: ClassVar[int]

    if TYPE_CHECKING:

        def __init_subclass__(cls, *, tag: str, version: int) -> None: ...


class Gone(Struct, frozen=True):
    """A handler's word that a row was deleted."""

    row_type: type[Row]
    key: str


class FieldSpec(Struct, frozen=True):
    """One field: its name, what it is for a judge, and its default."""

    name: str
    kind: str
    """`instant`, `prose`, `float`, `int`, `decimal`, `text` or `other`; null allowed or not."""
    volatile: bool
    unordered: bool
    required: bool
    default: Any
    refers: str = ""
    """The table of the same toolset whose ids it holds; none: nothing is known of that."""


class Shape(Generic[S]):
    """How structs of one class are checked and encoded. Made once for each class."""

    def __init__(self, struct_type: type[S]) -> None:
        info = type_info(struct_type)
        if not isinstance(info, StructType):
            raise TypeError(f"{struct_type!r} is no struct")
        self.struct_type = struct_type
        self.fields = tuple(_spec(struct_type, field) for field in info.fields)
        self.kinds = {field.name: field.type for field in info.fields}
        self._numbers = tuple(f.name for f in self.fields if f.kind in ("float", "decimal"))
        self._nested = tuple(f.name for f in info.fields if f.name not in self._numbers and _holds_float(f.type))
        self._instants = tuple(f.name for f in self.fields if f.kind == "instant")
        self._encode: Callable[[S], bytes] = msgspec.msgpack.Encoder().encode
        self._decode: Callable[[bytes], S] = msgspec.msgpack.Decoder(struct_type).decode

    def encoded(self, value: S) -> tuple[S, bytes]:
        """
        The struct as a reader of the log will get it, and its msgpack bytes.

        Raises:
            OutOfRange: a number is not finite or beyond 64 bits, or a text is no Unicode.
            ValueFault: a field is not of its declared type.
        """
        made, raw = self._read_back(value)
        return made, self._encode(made) if self._numbers or self._nested else raw

    def checked(self, value: S) -> S:
        """
        The same struct with its numbers as declared: an integer in a number field is a float, so 25 and 25.0 are one.

        Raises what `encoded` raises.
        """
        return self._read_back(value)[0]

    def _read_back(self, value: S) -> tuple[S, bytes]:
        """The struct as `decoded` gives it, and the bytes that it was read from, where 25 may still stand for 25.0."""
        if self._numbers or self._nested:
            self._ensure_finite(value)
        try:
            raw = self._encode(value)
            made = self._decode(raw)
        except (OverflowError, UnicodeEncodeError) as error:
            raise OutOfRange(f"{self.struct_type.__name__} cannot be recorded: {error}") from error
        except (msgspec.ValidationError, TypeError) as error:
            raise ValueFault(f"{self.struct_type.__name__} cannot be recorded: {error}") from error
        if self._instants:
            self._ensure_instants(made)
        return made, raw

    def decoded(self, raw: bytes) -> S:
        """The struct that `raw` holds; msgspec.ValidationError if it is none of this class."""
        return self._decode(raw)

    def _ensure_finite(self, value: S) -> None:
        for name in self._numbers:
            number = getattr(value, name)
            is_finite = (
                number.is_finite() if isinstance(number, Decimal) else type(number) is not float or isfinite(number)
            )
            if not is_finite:
                raise OutOfRange(f"{self.struct_type.__name__}.{name} is {number}, which no record may hold")
        for name in self._nested:
            part = getattr(value, name)
            if part is not msgspec.UNSET:
                ensure_storable(part, f"{self.struct_type.__name__}.{name}")

    def _ensure_instants(self, value: S) -> None:
        for name in self._instants:
            text = getattr(value, name)
            if text is not None and text is not msgspec.UNSET:
                try:
                    moment(text)
                except ValueFault as fault:
                    raise ValueFault(f"{self.struct_type.__name__}.{name}: {fault}") from None


def _spec(owner: type[Struct], field: InspectedField) -> FieldSpec:
    kinds, extra = _unwrapped(field.type)
    if issubclass(owner, Row) and _is_mutable(field.type):
        raise TypeError(
            f"{owner.__module__}.{owner.__qualname__}.{field.name} can be changed in place; "
            f"declare tuple[…, ...] or a frozen Struct instead"
        )
    if issubclass(owner, Row | Event) and field.name != field.encode_name:
        raise TypeError(
            f"{owner.__module__}.{owner.__qualname__}.{field.name} is recorded as {field.encode_name!r}; "
            f"call it the same in both, since seeds, profiles and effects name it too"
        )
    return FieldSpec(
        field.name,
        str(extra.get("kind") or _kind(kinds)),
        bool(extra.get("volatile")),
        bool(extra.get("unordered")),
        field.required,
        field.default_factory() if field.default_factory is not NODEFAULT else field.default,
        str(extra.get("refers") or ""),
    )


def _unwrapped(kind: msgspec.inspect.Type) -> tuple[list[msgspec.inspect.Type], dict[str, Any]]:
    """The alternatives of a field's type without annotations, and what the annotations say together."""
    if isinstance(kind, Metadata):
        kinds, extra = _unwrapped(kind.type)
        return kinds, {**extra, **(kind.extra or {})}
    if isinstance(kind, UnionType):
        parts = [_unwrapped(part) for part in kind.types]
        return [k for kinds, _ in parts for k in kinds], {k: v for _, extra in parts for k, v in extra.items()}
    return [kind], {}


def _is_mutable(kind: msgspec.inspect.Type) -> bool:
    """Whether a value of this type, or a part of it, can be changed in place: rows are shared by all trials."""
    if isinstance(kind, StructType) and not kind.cls.__struct_config__.frozen:
        return True
    return type(kind).__name__ in _MUTABLE or any(map(_is_mutable, _parts(kind)))


def _holds_float(kind: msgspec.inspect.Type) -> bool:
    return isinstance(kind, FloatType | AnyType) or any(map(_holds_float, _parts(kind)))


def _parts(kind: msgspec.inspect.Type) -> list[msgspec.inspect.Type]:
    if isinstance(kind, StructType):
        return [field.type for field in kind.fields]
    parts = [getattr(kind, name, ()) for name in ("type", "item_type", "key_type", "value_type")]
    parts += [*getattr(kind, "types", ()), *getattr(kind, "item_types", ())]
    return [part for part in parts if isinstance(part, msgspec.inspect.Type)]


_KINDS = {"FloatType": "float", "IntType": "int", "DecimalType": "decimal", "StrType": "text"}


def _kind(kinds: Sequence[msgspec.inspect.Type]) -> str:
    named = {type(kind).__name__ for kind in kinds} - {"NoneType"}
    if named == {"FloatType", "IntType"}:
        return "float"
    return _KINDS.get(named.pop(), "other") if len(named) == 1 else "other"
