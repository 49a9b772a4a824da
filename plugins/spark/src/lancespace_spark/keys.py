"""The keys of an upsert: when two are equal, and which are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from lance_namespace import InvalidInputError, TableColumnNotFoundError

from lancespace_jobs import ADDRESS
from lancespace_spark.types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from lancespace_jobs import TableSpec


def check(handle: TableSpec, schema: pa.Schema, columns: Sequence[str], on: Sequence[str]) -> None:
    """Have what is wrong with the columns of a source said before any task runs."""
    if not on:
        raise InvalidInputError("upsert needs 'on': the columns whose values identify a row")
    for name in on:
        if name not in schema.names:
            raise TableColumnNotFoundError(f"table {handle.name!r} has no column {name!r} to match on")
        if "`" in name:
            raise InvalidInputError(f"Lance cannot read the column {name!r} alone, for its backtick: rename it first")
        if pa.types.is_nested(schema.field(name).type):
            raise InvalidInputError(f"the column {name!r} has several values in each row: no key can be made of it")
    missing = [name for name in schema.names if name not in columns]
    if missing:
        raise InvalidInputError(
            f"the source lacks the column {', '.join(missing)} of table {handle.name!r}: a row is replaced as a whole"
        )


def cast(source: DataFrame, on: Sequence[str], schema: pa.Schema) -> DataFrame:
    """The source with its keys in the table's types: in its own, two may be different that are stored as one."""
    wanted = spark_schema(pa.schema([schema.field(name) for name in on]))
    places = {name: f"c{place}" for place, name in enumerate(source.columns)}
    renamed = source.toDF(*places.values())
    keys = {
        places[name]: _exact(renamed[places[name]], name, source.schema[name].dataType, wanted[name].dataType)
        for name in on
    }
    return renamed.withColumns(keys).toDF(*source.columns)


def _exact(column: Column, name: str, given: DataType, wanted: DataType) -> Column:
    from pyspark.sql import functions as f
    from pyspark.sql.types import NullType

    changed = column.cast(wanted)
    if given in {wanted, NullType()}:
        return changed
    message = f"the key {name!r} of the upsert has a value that {wanted.simpleString()}, the table's type, changes: "
    refusal = f.raise_error(f.concat(f.lit(message), column.cast("string"))).cast(wanted)
    return f.when(changed.cast(given).eqNullSafe(column), changed).otherwise(refusal)


def comparable(rows: pa.Table, on: Sequence[str]) -> pa.Table:
    """The same rows with one form of each key, as Spark has it in joins: zero has no sign, and NaN is one value."""
    for place, field in enumerate(rows.schema):
        if field.name in on and pa.types.is_floating(field.type):
            column = rows.column(place).cast(pa.float64())
            unsigned = pc.if_else(pc.equal(column, 0.0), 0.0, column)
            rows = rows.set_column(place, field.name, pc.if_else(pc.is_nan(unsigned), float("nan"), unsigned))
    return rows


def twice(rows: pa.Table, on: Sequence[str]) -> pa.Table:
    """The keys that several rows have, with the number of different addresses."""
    counted = comparable(rows, on).group_by(list(on)).aggregate([([], "count_all"), (ADDRESS, "count_distinct")])
    return counted.filter(pc.field("count_all") > 1)


def refuse(rows: pa.Table, on: Sequence[str]) -> None:
    """Refuse keys that are null, or there more than once: of the source or, at several addresses, of the table."""
    for name in on:
        if rows[name].null_count:
            raise InvalidInputError(f"the source of the upsert has rows whose key {name!r} is null")
    several = twice(rows, on).slice(0, 1).to_pylist()
    if several:
        who = "the table" if several[0][f"{ADDRESS}_count_distinct"] > 1 else "the source of the upsert"
        raise InvalidInputError(f"{who} has several rows with the key { {name: several[0][name] for name in on} }")
