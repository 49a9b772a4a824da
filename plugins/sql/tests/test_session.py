"""The DataFusion session."""

from __future__ import annotations

import pyarrow as pa
import pytest
from datafusion import SessionContext, col, functions

from lancespace import Namespace
from lancespace_sql import session


@pytest.fixture
def context(namespace: Namespace) -> SessionContext:
    return session(namespace)


def test_data_frames(context: SessionContext):
    orders, people = context.table("sales.orders"), context.table("crm.people")

    frame = orders.join(people.with_column_renamed("id", "person_id"), left_on="person", right_on="person_id")
    totals = frame.aggregate([col("name")], [functions.sum(col("total")).alias("total")]).sort(col("name"))

    assert totals.to_pydict() == {"name": ["Ada", "Grace"], "total": [15.0, 20.0]}


def test_data_of_the_session_joins_the_catalog(context: SessionContext, namespace: Namespace):
    context.from_arrow(pa.table({"person": [1], "limit": [7.0]}), "limits")
    context.sql(
        "CREATE VIEW large AS SELECT id FROM sales.orders JOIN limits USING (person) WHERE total > limits.limit"
    )

    assert context.sql("SELECT * FROM large").to_pydict() == {"id": [1]}
    assert list(namespace.tables()) == ["events"]
    with pytest.raises(ValueError, match=r"table '\.\.large' not found"):
        session(namespace).sql("SELECT * FROM large")


def test_a_table_of_the_session_can_be_dropped_and_one_of_the_catalog_cannot(
    context: SessionContext, namespace: Namespace
):
    context.sql("CREATE TABLE mine AS SELECT 1 AS one")
    context.sql("DROP TABLE mine")

    assert not context.table_exist("mine")
    with pytest.raises(ValueError, match=r"Table 'sales\.orders' doesn't exist"):
        context.sql("DROP TABLE sales.orders")
    assert namespace.table("sales.orders").exists()


@pytest.mark.parametrize("statement", ["INSERT INTO events VALUES (8)", "DELETE FROM events"])
def test_a_session_cannot_write(context: SessionContext, namespace: Namespace, statement: str):
    with pytest.raises(Exception, match=r"not (implemented|supported)"):
        context.sql(statement).collect()

    assert namespace.table("events").count() == 1


def test_the_catalog_can_be_looked_through(context: SessionContext):
    context.from_arrow(pa.table({"n": [1]}), "mine")
    catalog = context.catalog("")

    assert catalog.schema_names() == {"", "crm", "sales", "sales.eu"}
    assert catalog.schema("sales.eu").table_names() == {"orders"}
    assert catalog.schema("").table_names() == {"events", "mine"}
    assert context.catalog("sales").schema_names() == {"", "eu"}
    assert context.table_exist("sales.orders")
    assert not context.table_exist("sales.nothing")
