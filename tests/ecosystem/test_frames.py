"""DuckDB, Polars and pandas: over query results, which stream, and over datasets, which take filters and columns."""

from __future__ import annotations

import duckdb
import pandas as pd
import polars as pl
import pytest

from lancespace import Namespace, Table
from tests.ecosystem.conftest import ORDERS


@pytest.fixture
def orders(namespace: Namespace) -> Table:
    return namespace.table("sales.orders")


def test_duckdb_over_a_query(orders: Table):
    reader = orders.query(filter="id < 4", columns=["item"])  # noqa: F841 - DuckDB finds it by its name

    counts = duckdb.execute("SELECT item, count(*) FROM reader GROUP BY item ORDER BY item").fetchall()

    assert counts == [("chair", 1), ("desk", 1), ("lamp", 1)]


def test_duckdb_over_a_dataset(orders: Table):
    with duckdb.connect() as connection:
        connection.register("orders", orders.dataset())
        found = connection.execute("SELECT item FROM orders WHERE id >= 3 ORDER BY id").fetchall()

    assert found == [("chair",), ("lamp",)]


def test_duckdb_into_a_table(namespace: Namespace):
    answer = duckdb.sql("SELECT range AS n, range * range AS square FROM range(1000)")
    namespace.create_table("squares", answer)

    assert namespace.table("squares").to_arrow(filter="n = 31").to_pylist() == [{"n": 31, "square": 961}]


def test_polars_over_a_query(orders: Table):
    frame = pl.from_arrow(orders.query(columns=["id", "item"]).read_all())

    assert frame.group_by("item").len().sort("item").rows() == [("chair", 1), ("desk", 1), ("lamp", 2)]


def test_polars_lazily_over_a_dataset(orders: Table):
    lazy = pl.scan_pyarrow_dataset(orders.dataset()).filter(pl.col("id") > 2).select("item")

    assert lazy.collect()["item"].to_list() == ["chair", "lamp"]


def test_polars_into_a_table(namespace: Namespace):
    namespace.create_table("frame", pl.DataFrame({"n": [1, 2], "name": ["a", None]}))

    assert namespace.table("frame").to_arrow().to_pylist() == [{"n": 1, "name": "a"}, {"n": 2, "name": None}]


def test_pandas_there_and_back(orders: Table, namespace: Namespace):
    frame = orders.to_arrow(columns=["id", "item"]).to_pandas()
    namespace.create_table("counts", frame.groupby("item", as_index=False).count())

    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == ORDERS.num_rows
    assert namespace.table("counts").to_arrow().to_pylist() == [
        {"item": "chair", "id": 1},
        {"item": "desk", "id": 1},
        {"item": "lamp", "id": 2},
    ]
