"""Arrow's types and Spark's: what a Lance column looks like in Spark, and a Spark column in Lance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from lance_namespace import InvalidInputError, TableSchemaValidationError
from pyspark.errors import PySparkException
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema

from lancespace_spark.casting import is_blob, is_list
from lancespace_spark.checking import check_columns

VECTOR_SIZE = "arrow.fixed-size-list.size"
"""Column metadata that says how long every array of a column is; Spark itself only has arrays of any length."""
ITEM = ".item"
"""Comes behind, for the arrays that are the items of a column's arrays, and so on."""

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
        TableSchemaValidationError: If the existing table has no such column, or one of another kind.
        InvalidInputError: If ``vectors`` names a column that is no array.
    """
    _check_vectors(schema, vectors)
    wire = wire_schema(schema)
    if existing is not None:
        check_columns(wire, existing)
        return pa.schema([existing.field(name) for name in schema.fieldNames()])
    told = ({VECTOR_SIZE: vectors[field.name]} if field.name in vectors else {} for field in schema.fields)
    return pa.schema(
        pa.field(arrow.name, _stored_type(arrow.type, field.dataType, {**field.metadata, **sizes}), arrow.nullable)
        for arrow, field, sizes in zip(wire, schema.fields, told, strict=True)
    )


def _spark_field(field: pa.Field) -> spark_types.StructField:
    try:
        return spark_types.StructField(field.name, _spark_type(field.type), field.nullable, _sizes(field.type))
    except (PySparkException, ValueError) as error:
        raise TableSchemaValidationError(
            f"the column {field.name!r} has the type {field.type}, which Spark does not have: "
            "leave it out with the option 'columns'"
        ) from error


def _sizes(kind: pa.DataType, path: str = "") -> dict[str, int]:
    """How long the vectors of a column are, and those in its arrays; fields of structs have metadata of their own."""
    if not is_list(kind):
        return {}
    own = {VECTOR_SIZE + path: kind.list_size} if pa.types.is_fixed_size_list(kind) else {}
    return {**own, **_sizes(kind.value_type, path + ITEM)}


def _spark_type(kind: pa.DataType) -> spark_types.DataType:
    if isinstance(kind, pa.BaseExtensionType) or pa.types.is_dictionary(kind):
        return _spark_type(_underlying(kind))
    if pa.types.is_decimal(kind) and kind.precision > MOST_DIGITS:
        raise ValueError(f"Spark's decimals have {MOST_DIGITS} digits at most")
    if kind in _WIDER:
        return _WIDER[kind]
    if is_list(kind):
        return spark_types.ArrayType(_spark_type(kind.value_type), kind.value_field.nullable)
    if pa.types.is_map(kind):
        return spark_types.MapType(_spark_type(kind.key_type), _spark_type(kind.item_type), kind.item_field.nullable)
    if pa.types.is_struct(kind):
        return spark_types.StructType([_spark_field(kind.field(index)) for index in range(kind.num_fields)])
    return from_arrow_type(kind)


def _underlying(kind: pa.DataType) -> pa.DataType:
    """The type of the values of an extension type or a dictionary."""
    if is_blob(kind):
        return pa.binary()
    return kind.value_type if pa.types.is_dictionary(kind) else kind.storage_type


def _stored_type(
    kind: pa.DataType, seen: spark_types.DataType, sizes: Mapping[str, Any], path: str = ""
) -> pa.DataType:
    """A type as Spark sends it, with vectors where the metadata of its column or field tell their length."""
    if isinstance(seen, spark_types.StructType):
        pairs = ((kind.field(place), field) for place, field in enumerate(seen.fields))
        return pa.struct(
            [pa.field(one.name, _stored_type(one.type, of.dataType, of.metadata), one.nullable) for one, of in pairs]
        )
    if not isinstance(seen, spark_types.ArrayType):
        return kind
    size = sizes.get(VECTOR_SIZE + path)
    stored = _stored_type(kind.value_type, seen.elementType, sizes, path + ITEM)
    item = pa.field("item", stored, True if size else kind.value_field.nullable)
    return pa.list_(item, int(size)) if size else pa.list_(item)


def _check_vectors(schema: spark_types.StructType, vectors: Mapping[str, int]) -> None:
    arrays = [field.name for field in schema.fields if isinstance(field.dataType, spark_types.ArrayType)]
    for name in vectors:
        if name not in arrays:
            raise InvalidInputError(
                f"the option 'vectors' names {name!r}, which is no array of what is written; "
                f"its arrays are: {', '.join(arrays) or 'none'}"
            )
