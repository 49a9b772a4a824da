from __future__ import annotations

from typing import Any

import pytest
from lance_namespace import (
    TableBranchNotFoundError,
    TableColumnNotFoundError,
    TableVersionNotFoundError,
)

HERE = {"single_vector": [10.2, 0.0, 0.0, 0.0]}
TEXT = {"string_query": {"query": "n9"}}


def explain(backend: Any, verbose: Any = None, **query: Any) -> Any:
    return backend.call("explain_table_query_plan", query={"k": 3, "vector": {}, **query}, verbose=verbose)


def analyze(backend: Any, **query: Any) -> Any:
    return backend.call("analyze_table_query_plan", **{"k": 3, "vector": {}, **query})


def test_a_scan(vectors):
    assert "n > Int64(5)" in explain(vectors, filter="n > 5")
    assert "output_rows=3" in analyze(vectors, filter="n > 5")


def test_a_vector_search(vectors):
    assert "TopK(fetch=3)" in explain(vectors, vector=HERE)
    assert "KNNVectorDistance" in analyze(vectors, vector=HERE)


def test_a_full_text_search(vectors):
    vectors.call("create_table_index", column="text", index_type="FTS")
    assert "MatchQuery" in explain(vectors, full_text_query=TEXT)
    assert "MatchQuery" in analyze(vectors, full_text_query=TEXT)


@pytest.mark.parametrize("report", [explain, analyze])
def test_a_hybrid_search_has_two_plans(vectors, report):
    vectors.call("create_table_index", column="text", index_type="FTS")
    vector_plan, text_plan = report(vectors, vector=HERE, full_text_query=TEXT).split("full-text search:\n")
    assert vector_plan.startswith("vector search:\n")
    assert "KNNVectorDistance" in vector_plan
    assert "MatchQuery" in text_plan


@pytest.mark.parametrize("report", [explain, analyze])
def test_what_a_query_refuses_a_plan_refuses(vectors, report):
    with pytest.raises(TableColumnNotFoundError, match="nope"):
        report(vectors, filter="nope = 1")
    with pytest.raises(TableVersionNotFoundError):
        report(vectors, version=9)
    with pytest.raises(TableBranchNotFoundError):
        report(vectors, branch="nope")
