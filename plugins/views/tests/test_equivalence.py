"""Whatever happens to its sources, a view is its query over the versions that it names."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import lancespace_views as views
from lancespace import Namespace, connect
from plugins.views.tests.support import assert_is_query, refresh, schema

VALUES = schema(id=pa.int64(), value=pa.int64())

QUERIES = {
    "filtered": ("SELECT id, value * 2 AS value FROM {t} WHERE value % 3 <> 0", VALUES),
    "nested": ("SELECT id, value FROM (SELECT id, value FROM {t} WHERE id < 8) x WHERE value IS NOT NULL", VALUES),
    "grouped": ("SELECT value AS id, count(*) AS value FROM {t} GROUP BY value", VALUES),
    "joined": ("SELECT t.id, u.value FROM {t} t JOIN {u} u ON t.id = u.id", VALUES),
    "latest": ("SELECT id, (SELECT max(value) FROM {t}) AS value FROM {t}", VALUES),
}

NUMBERS = st.integers(0, 9)
ROWS = st.lists(st.tuples(NUMBERS, st.none() | NUMBERS), min_size=1, max_size=4)
TABLES = st.sampled_from(["t", "u"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), TABLES, ROWS),
        st.tuples(st.just("overwrite"), TABLES, ROWS),
        st.tuples(st.just("update"), TABLES, NUMBERS),
        st.tuples(st.just("delete"), TABLES, NUMBERS),
        st.tuples(st.just("restore"), TABLES, NUMBERS),
        st.tuples(st.just("compact"), TABLES, st.just(None)),
        st.tuples(st.just("refresh"), st.sampled_from(sorted(QUERIES)), st.none() | NUMBERS),
    ),
    max_size=12,
)


def table_of(rows: list[tuple[int, int | None]]) -> pa.Table:
    return pa.Table.from_pylist([{"id": n, "value": value} for n, value in rows], schema=VALUES)


def take(namespace: Namespace, step: tuple[str, str, Any]) -> None:
    """One step; what it refers to is made to exist."""
    action, name, argument = step
    if action in {"insert", "overwrite"}:
        mode = "append" if action == "insert" else "overwrite"
        namespace.insert_into_table(name, table_of(argument), mode=mode)
    elif action == "update":
        namespace.update_table(name, updates=[["value", "coalesce(value, 0) + 1"]], predicate=f"id = {argument}")
    elif action == "delete":
        namespace.delete_from_table(name, predicate=f"id = {argument}")
    elif action == "restore":
        latest = namespace.table(name).dataset().version
        namespace.restore_table(name, version=1 + argument % latest)
    elif action == "compact":
        namespace.table(name).dataset().optimize.compact_files()
    else:
        latest = namespace.table("t").dataset().version
        chosen = None if argument is None or name == "joined" else 1 + argument % latest
        refresh(namespace, name, src_version=chosen)
        assert_is_query(namespace, name, QUERIES[name][0])


@settings(max_examples=15, deadline=None)
@given(steps=STEPS)
def test_a_view_is_its_query(steps: list[tuple[str, str, Any]]):
    with connect("memory") as namespace:
        for name in ("t", "u"):
            namespace.create_table(name, table_of([(1, 1), (2, None), (3, 3)]))
        for name, (query, columns) in QUERIES.items():
            namespace.create_materialized_view(name, **views.query_view(query.format(t="t", u="u"), columns))
        for step in steps:
            take(namespace, step)
        for name, (query, _) in QUERIES.items():
            refresh(namespace, name)
            assert_is_query(namespace, name, query)
