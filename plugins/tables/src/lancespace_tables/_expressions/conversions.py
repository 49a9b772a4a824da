"""Conversions of stored text that may fail: on a server, they are refused in expressions whose values are streamed.

If the text has the character NUL, so has the message of the error, and Arrow then ends the process: it cannot pass such
a message through its C interface. Only streams go through that; the other operations raise the error.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING

import pyarrow as pa
from lance_namespace import InvalidInputError

from lancespace_tables._expressions import functions
from lancespace_tables._expressions.tokens import LanceDialect, tokens_of

if TYPE_CHECKING:
    from sqlglot import exp


class Kind(Enum):
    """What a value may hold."""

    NUMBER = "numbers, times, or lists of them"
    LITERAL = "text of the expression itself, which has no NUL"
    TEXT = "text or bytes of the table, or lists of them"
    MIXED = "structs with text"


_SHORT = 1000
"""Characters of an expression that is remembered."""

_STORED = {Kind.TEXT, Kind.MIXED}


def check_conversions(expression: str, schema: pa.Schema, field: str) -> None:
    """Refuse an expression, of a field of the request, that converts text of the table other than by TRY_CAST.

    Raises:
        InvalidInputError: Naming the field, and what to use.
    """
    types = {each.name.lower(): each.type for each in schema} | {each.name: each.type for each in schema}
    try:
        _kind(_parsed(expression), types)
    except InvalidInputError as error:
        raise InvalidInputError(f"{field}: {error}") from error


def _parsed(expression: str) -> exp.Expr:
    return _remembered(expression) if len(expression) <= _SHORT else _parse_text(expression)


def _parse_text(expression: str) -> exp.Expr:
    tree = LanceDialect().parser().parse(tokens_of(expression), expression)[0]
    if tree is None:
        raise InvalidInputError("The expression is empty.")
    return tree


_remembered = functools.lru_cache(maxsize=1024)(_parse_text)


def _kind(node: exp.Expr, types: Mapping[str, pa.DataType]) -> Kind:
    """What a node may hold.

    Raises:
        InvalidInputError: If it, or a node below, converts stored text.
    """
    from sqlglot import exp

    found = _kind_of_leaf(node, types)
    if found is not None:
        return found
    children = node.flatten() if isinstance(node, exp.Connector) else node.iter_expressions()
    below = [_kind(child, types) for child in children if not isinstance(child, exp.DataType)]
    if isinstance(node, exp.Anonymous):
        return _kind_of_call(node, below)
    if isinstance(node, exp.Cast):  # TRY_CAST is one, too.
        return _kind_of_cast(node, below[0])
    return _kind_of_operator(node, below)


def _kind_of_leaf(node: exp.Expr, types: Mapping[str, pa.DataType]) -> Kind | None:
    from sqlglot import exp

    stored = _type(node, types)
    if stored is not None:
        return _kind_of_type(stored)
    if isinstance(node, exp.Column) and len(node.parts) > 1:
        return Kind.MIXED  # Not a field of a struct.
    if isinstance(node, (exp.Column, exp.HexString, exp.Null)) or node.is_string:
        return Kind.LITERAL  # A column that is not there is an error of its own; a text may be in double quotes.
    return None


def _kind_of_operator(node: exp.Expr, below: list[Kind]) -> Kind:
    from sqlglot import exp

    if isinstance(node, (exp.Paren, exp.Bracket)):  # A field that is looked up by its name is a leaf.
        return below[0]
    if isinstance(node, (exp.Trim, exp.Substring, exp.Overlay, exp.DPipe)):
        return _text_of(below)
    if isinstance(node, exp.StrPosition) or (isinstance(node, exp.Is) and isinstance(node.expression, exp.Null)):
        return Kind.NUMBER
    if isinstance(node, (exp.Is, exp.Not, exp.And, exp.Or, exp.Extract)):
        return _parse(below)
    _compare(below)
    if not below or isinstance(node, (exp.Predicate, exp.Binary, exp.Neg)):
        return Kind.NUMBER
    return _together(below)


def _kind_of_cast(node: exp.Cast, below: Kind) -> Kind:
    from sqlglot import exp

    if node.to.this in exp.DataType.TEXT_TYPES:
        return _text_of([below])
    if node.to.this in (exp.DType.BINARY, exp.DType.VARBINARY):
        return Kind.TEXT  # The bytes of a number may be 0.
    if not isinstance(node, exp.TryCast):
        _parse([below])
    return Kind.NUMBER


def _kind_of_call(node: exp.Anonymous, below: list[Kind]) -> Kind:
    name = node.name.lower()
    if name in functions.PARSING:
        _parse(below)
    elif name in functions.PATTERNS:
        _parse(below[2 + (name == "regexp_replace") :])  # Flags, and places.
    elif name not in functions.OF_TEXT:
        _compare(below)
    kinds = [argument.name.lower() for argument in node.expressions] if name.startswith("arrow_") else []
    if name in functions.BINARY or any("binary" in kind for kind in kinds):
        return Kind.TEXT
    if name in functions.COUNTING:
        return Kind.NUMBER
    return _text_of(below) if name in functions.OF_TEXT else _together(below)


def _text_of(kinds: Iterable[Kind]) -> Kind:
    """What makes a text of its input, of numbers as well: those have no NUL."""
    return _together(kind for kind in kinds if kind is not Kind.NUMBER)


def _parse(kinds: Iterable[Kind]) -> Kind:
    """Refuse stored text where it would be read as something else; the answer is something else."""
    if _STORED.intersection(kinds):
        raise InvalidInputError(_REFUSAL)
    return Kind.NUMBER


def _compare(kinds: list[Kind]) -> None:
    """Refuse what would be brought to one type by reading stored text."""
    stored = [kind for kind in kinds if kind in _STORED]
    if stored and (Kind.NUMBER in kinds or (Kind.MIXED in stored and len(kinds) > 1)):
        raise InvalidInputError(_REFUSAL)


_REFUSAL = (
    "The expression converts text or bytes of a column to another type, which ends the process if the text has the "
    "character NUL. Use TRY_CAST(... AS type): it is NULL where the text cannot be converted."
)


def _together(kinds: Iterable[Kind]) -> Kind:
    found = set(kinds)
    for kind in (Kind.MIXED, Kind.TEXT, Kind.NUMBER):
        if kind in found:
            return kind
    return Kind.LITERAL


def _type(node: exp.Expr, types: Mapping[str, pa.DataType]) -> pa.DataType | None:
    """The type of a column, or of a field in a struct; None if the node is neither."""
    from sqlglot import exp

    if isinstance(node, exp.Column):
        first, *rest = (part.name for part in node.parts)
        found = types.get(first, types.get(first.lower(), _VIRTUAL.get(first)))
        for name in rest:
            found = _field(found, name)
        return found
    if isinstance(node, exp.Dot):
        return _field(_type(node.this, types), node.expression.name)
    if isinstance(node, exp.Bracket):
        inner = _type(node.this, types)
        (index, *_) = node.expressions
        if isinstance(index, exp.Literal) and index.is_string:
            return _field(inner, index.name)
        if inner is not None and _is_list(inner) and isinstance(index, (exp.Literal, exp.Neg)):
            return inner.value_type
    return None


_VIRTUAL = dict.fromkeys(
    ("_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version"), pa.uint64()
) | {"_distance": pa.float32(), "_score": pa.float32()}
"""Columns that Lance has beside those of the table."""


def _field(outer: pa.DataType | None, name: str) -> pa.DataType | None:
    if outer is None or not pa.types.is_struct(outer):
        return None
    fields = {field.name.lower(): field.type for field in outer}
    return fields.get(name.lower())


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _kind_of_type(kind: pa.DataType) -> Kind:
    if isinstance(kind, pa.BaseExtensionType):
        return _kind_of_type(kind.storage_type)
    if pa.types.is_dictionary(kind) or _is_list(kind):
        return _kind_of_type(kind.value_type)
    if pa.types.is_nested(kind):
        inner = {_kind_of_type(kind.field(number).type) for number in range(kind.num_fields)}
        return Kind.MIXED if inner & _STORED else Kind.NUMBER
    known = (pa.types.is_primitive, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_null)
    return Kind.NUMBER if any(has(kind) for has in known) else Kind.TEXT
