"""Buffers at any address go into Lance, which takes only some; what is in place is not copied."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lance_namespace import LanceNamespaceError

from core.tests.misaligned import Foreign, misaligned
from lancespace import Namespace, connect
from lancespace.authoring import aligned
from lancespace_tables import virtual_column
from lancespace_testing.waiting import until

NEWEST = {"new_table_data_storage_version": "2.2"}
"""The version of Lance's files that has the most types."""
PRICE = pa.decimal128(20, 2)
PRICES = [Decimal("1.50"), None, Decimal("-2.25")]
COLUMNS = {
    "int8": pa.array([1, None, 3], pa.int8()),
    "int16": pa.array([1, None, 3], pa.int16()),
    "int64": pa.array([1, None, 3]),
    "float16": pa.array([1.0, None, 3.0], pa.float16()),
    "float32": pa.array([1.0, None, 3.0], pa.float32()),
    "float64": pa.array([1.0, None, 3.0]),
    "bool": pa.array([True, None, False]),
    "date": pa.array([1, None, 3], pa.date32()),
    "timestamp": pa.array([1, None, 3], pa.timestamp("us", "UTC")),
    "decimal128": pa.array(PRICES, PRICE),
    "decimal256": pa.array(PRICES, pa.decimal256(60, 2)),
    "string": pa.array(["a", None, "ccc"]),
    "large_string": pa.array(["a", None, "ccc"], pa.large_string()),
    "string_view": pa.array(["a", None, "longer than twelve bytes"], pa.string_view()),
    "binary": pa.array([b"a", None, b"ccc"]),
    "fixed_size_binary": pa.array([b"abc", None, b"def"], pa.binary(3)),
    "vector": pa.array([[1.0, 2.0], None, [3.0, 4.0]], pa.list_(pa.float32(), 2)),
    "list": pa.array([[1, 2], None, []]),
    "large_list": pa.array([[1, 2], None, []], pa.large_list(pa.int64())),
    "list_of_decimals": pa.array([PRICES, None, []], pa.list_(PRICE)),
    "struct": pa.array(
        [{"price": price, "is_new": True} for price in PRICES], pa.struct({"price": PRICE, "is_new": pa.bool_()})
    ),
    "map": pa.array([[("a", PRICES[0])], None, []], pa.map_(pa.string(), PRICE)),
    "words": pa.array(["a", None, "a"]).dictionary_encode(),
    "list_of_words": pa.array([["a"], None, ["b"]], pa.list_(pa.dictionary(pa.int32(), pa.string()))),
    "null": pa.nulls(3),
    "uuid": pa.array([b"a" * 16, None, b"b" * 16], pa.uuid()),
    "union": pa.UnionArray.from_dense(
        pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()), [pa.array([1, 2]), pa.array(["a"])]
    ),
    "run_end_encoded": pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), pa.array([1, 2])),
    "list_view": pa.array([[1, 2], None, []], pa.list_view(pa.int64())),
    "duration": pa.array([1, None, 3], pa.duration("s")),
}


@pytest.fixture
def namespace(tmp_path: Path) -> Namespace:
    return connect("dir", {"root": str(tmp_path)})


def addresses(table: pa.Table) -> list[int]:
    return [
        buffer.address for column in table.columns for chunk in column.chunks for buffer in chunk.buffers() if buffer
    ]


def realigned(table: pa.Table) -> pa.Table:
    return pa.Table.from_batches(aligned(table.to_batches()), table.schema)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("shift", [1, 2, 4, 8])
def test_every_type_has_the_same_values_at_another_address(name: str, shift: int):
    given = misaligned(pa.table({"x": COLUMNS[name]}), shift)

    found = realigned(given)

    found.validate(full=True)
    assert found.equals(pa.table({"x": COLUMNS[name]}))
    assert realigned(found)["x"].chunks[0].buffers() == found["x"].chunks[0].buffers()


@pytest.mark.parametrize("name", COLUMNS)
def test_every_type_goes_into_lance_or_is_refused_alike(name: str, namespace: Namespace):
    table = pa.table({"x": COLUMNS[name]})
    try:
        namespace.create_table("good", table, storage_options=NEWEST)
    except LanceNamespaceError as error:
        with pytest.raises(type(error)):
            namespace.create_table("shifted", misaligned(table, 1), storage_options=NEWEST)
        return
    for shift in (1, 8):
        namespace.create_table(f"shifted{shift}", misaligned(table, shift), storage_options=NEWEST)
        assert namespace.table(f"shifted{shift}").to_arrow().equals(namespace.table("good").to_arrow())


@given(
    kinds=st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4),
    shift=st.integers(0, 15),
    start=st.integers(0, 2),
)
@settings(max_examples=40, deadline=None)
def test_slices_of_several_columns(kinds: list[str], shift: int, start: int):
    table = pa.table({str(number): COLUMNS[kind] for number, kind in enumerate(kinds)})
    nested = pa.table({"x": table.to_struct_array()}) if not {"run_end_encoded"} & set(kinds) else table

    for each in (table, nested):
        found = realigned(misaligned(each, shift).slice(start))
        found.validate(full=True)
        assert found.equals(each.slice(start))


def test_what_is_in_place_is_not_copied():
    table = pa.table(COLUMNS)

    assert addresses(realigned(table)) == addresses(table)


def test_only_the_columns_that_are_not_in_place_are_copied():
    table = misaligned(pa.table({"id": pa.array([1, 2]), "name": ["a", "b"], "price": pa.array(PRICES[:2], PRICE)}), 8)

    found = realigned(table)

    assert addresses(found.select(["id", "name"])) == addresses(table.select(["id", "name"]))
    assert found["price"].chunks[0].buffers()[1].address % 16 == 0


def test_of_a_slice_only_the_slice_is_copied():
    table = misaligned(pa.table({"id": range(100_000)}), 1)

    (batch,) = aligned(table.slice(50_000, 10).to_batches())

    assert batch.column(0).get_total_buffer_size() < 1000


PRICED = pa.table({"id": [1, 2, 3], "price": pa.array(PRICES, PRICE), "name": ["a", "b", "c"]})


def shifted_bytes(table: pa.Table) -> memoryview:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return memoryview(bytearray(b"." + sink.getvalue().to_pybytes()))[1:]


def memory_map(table: pa.Table, path: Path) -> pa.RecordBatchReader:
    (path / "rows").write_bytes(shifted_bytes(table))
    return pa.ipc.open_stream(pa.memory_map(str(path / "rows")))


ENTRANCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "table": lambda table, _: table,
    "batches": lambda table, _: iter(table.to_batches()),
    "reader": lambda table, _: table.to_reader(),
    "c interface": lambda table, _: Foreign(table),
    "bytes": lambda table, _: shifted_bytes(table),
    "memory map": memory_map,
}


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_every_entrance(entrance: str, namespace: Namespace, tmp_path: Path):
    def rows() -> Any:
        return ENTRANCES[entrance](misaligned(PRICED, 8), tmp_path)

    namespace.create_table("t", rows())
    namespace.insert_into_table("t", rows())
    namespace.merge_insert_into_table("t", rows(), on=["id"], when_matched_update_all=True)
    namespace.create_table("t", rows(), mode="overwrite")

    assert namespace.table("t").to_arrow().equals(PRICED)


def price(batch: pa.RecordBatch) -> pa.Array:
    table = pa.table({"price": pa.array([Decimal("1.50")] * len(batch), PRICE)})
    return misaligned(table, 8)["price"].chunks[0]


def test_what_a_function_answers(tmp_path: Path):
    with connect("dir", {"root": str(tmp_path), "udf.enabled": "true"}) as namespace:
        namespace.create_table("t", pa.table({"id": range(3)}))
        column = virtual_column(price, inputs=["id"], outputs={"price": PRICE})
        namespace.alter_table_add_columns("t", new_columns=[column])
        job = namespace.alter_table_backfill_columns("t", column="price").job_id
        ended = until(
            lambda: namespace.describe_transaction(["t", job]), lambda found: found.status not in {"QUEUED", "RUNNING"}
        )
        assert ended.status == "SUCCEEDED", ended.properties

        assert namespace.table("t").to_arrow()["price"].to_pylist() == [Decimal("1.50")] * 3
