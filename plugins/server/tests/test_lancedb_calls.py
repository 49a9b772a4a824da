"""Which calls of lancedb's namespace connection reach a server, and as which operations: by the server's own log.

All methods of the connection do but ``serialize`` and ``namespace_client``, and ``drop_database``, which it refuses, as
it does functions, secrets, jobs and SQL. ``table_exists`` and ``namespace_exists`` fail in lancedb 0.40 until
``namespace_client`` was called once.

A table that is open is worked on by lancedb itself, at the location that ``describe_table`` answered: rows, columns,
indexes, versions, tags, branches and searches never reach a server. Two things change that. Where the catalog manages
versions, each is looked up and committed through it. And with ``QueryTable`` pushed down, the server answers reads that
have no vector; ``CreateTable`` is taken as well, and changes nothing for a connection to ``rest``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa
import pytest
from lancedb.index import BTree
from lancedb.namespace import LanceNamespaceDBConnection

from lancespace_testing.waiting import until
from plugins.server.tests.hosting import Running, client, served

ROWS = pa.table({"id": [1, 2, 3], "vector": pa.array([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]], pa.list_(pa.float32(), 2))})
STABLE = {"new_table_enable_stable_row_ids": "true"}
"""What the source of one of lancedb's own views needs."""

Call = tuple[str, Callable[[Any], object], str]
"""A method, how it is called, and the operations that it should be, in any order and number."""

ON_CONNECTION: list[Call] = [
    ("create_namespace", lambda db: db.create_namespace(["n"]), "create_namespace"),
    ("describe_namespace", lambda db: db.describe_namespace(["n"]), "describe_namespace"),
    ("list_namespaces", lambda db: db.list_namespaces(), "list_namespaces"),
    ("namespace_client", lambda db: db.namespace_client(), ""),
    ("namespace_exists", lambda db: db.namespace_exists(["n"]), "namespace_exists"),
    ("drop_namespace", lambda db: db.drop_namespace(["n"]), "drop_namespace"),
    ("create_table", lambda db: db.create_table("t", ROWS, storage_options=STABLE), "declare_table"),
    ("create_table", lambda db: db.create_table("u", schema=ROWS.schema), "declare_table"),
    ("create_table", lambda db: db.create_table("t", ROWS, exist_ok=True), "describe_table"),
    ("open_table", lambda db: db.open_table("t"), "describe_table"),
    ("table_exists", lambda db: db.table_exists(["t"]), "table_exists"),
    ("list_tables", lambda db: db.list_tables(), "list_tables"),
    ("table_names", lambda db: list(db.table_names()), "list_tables"),
    ("rename_table", lambda db: db.rename_table("u", "v"), "rename_table"),
    ("drop_table", lambda db: db.drop_table("v"), "drop_table"),
    ("create_materialized_view", lambda db: db.create_materialized_view("w", "t"), "describe_table declare_table"),
    ("list_materialized_views", lambda db: db.list_materialized_views(), "list_tables describe_table"),
    ("open_materialized_view", lambda db: db.open_materialized_view("w"), "describe_table"),
    ("drop_materialized_view", lambda db: db.drop_materialized_view("w"), "describe_table drop_table"),
    (
        "create_materialized_view_async",
        lambda db: db.create_materialized_view_async("w", "t").wait(),
        "describe_table declare_table",
    ),
    (
        "drop_materialized_view_async",
        lambda db: db.drop_materialized_view_async("w").wait(),
        "describe_table drop_table",
    ),
    ("drop_table_async", lambda db: db.drop_table_async("t").wait(), "drop_table"),
    ("create_table", lambda db: db.create_table("x", ROWS), "declare_table"),
    ("drop_all_tables", lambda db: db.drop_all_tables(), "list_tables drop_table"),
    ("serialize", lambda db: db.serialize(), ""),
]

LOOK, COMMIT = "describe_table_version", "create_table_version"
ON_TABLE: list[Call] = [
    ("count_rows", lambda t: t.count_rows(), ""),
    ("search", lambda t: t.search([1.0, 1.0]).limit(1).to_list(), ""),
    ("add", lambda t: t.add(ROWS), COMMIT),
    ("update", lambda t: t.update(where="id = 1", values={"id": 7}), COMMIT),
    ("merge_insert", lambda t: t.merge_insert("id").when_not_matched_insert_all().execute(ROWS), COMMIT),
    ("delete", lambda t: t.delete("id = 7"), COMMIT),
    ("add_columns", lambda t: t.add_columns({"double": "id * 2"}), COMMIT),
    ("alter_columns", lambda t: t.alter_columns({"path": "double", "rename": "twice"}), COMMIT),
    ("drop_columns", lambda t: t.drop_columns(["twice"]), COMMIT),
    ("create_index", lambda t: t.create_index("id", config=BTree()), COMMIT),
    ("index_stats", lambda t: t.index_stats("id_idx"), ""),
    ("list_versions", lambda t: t.list_versions(), ""),
    ("checkout", lambda t: t.checkout(1), LOOK),
    ("checkout_latest", lambda t: t.checkout_latest(), f"{LOOK} list_table_versions"),
    ("restore", lambda t: t.restore(1), f"{LOOK} list_table_versions {COMMIT}"),
    ("tags", lambda t: t.tags.create("first", 1), LOOK),
    ("to_lance", lambda t: t.to_lance().count_rows(), f"describe_table {LOOK}"),
]
"""With the operations where the catalog manages versions; where it does not, only ``describe_table`` is left."""


def operations(server: Running) -> list[str]:
    """What the server has answered so far, but for the calls of this function, which lancedb never makes."""
    with client(server) as http:
        asked = http.get("/v1/table").headers["x-request-id"]
    lines = until(server.lines, lambda text: f'"{asked}"' in text).splitlines()
    answered = [json.loads(line)["operation"] for line in lines if line.startswith("{")]
    return [operation for operation in answered if operation != "list_all_tables"]


@contextmanager
def reaching(server: Running, method: str, expected: str) -> Iterator[None]:
    before = len(operations(server))
    yield
    assert set(operations(server)[before:]) == set(expected.split()), method


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("plain")
    with served(folder, "dir", f"root={folder / 'catalog'}") as running:
        yield running


@pytest.mark.filterwarnings("ignore:table_names:DeprecationWarning")
def test_the_connection(server: Running):
    database: Any = lancedb.connect_namespace("rest", {"uri": server.url})
    for method, act, expected in ON_CONNECTION:
        with reaching(server, method, expected):
            act(database)

    with pytest.raises(NotImplementedError):
        database.drop_database()
    own = {name for name in vars(LanceNamespaceDBConnection) if not name.startswith("_")}
    assert own == {method for method, _, _ in ON_CONNECTION} | {"drop_database"}


def test_a_table_is_worked_on_by_lancedb_itself(server: Running):
    table = lancedb.connect_namespace("rest", {"uri": server.url}).create_table("alone", ROWS)
    for method, act, managed in ON_TABLE:
        with reaching(server, method, "describe_table" if "describe_table " in managed else ""):
            act(table)


def test_where_versions_are_managed_they_are_the_servers(tmp_path: Path):
    managed = ("manifest_enabled=true", "table_version_tracking_enabled=true")
    with served(tmp_path, "dir", f"root={tmp_path / 'catalog'}", *managed) as server:
        database = lancedb.connect_namespace("rest", {"uri": server.url})
        with reaching(server, "create_table", f"declare_table list_table_versions {COMMIT}"):
            table = database.create_table("managed", ROWS)
        for method, act, expected in ON_TABLE:
            with reaching(server, method, expected):
                act(table)
        with reaching(server, "open_table", "describe_table list_table_versions"):
            assert database.open_table("managed").count_rows() == ROWS.num_rows


def test_pushed_down_reads_are_the_servers(server: Running):
    pushed = ["QueryTable", "CreateTable"]
    database = lancedb.connect_namespace("rest", {"uri": server.url}, namespace_client_pushdown_operations=pushed)
    with reaching(server, "create_table", "declare_table"):
        table = database.create_table("pushed", ROWS)
    with reaching(server, "to_arrow", "query_table"):
        assert table.to_arrow()["id"].to_pylist() == [1, 2, 3]
    with reaching(server, "search without a vector", "query_table"):
        assert [row["id"] for row in table.search().where("id > 1").limit(5).to_list()] == [2, 3]
    with reaching(server, "search with a vector", ""):
        assert [row["id"] for row in table.search([5.0, 5.0]).limit(1).to_list()] == [3]


@pytest.mark.parametrize("client_class", ["lancespace.upstream.rest", "lance.namespace.RestNamespace"])
def test_a_client_in_python_is_asked_the_same(server: Running, client_class: str):
    """By a class path, lancedb asks that class. It cannot push ``QueryTable`` down: it takes the answer for bytes."""
    database = lancedb.connect_namespace(client_class, {"uri": server.url})
    name = client_class.partition(".")[0]
    with reaching(server, "create_table", "declare_table"):
        database.create_table(name, ROWS)
    with reaching(server, "open_table", "describe_table"):
        assert database.open_table(name).count_rows() == ROWS.num_rows
    with reaching(server, "table_exists", "table_exists"):
        assert database.table_exists([name])
    with reaching(server, "drop_table", "drop_table"):
        database.drop_table(name)
