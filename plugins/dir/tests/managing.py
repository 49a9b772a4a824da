"""What the tests of managed tables share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

import lancespace
from lancespace_tables import StagedCommits
from plugins.dir.tests.support import rows

MANAGED = {"table_version_management": "true"}


def connect(root: Path, **properties: str) -> lancespace.Namespace:
    return lancespace.connect("dir", {"root": str(root), **MANAGED, **properties})


def numbers(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def ids(namespace: lancespace.Namespace, table: str) -> list[int]:
    found: list[int] = namespace.table(table).to_arrow()["id"].to_pylist()
    return sorted(found)


def versions(namespace: lancespace.Namespace, table: str) -> list[int]:
    return [version.version for version in namespace.list_table_versions(table).versions]


def where(namespace: Any, table: str) -> dict[str, Any]:
    """How pylance is told of a table of a namespace."""
    return {"namespace_client": namespace, "table_id": table.split(".")}


def staged_append(namespace: lancespace.Namespace, table: str, *values: int) -> dict[str, Any]:
    """An append of which all is done but the commit, as an operation of a batch."""
    staging = StagedCommits(namespace)
    lance.write_dataset(numbers(*values), mode="append", **where(staging, table))
    (operation,) = staging.operations
    return operation.model_dump(exclude_none=True)


def version_rows(root: Path) -> list[str]:
    return sorted(object_id for object_id, row in rows(root).items() if row["object_type"] == "table_version")


def bypass(namespace: lancespace.Namespace, table: str, *values: int) -> int:
    """A write that knows nothing of the catalog; the version it thinks it made."""
    location = namespace.describe_table(table).location
    return int(lance.write_dataset(numbers(*values), location, mode="append").version)
