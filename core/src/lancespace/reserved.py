"""Metadata that has a meaning for us or for Lance, and that callers therefore cannot set.

A property such as ``lancespace.view`` makes a view of a table: it protects the view's sources and has them read. Only
the operations that create such things write these keys; they call the backend and not the namespace, so the check
at the namespace's entrance holds for everybody else, in this process and over REST.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, get_args

from lance_namespace import InvalidInputError
from pydantic import BaseModel

RESERVED_PREFIXES = ("lancespace.", "lance.namespace.", "virtual_column.", "computed_column.")
"""Keys that begin like this are written by operations of their own: views, computed and virtual columns."""

_FIELDS = frozenset({"properties", "metadata", "field_metadata"})
"""What the spec calls the maps of a request that are kept with a namespace, a table, a version or a column."""


class _Fields(NamedTuple):
    """The fields of a model to look at: maps of metadata, and models that may have some."""

    maps: tuple[str, ...]
    models: tuple[str, ...]


def is_reserved(key: str) -> bool:
    """Whether a key of metadata is not for callers to set."""
    return key.startswith(RESERVED_PREFIXES)


def refuse_reserved(operation: str, request: BaseModel) -> None:
    """Refuse a request that sets reserved metadata, at any depth.

    Raises:
        InvalidInputError: Naming the key.
    """
    for key in _keys(request):
        if is_reserved(key):
            prefixes = ", ".join(RESERVED_PREFIXES)
            raise InvalidInputError(
                f"{operation}: the property {key!r} is reserved, as is every name that begins with one of {prefixes}: "
                "choose another name."
            )


def _keys(part: BaseModel) -> Iterator[str]:
    fields = _fields_of(type(part))
    for name in fields.maps:
        yield from part.__dict__.get(name) or ()
    for name in fields.models:
        value = part.__dict__.get(name)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, BaseModel):
                yield from _keys(each)


@functools.cache
def _fields_of(kind: type[BaseModel]) -> _Fields:
    """Nothing at all for most requests, so that the check costs them nothing."""
    annotations = {name: field.annotation for name, field in kind.model_fields.items()}
    maps = tuple(name for name, annotation in annotations.items() if name in _FIELDS and _is_map(annotation))
    models = tuple(name for name, annotation in annotations.items() if any(map(_has_maps, _reachable(annotation))))
    return _Fields(maps, models)


def _has_maps(kind: type[BaseModel]) -> bool:
    return any(name in _FIELDS and _is_map(field.annotation) for name, field in kind.model_fields.items())


def _reachable(annotation: Any) -> set[type[BaseModel]]:
    """All models that a value of this type can hold; some of the spec's hold themselves."""
    found: set[type[BaseModel]] = set()
    waiting = list(_models_in(annotation))
    while waiting:
        kind = waiting.pop()
        if kind not in found:
            found.add(kind)
            waiting += [each for field in kind.model_fields.values() for each in _models_in(field.annotation)]
    return found


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _models_in(each)


def _is_map(annotation: Any) -> bool:
    """Whether a type is a map, or may be one."""
    origin = getattr(annotation, "__origin__", None)
    return origin is dict or origin is Mapping or any(map(_is_map, get_args(annotation)))
