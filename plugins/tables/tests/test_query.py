from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, TableColumnNotFoundError

HERE = {"single_vector": [10.2, 0.0, 0.0, 0.0]}
SEVERAL = {"multi_vector": [[0.1, 0.0, 0.0, 0.0], [63.2, 0.0, 0.0, 0.0]]}


def numbers(table: Any) -> Any:
    return table["n"].to_pylist()


class TestScan:
    def test_k_is_the_limit(self, vectors):
        assert numbers(vectors.query(k=3)) == [0, 1, 2]

    def test_an_empty_vector_is_no_vector(self, vectors):
        assert numbers(vectors.query(k=2, vector={"single_vector": []})) == [0, 1]

    def test_offset_filter_and_row_ids(self, vectors):
        table = vectors.query(k=2, offset=1, filter="n > 50", with_row_id=True)
        assert table.column_names == ["n", "text", "vector", "_rowid"]
        assert numbers(table) == [52, 53]

    def test_a_k_beyond_the_table(self, vectors):
        assert vectors.query(k=2**31 - 1, offset=4).num_rows == 60

    def test_columns_by_name(self, vectors):
        assert vectors.query(k=1, columns={"column_names": ["text", "n"]}).column_names == ["text", "n"]

    def test_computed_columns(self, vectors):
        table = vectors.query(k=2, offset=3, columns={"column_aliases": {"double": "n * 2", "n": "n"}})
        assert table.to_pydict() == {"double": [6, 8], "n": [3, 4]}

    def test_an_old_version_and_a_branch(self, branched):
        branched.call("delete_from_table", predicate="id < 3")
        assert len(branched.rows()) == 1
        assert len(branched.rows(version=1)) == 3
        assert [row["name"] for row in branched.rows(branch="dev", filter="id = 4")] == ["dev"]

    def test_the_answer_is_a_stream(self, vectors):
        reader = vectors.call("query_table", k=5, vector={})
        assert isinstance(reader, pa.RecordBatchReader)
        assert reader.schema.names == ["n", "text", "vector"]

    def test_an_error_in_the_stream_is_one_of_the_spec(self, vectors):
        reader = vectors.call("query_table", k=5, vector={}, columns={"column_aliases": {"q": "1 / n"}})
        with pytest.raises(InvalidInputError, match="query table 't': Divide by zero"):
            reader.read_all()


class TestVector:
    def test_the_only_vector_column_is_found(self, vectors):
        table = vectors.query(k=3, vector=HERE)
        assert numbers(table) == [10, 11, 9]
        assert table["_distance"].to_pylist() == pytest.approx([0.04, 0.64, 1.44], abs=1e-4)

    @pytest.mark.parametrize("columns", [{"column_names": ["n"]}, {"column_aliases": {"n": "n"}}])
    def test_the_distance_comes_with_any_columns_and_without_a_warning(self, vectors, columns, capfd):
        """Lance warns on standard error where it has to add that column by itself."""
        assert vectors.query(k=3, vector=HERE, columns=columns).column_names == ["n", "_distance"]
        assert capfd.readouterr().err == ""

    def test_a_vector_within_a_struct_is_found(self, backend):
        inner = pa.struct([("tag", pa.string()), ("embedding", pa.list_(pa.float32(), 2))])
        rows = [{"tag": str(n), "embedding": [float(n), 0.0]} for n in range(3)]
        backend.call("create_table", pa.table({"item": pa.array(rows, inner)}))
        table = backend.query(k=1, vector={"single_vector": [2.0, 0.0]})
        assert table["item"].to_pylist()[0]["tag"] == "2"

    def test_offset_skips_the_nearest(self, vectors):
        assert numbers(vectors.query(k=2, offset=1, vector=HERE)) == [11, 9]

    def test_the_filter_applies_before_the_search(self, vectors):
        assert numbers(vectors.query(k=2, vector=HERE, filter="n > 40")) == [41, 42]

    def test_the_filter_applies_after_the_search_if_asked(self, vectors):
        assert numbers(vectors.query(k=2, vector=HERE, filter="n > 40", prefilter=False)) == []
        assert numbers(vectors.query(k=2, vector=HERE, filter="n > 10", prefilter=False)) == [11]

    @pytest.mark.parametrize(
        ("bounds", "expected"),
        [
            ({"upper_bound": 1.0}, [10, 11]),
            ({"lower_bound": 1.0}, [9, 12]),
            ({"lower_bound": 0.5, "upper_bound": 2.0}, [11, 9]),
        ],
    )
    def test_bounds(self, vectors, bounds, expected):
        assert numbers(vectors.query(k=2, vector=HERE, **bounds)) == expected

    @pytest.mark.parametrize(("distance", "first"), [("l2", 10), ("L2", 10), ("dot", 63)])
    def test_distance_types(self, vectors, distance, first):
        assert numbers(vectors.query(k=1, vector=HERE, distance_type=distance)) == [first]

    def test_cosine_distance_is_that_of_directions(self, vectors):
        found = vectors.query(k=63, vector=HERE, distance_type="cosine", filter="n > 0")
        assert found["_distance"].to_pylist() == pytest.approx([0.0] * 63, abs=1e-5)

    def test_several_vectors_are_several_searches(self, vectors):
        table = vectors.query(k=2, vector=SEVERAL, columns={"column_names": ["n"]})
        assert table.column_names == ["query_index", "n", "_distance"]
        assert list(zip(table["query_index"].to_pylist(), numbers(table), strict=True)) == [
            (0, 0),
            (0, 1),
            (1, 63),
            (1, 62),
        ]

    def test_several_vectors_are_one_search_of_a_multi_vector_column(self, backend):
        kind = pa.list_(pa.list_(pa.float32(), 2))
        rows = [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]]]
        backend.call("create_table", pa.table({"n": [0, 1], "vectors": pa.array(rows, kind)}))
        query = {"vector": {"multi_vector": [[1.0, 0.0], [0.0, 1.0]]}, "distance_type": "cosine"}
        assert numbers(backend.query(k=2, **query)) == [0, 1]
        assert numbers(backend.query(k=1, offset=1, **query)) == [1]

    def test_options_of_an_index_are_passed_on(self, vectors):
        vectors.call("create_table_index", column="vector", index_type="IVF_FLAT", num_partitions=4)
        vectors.call(
            "insert_into_table",
            pa.table({"n": [100], "vector": pa.array([[10.2, 0, 0, 0]], pa.list_(pa.float32(), 4))}),
        )
        assert numbers(vectors.query(k=1, vector=HERE, nprobes=4)) == [100]
        assert numbers(vectors.query(k=1, vector=HERE, fast_search=True, nprobes=4)) == [10]
        exact = {"k": 1, "vector": HERE, "bypass_vector_index": True}
        assert "ANN" not in vectors.call("explain_table_query_plan", query=exact)
        plan = vectors.call(
            "explain_table_query_plan",
            query={
                "k": 1,
                "vector": HERE,
                "minimum_nprobes": 2,
                "maximum_nprobes": 3,
                "nprobes": 1,
                "refine_factor": 5,
            },
        )
        assert "minimum_nprobes=2, maximum_nprobes=Some(3)" in plan

    def test_effort_of_an_hnsw_index(self, vectors):
        vectors.call("create_table_index", column="vector", index_type="IVF_HNSW_SQ", num_partitions=1)
        assert numbers(vectors.query(k=1, vector=HERE, ef=50, refine_factor=10)) == [10]

    @pytest.mark.parametrize(
        "fields",
        [
            {},
            {"filter": "n > 3"},
            {"vector": HERE},
            {"vector": HERE, "offset": 2},
            {"vector": SEVERAL},
            {"full_text_query": {"string_query": {"query": "n9"}}},
            {"full_text_query": {"string_query": {"query": "n9"}}, "vector": HERE},
        ],
    )
    def test_no_rows_are_wanted(self, vectors, fields):
        """The spec: k is the number of results, from 0."""
        vectors.call("create_table_index", column="text", index_type="FTS")
        answer = vectors.query(**{"vector": {}, **fields}, k=0)
        assert answer.num_rows == 0
        assert "n" in answer.column_names

    @pytest.mark.parametrize(
        ("fields", "expected", "words"),
        [
            ({"vector_column": "nope"}, TableColumnNotFoundError, "no column 'nope'; there are n, text, vector"),
            ({"vector_column": "n"}, InvalidInputError, "Query column n must be a vector"),
            ({"vector": {"single_vector": [1.0]}}, InvalidInputError, "does not match index column size 4"),
            ({"vector": {**HERE, **SEVERAL}}, InvalidInputError, "not both"),
            ({"vector": SEVERAL, "offset": 1}, InvalidInputError, "'offset' cannot be used with several vectors"),
            (
                {"distance_type": "manhattan"},
                InvalidInputError,
                "distance_type must be one of l2, cosine, dot, hamming",
            ),
            ({"filter": "nope = 1"}, TableColumnNotFoundError, "nope"),
            ({"filter": "n >"}, InvalidInputError, "sql parser error"),
            ({"columns": {"column_names": ["nope"]}}, TableColumnNotFoundError, "nope"),
            ({"columns": {"column_aliases": {"x": "nope + 1"}}}, TableColumnNotFoundError, "nope"),
            (
                {"columns": {"column_names": ["n"], "column_aliases": {"x": "n"}}},
                InvalidInputError,
                "names or aliases, not both",
            ),
            ({"nprobes": 0}, InvalidInputError, "Nprobes must be > 0"),
            (
                {"minimum_nprobes": 3, "maximum_nprobes": 2},
                InvalidInputError,
                "minimum_nprobes must be <= maximum_nprobes",
            ),
            ({"refine_factor": 0}, InvalidInputError, "Refine factor must be 1 or more"),
            ({"ef": 0}, InvalidInputError, "ef must be > 0"),
        ],
    )
    def test_bad_input(self, vectors, fields, expected, words):
        with pytest.raises(expected, match=words):
            vectors.query(**{"k": 1, "vector": HERE, **fields})

    def test_of_several_vector_columns_one_must_be_named(self, backend):
        vector = pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2))
        backend.call("create_table", pa.table({"a": vector, "b": vector}))
        with pytest.raises(InvalidInputError, match="it has several: a, b"):
            backend.query(vector={"single_vector": [1.0, 2.0]})
        assert backend.query(vector={"single_vector": [1.0, 2.0]}, vector_column="b").num_rows == 1

    def test_a_table_without_vectors_says_so(self, people):
        with pytest.raises(InvalidInputError, match="it has none"):
            people.query(vector=HERE)
