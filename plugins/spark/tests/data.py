"""What the tests of Spark share: tables, reads, writes, and what is left in a table's folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from lancespace_jobs import FOLDER, TableSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lancespace import Namespace

TABLE = "sales.orders"


def read(spark: SparkSession, root: str, table: str = TABLE, **options: str) -> DataFrame:
    return spark.read.format("lancespace").options(namespace="dir", root=root, table=table, **options).load()


def write(frame: DataFrame, root: str, mode: str = "append", table: str = TABLE, **options: str) -> None:
    writer = frame.write.format("lancespace").options(namespace="dir", root=root, table=table, **options)
    writer.mode(mode).save()


def orders(start: int, stop: int) -> pa.Table:
    """Rows with a number, a name and a vector."""
    numbers = range(start, stop)
    floats = pa.array([float(one) for number in numbers for one in (2 * number, 2 * number + 1)], pa.float32())
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "name": pa.array([f"n{number}" for number in numbers], pa.string()),
            "v": pa.FixedSizeListArray.from_arrays(floats, 2),
        }
    )


def fill(ns: Namespace, fragments: int = 4, each: int = 10, table: str = TABLE) -> None:
    """A table of several fragments, whose rows are numbered."""
    ns.create_table(table, orders(0, each))
    for number in range(1, fragments):
        ns.insert_into_table(table, orders(number * each, (number + 1) * each))


def numbers(spark: SparkSession, stop: int = 100, start: int = 0) -> DataFrame:
    """Numbered rows with a name."""
    return spark.range(start, stop, 1, 4).selectExpr("id", "concat('n', id) AS name")


def ids(ns: Namespace, table: str = TABLE) -> list[int]:
    return sorted(ns.table(table).to_arrow(columns=["id"])["id"].to_pylist())


def versions(ns: Namespace, table: str = TABLE) -> list[int]:
    return [version.version for version in ns.list_table_versions(table).versions]


def files(ns: Namespace, table: str = TABLE) -> set[str]:
    """Data, deletion and index files of a table, and what jobs keep beside them."""
    handle = TableSpec.of(ns, table)
    place = handle.place()
    storage = handle.storage(place)
    top = storage.path(place.location)
    found = {str(path)[len(top) + 1 :] for path in storage.filesystem.find(top)}
    return {path for path in found if path.partition("/")[0] in {"data", "_deletions", "_indices", FOLDER}}


def used(ns: Namespace, table: str = TABLE) -> set[str]:
    """The data files that the latest version of a table consists of."""
    return {f"data/{file.path}" for one in ns.table(table).dataset().get_fragments() for file in one.data_files()}
