from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError

HERE = {"single_vector": [10.2, 0.0, 0.0, 0.0]}


@pytest.fixture
def indexed(vectors):
    vectors.call("create_table_index", column="text", index_type="FTS")
    return vectors


def text(terms: str) -> dict[str, Any]:
    return {"string_query": {"query": terms}}


def test_rows_that_both_searches_find_come_first(indexed):
    table = indexed.query(k=4, vector=HERE, full_text_query=text("n9 n50"), columns={"column_names": ["n"]})
    assert table.column_names == ["n", "_distance", "_score", "_relevance_score"]
    assert table["n"].to_pylist()[0] == 9
    assert set(table["n"].to_pylist()) == {9, 10, 11, 50}


def test_relevance_is_the_sum_of_reciprocal_ranks(indexed):
    table = indexed.query(k=4, vector=HERE, full_text_query=text("n9")).to_pylist()
    by_number = {row["n"]: row for row in table}
    assert by_number[9]["_relevance_score"] == pytest.approx(1 / (60 + 3) + 1 / (60 + 1))
    assert by_number[10]["_relevance_score"] == pytest.approx(1 / (60 + 1))
    assert by_number[10]["_score"] is None
    assert by_number[10]["_distance"] == pytest.approx(0.04, abs=1e-4)
    assert [row["_relevance_score"] for row in table] == sorted(
        (row["_relevance_score"] for row in table), reverse=True
    )


def test_a_row_that_only_the_text_finds_has_no_distance(indexed):
    row = indexed.query(k=2, vector=HERE, full_text_query=text("n50")).to_pylist()
    assert {(one["n"], one["_distance"] is None, one["_score"] is None) for one in row} == {
        (10, False, True),
        (50, True, False),
    }


def test_pages_of_the_ranking_lose_and_repeat_nothing(indexed):
    query = {"vector": HERE, "full_text_query": text("n9 n50 n51")}
    whole = indexed.query(k=12, **query)["n"].to_pylist()
    assert len(set(whole)) == len(whole) == 12
    assert indexed.query(k=6, offset=6, **query)["n"].to_pylist() == whole[6:]


def test_offset_filter_and_row_ids(indexed):
    query = {"vector": HERE, "full_text_query": text("n30"), "filter": "n > 20"}
    assert indexed.query(k=3, **query)["n"].to_pylist() == [30, 21, 22]  # Both searches know 30, the vector's tenth.
    table = indexed.query(k=2, offset=1, with_row_id=True, **query)
    assert table["n"].to_pylist() == [21, 22]
    assert table["_rowid"].to_pylist() == [21, 22]


def test_computed_columns(indexed):
    table = indexed.query(
        k=1, vector=HERE, full_text_query=text("n10"), columns={"column_aliases": {"double": "n * 2"}}
    )
    assert table["double"].to_pylist() == [20]


def test_a_search_that_finds_nothing_leaves_the_other(indexed):
    assert indexed.query(k=2, vector=HERE, full_text_query=text("nowhere"))["n"].to_pylist() == [10, 11]


def test_the_answer_is_a_reader(indexed):
    assert isinstance(indexed.call("query_table", k=1, vector=HERE, full_text_query=text("n1")), pa.RecordBatchReader)


def test_several_vectors_are_refused(indexed):
    with pytest.raises(InvalidInputError, match="a hybrid query takes one vector"):
        indexed.query(vector={"multi_vector": [[1.0, 0, 0, 0], [2.0, 0, 0, 0]]}, full_text_query=text("n1"))
