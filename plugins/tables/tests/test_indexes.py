from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from lance_namespace import (
    InvalidInputError,
    TableColumnNotFoundError,
    TableIndexAlreadyExistsError,
    TableIndexNotFoundError,
)

COUNT = 300


@pytest.fixture
def table(backend):
    """A column for every type of index."""
    random = np.random.default_rng(7)
    point = pa.struct([pa.field("x", pa.float64(), nullable=False), pa.field("y", pa.float64(), nullable=False)])
    geometry = pa.field(
        "place", point, metadata={"ARROW:extension:name": "geoarrow.point", "ARROW:extension:metadata": "{}"}
    )
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(random.random(COUNT * 16), pa.float32()), 16)
    odd = pa.FixedSizeListArray.from_arrays(pa.array(random.random(COUNT * 6), pa.float32()), 6)
    bits = pa.FixedSizeListArray.from_arrays(pa.array(random.integers(0, 255, COUNT * 8), pa.uint8()), 8)
    data = pa.table(
        {
            "n": range(COUNT),
            "text": [f"word{n % 7} of row {n}" for n in range(COUNT)],
            "labels": [[f"label{n % 3}"] for n in range(COUNT)],
            "inner": [{"n": n} for n in range(COUNT)],
            "vector": vectors,
            "odd": odd,
            "bits": bits,
        }
    ).append_column(geometry, pa.array([{"x": float(n), "y": 0.0} for n in range(COUNT)], point))
    backend.call("create_table", data)
    return backend


def create(backend: Any, column: str, index_type: str, operation: str = "create_table_index", **options: Any) -> Any:
    return backend.call(operation, column=column, index_type=index_type, **options)


def listed(backend: Any, **fields: Any) -> Any:
    return backend.call("list_table_indices", **fields).indexes


SCALAR = [
    ("n", "BTREE", "BTREE"),
    ("n", "bitmap", "BITMAP"),
    ("n", "ZONEMAP", "ZONEMAP"),
    ("n", "BLOOMFILTER", "BLOOMFILTER"),
    ("labels", "LABEL_LIST", "LABEL_LIST"),
    ("text", "NGRAM", "NGRAM"),
    ("text", "INVERTED", "INVERTED"),
    ("text", "FTS", "INVERTED"),
    ("text", "MINHASHLSH", "MINHASHLSH"),
    ("place", "RTREE", "RTREE"),
    ("inner.n", "BTREE", "BTREE"),
]
VECTOR = ["IVF_FLAT", "IVF_PQ", "IVF_SQ", "IVF_RQ", "IVF_HNSW_FLAT", "IVF_HNSW_PQ", "IVF_HNSW_SQ"]


@pytest.mark.parametrize("operation", ["create_table_index", "create_table_scalar_index"])
@pytest.mark.parametrize(("column", "asked", "shown"), SCALAR)
def test_scalar_types(table, operation, column, asked, shown):
    assert create(table, column, asked, operation).transaction_id
    (index,) = listed(table)
    assert (index.index_name, index.index_type, index.columns) == (f"{column}_idx", shown, [column])
    assert (index.status, index.num_indexed_rows, index.num_unindexed_rows) == ("SUCCEEDED", COUNT, 0)


@pytest.mark.parametrize("kind", VECTOR)
def test_vector_types(table, kind):
    assert create(table, "vector", kind, num_partitions=2).transaction_id
    (index,) = listed(table)
    assert (index.index_name, index.index_type, index.columns) == ("vector_idx", kind, ["vector"])
    assert (index.num_indexed_rows, index.num_segments) == (COUNT, 1)
    stats = table.call("describe_table_index_stats", index_name="vector_idx")
    assert (stats.index_type, stats.distance_type, stats.num_indexed_rows, stats.num_indices) == (kind, "l2", COUNT, 1)


def test_the_index_is_used(table):
    create(table, "n", "BTREE")
    assert "ScalarIndexQuery" in table.call("explain_table_query_plan", query={"k": 1, "vector": {}, "filter": "n = 7"})


def details(backend: Any) -> Any:
    return json.loads(listed(backend)[0].index_details)


def test_vector_options_are_passed_on(table):
    options: dict[str, Any] = {
        "distance_type": "Cosine",
        "num_sub_vectors": 4,
        "num_bits": 4,
        "sample_rate": 33,
        "max_iterations": 7,
    }
    create(table, "vector", "IVF_PQ", target_partition_size=100, **options)
    found = details(table)
    assert found["metric_type"] == "COSINE"
    assert found["compression"] == {"type": "pq", "num_bits": 4, "num_sub_vectors": 4}
    assert (found["runtime_hints"]["lance.ivf.max_iters"], found["runtime_hints"]["lance.ivf.sample_rate"]) == (
        "7",
        "33",
    )
    assert found["target_partition_size"] == 100


def test_hnsw_options_are_passed_on(table):
    create(table, "vector", "IVF_HNSW_SQ", num_partitions=1, m=9, ef_construction=50)
    assert (details(table)["hnsw"]["max_connections"], details(table)["hnsw"]["construction_ef"]) == (9, 50)


def test_text_options_are_passed_on(table):
    options: dict[str, Any] = {
        "with_position": True,
        "base_tokenizer": "whitespace",
        "language": "French",
        "max_token_length": 10,
        "lower_case": False,
        "stem": False,
        "remove_stop_words": False,
        "ascii_folding": False,
    }
    create(table, "text", "FTS", **options)
    assert details(table).items() >= options.items()


@pytest.mark.parametrize(("column", "expected"), [("vector", 1), ("odd", 1)])
def test_sub_vectors_have_a_default(table, column, expected):
    create(table, column, "IVF_PQ", num_partitions=1)
    assert details(table)["compression"]["num_sub_vectors"] == expected


def test_hamming_distance(table):
    create(table, "bits", "IVF_FLAT", num_partitions=1, distance_type="hamming")
    assert table.call("describe_table_index_stats", index_name="bits_idx").distance_type == "hamming"


def test_the_list_has_pages(table):
    for name in ("c", "a", "b"):
        create(table, "n", "BTREE", name=name)
    first = table.call("list_table_indices", limit=2)
    assert [index.index_name for index in first.indexes] == ["a", "b"]
    rest = table.call("list_table_indices", limit=2, page_token=first.page_token)
    assert [index.index_name for index in rest.indexes] == ["c"]
    assert rest.page_token is None


def test_rows_after_the_index_are_told(table):
    create(table, "n", "BTREE")
    table.call("insert_into_table", pa.table({"n": [1000, 1001]}))
    table.call("delete_from_table", predicate="n = 5")
    (index,) = listed(table)
    assert (index.num_indexed_rows, index.num_unindexed_rows) == (COUNT - 1, 2)
    stats = table.call("describe_table_index_stats", index_name="n_idx")
    assert (stats.num_indexed_rows, stats.num_unindexed_rows, stats.distance_type) == (COUNT - 1, 2, None)


def test_old_versions_keep_their_list(table):
    create(table, "n", "BTREE")
    assert listed(table, version=1) == []
    with pytest.raises(TableIndexNotFoundError):
        table.call("describe_table_index_stats", index_name="n_idx", version=1)


def test_a_branch_has_its_own(table):
    table.call("create_table_branch", name="dev")
    create(table, "n", "BTREE", branch="dev")
    assert listed(table) == []
    assert [index.index_name for index in listed(table, branch="dev")] == ["n_idx"]
    table.call("drop_table_index", index_name="n_idx", branch="dev")
    assert listed(table, branch="dev") == []


def test_drop(table):
    create(table, "n", "BTREE")
    assert table.call("drop_table_index", index_name="n_idx").transaction_id
    assert listed(table) == []
    with pytest.raises(TableIndexNotFoundError, match="table 't' has no index 'n_idx'; there is none"):
        table.call("drop_table_index", index_name="n_idx")


@pytest.mark.parametrize("operation", ["describe_table_index_stats", "drop_table_index"])
def test_an_unknown_index_is_answered_with_those_there_are(table, operation):
    create(table, "n", "BTREE")
    with pytest.raises(TableIndexNotFoundError, match="no index 'nope'; there are n_idx"):
        table.call(operation, index_name="nope")


@pytest.mark.parametrize(("column", "kind"), [("n", "BTREE"), ("text", "FTS"), ("vector", "IVF_FLAT")])
@pytest.mark.parametrize("name", [None, "mine"])
def test_a_name_is_taken_once(table, column, kind, name):
    create(table, column, kind, name=name)
    with pytest.raises(TableIndexAlreadyExistsError, match=f"index '{name or column + '_idx'}' already exists"):
        create(table, column, kind, name=name)


@pytest.mark.parametrize("kind", ["BTREE", "FTS", "IVF_FLAT"])
def test_an_unknown_column(table, kind):
    with pytest.raises(TableColumnNotFoundError, match="nope"):
        create(table, "nope", kind)


@pytest.mark.parametrize(
    ("column", "kind", "options", "words"),
    [
        ("n", "WEIRD", {}, "unknown index_type 'WEIRD'; known are BITMAP, BLOOMFILTER, BTREE"),
        ("n", "BTREE", {"stem": True, "m": 3}, "a BTREE index takes no m, stem"),
        ("vector", "IVF_FLAT", {"num_sub_vectors": 2}, "a IVF_FLAT index takes no num_sub_vectors"),
        ("vector", "IVF_FLAT", {"distance_type": "manhattan"}, "distance_type must be one of l2, cosine, dot, hamming"),
        ("n", "IVF_FLAT", {}, "Vector column n must be"),
        ("n", "IVF_PQ", {}, "Vector column n must be"),
        ("n", "FTS", {}, "INVERTED index column n must be string"),
        ("n", "LABEL_LIST", {}, "must be a list"),
        ("vector", "BTREE", {}, "BTREE/BITMAP index column vector must be int, float"),
        ("text", "RTREE", {}, "WKT error"),
        ("vector", "IVF_PQ", {"num_sub_vectors": 3}, "must be divisible by num_sub_vectors"),
        ("vector", "IVF_PQ", {"num_bits": 3}, "num_bits 3 not supported"),
        ("text", "FTS", {"base_tokenizer": "weird"}, "unknown base tokenizer weird"),
        ("text", "FTS", {"language": "Klingon"}, "Klingon"),
    ],
)
def test_bad_input_changes_nothing(table, column, kind, options, words):
    with pytest.raises(InvalidInputError, match=words):
        create(table, column, kind, **options)
    assert table.call("describe_table_version").version.version == 1


def test_a_vector_index_is_no_scalar_index(table):
    with pytest.raises(InvalidInputError, match="unknown index_type 'IVF_FLAT'"):
        create(table, "vector", "IVF_FLAT", "create_table_scalar_index")
