"""Chunkers and UDTFs: how functions are called, and when they are not."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, LanceNamespaceError, PermissionDeniedError, UnsupportedOperationError

import lancespace_views as views
from lancespace import Namespace
from plugins.views.tests.support import ended, failure, files, orders, refresh, rows, schema, wrapper_of

WORDS = schema(id=pa.int64(), place=pa.int32(), word=pa.string())
COUNTS = schema(person=pa.int64(), orders=pa.int64())
NOTES = "SELECT id, note FROM sales.orders"


def words(note: str) -> Iterator[dict[str, Any]]:
    for place, word in enumerate(note.split()):
        yield {"place": place, "word": word}


def words_of_batch(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return [{"id": row["id"], **word} for row in batch.to_pylist() for word in words(row["note"])]


def counted(table: pa.Table) -> pa.Table:
    return table.group_by("person").aggregate([([], "count_all")]).rename_columns({"count_all": "orders"})


def size_of_partition(table: pa.Table) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"person": table["person"][:1].combine_chunks(), "orders": [table.num_rows]})


@pytest.mark.parametrize("batch", [False, True])
def test_a_chunker_makes_rows_of_rows_and_goes_on_from_where_it_was(trusting: Namespace, batch: bool):
    function, inputs = (words_of_batch, ["id", "note"]) if batch else (words, ["note"])
    fields = views.chunker(function, NOTES, WORDS, input_columns=inputs, batch=batch)
    trusting.create_materialized_view("words", **fields)
    refresh(trusting, "words")
    before = files(trusting, "words")
    assert [row["word"] for row in rows(trusting, "words")] == ["note", "1", "note", "2", "note", "3"]

    trusting.insert_into_table("sales.orders", orders(4))
    refresh(trusting, "words", source_task_size=1)

    assert before < files(trusting, "words")
    assert rows(trusting, "words")[-1] == {"id": 4, "place": 1, "word": "4"}
    trusting.delete_from_table("sales.orders", predicate="id = 1")
    refresh(trusting, "words")
    assert {row["id"] for row in rows(trusting, "words")} == {2, 3, 4}


def test_a_chunker_over_a_join_is_made_whole(trusting: Namespace):
    joined = "SELECT o.id, p.name AS note FROM sales.orders o JOIN people p ON o.person = p.id"
    trusting.create_materialized_view("words", **views.chunker(words, joined, WORDS, input_columns=["note"]))
    refresh(trusting, "words")
    trusting.update_table("people", updates=[["name", "'Augusta Ada'"]], predicate="id = 0")
    refresh(trusting, "words")

    assert [row["word"] for row in rows(trusting, "words") if row["id"] == 3] == ["Augusta", "Ada"]


def test_the_limit_of_a_chunker_is_lifted_by_the_next_refresh(trusting: Namespace):
    trusting.insert_into_table("sales.orders", orders(4, 5))
    trusting.create_materialized_view("words", **views.chunker(words, NOTES, WORDS, input_columns=["note"]))

    counts = []
    for limit in (3, 1, 7, 8, 100, None):
        refresh(trusting, "words", output_limit=limit)
        counts.append(trusting.table("words").count())

    assert counts == [3, 1, 7, 8, 10, 10]


def test_a_udtf_gets_all_rows(trusting: Namespace):
    fields = views.udtf(counted, "SELECT person, id FROM sales.orders", COUNTS, input_columns=["person"])
    trusting.create_materialized_view("counts", **fields)
    trusting.insert_into_table("sales.orders", orders(4))
    refresh(trusting, "counts")

    assert rows(trusting, "counts") == [
        {"person": 0, "orders": 1},
        {"person": 1, "orders": 2},
        {"person": 2, "orders": 1},
    ]


def test_a_udtf_gets_the_rows_of_each_partition(trusting: Namespace):
    trusting.insert_into_table("sales.orders", orders(*range(10, 60)))
    trusting.update_table("sales.orders", updates=[["person", "NULL"]], predicate="id >= 58")
    trusting.update_table("sales.orders", updates=[["person", "id"]], predicate="id BETWEEN 20 AND 49")
    fields = views.udtf(size_of_partition, "SELECT person FROM sales.orders", COUNTS, partition_by="person")
    trusting.create_materialized_view("counts", **fields)

    refresh(trusting, "counts", concurrency=2)

    found = {row["person"]: row["orders"] for row in rows(trusting, "counts")}
    assert len(found) == 34
    assert found[None] == 2
    assert sum(found.values()) == 53


def test_inputs_inside_structs(trusting: Namespace):
    trusting.create_table("deep", [{"id": 7, "doc": {"text": "a b"}}])
    fields = views.chunker(words, "SELECT id, doc FROM deep", WORDS, input_columns=["doc.text"])
    trusting.create_materialized_view("words", **fields)
    refresh(trusting, "words")

    assert [row["word"] for row in rows(trusting, "words")] == ["a", "b"]


HELD = schema(rows=pa.int64(), size=pa.int64(), held=pa.int64())
BIG = pa.record_batch({"part": list(range(64)) * 128, "text": ["x" * 400] * 8192})


def arrow_memory(rows: pa.Table) -> list[dict[str, int]]:
    return [{"rows": rows.num_rows, "size": rows.nbytes, "held": pa.total_allocated_bytes()}]


def memory_beside_files(rows: pa.Table) -> list[dict[str, int]]:
    """How many bytes of a table are not in a file that is mapped."""
    lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    bounds = [line[0].split("-") for line in lines if len(line) > 5 and "/lancespace-" in line[5]]
    files = [range(int(start, 16), int(end, 16)) for start, end in bounds]
    buffers = [each for column in rows.columns for chunk in column.chunks for each in chunk.buffers() if each]
    held = sum(each.size for each in buffers if not any(each.address in file for file in files))
    return [{"rows": rows.num_rows, "size": rows.nbytes, "held": held}]


def test_all_rows_of_a_udtf_are_mapped_from_a_file(trusting: Namespace):
    trusting.create_table("big", [BIG] * 8)
    trusting.create_materialized_view("v", **views.udtf(memory_beside_files, "SELECT * FROM big", HELD))
    refresh(trusting, "v")

    (found,) = trusting.table("v").to_arrow().to_pylist()

    assert found["rows"] == 8 * 8192
    assert found["held"] < found["size"] / 100


def test_one_partition_of_a_udtf_is_in_memory_at_a_time(trusting: Namespace):
    trusting.create_table("big", [BIG] * 8)
    view = views.udtf(arrow_memory, "SELECT * FROM big", HELD, partition_by="part")
    trusting.create_materialized_view("v", **view)
    before = pa.total_allocated_bytes()
    refresh(trusting, "v", concurrency=1)

    found = trusting.table("v").to_arrow().to_pylist()

    assert [row["rows"] for row in found] == [128 * 8] * 64
    assert all(row["held"] - before < sum(row["size"] for row in found) / 20 for row in found)


def test_a_udtf_may_be_partitioned_by_a_dictionary(trusting: Namespace):
    words = pa.array(["a", "b", "a", None]).dictionary_encode()
    trusting.create_table("coded", pa.table({"person": pa.array([1, 2, 3, 4]), "word": words}))
    fields = views.udtf(size_of_partition, "SELECT person, word FROM coded", COUNTS, partition_by="word")
    trusting.create_materialized_view("v", **fields)
    refresh(trusting, "v")

    assert sorted(row["orders"] for row in rows(trusting, "v")) == [1, 1, 2]


@pytest.mark.parametrize("kind", ["chunker", "udtf"])
def test_functions_are_not_run_unless_the_connection_allows_it(namespace: Namespace, kind: str):
    fields = views.chunker(words, NOTES, WORDS, input_columns=["note"])
    if kind == "udtf":
        fields = views.udtf(counted, "SELECT person FROM sales.orders", COUNTS)
    namespace.create_materialized_view("v", **fields)

    with pytest.raises(PermissionDeniedError, match=r"udf\.enabled=true"):
        namespace.refresh_materialized_view("v")
    assert namespace.table("v").count() == 0


def test_an_automatic_refresh_does_not_run_them_either(namespace: Namespace):
    fields = views.chunker(words, NOTES, WORDS, input_columns=["note"], auto_refresh=True)
    namespace.create_materialized_view("v", **fields)
    namespace.insert_into_table("sales.orders", orders(4))
    wrapper_of(namespace).finish_automatic_refreshes()

    assert namespace.table("v").count() == 0


def broken(note: str) -> list[dict[str, Any]]:
    raise KeyError(note)


def wrong_type(note: str) -> list[dict[str, Any]]:
    return [{"place": note}]


def unknown_column(note: str) -> list[dict[str, Any]]:
    return [{"size": len(note)}]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (broken, "The chunker 'broken' failed: KeyError: 'note 1'"),
        (wrong_type, "'wrong_type' yields a value for the column 'place' that is no int32"),
        (unknown_column, "'unknown_column' yields a column 'size' that output_schema does not have"),
    ],
)
def test_what_is_wrong_with_a_function_is_told(trusting: Namespace, function: Any, message: str):
    trusting.create_materialized_view("v", **views.chunker(function, NOTES, WORDS, input_columns=["note"]))

    assert message in failure(trusting, "v")
    assert trusting.table("v").count() == 0


def test_a_udtf_must_return_rows(trusting: Namespace):
    trusting.create_materialized_view("v", **views.udtf(len, NOTES, WORDS))
    assert "must return an Arrow table or batch" in failure(trusting, "v")


def test_a_function_that_failed_can_be_cured_by_its_source(trusting: Namespace):
    fields = views.chunker(words, NOTES, WORDS, input_columns=["note"])
    trusting.create_materialized_view("v", **fields)
    trusting.update_table("sales.orders", updates=[["note", "NULL"]], predicate="id = 3")
    assert "AttributeError" in failure(trusting, "v")
    trusting.update_table("sales.orders", updates=[["note", "'x'"]], predicate="id = 3")
    created = trusting.refresh_materialized_view("v")

    assert ended(trusting, created.job_id).status == "SUCCEEDED"
    assert len(rows(trusting, "v")) == 5


def changed(**spec: Any) -> dict[str, Any]:
    fields = views.chunker(words, NOTES, WORDS, input_columns=["note"])
    return {**fields, "udtf_spec": {**fields["udtf_spec"], **spec}}


def enveloped(content: Any) -> dict[str, Any]:
    envelope = json.dumps(content).encode()
    return changed(udtf=base64.b64encode(envelope).decode(), udtf_sha=hashlib.sha256(envelope).hexdigest())


UNPARTITIONED = views.udtf(counted, "SELECT person FROM sales.orders", COUNTS)


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        (changed(udtf_sha="0" * 64), InvalidInputError, "has the SHA-256"),
        (changed(udtf="%"), InvalidInputError, "not base64"),
        (enveloped({"version": 1}), InvalidInputError, "lacks the field 'function'"),
        (enveloped({"version": 3, "function": ""}), InvalidInputError, "of version 1"),
        (changed(kind="udtf"), InvalidInputError, "udtf_spec.kind is 'udtf'"),
        (changed(partition_by="id"), InvalidInputError, "partition_by does not go with"),
        (changed(input_columns=["nothing"]), InvalidInputError, "no column 'nothing'"),
        (changed(input_columns=None), InvalidInputError, "must name the columns"),
        ({**changed(), "kind": "query"}, InvalidInputError, "takes no function"),
        ({**changed(), "kind": "other"}, InvalidInputError, "kind: Value error, must be one of"),
        ({**UNPARTITIONED, "udtf_spec": None}, InvalidInputError, "needs a function"),
        (
            {**UNPARTITIONED, "udtf_spec": {**UNPARTITIONED["udtf_spec"], "error_handling": {"retries": 3}}},
            UnsupportedOperationError,
            "error_handling is not supported",
        ),
        (
            {**UNPARTITIONED, "udtf_spec": {**UNPARTITIONED["udtf_spec"], "partition_by": "nothing"}},
            InvalidInputError,
            "no column 'nothing'",
        ),
    ],
)
def test_functions_that_are_refused(
    namespace: Namespace, fields: dict[str, Any], error: type[LanceNamespaceError], message: str
):
    with pytest.raises(error, match=message):
        namespace.create_materialized_view("v", **fields)
    assert not namespace.table("v").exists()


def test_the_other_name_of_a_chunker(trusting: Namespace):
    trusting.create_materialized_view("v", **{**changed(kind="scalar_udtf"), "kind": "scalar_udtf"})
    refresh(trusting, "v")
    assert trusting.table("v").count() == 6
