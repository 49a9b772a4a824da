"""Arrow's types and Spark's: what a Lance column looks like in Spark, and a Spark column in Lance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from lance_namespace import TableSchemaValidationError
from pyspark.errors import PySparkException
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable

VECTOR_SIZE = "arrow.fixed-size-list.size"
"""Column metadata that says how long every array of a column is; Spark itself only has arrays of any length."""

MOST_DIGITS = 38
"""Of a decimal number in Spark."""
_WIDER = {
    pa.uint8(): spark_types.ShortType(),
    pa.uint16(): spark_types.IntegerType(),
    pa.uint32(): spark_types.LongType(),
    pa.uint64(): spark_types.LongType(),  # A value of 2**63 or more fails the read: no value is ever changed.
    pa.float16(): spark_types.FloatType(),
    pa.date64(): spark_types.TimestampNTZType(),
}
"""Types that Spark lacks, and the next that holds their values."""


def spark_schema(schema: pa.Schema) -> spark_types.StructType:
    """A table's schema in Spark.

    Raises:
        TableSchemaValidationError: If Spark has nothing for a column's type; the message names it.
    """
    return spark_types.StructType([_spark_field(field) for field in schema])


def wire_schema(schema: spark_types.StructType) -> pa.Schema:
    """The Arrow schema that Spark's JVM expects of a Python worker, to the letter."""
    return to_arrow_schema(schema, timezone="UTC")


def stored_schema(schema: spark_types.StructType, vectors: dict[str, int], existing: pa.Schema | None) -> pa.Schema:
    """The Arrow schema in which rows of a Spark schema are stored.

    An existing table's columns keep their types. Of a new one, arrays are vectors where ``vectors`` or the column's
    metadata tell their length.

    Raises:
        TableSchemaValidationError: If the existing table has no such column.
    """
    if existing is not None:
        _check_columns(schema.fieldNames(), existing)
        return pa.schema([existing.field(name) for name in schema.fieldNames()])
    return pa.schema(
        _stored_field(arrow, vectors.get(field.name) or field.metadata.get(VECTOR_SIZE))
        for arrow, field in zip(wire_schema(schema), schema.fields, strict=True)
    )


def _spark_field(field: pa.Field) -> spark_types.StructField:
    metadata = {VECTOR_SIZE: field.type.list_size} if pa.types.is_fixed_size_list(field.type) else {}
    try:
        return spark_types.StructField(field.name, _spark_type(field.type), field.nullable, metadata)
    except (PySparkException, ValueError) as error:
        raise TableSchemaValidationError(
            f"the column {field.name!r} has the type {field.type}, which Spark does not have: "
            "leave it out with the option 'columns'"
        ) from error


def _spark_type(kind: pa.DataType) -> spark_types.DataType:
    if isinstance(kind, pa.BaseExtensionType) or pa.types.is_dictionary(kind):
        return _spark_type(kind.value_type if pa.types.is_dictionary(kind) else kind.storage_type)
    if pa.types.is_decimal(kind) and kind.precision > MOST_DIGITS:
        raise ValueError(f"Spark's decimals have {MOST_DIGITS} digits at most")
    if kind in _WIDER:
        return _WIDER[kind]
    if pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return spark_types.ArrayType(_spark_type(kind.value_type), kind.value_field.nullable)
    if pa.types.is_map(kind):
        return spark_types.MapType(_spark_type(kind.key_type), _spark_type(kind.item_type), kind.item_field.nullable)
    if pa.types.is_struct(kind):
        return spark_types.StructType([_spark_field(kind.field(index)) for index in range(kind.num_fields)])
    return from_arrow_type(kind)


def _stored_field(field: pa.Field, vector_size: int | None) -> pa.Field:
    if not pa.types.is_list(field.type):
        return field
    item = pa.field("item", field.type.value_type, True if vector_size else field.type.value_field.nullable)
    stored = pa.list_(item, int(vector_size)) if vector_size else pa.list_(item)
    return pa.field(field.name, stored, field.nullable)


def _check_columns(names: Iterable[str], existing: pa.Schema) -> None:
    unknown = [name for name in names if name not in existing.names]
    if unknown:
        raise TableSchemaValidationError(
            f"the table has no column {', '.join(map(repr, unknown))} (it has {', '.join(existing.names)}): "
            "add it with alter_table_add_columns, or leave it out of what is written"
        )
