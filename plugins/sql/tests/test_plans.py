"""What is left to Lance, as EXPLAIN tells."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

from lancespace import Namespace
from lancespace_sql import sql


def plan(namespace: Namespace, statement: str) -> str:
    return "\n".join(sql(namespace, statement).read_all()["plan"].to_pylist())


def test_filters_projections_and_limits_go_to_lance(catalog: Namespace):
    explained = plan(catalog, "EXPLAIN SELECT total FROM sales.orders WHERE person = 1 AND id > 1 LIMIT 5")

    assert "TableScan: sales.orders projection=[total]" in explained
    assert "full_filters=[sales.orders.person = Int64(1), sales.orders.id > Int64(1)], fetch=5" in explained
    assert "FilterExec" not in explained
    assert "FFI_ExecutionPlan: FilteredReadExec" in explained


def test_each_side_of_a_join_is_filtered_by_lance(catalog: Namespace):
    explained = plan(
        catalog,
        "EXPLAIN SELECT o.id FROM sales.orders o JOIN crm.people p ON o.person = p.id "
        "WHERE o.total > 4 AND lower(p.name) = 'ada'",
    )

    assert "sales.orders projection=[id, person], full_filters=[sales.orders.total > Float64(4)]" in explained
    assert 'crm.people projection=[id], full_filters=[lower(crm.people.name) = Utf8("ada")]' in explained


def test_lance_gives_only_the_rows_that_match(namespace: Namespace):
    namespace.create_table("numbers", pa.table({"n": np.arange(50_000)}))

    analyzed = plan(namespace, "EXPLAIN ANALYZE SELECT n FROM numbers WHERE n % 10000 = 5")

    assert re.search(r"FilteredReadExec, .*metrics=\[output_rows=5,", analyzed)


@pytest.mark.parametrize("column", ["n", "pad"])
def test_an_index_of_the_table_is_used(namespace: Namespace, column: str):
    namespace.create_table("numbers", pa.table({"n": np.arange(50_000), "pad": np.arange(50_000)}))
    namespace.create_table_scalar_index("numbers", column="n", index_type="BTREE")
    statement = f"SELECT pad FROM numbers WHERE {column} = 40000"

    assert ("ScalarIndexExec" in plan(namespace, f"EXPLAIN {statement}")) == (column == "n")
    assert sql(namespace, statement).read_all().to_pylist() == [{"pad": 40000}]
