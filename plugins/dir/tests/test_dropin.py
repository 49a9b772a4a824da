"""What pylance's ``DirectoryNamespace`` accepts, ours accepts."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import lance
import lance_namespace
import pyarrow as pa
import pytest
from lance.namespace import DirectoryNamespace as PylanceNamespace
from lance_namespace import (
    InvalidInputError,
    ListNamespacesRequest,
    ListTablesRequest,
    QueryTableRequest,
)

from lancespace import connect
from lancespace_dir import DirectoryNamespace

ROWS = [{"id": 1}, {"id": 2}]
WARNED = {
    "dir_listing_to_manifest_migration_enabled": "true",
    "vend_input_storage_options": "true",
    "vend_input_storage_options_refresh_interval_millis": "1000",
    "dynamic_context_provider.impl": "plugins.dir.tests.test_dropin.Provider",
    "storage.refresh_offset_millis": "1000",
    "storage.region": "us-east-1",
    "storage.aws_access_key_id": "id",
    "storage.azure_storage_account_name": "account",
    "storage.google_service_account": "file",
    "storage.lance_aimd_max_rate": "5",
}
SILENT: dict[str, Any] = {
    "manifest_enabled": True,
    "dir_listing_enabled": "true",
    "inline_optimization_enabled": "FALSE",
    "table_version_tracking_enabled": "false",
    "commit_retries": 5,
    "ops_metrics_enabled": "true",
}


class Provider:
    """As pylance's context providers are."""

    def provide_context(self, info: dict[str, str]) -> dict[str, str]:
        return {"headers.x-operation": info["operation"]}


@pytest.mark.parametrize("name", SILENT)
def test_a_property_that_means_the_same(name: str, tmp_path: Path):
    for kind in (PylanceNamespace, DirectoryNamespace):
        given: dict[str, Any] = {"root": tmp_path, name: SILENT[name]}
        namespace = kind(**given)
        assert namespace.list_tables(ListTablesRequest(id=[])).tables == []


def use(properties: dict[str, str]) -> None:
    namespace: Any = lance_namespace.connect("lancespace_dir.DirectoryNamespace", properties)
    namespace.create_table("t", ROWS)
    assert namespace.table("t").dataset().count_rows() == 2


@pytest.mark.parametrize("name", WARNED)
def test_a_property_without_meaning_is_a_warning(name: str, tmp_path: Path):
    PylanceNamespace(**{"root": str(tmp_path), name: WARNED[name]})

    with pytest.warns(UserWarning, match=f"ignores the (property|option) '{name.removeprefix('storage.')}'"):
        use({"root": str(tmp_path), name: WARNED[name]})


def test_a_typing_error_is_no_warning(tmp_path: Path):
    with pytest.raises(InvalidInputError, match="Did you mean 'manifest_enabled'"):
        connect("dir", {"root": str(tmp_path), "manifest_enable": "true"})
    with pytest.raises(InvalidInputError, match="file storage has no option 'regoin'"):
        connect("dir", {"root": str(tmp_path), "storage.regoin": "x"})


def test_a_session_and_a_provider_for_a_directory_are_warnings(tmp_path: Path):
    with pytest.warns(UserWarning, match="the 'session' is ignored"):
        DirectoryNamespace(root=str(tmp_path), session=lance.Session())
    with pytest.warns(UserWarning, match="dir ignores the context_provider"):
        DirectoryNamespace(root=str(tmp_path), context_provider=Provider())


def test_a_root_in_memory():
    """pylance shares one between the namespaces of a session, and a process has one session here."""
    one, same, other = (connect("dir", {"root": root}) for root in ("memory://a/b", "memory://a/b/", "memory://c"))
    one.create_namespace("sales")
    one.create_table("sales.orders", ROWS)

    assert list(same.tables("sales")) == ["orders"]
    assert list(other.namespaces()) == []
    assert lance.dataset(namespace_client=same, table_id=["sales", "orders"]).count_rows() == 2
    assert one.namespace_id() == "dir(root=memory://a/b)"
    assert list(pickle.loads(pickle.dumps(one)).namespaces()) == ["sales"]
    one.drop_namespace("sales", behavior="Cascade")
    assert list(same.namespaces()) == []


@pytest.mark.parametrize("root", ["memory://../../etc", "memory:///../x"])
def test_no_root_in_memory_leads_out_of_it(root: str):
    with pytest.raises(InvalidInputError, match="leads out of memory"):
        connect("dir", {"root": root})


SCRIPT = """
import json, os, lancespace
with lancespace.connect("dir", {"root": "memory://gone"}) as namespace:
    namespace.create_table("t", [{"id": 1}])
    location = namespace.describe_table("t").location
if os.fork() == 0:
    raise SystemExit  # The end of a child is not the end of the catalog.
os.wait()
print(json.dumps([location, os.path.exists(location)]))
"""


def test_what_is_in_memory_ends_with_the_process():
    done = subprocess.run([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, check=True, timeout=60)
    location, was_there = json.loads(done.stdout)
    assert was_there
    assert not Path(location).exists()


def test_nothing_is_asked_for(tmp_path: Path):
    """A limit or a k of zero is an upper bound as any other."""
    namespace = DirectoryNamespace(root=str(tmp_path))
    namespace.create_table("t", ROWS)

    assert namespace.list_tables(ListTablesRequest(id=[], limit=0)).tables == []
    assert namespace.list_namespaces(ListNamespacesRequest(id=[], limit=0)).namespaces == []
    query = QueryTableRequest.model_validate({"id": ["t"], "k": 0, "vector": {}})
    assert pa.ipc.open_file(namespace.query_table(query).data).read_all().num_rows == 0
    assert namespace.table("t").to_arrow(k=0).num_rows == 0


def test_counts_of_a_merge_into_a_declared_table_are_numbers(tmp_path: Path):
    namespace = DirectoryNamespace(root=str(tmp_path))
    namespace.declare_table("t")
    answer = namespace.merge_insert_into_table("t", ROWS, on=["id"], when_not_matched_insert_all=True)
    assert (answer.num_updated_rows, answer.num_inserted_rows, answer.num_deleted_rows) == (0, 2, 0)
