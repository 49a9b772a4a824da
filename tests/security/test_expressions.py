"""Small requests that used to kill the server, or to take all of its memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import pyarrow as pa
import pytest

from lancespace import connect
from lancespace_testing.samples import stream
from lancespace_testing.waiting import until
from lancespace_views import query_view
from plugins.server.tests.hosting import Running
from tests.security.attacking import ARROW, attacked, peak_mb, requests_with, rows

LIMIT_MB = 900
"""Of one process; a server that has just answered a vector search has 400."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, httpx.Client]]:
    with attacked(tmp_path_factory.mktemp("attacked")) as both:
        yield both


@pytest.fixture
def http(server: tuple[Running, httpx.Client]) -> Iterator[httpx.Client]:
    """A client of the server, which must be the same process after the test, of a moderate size."""
    running, opened = server
    workers = running.workers()
    yield opened
    assert opened.post("/v1/table/t/count_rows", json={}).json() == len(rows())
    assert running.workers() == workers
    assert peak_mb(running.process.pid) < LIMIT_MB


ATTACKS = {
    "array_repeat": "array_length(array_repeat(id, 10000000000)) > 0",
    "repeat": "length(repeat(s, 200000000)) > 0",
    "lpad": "length(lpad(s, 2000000000)) > 0",
    "alias": "repeat('a', 100000000)",
    "column many times": "length(concat(" + ",".join(["s"] * 60_000) + ")) > 0",
    "list of a column": "array_length([" + ",".join(["s"] * 10_000) + "]) > 0",
    "growth of a long value": "length(repeat(" + "||".join(["s"] * 100) + ", 64)) > 0",
    "many steps": "levenshtein(repeat(s, 64), repeat(s, 64)) > 0",
    "range": "array_length(range(0, 1e10)) > 0",
    "deep": "id = " + "+".join(["1"] * 900),
    "casts": "id" + "::bigint" * 600 + " = 1",
    "indexes": "l" + "[0]" * 900 + " = 1",
    "calls": "abs(" * 120 + "id" + ")" * 120 + " = 1",
    "NUL in a literal": "CAST(s || '\0' AS int) > 1",
    "NUL in a hexadecimal literal": "regexp_count(s, X'00', id, 'a') > 0",
    "NUL from a number": "CAST(chr(0) AS int) > 1",
    "missing argument": "get_field(s) = 1",
    "placeholder": "id = ?",
    "decimal": "CAST(id AS decimal(99, 1)) = 1",
    "decimal of Arrow": "arrow_cast(id, 'Decimal128(99, 1)') = 1",
    "terms": " OR ".join(["id=1"] * 10_000),
    "values": "id IN (" + ",".join(map(str, range(400_000))) + ")",
    "brackets": "(" * 10_000 + "id = 1",
    "long pattern": f"s LIKE '{'a%' * 50_000}'",
    "texts": f"s = '{'x' * 100_000}'",
    "hidden in a string": r"s = E'\' OR length(repeat(s, 200000000)) > 0 OR s = ''",
    "hidden in a comment": "s = 'a' -- ' \n OR length(repeat(s, 200000000)) > 0 -- '",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_no_expression_kills_the_server(http: httpx.Client, attack: str):
    for path, body in requests_with(attack):
        answer = http.post(f"/v1/table/{path}", json=body)
        assert answer.status_code == 400, (path, answer.text)


CONVERSIONS = {
    "cast": "CAST(s AS int) > 0",
    "short cast": "s::double = 1",
    "function": "arrow_cast(s, 'Int32') = 1",
    "bytes of a number": "CAST(CAST(CAST(id AS binary) AS string) AS int) > 0",
    "made text": "CAST(concat('1', s) AS int) > 0",
    "comparison": "id = s",
    "list": "id IN (s, 1)",
    "array": "array_length([id, s]) > 0",
    "choice": "nullif(id, s) > 0",
    "structs": "named_struct('a', s) = named_struct('a', id)",
    "time": "to_timestamp(s) > now()",
    "comparison with a time": "s > now()",
    "flags": "regexp_like(s, 'a', s)",
}


@pytest.mark.parametrize("conversion", CONVERSIONS.values(), ids=CONVERSIONS)
def test_no_conversion_of_text_with_a_nul_kills_the_server(http: httpx.Client, conversion: str):
    for path, body in requests_with(conversion):
        answer = http.post(f"/v1/table/{path}", json=body)
        assert answer.status_code in {200, 400}, (path, answer.text)  # Nothing to convert; a plan is no error.
        if path == "t/query":
            assert "TRY_CAST" in answer.json()["error"]


def test_no_stored_conversion_kills_the_server(http: httpx.Client):
    """A column is computed by a job, whose stream an error would end."""
    column = {"name": "number", "computed": "CAST(s AS int)"}
    assert http.post("/v1/table/spare/add_columns", json={"new_columns": [column]}).status_code == 200

    answer = http.post("/v1/table/spare/backfill_column", json={"column": "number"})

    assert answer.status_code == 400
    assert "TRY_CAST" in answer.json()["error"]


def test_views_report_what_they_cannot_convert(http: httpx.Client):
    for number, query in enumerate(
        ("CAST(s AS int) AS x FROM t", "id AS x FROM t WHERE id = s", "max(id) AS x FROM t WHERE CAST(s AS int) > 0")
    ):
        view = query_view(f"SELECT {query}", pa.schema([("x", pa.int64() if number else pa.int32())]))
        made = http.post(f"/v1/materialized_view/converted{number}/create", json={**view, "with_no_data": False})
        ask = partial(http.post, f"/v1/transaction/{made.json()['job_id']}/describe", json={})
        told = until(ask, lambda answer: answer.json()["status"] == "FAILED").json()
        assert "Cannot cast string" in told["properties"]["message"]


def test_conversions_that_cannot_fail_are_allowed(http: httpx.Client):
    many = " OR ".join(["s = lower(s)"] * 4000)
    for allowed in ("TRY_CAST(s AS int) > 0", "CAST(id AS string) = s", "CAST(length(s) AS double) > 1", many):
        answer = http.post("/v1/table/t/query", json={"k": 5, "vector": {}, "filter": allowed})
        assert answer.status_code == 200, (allowed, answer.text)


@pytest.mark.parametrize("name", ["repeat", "lpad", "deep"])
def test_no_merge_kills_the_server(http: httpx.Client, name: str):
    for field in ("when_not_matched_by_source_delete_filt", "when_matched_update_all_filt"):
        query: dict[str, str] = {"on": "id", field: ATTACKS[name]}
        answer = http.post("/v1/table/spare/merge_insert", params=query, content=stream(rows()), headers=ARROW)
        assert answer.status_code == 400, answer.text


def test_no_view_kills_the_server(http: httpx.Client):
    nested = "t"
    for _ in range(4):
        nested = f"(SELECT repeat(s, 64) AS s FROM {nested})"
    for select in (
        "repeat(s, 200000000) AS x FROM t",
        "array_to_string(range(0, 10000000000), s) AS x FROM t",
        f"s AS x FROM {nested}",
    ):
        view = query_view(f"SELECT {select}", pa.schema([("x", pa.string())]))
        answer = http.post("/v1/materialized_view/bomb/create", json={**view, "with_no_data": False})
        assert (answer.status_code, http.post("/v1/table/bomb/exists").status_code) == (400, 404), answer.text


def test_no_stored_expression_kills_the_server(server: tuple[Running, httpx.Client], http: httpx.Client):
    """One that somebody has put there who may write to the storage: embedded use does not limit functions."""
    with connect("dir", {"root": str(server[0].log.parent / "catalog")}) as embedded:
        embedded.create_table("stored", [{"s": "a"}])
        embedded.alter_table_add_columns("stored", new_columns=[{"name": "x", "computed": "repeat(s, 200000000)"}])

    answer = http.post("/v1/table/stored/backfill_column", json={"column": "x"})

    assert answer.status_code == 400, answer.text
    assert "repeat" in answer.json()["error"]


def test_no_search_kills_the_server(http: httpx.Client):
    words = " ".join(f"w{number}" for number in range(400_000))
    string_query: dict[str, Any] = {"string_query": {"query": words, "columns": ["s"]}}
    many = [[1.0, 1.0]] * 100_000
    for query in (
        {"k": 1, "vector": {}, "full_text_query": string_query},
        {"k": 10, "vector": {"multi_vector": many}},
        {"k": 1_000_000, "vector": {"multi_vector": many[:1000]}},
    ):
        for path, body in (("query", query), ("explain_plan", {"query": query}), ("analyze_plan", query)):
            answer = http.post(f"/v1/table/t/{path}", json=body)
            assert answer.status_code == 400, (path, answer.text)


LARGE = (2**31, 2**32, 2**53, 2**63 - 1)


def test_no_number_of_a_search_kills_the_server(http: httpx.Client):
    """Lance takes memory for as many rows as it is asked for, whether the table has them or not."""
    index = {"column": "v", "index_type": "IVF_FLAT", "num_partitions": 2}
    assert http.post("/v1/table/spare/create_index", json=index).status_code == 200
    for number in (0, *LARGE):
        for field in ("k", "offset", "refine_factor", "nprobes", "ef"):
            query = {"k": 5, "vector": {"single_vector": [1.0, 1.0]}, field: number}
            for path, body in (("query", query), ("analyze_plan", query), ("explain_plan", {"query": query})):
                answer = http.post(f"/v1/table/spare/{path}", json=body)
                assert answer.status_code in {200, 400}, (query, path, answer.text)
                assert answer.status_code == 200 or number > 2**32 or field != "k", (query, answer.text)


@pytest.mark.parametrize("number", LARGE)
def test_no_number_of_an_index_kills_the_server(http: httpx.Client, number: int):
    for field in ("ef_construction", "m", "num_partitions", "sample_rate", "max_iterations"):
        index = {"column": "v", "index_type": "IVF_HNSW_FLAT", "name": f"{field}{number}", field: number}
        answer = http.post("/v1/table/spare/create_index", json=index)
        assert answer.status_code in {200, 400}, (index, answer.text)


def test_no_name_kills_the_server(http: httpx.Client):
    """With the character NUL in the name of a column, no schema could leave Lance."""
    for path, body in (
        ("t/query", {"k": 5, "vector": {}, "columns": {"column_aliases": {"a\0": "id"}}}),
        ("spare/add_columns", {"new_columns": [{"name": "a\0", "expression": "id"}]}),
        ("spare/add_columns", {"new_columns": [{"name": "a\0", "computed": "id"}]}),
        ("spare/alter_columns", {"alterations": [{"path": "s", "rename": "a\0"}]}),
        ("spare/tags/create", {"tag": "é", "version": 1}),
        ("spare/tags/update", {"tag": "x" * 10_000, "version": 1}),
        ("spare/count_rows", {"branch": "x" * 10_000}),
        ("spare/count_rows", {"branch": "."}),
    ):
        answer = http.post(f"/v1/table/{path}", json=body)
        assert answer.status_code == 400, (path, answer.text)
    assert http.post("/v1/table/spare/tags/list").status_code == 200


MISTAKES = {
    "unknown column": "nope = 1",
    "unknown function": "nope(id) = 1",
    "not a condition": "id + 1",
    "text for a number": "id = 'x'",
    "division by zero": "id / 0 = 1",
    "overflow": "factorial(30) > 1",
    "cast": "CAST(s AS int) > 1",
    "cast to a time": "CAST('' AS timestamp) IS NOT NULL",
    "field of a text": "s.x IN ('a')",
    "name of a field": "named_struct(0.1, s) IS NULL",
    "character": "chr(-1) = 'a'",
    "time": "to_timestamp('x') > now()",
    "pattern": "regexp_like(s, '(')",
    "nested repetition": "regexp_like(s, '((a{100}){100}){100}')",
    "aggregate": "sum(id) > 1",
    "window": "row_number() OVER () > 1",
    "subquery": "id IN (SELECT 1)",
    "index": "l[0][1] = 1",
    "placeholder": "id = $1",
    "no argument": "arrow_cast() IS NULL",
    "bytes that are no text": "concat(X'ff', s) = 'a'",
    "precision": "CAST(id AS decimal(76, 0)) IS NULL",
    "digits": "CAST(id AS decimal(1, 1)) IS NULL",
    "number": "abs(-9223372036854775808) > 1",
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_of_callers_are_told_as_such(http: httpx.Client, mistake: str):
    body = {"k": 5, "vector": {}, "filter": mistake}
    for path, sent in (("query", body), ("count_rows", {"predicate": mistake}), ("explain_plan", {"query": body})):
        answer = http.post(f"/v1/table/t/{path}", json=sent)
        planned = path == "explain_plan" and answer.status_code == 200
        assert planned or answer.status_code in {400, 406}, (path, answer.status_code, answer.text)
        assert planned or "error" in answer.json()
