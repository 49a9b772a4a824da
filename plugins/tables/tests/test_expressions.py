"""Expressions that are too deep for Lance's planner, and those that a server refuses for what they cost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError

from lancespace import Namespace, connect
from lancespace.authoring import OPERATIONS, model
from lancespace_tables import Limits, shallow
from lancespace_tables._expressions import MOST_DEPTH
from lancespace_tables._expressions.limits import values_at

DEEP = {
    "additions": "id = " + "+".join(["1"] * 900),
    "concatenations": "name = " + " || ".join(["'a'"] * 900),
    "casts": "id" + "::bigint" * 600 + " = 1",
    "brackets": "(" * 1000 + "id = 1" + ")" * 1000,
    "open brackets": "(" * 1000,
    "negations": "NOT " * 1000 + "true",
    "cases": "CASE WHEN true THEN " * 300 + "true" + " ELSE false END" * 300,
    "terms": " OR ".join(["id = 1"] * 5002),
    "comment in a comment": "id = 1 /* /* */ + " + "+".join(["1"] * 3000) + " /* */ OR id = 1",
    "nothing but comments": "/* /* */ id = 1 + " + "+".join(["1"] * 3000) + " /* */ */",
    "comment with a carriage return": "id = 1 -- \r ' \n + " + "+".join(["1"] * 3000) + " -- '",
    "string in dollars": "name = $$'$$ OR " + "+".join(["1"] * 100_000) + " = 3 OR name = $$'$$",
    "string with a tag": "name = $1$ ' $1$ OR " + "+".join(["1"] * 100_000) + " = 3 OR name = '",
}
FLAT = (
    "id IN (" + ",".join(map(str, range(10_000))) + ")",
    " OR ".join(["id = 1"] * 4000),
    "name = '" + "(" * 1000 + "'",
    "id = " + "+".join(["1"] * MOST_DEPTH),
)


@pytest.fixture(scope="module")
def namespace() -> Namespace:
    made = connect("memory")
    made.create_table("t", [{"id": 1, "name": "a"}])
    return made


@pytest.mark.parametrize("deep", DEEP.values(), ids=DEEP)
def test_deep_expressions_are_refused_before_lance_plans_them(namespace: Namespace, deep: str):
    calls: list[Callable[[], Any]] = [
        lambda: namespace.query_table("t", filter=deep),
        lambda: namespace.query_table("t", columns={"x": deep}),
        lambda: namespace.explain_table_query_plan("t", query={"filter": deep}),
        lambda: namespace.analyze_table_query_plan("t", filter=deep),
        lambda: namespace.count_table_rows("t", predicate=deep),
        lambda: namespace.delete_from_table("t", predicate=deep),
        lambda: namespace.update_table("t", updates=[["name", deep]]),
        lambda: namespace.update_table("t", updates=[["id", "1"]], predicate=deep),
        lambda: namespace.alter_table_add_columns("t", new_columns=[{"name": "x", "expression": deep}]),
        lambda: namespace.alter_table_add_columns("t", new_columns=[{"name": "x", "computed": deep}]),
        lambda: namespace.merge_insert_into_table("t", [{"id": 1}], on=["id"], when_matched_update_all_filt=deep),
        lambda: namespace.merge_insert_into_table(
            "t", [{"id": 1}], on=["id"], when_not_matched_by_source_delete_filt=deep
        ),
        lambda: namespace.sql(f"SELECT * FROM t WHERE {deep}"),
    ]
    for call in calls:
        with pytest.raises(InvalidInputError, match=r"levels deep|terms by AND or OR|comment|dollar signs"):
            call()


@pytest.mark.parametrize("flat", FLAT, ids=range(len(FLAT)))
def test_long_expressions_that_are_not_deep_are_taken(namespace: Namespace, flat: str):
    assert shallow(flat) == flat
    assert namespace.count_table_rows("t", predicate=flat).count in {0, 1}


def test_the_deepest_expressions_that_are_taken_do_not_overflow_the_stack(tmp_path: Path):
    """In a process of its own, on threads with the stack that Lance gives its own."""
    script = tmp_path / "deepest.py"
    script.write_text(DEEPEST, encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["done"] * 3), done.stderr


DEEPEST = f"""
import threading
from lancespace import connect
ns = connect("memory")
ns.create_table("t", [{{"id": 1, "v": [1.0]}}])
def run(deepest):
    ns.count_table_rows("t", predicate=deepest)
    ns.query_table("t", filter=deepest, k=1)
    ns.explain_table_query_plan("t", query={{"filter": deepest}})
    print("done", flush=True)
threading.stack_size(2 << 20)
for deepest in ("id = " + "+".join(["1"] * {MOST_DEPTH}), "id" + "::bigint" * {MOST_DEPTH // 2 - 1} + " = 1",
                " OR ".join(["id = 1"] * 5000)):
    thread = threading.Thread(target=run, args=(deepest,))
    thread.start()
    thread.join()
"""


COLUMN_KINDS = ("expression", "computed")


# --- the limits of a server ---------------------------------------------------------------------------------------

TAKEN = (
    "id > 1 AND name LIKE '%pear'",
    "`my column`.`sub` = 1 OR list[0] = 2",
    "id::bigint = 1 AND CAST(name AS string) = 'a'",
    r"name LIKE 'a\_b' ESCAPE '\'",
    "name = 'it''s -- no comment'",
    "ts > timestamp '2020-01-01 00:00:00' AND ts < now() - interval '1 day'",
    "ts BETWEEN date '2020-01-01' AND date '2021-01-01'",
    "regexp_like(name, 'a.*') AND name ~ 'b' AND name NOT ILIKE 'c%'",
    "json_extract(j, '$.a') = '1' AND contains_tokens(text, 'a b')",
    "array_has_any(labels, ['a', 'b']) AND labels = make_array('a')",
    "CASE WHEN id IS NULL THEN true ELSE id IS DISTINCT FROM 3 END",
    "substring(name from 1 for 2) = 'a' AND trim(both ' ' from name) = 'b' AND extract(year from ts) = 2020",
    "data = X'a0ff' AND flag IS NOT TRUE",
    "CAST(id AS decimal(38, 38)) > 0.5 AND CAST(id AS decimal(5)) = 1 AND CAST(id AS decimal) = 1",
    "lpad(name, 10) = 'a' AND replace(name, 'a', 'bb') = 'b' AND repeat(name, 3) = 'aaa'",
    "id IN (" + ",".join(map(str, range(10_000))) + ")",
    "concat(" + ", ".join(f"c{number}" for number in range(1000)) + ") = 'a'",
    " OR ".join(f"lower(s) = '{number}'" for number in range(4000)),
    "CASE " + " ".join(f"WHEN id = {number} THEN s" for number in range(1000)) + " END = 'a'",
)
REFUSED = {
    "length(repeat(s, 200000000)) > 0": "must be literals",
    "length(REPEAT (s, 200000000)) > 0": "must be literals",
    "length(`repeat`(s, 65)) > 0": "must be literals",
    "length(repeat(s, id)) > 0": "must be literals",
    "length(repeat(repeat(s, 64), 64)) > 0": "up to 4096 times",
    "length(repeat(s || s || s, 64)) > 0": "up to 192 times",
    "length(concat(" + ", ".join(["s"] * 129) + ")) > 0": "up to 129 times",
    "array_length([" + ", ".join(["S", "`s`"] * 65) + "]) > 0": "up to 130 times",
    "concat(" + ", ".join(["concat(s, s, s)"] * 50) + ") = 'a'": "up to 150 times",
    "levenshtein(repeat(s, 2), name) > 0": "up to 4096 times",
    f"length(repeat('{'x' * 1001}', 64)) > 0": "characters",
    "array_length(make_array(" + ", ".join(["1"] * 10_001) + ")) > 0": "10001 values",
    "replace(s, '', concat(s, s)) = 'a'": "must be literals",
    "array_length(array_repeat(id, 10000000000)) > 0": "must be literals",
    "lpad(s, 2000000000) = 'a'": "must be literals",
    "array_length(range(0, 1e10)) > 0": "not allowed",
    "array_length(range(id)) > 0": "not allowed",
    "a.b.generate_series(1, 2) = 1": "not allowed",
    "{fn range(1, 2)} = 1": "not allowed",
    "space(1000000) = 's'": "not allowed",
    f"name LIKE '{'%' * 1001}'": "pattern",
    f"regexp_like(name, '{'x' * 1001}')": "pattern",
    f"name ~ '{'x' * 1001}'": "pattern",
    "id IN (" + ",".join(map(str, range(10_001))) + ")": "10001 values",
    "name = 'a' -- '": "Comments",
    "name = 'a' /* ' */ OR repeat(s, 9) = ' /* '": "Comments",
    "name = E'\\' OR repeat(s, 9999999) = ''": "cannot be parsed",
    "name = $$ ' $$ ' $$": "dollar signs",
    "CAST(id AS decimal(76, 0)) > 0": "at most 38 digits",
    "id = = 1": "line 1, column 6",
    "id = 1; id = 2": "one expression",
    "'": "close it",
    "": "one expression",
    "id = " + "+".join(["1"] * 900): "levels deep",
    "x" * (256 * 1024 + 1): "characters",
    "id = ?": "placeholder",
    "id = :limit": "placeholder",
    "CAST(s AS decimal(39, 1)) = 1": "decimal",
    "s::decimal(500, 1) = 1": "decimal",
    "CAST(s AS decimal(5, 9)) = 1": "decimal",
    "CAST(s AS decimal(0)) = 1": "decimal",
    "arrow_cast(s, 'Decimal128(99, 1)') = 1": "decimal",
    "arrow_try_cast(s, concat('Dec', 'imal')) = arrow_cast(s, 'List(Decimal256(5, -128))')": "decimal",
}


@pytest.mark.parametrize("expression", TAKEN, ids=range(len(TAKEN)))
def test_what_people_write_is_taken(expression: str):
    Limits().check(expression, "filter")


@pytest.mark.parametrize(("expression", "reason"), REFUSED.items(), ids=range(len(REFUSED)))
def test_what_costs_too_much_is_refused(expression: str, reason: str):
    with pytest.raises(InvalidInputError, match=f"^filter: .*{reason}"):
        Limits().check(expression, "filter")


def test_the_operator_can_allow_more_functions():
    limits = Limits(functions=frozenset({"range", "repeat"}))
    limits.check("array_length(range(id)) > 0 AND repeat(name, 1000) = 'a'", "filter")
    with pytest.raises(InvalidInputError, match="space"):
        limits.check("space(1) = ' '", "filter")


def test_statements_may_use_functions_of_several_rows_but_no_recursion():
    Limits().check_statement("SELECT sum(id) AS s, count(*) OVER () FROM a.b JOIN c ON b.x = c.x GROUP BY y", "query")
    for refused in (
        "WITH RECURSIVE r AS (SELECT 1) SELECT * FROM r",
        "SELECT repeat(s, 200000000) AS x FROM t",
        "SELECT repeat(x, 64) AS y FROM (SELECT repeat(s, 64) AS x FROM t)",
        "WITH a AS (SELECT repeat(s, 64) AS x FROM t), b AS (SELECT repeat(x, 64) AS y FROM a) SELECT y FROM b",
        "SELECT repeat(x, 64) AS y FROM (SELECT '" + "a" * 1000 + "' AS x FROM t)",
    ):
        with pytest.raises(InvalidInputError):
            Limits().check_statement(refused, "query")


def test_every_field_with_an_expression_is_marked_in_the_table_of_operations():
    """By name: a new field of a request that sounds like an expression has to be marked, or added here."""
    sounds_like = ("filter", "filt", "predicate", "expression", "where", "computed", "updates")
    elsewhere = {"update_field_metadata.updates"}
    for operation in OPERATIONS.values():
        for field in model(operation.request).model_fields:
            place = f"{operation.name}.{field}"
            if field.endswith(sounds_like) and field != "prefilter" and place not in elsewhere:
                assert any(path.split(".")[0] == field for path in operation.expressions), place


def test_limits_hold_for_every_marked_field():
    served = connect("memory")
    served.create_table("t", [{"id": 1, "s": "a"}])
    served.limit_expressions(Limits())
    bomb = "repeat(s, 200000000)"
    requests: dict[str, list[dict[str, Any]]] = {
        "query_table": [{"filter": bomb}, {"columns": {"x": bomb}}],
        "analyze_table_query_plan": [{"filter": bomb}, {"columns": {"x": bomb}}],
        "explain_table_query_plan": [{"query": {"filter": bomb}}, {"query": {"columns": {"x": bomb}}}],
        "count_table_rows": [{"predicate": bomb}],
        "delete_from_table": [{"predicate": bomb}],
        "update_table": [{"updates": [["s", bomb]]}, {"updates": [["s", "'a'"]], "predicate": bomb}],
        "alter_table_add_columns": [
            {"new_columns": [{"name": "x", kind: bomb}]} for kind in ("expression", "computed")
        ],
        "alter_table_backfill_columns": [{"column": "x", "where": bomb}],
        "merge_insert_into_table": [
            {"on": ["id"], "when_matched_update_all_filt": bomb},
            {"on": ["id"], "when_not_matched_by_source_delete_filt": bomb},
        ],
    }
    assert requests.keys() == {name for name, operation in OPERATIONS.items() if operation.expressions}
    for name, several in requests.items():
        assert len(several) == len(OPERATIONS[name].expressions)
        for fields in several:
            data = [[{"id": 1}]] if OPERATIONS[name].takes_data else []
            with pytest.raises(InvalidInputError, match="repeat: the arguments"):
                getattr(served, name)("t", *data, **fields)


def test_texts_of_a_request_are_counted_together():
    served = connect("memory")
    served.create_table("t", [{"id": 1}])
    served.limit_expressions(Limits(texts=100))
    served.query_table("t", columns={"id": "id", "a": f"'{'x' * 100}'"})
    with pytest.raises(InvalidInputError, match="102 characters"):
        served.query_table("t", columns={"id": "id", "a": f"'{'x' * 51}'", "b": f"'{'y' * 51}'"})


def test_searches_are_limited():
    served = connect("memory")
    served.create_table("t", [{"id": 1}])
    served.limit_expressions(Limits())
    words = "word " * 1001
    clauses = [{"match": {"terms": words, "column": "s"}}]
    nested = {"structured_query": {"query": {"boolean": {"must": clauses, "must_not": [], "should": []}}}}
    for refused in (
        {"full_text_query": words},
        {"full_text_query": "x" * 100_000},
        {"full_text_query": nested},
        {"vector": [[1.0]] * 1001, "k": 1},
        {"vector": [[1.0]] * 1000, "k": 1001},
    ):
        for call in ("query_table", "analyze_table_query_plan"):
            with pytest.raises(InvalidInputError, match=r"allowed|send fewer"):
                getattr(served, call)("t", **refused)
        with pytest.raises(InvalidInputError, match=r"allowed|send fewer"):
            served.explain_table_query_plan("t", query=refused)


def test_values_at_a_path():
    assert list(values_at([{"a": [["x", "1"], ["y"]]}], ["*"])) == [{"a": [["x", "1"], ["y"]]}]
    assert list(values_at([["x", "1"], ["y"]], ["*", "1"])) == ["1"]
    assert list(values_at({"x": "1", "y": None}, ["*"])) == ["1"]


SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "price": pa.decimal128(10, 2),
        "day": pa.date32(),
        "name": pa.string(),
        "bytes": pa.binary(),
        "tags": pa.list_(pa.string()),
        "numbers": pa.list_(pa.int64()),
        "place": pa.struct({"zip": pa.int32(), "street": pa.string()}),
        "Day": pa.string(),
    }
)
CONVERTING = (
    "CAST(name AS int) = 1",
    "name::date = day",
    "CAST(TRY_CAST(bytes AS string) AS int) = 1",
    "CAST(CAST(id AS binary) AS string)::int = 1",
    "CAST(arrow_cast(id, 'Binary') AS string)::int = 1",
    "CAST(decode('00', 'hex') AS string)::int = 1",
    "CAST(chr(id) AS int) = 1",
    "CAST(substr(name, 1) AS int) = 1",
    "CAST(substring(name from 1) AS int) = 1",
    "CAST(name || id AS int) = 1",
    "CAST(place.street AS int) = 1",
    "CAST(place['street'] AS int) = 1",
    "CAST(tags[0] AS int) = 1",
    "tags = numbers",
    "place = named_struct('zip', name, 'street', id)",
    "id IN (1, name)",
    "name BETWEEN id AND 3",
    "day > `Day`",
    "name > now()",
    "name > current_date",
    "name > interval '1 day'",
    "greatest(price, name) > 1",
    "array_union(numbers, tags) IS NOT NULL",
    "date_part('year', name) = 2020",
    "regexp_like(name, 'a', name)",
    "(NOT (id = 1 OR id = name))",
)
NOT_CONVERTING = (
    "TRY_CAST(name AS int) = 1",
    "CAST('1' AS int) = id AND CAST(id AS string) = name",
    "CAST(CAST(id AS string) AS int) = 1",
    "CAST(length(name) AS double) > price",
    "name = 'a' OR lower(name) = name",
    "place.zip = 1 AND place.street = 'a' AND place['zip'] > 2",
    "tags[0] = 'a' AND array_has(tags, 'a') AND array_length(tags) > 1",
    "numbers[0] + 1 = id",
    "left(name, 2) = 'a' AND concat(name, id) = 'a1' AND name || id = 'a1'",
    "day > '2020-01-01' AND day > DATE '2020-01-01' AND date_part('year', day) = 2020",
    "bytes = X'01'",
    'name = "a"',
    "_rowid > 1 AND _distance < 2.0",
    "name IS NULL AND (id = 1) IS TRUE",
    "coalesce(name, 'a') = 'a' AND nullif(id, 0) = 1",
    "missing = 1",
)


@pytest.mark.parametrize("expression", CONVERTING)
def test_conversions_of_stored_text_are_refused(expression: str):
    with pytest.raises(InvalidInputError, match=r"filter: .*TRY_CAST"):
        Limits().check_conversions(expression, SCHEMA, "filter")


@pytest.mark.parametrize("expression", NOT_CONVERTING)
def test_what_converts_no_stored_text_is_allowed(expression: str):
    Limits().check_conversions(expression, SCHEMA, "filter")


def test_many_terms_are_no_deep_recursion():
    Limits().check_conversions(" OR ".join(["id = 1 AND name = 'a'"] * 2500), SCHEMA, "filter")
