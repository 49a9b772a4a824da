"""Queries over real tables."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from lance_namespace import InvalidInputError

import lancespace_sql
from lancespace import Namespace, connect
from lancespace_sql import quote, sql

ROWS = 200_000


def rows(namespace: Namespace, statement: str) -> list[dict[str, object]]:
    answer: list[dict[str, object]] = sql(namespace, statement).read_all().to_pylist()
    return answer


def test_a_join_across_namespaces_with_an_aggregate(catalog: Namespace):
    reader = catalog.sql(
        "SELECT p.name, sum(o.total) AS total, count(*) AS orders "
        "FROM sales.orders o JOIN crm.people p ON o.person = p.id GROUP BY p.name ORDER BY p.name"
    )

    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.read_all().to_pylist() == [
        {"name": "Ada", "total": 15.0, "orders": 2},
        {"name": "Grace", "total": 20.0, "orders": 1},
    ]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("events", 1),
        ('"events"', 1),
        ('"".events', 1),
        ("sales.orders", 3),
        ("Sales.ORDERS", 3),
        ("sales.eu.orders", 1),
        ('"sales.eu".orders', 1),
    ],
)
def test_the_parts_of_a_name_are_the_identifier(catalog: Namespace, name: str, count: int):
    assert rows(catalog, f"SELECT count(*) AS n FROM {name}") == [{"n": count}]


def test_any_depth_is_reached_with_quotes(namespace: Namespace):
    for path in ("sales.eu.north", "sales.eu.north.fjord"):
        namespace.create_namespace(path)
    namespace.create_table("sales.eu.north.fjord.boats", [{"id": 1}])

    for name in ('"sales.eu.north.fjord".boats', '"sales.eu"."north.fjord".boats', 'sales."eu.north.fjord".boats'):
        assert rows(namespace, f"SELECT id FROM {name}") == [{"id": 1}]


ODD_NAMES = [
    'we"ird',
    "o'clock",
    "with space",
    "größe",
    "日本",
    "CamelCase",
    "select",
    "semi;colon",
    "--",
    "a@b",
    "'; DROP TABLE x",
    '"',
]


@pytest.mark.parametrize("name", [*ODD_NAMES, "dot.ted"])
def test_a_quoted_name_is_that_table_and_nothing_else(catalog: Namespace, name: str):
    catalog.create_table(["sales", name], [{"id": 42}])
    catalog.create_table([name], [{"id": 43}])

    assert rows(catalog, f"SELECT id FROM {quote(['sales', name])} WHERE id > 0") == [{"id": 42}]
    assert rows(catalog, f"SELECT id FROM {quote([name])}") == [{"id": 43}]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_namespaces_and_columns_may_be_as_odd(catalog: Namespace, name: str):
    catalog.create_namespace(["crm", name])
    catalog.create_namespace(["crm", name, name])
    catalog.create_table(["crm", name, name, "t"], [{name: 42}])
    column = quote([name])

    assert rows(catalog, f"SELECT {column} FROM {quote(['crm', name, name, 't'])} WHERE {column} = 42") == [{name: 42}]


@pytest.mark.parametrize(("identifier", "reason"), [("", "not a table"), (["a.b", "t"], "the namespace 'a.b'")])
def test_what_sql_cannot_name_is_not_quoted(identifier: str | list[str], reason: str):
    with pytest.raises(InvalidInputError, match=reason):
        quote(identifier)


def test_parameters_are_values_whatever_is_in_them(catalog: Namespace):
    statement = "SELECT id FROM crm.people WHERE name = $name AND id < $most"

    assert catalog.sql(statement, {"name": "Ada", "most": 9}).read_all().to_pylist() == [{"id": 1}]
    assert catalog.sql(statement, {"name": "' OR 1 = 1 --", "most": 9}).read_all().to_pylist() == []


def test_every_statement_sees_what_was_committed_before(namespace: Namespace):
    statement = "SELECT count(*) AS n FROM sales.orders"

    assert rows(namespace, statement) == [{"n": 3}]
    namespace.insert_into_table("sales.orders", [{"id": 4, "person": 2, "total": 1.0}])
    assert rows(namespace, statement) == [{"n": 4}]


def test_an_empty_result_has_its_schema(catalog: Namespace):
    reader = sql(catalog, "SELECT name, id FROM crm.people WHERE false")

    assert reader.schema.names == ["name", "id"]
    assert reader.read_all().num_rows == 0


def test_a_result_streams(namespace: Namespace):
    """The last row cannot be computed: only if the result is not computed whole do the first ones arrive."""
    namespace.create_table("numbers", pa.table({"n": np.arange(ROWS)}))

    reader = sql(namespace, f"SELECT n, 1 / ({ROWS - 1} - n) AS q FROM numbers")
    first = reader.read_next_batch()

    assert 0 < first.num_rows < ROWS
    with pytest.raises(InvalidInputError, match=r"SQL: .*Divide by zero"):
        reader.read_all()


def test_a_result_of_many_batches_is_whole(namespace: Namespace):
    namespace.create_table("numbers", pa.table({"n": np.arange(ROWS)}))

    batches = list(sql(namespace, "SELECT n + 1 AS m FROM numbers WHERE n % 2 = 0"))

    assert len(batches) > 1
    assert sorted(value for batch in batches for value in batch["m"].to_pylist()) == list(range(1, ROWS, 2))


def test_a_reader_outlives_whoever_asked():
    """The tables of the memory backend go with it; a reader that is not finished keeps it."""

    def ask() -> pa.RecordBatchReader:
        namespace = connect("memory", {})
        namespace.create_table("numbers", pa.table({"n": np.arange(10)}))
        for _ in range(20):
            namespace.insert_into_table("numbers", pa.table({"n": np.arange(10)}))
        return sql(namespace, "SELECT n FROM numbers")

    reader = ask()
    gc.collect()

    assert reader.read_all().num_rows == 210


def test_a_reader_may_be_left_unread(namespace: Namespace):
    namespace.create_table("numbers", pa.table({"n": np.arange(ROWS)}))
    reader = sql(namespace, "SELECT n FROM numbers")
    reader.read_next_batch()
    reader.close()

    assert rows(namespace, "SELECT count(*) AS c FROM numbers") == [{"c": ROWS}]


def test_threads_share_a_namespace_and_a_session(namespace: Namespace):
    context = lancespace_sql.session(namespace)

    def ask(number: int) -> tuple[int, int]:
        statement = (
            "SELECT count(*) AS n FROM sales.orders o JOIN crm.people p ON o.person = p.id "
            f"WHERE o.id > {number % 4} AND EXISTS (SELECT 1 FROM events)"
        )
        own = sql(namespace, statement).read_all()["n"][0].as_py()
        return own, context.sql(statement).to_pydict()["n"][0]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(64)))

    assert answers == [(3 - number % 4, 3 - number % 4) for number in range(64)]
