"""A manifest that lost its versions is an error for every operation, and fsck brings back what can be proved."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance_namespace import (
    ConcurrentModificationError,
    InternalError,
    InvalidTableStateError,
    NamespaceNotFoundError,
    TableNotFoundError,
)

from lancespace import Namespace, connect
from lancespace_dir import checks, recovery, repairs
from lancespace_dir.checks import check
from lancespace_dir.manifest.schema import SCHEMA, STORAGE_VERSION
from plugins.dir.tests.manifests import storage_at

ROWS = [{"id": 1}]
MODES = {"compatibility": {}, "V2": {"dir_listing_enabled": "false"}}
WEEK = timedelta(days=7)

OPERATIONS: dict[str, Callable[[Namespace], object]] = {
    "table_exists": lambda ns: ns.table("sales.orders").exists(),
    "describe_table": lambda ns: ns.describe_table("plain"),
    "list_tables": lambda ns: list(ns.tables()),
    "list_all_tables": lambda ns: ns.list_all_tables(),
    "list_namespaces": lambda ns: list(ns.namespaces()),
    "namespace_exists": lambda ns: ns.namespace_exists("sales"),
    "create_namespace": lambda ns: ns.create_namespace("new"),
    "create_table": lambda ns: ns.create_table("new", ROWS),
    "declare_table": lambda ns: ns.declare_table("new"),
    "register_table": lambda ns: ns.register_table("new", location="raw"),
    "rename_table": lambda ns: ns.rename_table("plain", new_table_name="new"),
    "deregister_table": lambda ns: ns.deregister_table("plain"),
    "drop_table": lambda ns: ns.drop_table("plain"),
    "drop_namespace": lambda ns: ns.drop_namespace("sales", behavior="Cascade"),
}


def catalog(root: Path, **properties: str) -> Namespace:
    namespace = connect("dir", {"root": str(root), **properties})
    lance.write_dataset(pa.Table.from_pylist(ROWS), root / "raw")
    namespace.create_namespace("sales")
    for name in ("sales.orders", "plain", "sales.gone"):
        namespace.create_table(name, ROWS)
    namespace.drop_table("sales.gone")
    namespace.rename_table("sales.orders", new_table_name="done")
    return namespace


def damage(root: Path, *, keep_directory: bool = False) -> None:
    shutil.rmtree(root / "__manifest" / "_versions")
    if keep_directory:
        (root / "__manifest" / "_versions").mkdir()


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("is_warm", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize("keep_directory", [True, False], ids=["empty", "missing"])
def test_every_operation_says_that_the_manifest_is_damaged(
    tmp_path: Path, mode: str, is_warm: bool, keep_directory: bool
):
    namespace = catalog(tmp_path, **MODES[mode])
    damage(tmp_path, keep_directory=keep_directory)
    before = files(tmp_path)

    for name, operation in OPERATIONS.items():
        client = namespace if is_warm else connect("dir", {"root": str(tmp_path), **MODES[mode]})
        with pytest.raises(InternalError, match=r"manifest is damaged.*'lancespace fsck'"):
            operation(client)
        assert files(tmp_path) == before, name


def test_a_file_where_the_versions_should_be_is_no_missing_table(tmp_path: Path):
    namespace = catalog(tmp_path)
    damage(tmp_path)
    (tmp_path / "__manifest" / "_versions").touch()

    for client in (namespace, connect("dir", {"root": str(tmp_path)})):
        for operation in OPERATIONS.values():
            with pytest.raises(InternalError, match="the catalog's manifest: NotADirectoryError"):
                operation(client)


def test_a_manifest_without_rows_is_no_damage(tmp_path: Path):
    """The Rust implementation creates one before its first data file, and may die in between."""
    lance.write_dataset(SCHEMA.empty_table(), tmp_path / "__manifest", data_storage_version=STORAGE_VERSION)
    assert list(connect("dir", {"root": str(tmp_path)}).tables()) == []
    shutil.rmtree(tmp_path / "__manifest" / "_versions")

    assert list(connect("dir", {"root": str(tmp_path)}).tables()) == []
    connect("dir", {"root": str(tmp_path)}).create_namespace("sales")


def test_a_catalog_whose_first_writer_died_before_its_rows_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    namespace = connect("dir", {"root": str(tmp_path)})

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(namespace.backend.catalog.manifest._writer, "publish", die)
    with pytest.raises(KeyboardInterrupt):
        namespace.create_namespace("sales")
    assert list((tmp_path / "__manifest" / "data").iterdir())

    fresh = connect("dir", {"root": str(tmp_path)})
    assert list(fresh.namespaces()) == []
    fresh.create_namespace("sales")
    assert list(fresh.namespaces()) == ["sales"]


def test_fsck_rebuilds_what_storage_proves(tmp_path: Path):
    namespace = catalog(tmp_path)
    damage(tmp_path)
    before = files(tmp_path / "__manifest")

    (finding,) = check(namespace, older_than=WEEK)
    assert (finding.kind, finding.subject) == (checks.DAMAGED_MANIFEST, "__manifest")
    assert "backup" in finding.detail
    assert "cannot prove" in finding.detail
    assert [outcome for _, outcome in repairs.repair(namespace, [finding], older_than=WEEK)] == [repairs.DONE]

    for client in (namespace, connect("dir", {"root": str(tmp_path), "dir_listing_enabled": "false"})):
        assert list(client.tables()) == ["plain"]
        assert list(client.tables("sales")) == ["done"]
        assert client.table("sales.done").count() == 1
    copied = files(tmp_path / "__manifest_damaged_1")
    report = json.loads(copied.pop("report.json"))
    assert copied == before
    assert report["kept"].keys() == {"plain", "sales", "sales$done"}
    assert report["left out"].keys() == {"sales$gone", "sales$orders"}
    assert "may be back" in report["note"]
    namespace.create_namespace("next")
    assert [one.subject for one in check(namespace, older_than=WEEK)] == ["raw"]


def test_managed_tables_are_rebuilt_with_their_versions(tmp_path: Path):
    namespace = connect("dir", {"root": str(tmp_path), "table_version_management": "true"})
    namespace.create_table("orders", ROWS)
    namespace.insert_into_table("orders", ROWS)
    versions = [one.version for one in namespace.list_table_versions("orders").versions]
    damage(tmp_path)

    list(repairs.repair(namespace, list(check(namespace, older_than=WEEK)), older_than=WEEK))

    fresh = connect("dir", {"root": str(tmp_path), "table_version_management": "true"})
    assert [one.version for one in fresh.list_table_versions("orders").versions] == versions
    assert fresh.table("orders").count() == 2


def test_a_manifest_that_another_process_rebuilt_meanwhile_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    catalog(tmp_path)
    damage(tmp_path)
    commit = recovery._commit

    def commit_late(*arguments: Any) -> None:
        monkeypatch.setattr(recovery, "_commit", commit)
        assert recovery.rebuild(storage_at(tmp_path))
        connect("dir", {"root": str(tmp_path)}).create_namespace("theirs")
        commit(*arguments)

    monkeypatch.setattr(recovery, "_commit", commit_late)
    with pytest.raises(ConcurrentModificationError, match="rebuilt meanwhile"):
        recovery.rebuild(storage_at(tmp_path))

    assert list(connect("dir", {"root": str(tmp_path)}).namespaces()) == ["sales", "theirs"]
    assert not recovery.rebuild(storage_at(tmp_path))


@pytest.mark.parametrize("metadata", ["{", "[" * 100_000, "null", "[]", '{"a":5}', '{"a":null}', r'{"a":"\ud800"}'])
def test_damaged_metadata_is_an_error_for_its_own_object_which_can_be_dropped(tmp_path: Path, metadata: str):
    namespace = catalog(tmp_path)
    namespace.create_namespace("bad")
    namespace.create_table("bad.t", ROWS)
    manifest = namespace.backend.catalog.manifest

    def change(draft: Any) -> None:
        for object_id in ("bad", "bad$t"):
            draft.put(replace(draft.get(object_id), metadata=metadata))

    manifest.mutate(change)

    for ask in (lambda: namespace.describe_namespace("bad"), lambda: namespace.describe_table("bad.t")):
        with pytest.raises(InvalidTableStateError, match="drop it, or restore"):
            ask()
    assert set(namespace.namespaces()) == {"bad", "sales"}
    assert namespace.list_tables("bad").tables == ["t"]
    namespace.create_table("bad.u", ROWS)
    namespace.drop_table("bad.u")
    namespace.drop_table("bad.t")
    with pytest.raises(TableNotFoundError):
        namespace.describe_table("bad.t")
    namespace.drop_namespace("bad")
    with pytest.raises(NamespaceNotFoundError):
        namespace.describe_namespace("bad")
    namespace.close()
