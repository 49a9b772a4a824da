"""pylance: datasets by name, with our namespace as their client."""

from __future__ import annotations

import lance
import pytest
from lance_namespace import TableNotFoundError

from lancespace import Namespace
from tests.ecosystem.conftest import ORDERS

ID = ["sales", "orders"]


def test_dataset_by_name(namespace: Namespace):
    dataset = lance.dataset(namespace_client=namespace, table_id=ID)

    assert dataset.to_table(filter="id > 2", columns=["item"]).to_pylist() == [{"item": "chair"}, {"item": "lamp"}]


def test_what_pylance_writes_is_a_table(namespace: Namespace):
    lance.write_dataset(ORDERS, namespace_client=namespace, table_id=["sales", "copy"])
    lance.write_dataset(ORDERS, namespace_client=namespace, table_id=["sales", "copy"], mode="append")

    assert list(namespace.tables("sales")) == ["copy", "orders"]
    assert namespace.table("sales.copy").count() == 2 * ORDERS.num_rows
    assert [version.version for version in namespace.list_table_versions("sales.copy").versions] == [1, 2]


def test_what_pylance_changes_is_seen(namespace: Namespace):
    lance.dataset(namespace_client=namespace, table_id=ID).delete("item = 'lamp'")
    lance.dataset(namespace_client=namespace, table_id=ID).tags.create("cleaned", 2)

    assert namespace.table("sales.orders").count() == 2
    assert namespace.get_table_tag_version("sales.orders", tag="cleaned").version == 2
    assert lance.dataset(namespace_client=namespace, table_id=ID, version=1).count_rows() == ORDERS.num_rows


def test_a_missing_table_is_told_as_such(namespace: Namespace):
    with pytest.raises(TableNotFoundError, match=r"sales\.absent"):
        lance.dataset(namespace_client=namespace, table_id=["sales", "absent"])
