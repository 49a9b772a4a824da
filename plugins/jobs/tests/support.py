"""What the tests of jobs share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from lancespace_jobs import FOLDER

if TYPE_CHECKING:
    from lancespace import Namespace

TABLE = "sales.orders"


def rows(start: int, stop: int, name: str = "n") -> pa.Table:
    names = pa.array([f"{name}{number}" for number in range(start, stop)], pa.string())
    return pa.table({"id": pa.array(range(start, stop), pa.int64()), "name": names})


def fill(ns: Namespace, fragments: int = 4, each: int = 10, table: str = TABLE, name: str = "n") -> None:
    """A table of several fragments, whose rows are numbered."""
    ns.create_table(table, rows(0, each, name))
    for number in range(1, fragments):
        ns.insert_into_table(table, rows(number * each, (number + 1) * each, name))


def ids(ns: Namespace, table: str = TABLE) -> list[int]:
    return sorted(ns.table(table).to_arrow(columns=["id"])["id"].to_pylist())


def folder(ns: Namespace, table: str = TABLE) -> Path:
    return Path(str(ns.describe_table(table).location).removeprefix("file://"))


def files(ns: Namespace, table: str = TABLE) -> set[str]:
    """Data, deletion and index files, and what jobs keep beside them."""
    found = (path.relative_to(folder(ns, table)) for path in folder(ns, table).rglob("*") if path.is_file())
    return {str(path) for path in found if path.parts[0] in {"data", "_deletions", "_indices", FOLDER}}
