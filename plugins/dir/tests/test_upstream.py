"""The directory catalog through the doors that the ecosystem knows."""

from __future__ import annotations

import pickle
from pathlib import Path

import lance
import lance_namespace
import lancedb
import pyarrow as pa
import pytest
from lance_namespace import ListTablesRequest

import lancespace
import lancespace_dir

ROWS = pa.table({"id": [1, 2, 3]})


@pytest.mark.parametrize("name", ["lancespace_dir.DirectoryNamespace", "lancespace-dir", "lancespace.upstream.dir"])
def test_lance_namespace_connects_by_class_path_and_by_alias(name: str, tmp_path: Path):
    lancespace.connect("dir", {"root": str(tmp_path)}).create_table("orders", ROWS)

    namespace = lance_namespace.connect(name, {"root": str(tmp_path)})

    assert isinstance(namespace, lancespace_dir.DirectoryNamespace)
    assert namespace.list_tables(ListTablesRequest(id=[])).tables == ["orders"]


def test_its_properties_are_checked_there_too(tmp_path: Path):
    with pytest.raises(ValueError, match="does not know the property 'rot'"):
        lance_namespace.connect("lancespace_dir.DirectoryNamespace", {"rot": str(tmp_path)})


def test_it_pickles(tmp_path: Path):
    namespace = lancespace_dir.DirectoryNamespace(root=str(tmp_path))
    namespace.create_namespace("sales")

    again = pickle.loads(pickle.dumps(namespace))

    assert type(again) is lancespace_dir.DirectoryNamespace
    assert list(again.namespaces()) == ["sales"]
    assert again.namespace_id() == namespace.namespace_id()


def test_pylance_writes_and_reads_through_it(tmp_path: Path):
    namespace = lancespace.connect("dir", {"root": str(tmp_path)})
    namespace.create_namespace("sales")

    lance.write_dataset(ROWS, namespace_client=namespace, table_id=["sales", "orders"], mode="create")
    lance.write_dataset(ROWS, namespace_client=namespace, table_id=["sales", "orders"], mode="append")

    assert lance.dataset(namespace_client=namespace, table_id=["sales", "orders"]).count_rows() == 6
    assert namespace.table("sales.orders").count() == 6


def test_lancedb_writes_and_reads_through_it(tmp_path: Path):
    database = lancedb.connect_namespace("lancespace_dir.DirectoryNamespace", {"root": str(tmp_path)})

    database.create_table("orders", ROWS)

    assert database.open_table("orders").count_rows() == 3
    assert lancespace.connect("dir", {"root": str(tmp_path)}).table("orders").count() == 3
