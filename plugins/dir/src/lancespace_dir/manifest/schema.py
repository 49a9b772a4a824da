"""What is in the manifest: its columns, its entries and its feature flags."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from lance_namespace import InvalidTableStateError, UnsupportedOperationError
from pydantic_core import from_json

from lancespace.authoring import DELIMITER, Steps, relative_steps, touch

DIRECTORY = "__manifest"

NAMESPACE = "namespace"
TABLE = "table"
TABLE_VERSION = "table_version"

SCHEMA = pa.schema(
    [
        pa.field(
            "object_id", pa.string(), nullable=False, metadata={"lance-schema:unenforced-primary-key:position": "0"}
        ),
        pa.field("object_type", pa.string(), nullable=False),
        pa.field("location", pa.string()),
        pa.field("metadata", pa.string()),
        pa.field("base_objects", pa.list_(pa.field("object_id", pa.string()))),
    ]
)
"""The columns as the spec and the Rust implementation have them; a catalog may have more, which are kept."""

STORAGE_VERSION = "2.2"
"""The file format the Rust implementation creates manifests in."""

READER_FLAGS = "lance.namespace.manifest.reader_feature_flags"
WRITER_FLAGS = "lance.namespace.manifest.writer_feature_flags"
_KNOWN_FLAGS = 0
"""None yet, like the Rust implementation; bit 0 is to be the namespace lifecycle."""


@dataclass(frozen=True)
class Entry:
    """One row: a namespace, a table or a table version."""

    object_id: str
    object_type: str
    location: str | None = None
    metadata: str | None = None
    """JSON, as it stands in the table."""
    base_objects: tuple[str, ...] | None = None

    def is_at(self, steps: Steps) -> bool:
        """Whether it is a table whose location is the given one, contains it, or lies inside it."""
        own = relative_steps(self.location or "")
        return self.object_type == TABLE and bool(own and steps) and touch(own, steps)

    @property
    def facts(self) -> dict[str, Any]:
        """The metadata as a JSON object.

        Raises:
            InvalidTableStateError: If another program has damaged it.
        """
        try:
            found = from_json(self.metadata or "{}")
        except ValueError as error:
            raise self._damaged("is not JSON") from error
        if not isinstance(found, dict):
            raise self._damaged("is not a JSON object")
        return found

    @property
    def properties(self) -> dict[str, str]:
        """The metadata of a namespace or a table, whose values are texts."""
        found = self.facts
        if not all(isinstance(value, str) for value in found.values()):
            raise self._damaged("has values that are not text")
        return found

    @property
    def readable_properties(self) -> dict[str, str] | None:
        """The properties, or None if they are damaged: what is damaged can be dropped."""
        try:
            return self.properties
        except InvalidTableStateError:
            return None

    def _damaged(self, what: str) -> InvalidTableStateError:
        return InvalidTableStateError(
            f"The manifest's metadata of {self.object_id!r} {what}: drop it, or restore the metadata from a backup."
        )


def parent_of(object_id: str) -> str:
    """The identifier above this one; the root is empty."""
    return object_id.rpartition(DELIMITER)[0]


def metadata_of(properties: Mapping[str, str] | None) -> str | None:
    """Properties as the metadata column has them."""
    return json.dumps(dict(properties), separators=(",", ":")) if properties else None


def to_table(entries: Iterable[Entry], schema: pa.Schema) -> pa.Table:
    """Entries as rows; columns that we do not know are null."""
    entries = list(entries)
    known: dict[str, list[Any]] = {
        "object_id": [entry.object_id for entry in entries],
        "object_type": [entry.object_type for entry in entries],
        "location": [entry.location for entry in entries],
        "metadata": [entry.metadata for entry in entries],
        "base_objects": [entry.base_objects for entry in entries],
    }
    nothing = [None] * len(entries)
    arrays = [pa.array(known.get(column.name, nothing), column.type) for column in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def check_flags(metadata: Mapping[str, str], *, writing: bool) -> None:
    """Refuse a manifest of a later version of the spec rather than misread or damage it.

    Raises:
        UnsupportedOperationError: If it has a feature that this version does not know.
    """
    checks = {READER_FLAGS: "read"} | ({WRITER_FLAGS: "written"} if writing else {})
    for key, what in checks.items():
        unknown = int(metadata.get(key) or 0) & ~_KNOWN_FLAGS
        if unknown:
            raise UnsupportedOperationError(
                f"This catalog's manifest needs a newer lancespace to be {what}: upgrade lancespace "
                f"(unknown feature flags {unknown:#x} in {key})."
            )


def located(location: str) -> str:
    """The SQL filter for tables at a location, above or below it; other writers may end one with a slash."""
    steps = relative_steps(location)
    above = ["/".join(steps[:depth]) for depth in range(1, len(steps) + 1)]
    exact = ", ".join(quoted(path + end) for path in above for end in ("", "/"))
    below = quoted("/".join(steps) + "/")
    return f"object_type = '{TABLE}' AND (location IN ({exact}) OR starts_with(location, {below}))"


def quoted(text: str) -> str:
    """A string in SQL."""
    return "'" + text.replace("'", "''") + "'"
