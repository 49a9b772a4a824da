"""Types and values on the way between Lance and Spark; no session is needed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lance_namespace import InvalidInputError, TableSchemaValidationError
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


NESTED = pa.struct([pa.field("v", VECTOR), pa.field("w", pa.list_(pa.list_(pa.float32(), 2)))])


def test_vectors_in_structs_and_lists_keep_their_length() -> None:
    schema = pa.schema([pa.field("s", NESTED), pa.field("l", pa.list_(pa.list_(VECTOR, 2)))])
    stored = stored_schema(spark_schema(schema), {}, None)
    assert stored == schema


@pytest.mark.parametrize(
    "rows",
    [
        [{"v": None, "w": [None]}],
        [None, {"v": [1.0, 2.0, 3.0], "w": None}],
        [{"v": None, "w": [[1.0, 2.0], None]}, None],
    ],
)
def test_nested_vectors_may_be_null(rows: list[Any]) -> None:
    wire = wire_schema(spark_schema(pa.schema([("s", NESTED)])))
    batch = pa.record_batch([pa.array([None, *rows], wire.field("s").type).slice(1)], schema=wire)
    stored = cast_batch(batch, pa.schema([("s", NESTED)]))
    stored.validate(full=True)
    assert stored["s"].to_pylist() == rows
    assert cast_batch(stored, wire)["s"].to_pylist() == rows


TABLE = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("x", pa.int32()),
        pa.field("v", VECTOR),
        pa.field("s", pa.struct([("a", pa.int64()), ("t", pa.struct([("b", pa.list_(pa.int32()))]))])),
    ]
)


ID = {"id": pa.int64()}
LONGS = pa.list_(pa.int64())
TIMES = pa.list_(pa.timestamp("us"))


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ({"x": pa.int32()}, "lacks the column 'id', which must not be null"),
        ({**ID, "y": pa.int32()}, "has no column 'y'"),
        ({**ID, "x": LONGS}, "the column 'x' is of the type list<.*> in what is written, and int32 in the table"),
        ({**ID, "x": pa.timestamp("us")}, "the column 'x' is of the type timestamp"),
        ({**ID, "v": pa.string()}, "the column 'v' is of the type string"),
        ({**ID, "v": TIMES}, r"the column 'v\[\]' is of the type timestamp"),
        ({**ID, "s": pa.map_(pa.string(), pa.int64())}, "the column 's' is of the type map"),
        ({**ID, "s": pa.struct(ID)}, "the column 's' has the fields id in what is written, and a, t in the table"),
        (
            {**ID, "s": pa.struct({"a": pa.int64(), "t": pa.struct({"b": LONGS, "c": LONGS})})},
            "the column 's.t' has the fields b, c",
        ),
        (
            {**ID, "s": pa.struct({"a": pa.int64(), "t": pa.struct({"b": TIMES})})},
            r"the column 's.t.b\[\]' is of the type timestamp",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_types_that_do_not_fit_are_refused_by_the_schema_alone(written: dict[str, Any], complaint: str) -> None:
    with pytest.raises(TableSchemaValidationError, match=complaint):
        stored_schema(spark_schema(pa.schema(written)), {}, TABLE)


@pytest.mark.parametrize(
    "written",
    [
        {**ID, "x": pa.null()},
        {"id": pa.string()},
        {**ID, "s": pa.struct({"t": pa.struct({"b": LONGS}), "a": pa.int32()})},
    ],
    ids=str,
)
def test_types_that_may_fit_are_taken(written: dict[str, Any]) -> None:
    assert stored_schema(spark_schema(pa.schema(written)), {}, TABLE).names == list(written)


def test_fields_of_structs_are_found_by_name() -> None:
    given = pa.record_batch({"s": pa.array([{"t": {"b": [1]}, "a": 2}, None])})
    stored = cast_batch(given, pa.schema([TABLE.field("s")]))
    assert stored["s"].to_pylist() == [{"a": 2, "t": {"b": [1]}}, None]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float16(), pa.list_(pa.float32()), VECTOR], ids=str)
def test_a_number_never_becomes_infinite(kind: pa.DataType) -> None:
    def value(number: float) -> Any:
        return number if pa.types.is_floating(kind) else [number] * 3

    given = pa.float64() if pa.types.is_floating(kind) else pa.list_(pa.float64())
    batch = pa.record_batch({"x": pa.array([value(float("inf")), None, value(1e300)], given)})
    schema = pa.schema([("x", kind)])
    with pytest.raises(TableSchemaValidationError, match="column 'x': a number is too large"):
        cast_batch(batch, schema)
    assert cast_batch(batch.slice(0, 2), schema)["x"].to_pylist() == [value(float("inf")), None]


def test_values_become_dictionaries() -> None:
    kind = pa.dictionary(pa.int8(), pa.int64())
    stored = cast_batch(pa.record_batch({"x": [5, None, 5, 7]}), pa.schema([("x", kind)]))
    assert stored.schema.field("x").type == kind
    assert stored["x"].to_pylist() == [5, None, 5, 7]


def test_only_arrays_can_be_vectors() -> None:
    schema = spark_schema(pa.schema({**ID, "emb": pa.list_(pa.float32())}))
    assert stored_schema(schema, {"emb": 2}, None).field("emb").type == pa.list_(pa.float32(), 2)
    for name in ("embb", "id"):
        with pytest.raises(InvalidInputError, match=f"names '{name}', which is no array .* its arrays are: emb"):
            stored_schema(schema, {name: 2}, None)
