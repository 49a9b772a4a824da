"""Types and values on the way between Lance and Spark; no session is needed."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lance_namespace import TableSchemaValidationError
from pyspark.sql import types as spark_types

from lancespace_spark.casting import cast_batch, to_vectors
from lancespace_spark.types import VECTOR_SIZE, spark_schema, stored_schema, wire_schema

VECTOR = pa.list_(pa.float32(), 3)
LISTS = st.lists(st.none() | st.lists(st.none() | st.floats(width=32, allow_nan=False), min_size=3, max_size=3))


@settings(deadline=None)
@given(LISTS, st.integers(0, 3))
def test_lists_become_vectors_with_all_their_nulls(rows: list[list[float | None] | None], skipped: int) -> None:
    column = pa.array(rows, pa.list_(pa.float32())).slice(skipped)
    vectors = to_vectors(column, VECTOR)
    vectors.validate(full=True)
    assert vectors.type == VECTOR
    assert vectors.to_pylist() == column.to_pylist()


def test_a_list_of_another_length_is_refused_and_its_column_named() -> None:
    batch = pa.record_batch({"v": pa.array([[1.0, 2.0]], pa.list_(pa.float32()))})
    with pytest.raises(TableSchemaValidationError, match="column 'v': every vector must have exactly 3 items"):
        cast_batch(batch, pa.schema([("v", VECTOR)]))


def test_the_length_of_vectors_comes_back_from_spark() -> None:
    schema = pa.schema([pa.field("v", VECTOR), pa.field("id", pa.int64(), nullable=False)])
    seen = spark_schema(schema)
    assert seen["v"].metadata == {VECTOR_SIZE: 3}
    assert not seen["id"].nullable
    assert stored_schema(seen, {}, None).field("v").type == VECTOR
    assert stored_schema(seen, {"v": 4}, None).field("v").type == pa.list_(pa.float32(), 4)


@pytest.mark.parametrize("kind", [pa.decimal256(60, 2), pa.time32("s"), pa.string_view()], ids=str)
def test_a_type_that_spark_lacks_is_named_with_its_column(kind: pa.DataType) -> None:
    with pytest.raises(TableSchemaValidationError, match=r"column 'x' has the type .*'columns'"):
        spark_schema(pa.schema([("id", pa.int64()), ("x", kind)]))


def test_columns_of_a_table_keep_their_types() -> None:
    existing = pa.schema([("id", pa.uint32()), ("word", pa.large_string())])
    written = spark_types.StructType().add("word", "string").add("id", "long")
    assert stored_schema(written, {}, existing) == pa.schema([existing.field("word"), existing.field("id")])
    batch = pa.record_batch({"word": ["x"], "id": [2**32]})
    with pytest.raises(TableSchemaValidationError, match="column 'id'"):
        cast_batch(batch, existing)


def test_what_goes_over_the_wire_is_what_spark_expects() -> None:
    schema = pa.schema([("u", pa.uint8()), ("h", pa.float16()), ("t", pa.timestamp("ns")), ("s", pa.large_string())])
    wire = wire_schema(spark_schema(schema))
    assert [field.type for field in wire] == [pa.int16(), pa.float32(), pa.timestamp("us"), pa.string()]
    batch = pa.record_batch(
        [pa.array([255], pa.uint8()), pa.array([1.5], pa.float16()), pa.array([1_234_567], pa.timestamp("ns")), ["x"]],
        schema=schema,
    )
    assert cast_batch(batch, wire).schema == wire
