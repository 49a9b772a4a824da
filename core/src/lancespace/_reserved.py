"""Reserved metadata keys, which callers cannot set because lancespace or Lance gives them a meaning.

For example, the property ``lancespace.view`` turns a table into a view: its sources cannot be dropped, and refreshes
read them. Only the operations that create views and columns write these keys. They call the backend directly, so that
:class:`lancespace.Namespace` can refuse the keys in every request, embedded and over REST.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, get_args

from lance_namespace import InvalidInputError
from pydantic import BaseModel

RESERVED_PREFIXES = ("lancespace.", "lance.namespace.", "virtual_column.", "computed_column.")
"""Prefixes of the keys that only lancespace writes, when it creates views, computed columns and virtual columns."""

_FIELDS = frozenset({"properties", "metadata", "field_metadata"})
"""The request fields with metadata to store with a namespace, table, version or column."""


class _Fields(NamedTuple):
    """The fields of a request model that may contain metadata: maps of it, and nested models."""

    maps: tuple[str, ...]
    models: tuple[str, ...]


def is_reserved(key: str) -> bool:
    """Whether callers may not set a metadata key."""
    return key.startswith(RESERVED_PREFIXES)


def refuse_reserved(operation: str, request: BaseModel) -> None:
    """Refuse a request that sets a reserved metadata key, also in nested models.

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
    """The fields to check, cached per model; most models have none."""
    annotations = {name: field.annotation for name, field in kind.model_fields.items()}
    maps = tuple(name for name, annotation in annotations.items() if name in _FIELDS and _is_map(annotation))
    models = tuple(name for name, annotation in annotations.items() if any(map(_has_maps, _reachable(annotation))))
    return _Fields(maps, models)


def _has_maps(kind: type[BaseModel]) -> bool:
    return any(name in _FIELDS and _is_map(field.annotation) for name, field in kind.model_fields.items())


def _reachable(annotation: Any) -> set[type[BaseModel]]:
    """All models that a value of this type can contain; some models of the spec are recursive."""
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
    """Whether a type is a map or a union with one."""
    origin = getattr(annotation, "__origin__", None)
    return origin is dict or origin is Mapping or any(map(_is_map, get_args(annotation)))
