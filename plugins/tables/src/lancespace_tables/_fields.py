"""Finding fields by Lance field path (``a``, ``a.b``, ``a.`odd.name```)."""

from __future__ import annotations

import lance
import pyarrow as pa
from lance_namespace import InvalidInputError, TableColumnNotFoundError


def check_new_name(name: str) -> str:
    """The name of a column that is about to be made, unless no schema with it could leave Lance: Arrow would panic.

    Raises:
        InvalidInputError: It has the character NUL.
    """
    if "\0" in name:
        raise InvalidInputError(f"the name of a column must not have the character NUL (0): {name!r}")
    return name


def field_at(dataset: lance.LanceDataset, path: str) -> pa.Field:
    """The field at a path.

    Raises:
        TableColumnNotFoundError: Naming the path and the columns there are.
    """
    found = dataset.lance_schema.field(path)
    if found is None:
        raise TableColumnNotFoundError(f"there is no column {path!r}; there are {', '.join(dataset.schema.names)}")
    return found.to_arrow()


def metadata_at(dataset: lance.LanceDataset, path: str) -> dict[str, str]:
    """The metadata of the field at a path."""
    return decoded(field_at(dataset, path))


def decoded(field: pa.Field) -> dict[str, str]:
    """The metadata of a field as text."""
    return {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
