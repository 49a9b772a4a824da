"""Versions that a client commits through the catalog."""

from __future__ import annotations

from typing import Any

import lance

from lancespace_testing.client import Client, raises
from lancespace_testing.fixtures import BackendFixtures
from lancespace_testing.requirements import Feature, covers, needs
from lancespace_testing.samples import COUNT, sample
from lancespace_testing.staging import stage_append


class CommitTests(BackendFixtures):
    """CreateTableVersion, BatchCreateTableVersions, BatchCommitTables."""

    @covers("create_table_version")
    @needs(Feature.REACHABLE_TABLES)
    def test_create_version(self, client: Client) -> None:
        """CreateTableVersion: the staged manifest is the latest version, for every reader."""
        staged = _staged(client, "t")
        made = client("create_table_version", **staged).version
        assert made.version == 2
        assert client.version() == 2
        assert client("count_table_rows").count == COUNT + 2

    @covers("create_table_version", "CONCURRENT_MODIFICATION")
    @needs(Feature.REACHABLE_TABLES)
    def test_create_existing_version(self, client: Client) -> None:
        """CreateTableVersion: put_if_not_exists, so code 14 if another writer made the version; his rows stay."""
        first, late = _staged(client, "t"), _stage(client, "t", stop=5)
        client("create_table_version", **first)
        client.refuses("CONCURRENT_MODIFICATION", "create_table_version", **late)
        assert client("count_table_rows").count == COUNT + 2

    @needs(Feature.REACHABLE_TABLES)
    def test_create_version_again(self, client: Client) -> None:
        """CreateTableVersion: the same request again, as after a lost answer, is no conflict and no second version."""
        staged = _staged(client, "t")
        for _ in range(2):
            assert client("create_table_version", **staged).version.version == 2
        assert client.version() == 2

    @covers("create_table_version", "INVALID_INPUT")
    @needs(Feature.REACHABLE_TABLES)
    def test_create_version_refused(self, client: Client) -> None:
        """CreateTableVersion: code 13 without the staged manifest; 13 or 14 for a version that would leave a gap."""
        staged = _staged(client, "t")
        client.refuses(
            "INVALID_INPUT", "create_table_version", **{**staged, "manifest_path": f"{staged['manifest_path']}-gone"}
        )
        with client.unchanged(), raises("INVALID_INPUT", "CONCURRENT_MODIFICATION"):
            client("create_table_version", **{**staged, "version": 7})

    @covers("batch_create_table_versions")
    @covers("batch_create_table_versions", "CONCURRENT_MODIFICATION")
    @needs(Feature.REACHABLE_TABLES)
    def test_batch_of_one_version(self, client: Client) -> None:
        """BatchCreateTableVersions: like CreateTableVersion for one table, with code 14 if the version exists."""
        first, late = _staged(client, "t"), _stage(client, "t", stop=5)
        made = client("batch_create_table_versions", entries=[{"id": ["t"], **first}]).versions
        assert [each.version for each in made] == [2]
        client.refuses("CONCURRENT_MODIFICATION", "batch_create_table_versions", entries=[{"id": ["t"], **late}])
        assert client.version() == 2

    @covers("batch_create_table_versions")
    @needs(Feature.REACHABLE_TABLES, Feature.ATOMIC_BATCHES)
    def test_batch_of_versions_is_atomic(self, client: Client) -> None:
        """BatchCreateTableVersions: all versions, in the order of the request, or none if one of them exists."""
        first, second = _staged(client, "t"), _staged(client, "u")
        late = _stage(client, "u", stop=5)
        made = client("batch_create_table_versions", entries=[{"id": ["t"], **first}, {"id": ["u"], **second}])
        assert [each.version for each in made.versions] == [2, 2]
        entries = [{"id": ["t"], **_stage(client, "t", stop=5)}, {"id": ["u"], **late}]
        client.refuses("CONCURRENT_MODIFICATION", "batch_create_table_versions", entries=entries)

    @covers("batch_commit_tables")
    @needs(Feature.REACHABLE_TABLES)
    def test_batch_of_one_operation(self, client: Client) -> None:
        """BatchCommitTables: one operation of any kind is like that operation alone."""
        staged = _staged(client, "t")
        for kind, fields in (
            ("create_table_version", {"id": ["t"], **staged}),
            ("delete_table_versions", {"id": ["t"], "ranges": [{"start_version": 1, "end_version": 2}]}),
            ("declare_table", {"id": ["new"]}),
            ("deregister_table", {"id": ["new"]}),
        ):
            (done,) = client("batch_commit_tables", operations=[{kind: fields}]).results
            assert getattr(done, kind) is not None
        assert client("count_table_rows").count == COUNT + 2
        client.refuses("TABLE_NOT_FOUND", "table_exists", id=["new"])

    @covers("batch_commit_tables", "INVALID_INPUT")
    def test_batch_commit_refused(self, client: Client) -> None:
        """BatchCommitTables: code 13 without an operation, or for one that is none or two at once."""
        client("declare_table", id=["old"])
        declare, deregister = {"declare_table": {"id": ["new"]}}, {"deregister_table": {"id": ["old"]}}
        refused: tuple[list[dict[str, Any]], ...] = ([], [{}], [{**declare, **deregister}])
        for operations in refused:
            client.refuses("INVALID_INPUT", "batch_commit_tables", operations=operations)

    @covers("batch_commit_tables")
    @needs(Feature.ATOMIC_BATCHES)
    def test_batch_commit(self, client: Client) -> None:
        """BatchCommitTables: operations of several kinds, with a result for each in the order of the request."""
        client("declare_table", id=["old"])
        operations = [{"declare_table": {"id": ["new"]}}, {"deregister_table": {"id": ["old"]}}]
        done = client("batch_commit_tables", operations=operations).results
        assert [bool(each.declare_table) for each in done] == [True, False]
        assert done[1].deregister_table.id == ["old"]
        assert client("list_tables", id=[]).tables == ["new"]

    @covers("batch_commit_tables", "TABLE_ALREADY_EXISTS", "TABLE_NOT_FOUND", "NAMESPACE_NOT_FOUND")
    @needs(Feature.ATOMIC_BATCHES)
    def test_batch_commit_is_atomic(self, client: Client) -> None:
        """BatchCommitTables: if one operation fails, with its own code, none is applied."""
        client("declare_table", id=["old"])
        client("declare_table", id=["kept"])
        for code, bad in (
            ("TABLE_ALREADY_EXISTS", {"declare_table": {"id": ["kept"]}}),
            ("TABLE_NOT_FOUND", {"deregister_table": {"id": ["absent"]}}),
            ("NAMESPACE_NOT_FOUND", {"declare_table": {"id": ["absent", "t"]}}),
        ):
            operations = [{"declare_table": {"id": ["new"]}}, {"deregister_table": {"id": ["old"]}}, bad]
            client.refuses(code, "batch_commit_tables", operations=operations)

    @covers("batch_commit_tables", "CONCURRENT_MODIFICATION")
    @needs(Feature.REACHABLE_TABLES, Feature.ATOMIC_BATCHES)
    def test_batch_commit_of_existing_version(self, client: Client) -> None:
        """BatchCommitTables: code 14 if a version to be created exists, and nothing else of the batch is applied."""
        first, late = _staged(client, "t"), _stage(client, "t", stop=5)
        client("batch_commit_tables", operations=[{"create_table_version": {"id": ["t"], **first}}])
        assert client("count_table_rows").count == COUNT + 2
        operations = [{"declare_table": {"id": ["new"]}}, {"create_table_version": {"id": ["t"], **late}}]
        client.refuses("CONCURRENT_MODIFICATION", "batch_commit_tables", operations=operations)

    @covers("batch_commit_tables")
    @needs(Feature.REACHABLE_TABLES, Feature.ATOMIC_BATCHES)
    def test_write_that_bypasses_the_catalog(self, table: Client) -> None:
        """CreateTableVersion: what is written to storage without it does not show, and is in nobody's way."""
        location = table("describe_table").location
        options = table.storage(location).options
        lance.write_dataset(sample(0, 1), location, mode="append", storage_options=options)
        assert table("count_table_rows").count == COUNT
        assert table.version() == 1
        table.refuses("TABLE_VERSION_NOT_FOUND", "describe_table_version", version=2)
        table("insert_into_table", sample(0, 2))
        assert table("count_table_rows").count == COUNT + 2
        operations = [{"create_table_version": {"id": ["t"], **_stage(table, "t", stop=3)}}]
        table("batch_commit_tables", operations=operations)
        assert table("count_table_rows").count == COUNT + 5


def _staged(client: Client, name: str) -> dict[str, Any]:
    """A new table, and an append to it that is staged as its version 2."""
    client.example("create_table", [name])
    return _stage(client, name, stop=2)


def _stage(client: Client, name: str, *, stop: int) -> dict[str, Any]:
    return stage_append(client.storage(client("describe_table", id=[name]).location), stop=stop)
