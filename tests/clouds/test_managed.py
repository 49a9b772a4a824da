"""Managed tables in stores that copy where a local file system renames."""

from __future__ import annotations

import lance
import pyarrow as pa
import pytest

import lancespace
import lancespace_dir
from lancespace_tables import StagedCommits
from tests.emulators.clouds import Cloud

MANAGED = {"table_version_management": "true"}


@pytest.fixture(params=["s3_cloud", "azure_cloud", "gcs_cloud", "oss_cloud"])
def cloud(request: pytest.FixtureRequest) -> Cloud:
    made: Cloud = request.getfixturevalue(request.param)
    return made


def numbers(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def ids(namespace: lancespace.Namespace, table: str) -> list[int]:
    return sorted(namespace.table(table).to_arrow()["id"].to_pylist())


def test_commits_bypasses_and_batches(cloud):
    root = cloud.new_root()
    storage = cloud.storage(root)
    namespace = cloud.connect(root, **MANAGED)
    for table in ("t", "u"):
        namespace.create_table(table, numbers(1))
    namespace.insert_into_table("t", numbers(2))
    location = namespace.describe_table("t").location
    lance.write_dataset(numbers(100), location, mode="append", storage_options=storage.options)
    other = cloud.connect(root)
    assert ids(other, "t") == [1, 2]
    other.insert_into_table("t", numbers(3))
    assert ids(namespace, "t") == [1, 2, 3]

    staging = StagedCommits(namespace)
    for table in ("t", "u"):
        where = {"namespace_client": staging, "table_id": [table], "storage_options": storage.options}
        lance.write_dataset(numbers(4), mode="append", **where)
    assert (ids(other, "t"), ids(other, "u")) == ([1, 2, 3], [1])
    namespace.batch_commit_tables(operations=staging.operations)
    assert (ids(other, "t"), ids(other, "u")) == ([1, 2, 3, 4], [1, 4])
    assert lancespace_dir.snapshot(other, ["t", "u"]) == {"t": 4, "u": 2}


def test_an_unfinished_commit_is_finished_by_the_next_reader(cloud):
    root = cloud.new_root()
    storage = cloud.storage(root)
    namespace = cloud.connect(root, **MANAGED)
    namespace.create_table("t", numbers(1))
    namespace.insert_into_table("t", numbers(2))
    latest = namespace.describe_table_version("t").version.manifest_path.rpartition("/")[2]
    storage.filesystem.rm_file(f"{storage.path(namespace.describe_table('t').location)}/_versions/{latest}")
    assert ids(cloud.connect(root), "t") == [1, 2]
