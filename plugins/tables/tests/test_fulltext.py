from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError, TableColumnNotFoundError


@pytest.fixture
def library(backend):
    """Titles and texts with full-text indexes on both; only the text's has positions."""
    rows = [
        (0, "cats", "the quick brown fox jumps"),
        (1, "dogs", "the lazy dog sleeps"),
        (2, "foxes", "a brown dog and a quick cat"),
        (3, "birds", "quick brown birds fly brown and quick"),
    ]
    n, title, text = (list(column) for column in zip(*rows, strict=True))
    backend.call("create_table", pa.table({"n": n, "title": title, "text": text}))
    for column, position in (("title", False), ("text", True)):
        backend.call(
            "create_table_index",
            column=column,
            index_type="FTS",
            with_position=position,
            stem=False,
            remove_stop_words=False,
        )
    return backend


def search(backend: Any, query: Any, **fields: Any) -> Any:
    found = backend.query(full_text_query=query, **fields)
    assert "_score" in found.column_names
    return sorted(found["n"].to_pylist())


def structured(**query: Any) -> dict[str, Any]:
    return {"structured_query": {"query": query}}


class TestString:
    def test_all_indexed_columns(self, library):
        assert search(library, {"string_query": {"query": "cats lazy"}}) == [0, 1]

    def test_some_columns(self, library):
        assert search(library, {"string_query": {"query": "cats lazy", "columns": ["title"]}}) == [0]

    def test_k_and_offset_follow_the_score(self, library):
        best = library.query(full_text_query={"string_query": {"query": "lazy dog"}})["n"].to_pylist()
        assert best == [1, 2]
        assert library.query(k=1, full_text_query={"string_query": {"query": "lazy dog"}})["n"].to_pylist() == [1]
        assert library.query(k=1, offset=1, full_text_query={"string_query": {"query": "lazy dog"}})[
            "n"
        ].to_pylist() == [2]

    def test_the_filter_applies_before_the_search(self, library):
        query = {"string_query": {"query": "quick"}}
        assert search(library, query, k=1, filter="n = 2") == [2]

    def test_rows_after_the_index_are_found_unless_the_search_is_fast(self, library):
        library.call("insert_into_table", pa.table({"n": [9], "title": ["new"], "text": ["quick"]}))
        query = {"string_query": {"query": "quick", "columns": ["text"]}}
        assert search(library, query) == [0, 2, 3, 9]
        assert search(library, query, fast_search=True) == [0, 2, 3]


class TestStructured:
    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ({"match": {"column": "text", "terms": "lazy fox"}}, [0, 1]),
            ({"match": {"column": "text", "terms": "brown dog", "operator": "And"}}, [2]),
            ({"match": {"column": "text", "terms": "brown dog", "operator": "and"}}, [2]),
            ({"match": {"column": "text", "terms": "brawn", "fuzziness": 1}}, [0, 2, 3]),
            ({"match": {"column": "text", "terms": "brawn", "fuzziness": 1, "prefix_length": 3}}, []),
            ({"phrase": {"column": "text", "terms": "quick brown"}}, [0, 3]),
            ({"phrase": {"column": "text", "terms": "brown quick", "slop": 1}}, [3]),
            (
                {"multi_match": {"match_queries": [{"column": c, "terms": "cats sleeps"} for c in ("title", "text")]}},
                [0, 1],
            ),
            (
                {
                    "boolean": {
                        "must": [{"match": {"column": "text", "terms": "quick"}}],
                        "must_not": [{"match": {"column": "text", "terms": "dog"}}],
                        "should": [{"match": {"column": "title", "terms": "birds"}}],
                    }
                },
                [0, 3],
            ),
            (
                {
                    "boost": {
                        "positive": {"match": {"column": "text", "terms": "quick"}},
                        "negative": {"match": {"column": "text", "terms": "fox"}},
                        "negative_boost": 0.1,
                    }
                },
                [0, 2, 3],
            ),
        ],
        ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
    )
    def test_what_each_kind_finds(self, library, query, expected):
        assert search(library, structured(**query)) == expected

    def test_boosting_down_changes_the_order(self, library):
        def ranked(weight: float) -> Any:
            sides = {
                side: {"match": {"column": "text", "terms": terms}}
                for side, terms in (("positive", "brown"), ("negative", "birds"))
            }
            return library.query(full_text_query=structured(boost={**sides, "negative_boost": weight}))["n"].to_pylist()

        assert ranked(0.0)[0] == 3
        assert ranked(1.0)[-1] == 3

    def test_boost_of_a_column(self, library):
        def first(weight: float) -> Any:
            queries = [
                {"column": "title", "terms": "foxes lazy"},
                {"column": "text", "terms": "foxes lazy", "boost": weight},
            ]
            query = structured(multi_match={"match_queries": queries})
            return library.query(k=1, full_text_query=query)["n"].to_pylist()

        assert first(0.1) == [2]
        assert first(10) == [1]

    def test_the_only_indexed_column_is_found(self, people):
        people.call("create_table_index", column="name", index_type="FTS")
        found = people.query(full_text_query=structured(match={"terms": "bob"}))
        assert found["id"].to_pylist() == [2]

    @pytest.mark.parametrize(
        ("query", "words"),
        [
            ({}, "needs either 'string_query' or 'structured_query'"),
            ({"string_query": {"query": "a"}, **structured(match={"terms": "a"})}, "needs either"),
            (structured(), "exactly one of match, phrase"),
            (structured(match={"terms": "a"}, phrase={"terms": "a"}), "exactly one of match, phrase"),
            (structured(match={"terms": "a"}), "name the 'column'.*indexes are on text, title"),
            (structured(match={"terms": "a", "column": "text", "operator": "xor"}), "operator must be one of Or, And"),
            (structured(phrase={"terms": "a b", "column": "title"}), "recreating the index with position"),
            (structured(boolean={"must": [], "should": [], "must_not": []}), "at least one leaf query"),
            (structured(multi_match={"match_queries": []}), "at least one match query"),
            (
                structured(
                    multi_match={"match_queries": [{"terms": "a", "column": "text"}, {"terms": "b", "column": "title"}]}
                ),
                "the same terms and operator",
            ),
            (
                structured(multi_match={"match_queries": [{"terms": "a", "column": "text", "fuzziness": 1}]}),
                "takes no fuzziness",
            ),
            (structured(match={"terms": "a", "column": "n"}), "FTS field 'n' must resolve to Utf8"),
        ],
    )
    def test_bad_input(self, library, query, words):
        with pytest.raises(InvalidInputError, match=words):
            library.query(full_text_query=query)

    def test_an_unknown_column(self, library):
        with pytest.raises(TableColumnNotFoundError, match="nope"):
            library.query(full_text_query=structured(match={"terms": "a", "column": "nope"}))

    def test_without_an_index_there_is_no_column_to_search(self, people):
        with pytest.raises(InvalidInputError, match="no column has a full-text index"):
            people.query(full_text_query=structured(match={"terms": "a"}))
        with pytest.raises(InvalidInputError, match="INVERTED index"):
            people.query(full_text_query={"string_query": {"query": "bob"}})
