"""lance-ray: with Ray itself where that is installed, and otherwise the calls that it makes, worker by worker.

A driver and its workers share nothing but the class path and the properties; workers write fragments, and the driver
commits them. The calls are those of lance-ray 0.5.
"""

from __future__ import annotations

import pickle
from typing import Any

import lance
import lance_namespace
import pyarrow as pa
import pytest
from lance.fragment import write_fragments
from lance_namespace import DeclareTableRequest, DescribeTableRequest

from lancespace import Namespace
from tests.ecosystem.conftest import ORDERS

IMPLEMENTATION = "lancespace.upstream.dir"


@pytest.fixture
def properties(namespace: Namespace) -> dict[str, str]:
    return namespace.connection_args()[1]


def client_of(properties: dict[str, str], table_id: list[str]) -> dict[str, Any]:
    """What lance-ray passes to pylance in every process; each connects by itself."""
    return {"namespace_client": lance_namespace.connect(IMPLEMENTATION, properties), "table_id": table_id}


def write_in_worker(uri: str, rows: pa.Table, properties: dict[str, str], table_id: list[str]) -> bytes:
    """Fragments travel to the driver as pickles."""
    return pickle.dumps(write_fragments(rows, uri, mode="append", **client_of(properties, table_id)))


def commit(uri: str, operation: lance.LanceOperation.BaseOperation, version: int | None, **client: Any) -> None:
    lance.LanceDataset.commit(uri, operation, read_version=version, storage_options={}, **client)


def test_workers_read_fragments_of_a_table_by_name(namespace: Namespace, properties: dict[str, str]):
    namespace.insert_into_table("sales.orders", ORDERS)
    table_id = ["sales", "orders"]
    described = lance_namespace.connect(IMPLEMENTATION, properties).describe_table(DescribeTableRequest(id=table_id))
    fragments = lance.LanceDataset(described.location, **client_of(properties, table_id)).get_fragments()

    read = [
        lance.LanceDataset(described.location, **client_of(properties, table_id)).get_fragment(fragment.fragment_id)
        for fragment in fragments
    ]

    assert [fragment.count_rows() for fragment in read] == [ORDERS.num_rows] * 2


@pytest.mark.parametrize("namespace", [{}], indirect=True, ids=["plain"])
def test_workers_write_fragments_and_the_driver_commits(namespace: Namespace, properties: dict[str, str]):
    table_id = ["sales", "copy"]
    client = client_of(properties, table_id)
    uri = client["namespace_client"].declare_table(DeclareTableRequest(id=table_id)).location

    parts = [write_in_worker(uri, ORDERS.slice(start, 2), properties, table_id) for start in (0, 2)]
    created = [fragment for part in parts for fragment in pickle.loads(part)]
    commit(uri, lance.LanceOperation.Overwrite(ORDERS.schema, created), None, **client)
    version = lance.LanceDataset(uri, **client).version
    appended = pickle.loads(write_in_worker(uri, ORDERS.slice(0, 1), properties, table_id))
    commit(uri, lance.LanceOperation.Append(appended), version, **client)

    assert namespace.table("sales.copy").count() == ORDERS.num_rows + 1
    assert len(namespace.list_table_versions("sales.copy").versions) == 2


@pytest.mark.parametrize("namespace", [{"table_version_management": "true"}], indirect=True, ids=["managed"])
def test_it_commits_past_a_catalog_that_keeps_the_versions(namespace: Namespace, properties: dict[str, str]):
    """It does not tell pylance that the catalog does; see docs/ecosystem/ray.md."""
    client = client_of(properties, ["sales", "orders"])
    uri = client["namespace_client"].describe_table(DescribeTableRequest(id=["sales", "orders"])).location
    appended = pickle.loads(write_in_worker(uri, ORDERS.slice(0, 1), properties, ["sales", "orders"]))
    commit(uri, lance.LanceOperation.Append(appended), 1, **client)

    assert namespace.table("sales.orders").count() == ORDERS.num_rows


@pytest.mark.filterwarnings("default")  # Ray's own.
@pytest.mark.parametrize("namespace", [{}], indirect=True, ids=["plain"])
def test_lance_ray_itself(namespace: Namespace, properties: dict[str, str]):
    lance_ray = pytest.importorskip("lance_ray", reason="lance-ray is not installed; it brings Ray")
    ray = pytest.importorskip("ray")
    client = {"namespace_impl": IMPLEMENTATION, "namespace_properties": properties}
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        found = lance_ray.read_lance(table_id=["sales", "orders"], **client)
        lance_ray.write_lance(found, table_id=["sales", "copy"], mode="create", **client)
        lance_ray.write_lance(found, table_id=["sales", "copy"], mode="append", **client)
    finally:
        ray.shutdown()

    assert namespace.table("sales.copy").count() == 2 * ORDERS.num_rows
