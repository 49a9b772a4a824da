"""Identifiers of namespaces and tables: one place that parses, joins and validates them.

An identifier is the list of names from the root down, as in the spec: ``["sales", "orders"]``. People may also write
it dotted (``"sales.orders"``); catalogs store it joined with ``$`` (``"sales$orders"``). The empty identifier is the
root namespace.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Sequence
from typing import NoReturn

DELIMITER = "$"
"""Joins the names of an identifier in catalogs and REST routes; it is therefore not allowed inside a name."""

MAX_NAME_BYTES = 255
"""A name may become a directory entry, and 255 bytes is what common file systems allow."""

MAX_IDENTIFIER_BYTES = 1024
"""A joined identifier may become an object key, and 1024 bytes is what common object stores allow."""

Identifier = str | Sequence[str]
"""What people may pass: ``"sales.orders"``, ``["sales", "orders"]``, or ``""`` / ``[]`` for the root namespace."""

_FORBIDDEN_CHARACTERS = {"/": "a slash", "\\": "a backslash", DELIMITER: f"the delimiter {DELIMITER!r}"}
_FORBIDDEN_CATEGORIES = {
    "Cc": "a control character",
    "Cs": "a lone surrogate",
    "Zl": "a line separator",
    "Zp": "a paragraph separator",
}


def parse(identifier: Identifier) -> list[str]:
    """Turn what a person wrote into a validated list of names.

    Raises:
        InvalidInputError: If a name is not allowed; the message says which and why.
    """
    return list(validate(_names(identifier)))


def join(names: Sequence[str]) -> str:
    """The catalog's form of an identifier: ``["a", "b"]`` becomes ``"a$b"``; the root becomes ``""``."""
    return DELIMITER.join(validate(tuple(names)))


def show(names: Sequence[str]) -> str:
    """The identifier as a person writes it, for messages."""
    return ".".join(names)


def split(object_id: str) -> list[str]:
    """The inverse of :func:`join`."""
    return list(validate(tuple(object_id.split(DELIMITER)))) if object_id else []


@functools.lru_cache(maxsize=8192)
def validate(names: tuple[str, ...]) -> tuple[str, ...]:
    """Check every name of an identifier and return it unchanged.

    The result is cached, because the same few tables are named again and again and every operation passes here.
    """
    for name in names:
        reason = _why_not(name)
        if reason is not None:
            _refuse(names, reason)
    if len(DELIMITER.join(names).encode()) > MAX_IDENTIFIER_BYTES:
        _refuse(names, f"it is longer than {MAX_IDENTIFIER_BYTES} bytes when joined")
    return names


def _names(identifier: object) -> tuple[str, ...]:
    if isinstance(identifier, str):
        return tuple(identifier.split(".")) if identifier else ()
    if not isinstance(identifier, Sequence):
        _refuse((identifier,), f"it must be a string or a list of names, not {type(identifier).__name__}")
    for name in identifier:
        if not isinstance(name, str):
            _refuse(identifier, f"every name must be a string, not {type(name).__name__}")
    return tuple(identifier)


def _why_not(name: str) -> str | None:
    """Why ``name`` cannot be part of an identifier, or None if it can."""
    if not name:
        return "it has an empty name"
    if name in {".", ".."}:
        return f"{name!r} is not a name"
    for character in name:
        found = _FORBIDDEN_CHARACTERS.get(character) or _FORBIDDEN_CATEGORIES.get(unicodedata.category(character))
        if found is not None:
            return f"the name {name!r} contains {found}"
    if len(name.encode()) > MAX_NAME_BYTES:
        return f"the name {name[:40]!r}... is longer than {MAX_NAME_BYTES} bytes"
    return None


def _refuse(names: Sequence[object], reason: str) -> NoReturn:
    from lance_namespace import InvalidInputError

    shown = repr(list(names))
    shown = shown if len(shown) <= 200 else f"{shown[:200]}..."  # noqa: PLR2004 - a message, not a rule
    raise InvalidInputError(
        f"Invalid identifier {shown}: {reason}. "
        "Write it as a list of names or dotted, e.g. ['sales', 'orders'] or 'sales.orders'."
    )
