"""What is wrong with a statement is one of the spec's errors, and says how to mend it."""

from __future__ import annotations

import sys

import pytest
from lance_namespace import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableColumnNotFoundError,
    TableNotFoundError,
    UnsupportedOperationError,
)

from lancespace import Namespace, connect
from lancespace.authoring import registry
from lancespace_sql import sql


@pytest.mark.parametrize(
    ("statement", "kind", "message"),
    [
        (
            "SELECT * FROM sales.order",
            TableNotFoundError,
            r"'sales\.order'.* Did you mean \"sales\"\.\"orders\"\?$",
        ),
        ("SELECT * FROM evnets", TableNotFoundError, r"'evnets'.* Did you mean \"events\"\?$"),
        ('SELECT * FROM sales."ORDERS"', TableNotFoundError, r"Did you mean \"sales\"\.\"orders\"\?$"),
        ("SELECT * FROM sales.eu.oders", TableNotFoundError, r"Did you mean \"sales\.eu\"\.\"orders\"\?$"),
        ("SELECT * FROM slaes.orders", LanceNamespaceError, r"Did you mean \"sales\"\.\"orders\"\?$"),
        ("SELECT * FROM sales.eur.orders", LanceNamespaceError, r"Did you mean \"sales\.eu\"\.\"orders\"\?$"),
        ("SELECT * FROM sales.orders JOIN crm.poeple ON true", TableNotFoundError, r"\"crm\"\.\"people\"\?$"),
        ("EXPLAIN SELECT * FROM sales.order", TableNotFoundError, r"\"sales\"\.\"orders\"\?$"),
        ("SELECT * FROM zzz", TableNotFoundError, r"'zzz'(?!.*Did you mean)"),
    ],
)
def test_a_name_that_is_not_there_brings_those_that_are_near(
    catalog: Namespace, statement: str, kind: type[LanceNamespaceError], message: str
):
    with pytest.raises(kind, match=message):
        sql(catalog, statement)


def test_a_missing_namespace_is_told_from_a_missing_table(catalog: Namespace):
    with pytest.raises((NamespaceNotFoundError, TableNotFoundError)) as direct:
        catalog.describe_table("nowhere.orders")

    with pytest.raises(direct.type, match="nowhere"):
        sql(catalog, "SELECT * FROM nowhere.orders")


def test_capitals_that_sql_has_folded_are_found_again(namespace: Namespace):
    namespace.create_table("sales.REFUNDS", [{"id": 1}])

    with pytest.raises(TableNotFoundError, match=r'Did you mean "sales"\."REFUNDS"\?$') as caught:
        sql(namespace, "SELECT * FROM sales.Refunds")

    suggested = str(caught.value).rpartition("Did you mean ")[2].rstrip("?")
    assert sql(namespace, f"SELECT id FROM {suggested}").read_all().num_rows == 1


def test_a_name_that_no_table_can_have(catalog: Namespace):
    with pytest.raises(InvalidInputError, match="contains a slash"):
        sql(catalog, "SELECT * FROM '/etc/passwd'")
    with pytest.raises(InvalidInputError, match="it has an empty name"):
        sql(catalog, 'SELECT * FROM "sales..eu".orders')


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELEC 1", r"^SQL: Expected: an SQL statement, found: SELEC at Line: 1, Column: 1$"),
        ("SELECT * FROM sales.orders WHERE", "^SQL: Expected: an expression, found: EOF"),
        ("", "No SQL statements"),
        ("SELECT 1; SELECT 2", "single SQL statement"),
        ("SELECT 1; DROP TABLE events", "single SQL statement"),
        ("SELECT nonsense(id) FROM events", "Invalid function 'nonsense'"),
        ("SELECT * FROM a.b.c.d", "Expected 1, 2 or 3 parts"),
        ("SELECT id FROM events WHERE id = $other", r"placeholder with name \$other"),
        ("SELECT '\ud800'", "surrogates"),
        ("BEGIN", "Unsupported SQL statement: BEGIN"),
        ("SHOW TABLES", "SHOW TABLES is not supported"),
    ],
)
def test_a_statement_that_cannot_be_understood(catalog: Namespace, statement: str, message: str):
    with pytest.raises(InvalidInputError, match=message):
        sql(catalog, statement, {"name": "Ada"})


def test_values_that_a_function_cannot_take(catalog: Namespace):
    with pytest.raises(InvalidInputError, match="string size overflow on repeat"):
        sql(catalog, "SELECT repeat('a', 9000000000000000000) FROM events").read_all()


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("INSERT INTO events VALUES (8)", "Insert Into"),
        ("UPDATE events SET id = 8", "Update"),
        ("DELETE FROM events", "Delete"),
        ("TRUNCATE TABLE events", "Truncate"),
        ("DROP TABLE events", "DropTable"),
        ("CREATE TABLE copy AS SELECT * FROM events", "CreateMemoryTable"),
        ("CREATE VIEW copy AS SELECT * FROM events", "CreateView"),
        ("CREATE SCHEMA copy", "CreateCatalogSchema"),
        ("CREATE EXTERNAL TABLE passwords STORED AS CSV LOCATION '/etc/passwd'", "CreateExternalTable"),
        ("COPY events TO 'events.csv'", "COPY"),
        ("EXPLAIN DELETE FROM events", "Delete"),
        ("EXPLAIN ANALYZE INSERT INTO events VALUES (8)", "Insert Into"),
        ("SET datafusion.execution.batch_size = 1", "SetVariable"),
        ("PREPARE p AS SELECT 1", "Prepare"),
    ],
)
def test_a_statement_that_would_change_something_is_refused(catalog: Namespace, statement: str, what: str):
    with pytest.raises(InvalidInputError, match=f"^SQL only reads the catalog, and {what} is not a query: "):
        sql(catalog, statement)

    assert list(catalog.tables()) == ["events"]
    assert catalog.table("events").to_arrow().to_pylist() == [{"id": 7}]


def test_a_column_that_is_not_there(catalog: Namespace):
    with pytest.raises(TableColumnNotFoundError, match=r"No field named nam.*people\.name"):
        sql(catalog, "SELECT nam FROM crm.people")


def test_a_value_that_cannot_be_computed(catalog: Namespace):
    reader = sql(catalog, "SELECT CAST(name AS INT) FROM crm.people")

    with pytest.raises(InvalidInputError, match="Cannot cast string 'Ada'"):
        reader.read_all()


def test_without_the_package_the_namespace_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(registry.SELECT_VARIABLE, "lancespace-tables")

    with pytest.raises(
        UnsupportedOperationError, match=r'^sql\(\) needs the sql extension: pip install "lancespace\[sql\]"$'
    ):
        connect("memory", {}).sql("SELECT 1")


def test_a_package_that_does_not_import_is_not_called_missing(monkeypatch: pytest.MonkeyPatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "lancespace_sql"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "datafusion", None)

    with pytest.raises(InternalError, match=r"failed to import .*datafusion"):
        connect("memory", {}).sql("SELECT 1")
