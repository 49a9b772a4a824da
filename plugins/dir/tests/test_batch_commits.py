"""batch_create_table_versions and batch_commit_tables: several tables change together, or none does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pytest
from lance_namespace import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedOperationError,
)

import lancespace
from lancespace_tables import StagedCommits
from plugins.dir.tests.managing import connect, ids, numbers, staged_append, version_rows, versions, where
from plugins.dir.tests.support import manifest_table, rows


@pytest.fixture(params=["compatibility", "v2"])
def ns(request: pytest.FixtureRequest, tmp_path: Path):
    extra = {} if request.param == "compatibility" else {"dir_listing_enabled": "false"}
    namespace = connect(tmp_path, **extra)
    for table in ("t", "u"):
        namespace.create_table(table, numbers(1))
    yield namespace
    namespace.close()


def commit(namespace: lancespace.Namespace, *operations: dict[str, Any]) -> Any:
    return namespace.batch_commit_tables(operations=list(operations)).results


def test_versions_of_several_tables_are_one_commit(ns, tmp_path):
    entries = [staged_append(ns, table, 2)["create_table_version"] for table in ("u", "t")]
    before = manifest_table(tmp_path).version
    made = ns.batch_create_table_versions(entries=entries).versions
    assert manifest_table(tmp_path).version == before + 1
    assert [each.version for each in made] == [2, 2]
    assert all(Path("/", each.manifest_path).exists() for each in made)
    assert made[0].manifest_path.startswith(ns.describe_table("u").location.strip("/"))
    assert (ids(ns, "t"), ids(ns, "u")) == ([1, 2], [1, 2])


def test_all_kinds_of_operations_in_one_commit(ns, tmp_path):
    ns.insert_into_table("u", numbers(2))
    ns.declare_table("old")
    ns.create_namespace("a")
    before = manifest_table(tmp_path).version
    done = commit(
        ns,
        {"declare_table": {"id": ["a", "new"], "properties": {"owner": "Ada"}}},
        staged_append(ns, "t", 2),
        {"delete_table_versions": {"id": ["u"], "ranges": [{"start_version": 1, "end_version": 2}]}},
        {"deregister_table": {"id": ["old"]}},
    )
    assert manifest_table(tmp_path).version == before + 1
    assert [next(iter(each.model_fields_set)) for each in done] == [
        "declare_table",
        "create_table_version",
        "delete_table_versions",
        "deregister_table",
    ]
    assert done[0].declare_table.managed_versioning is True
    assert done[0].declare_table.properties == {"owner": "Ada"}
    assert done[1].create_table_version.version.version == 2
    assert done[2].delete_table_versions.deleted_count == 1
    assert done[3].deregister_table.id == ["old"]
    assert list(ns.tables()) == ["t", "u"]
    assert list(ns.tables("a")) == ["new"]
    assert (versions(ns, "t"), versions(ns, "u")) == ([1, 2], [2])


@pytest.mark.parametrize("position", [0, 1, 2])
def test_one_bad_operation_stops_all_and_is_named(ns, tmp_path, position):
    late = staged_append(ns, "t", 100)
    ns.insert_into_table("t", numbers(2))
    operations = [{"declare_table": {"id": ["new"]}}, {"deregister_table": {"id": ["u"]}}]
    operations.insert(position, late)
    before = rows(tmp_path)
    expected = rf"operation {position} \(create_table_version\): .*made by another writer"
    with pytest.raises(ConcurrentModificationError, match=expected):
        commit(ns, *operations)
    assert rows(tmp_path) == before
    assert ids(ns, "u") == [1]
    assert list(ns.tables()) == ["t", "u"]


BAD = [
    (TableAlreadyExistsError, {"declare_table": {"id": ["u"]}}),
    (NamespaceNotFoundError, {"declare_table": {"id": ["absent", "t"]}}),
    (TableNotFoundError, {"deregister_table": {"id": ["absent"]}}),
    (TableNotFoundError, {"create_table_version": {"id": ["absent"], "version": 1, "manifest_path": "x"}}),
    (InvalidInputError, {"create_table_version": {"id": ["u"], "version": 2, "manifest_path": "elsewhere"}}),
    (InvalidInputError, {"delete_table_versions": {"id": ["u"], "ranges": []}}),
    (InvalidInputError, {"delete_table_versions": {"id": ["u"], "ranges": [{"start_version": 0, "end_version": -1}]}}),
    (
        InvalidTableStateError,
        {"delete_table_versions": {"id": ["t"], "ranges": [{"start_version": 1, "end_version": 2}]}},
    ),
    (InvalidInputError, {}),
]


@pytest.mark.parametrize(("expected", "bad"), BAD, ids=str)
def test_refused_before_anything_changes(ns, tmp_path, expected, bad):
    ns.create_table_tag("t", tag="first", version=1)
    ns.insert_into_table("t", numbers(2))
    before = rows(tmp_path)
    with pytest.raises(expected):
        commit(ns, {"declare_table": {"id": ["new"]}}, bad)
    assert rows(tmp_path) == before
    assert "new" not in ns.list_tables().tables


def test_operations_see_those_before_them(ns):
    commit(ns, {"deregister_table": {"id": ["t"]}}, {"declare_table": {"id": ["t"]}})
    assert ns.describe_table("t", check_declared=True).is_only_declared is True
    with pytest.raises(TableAlreadyExistsError, match=r"operation 1 \(declare_table\)"):
        commit(ns, {"declare_table": {"id": ["x"]}}, {"declare_table": {"id": ["x"]}})


def test_a_table_is_declared_and_created_in_one_commit(ns, tmp_path):
    """The client has written data and manifest to a place that it chose."""
    source = ns.describe_table("t").location
    target = tmp_path / "chosen"
    lance.write_dataset(lance.dataset(source).to_table(), str(target))
    (manifest,) = (target / "_versions").glob("*.manifest")
    staged = manifest.rename(manifest.with_name(f"{manifest.name}-staged"))
    created = {"id": ["new"], "version": 1, "manifest_path": str(staged)}
    commit(ns, {"declare_table": {"id": ["new"], "location": "chosen"}}, {"create_table_version": created})
    assert ids(ns, "new") == [1]
    assert "new$1" in version_rows(tmp_path)


def test_the_same_batch_of_versions_again_has_the_same_answer(ns):
    entries = [staged_append(ns, table, 2)["create_table_version"] for table in ("t", "u")]
    first = ns.batch_create_table_versions(entries=entries)
    assert ns.batch_create_table_versions(entries=entries) == first
    assert (versions(ns, "t"), versions(ns, "u")) == ([1, 2], [1, 2])


def test_tables_in_storage_cannot_be_part_of_it(ns):
    ns.create_table("stored", numbers(1), properties={"table_version_management": "false"})
    location = Path(ns.describe_table("stored").location)
    (manifest,) = (location / "_versions").glob("*.manifest")
    staged = {"create_table_version": {"id": ["stored"], "version": 2, "manifest_path": f"{manifest}-x"}}
    expected = r"operation 1 \(create_table_version\): table 'stored' keeps its versions in storage.*=true"
    with pytest.raises(UnsupportedOperationError, match=expected):
        commit(ns, staged_append(ns, "t", 2), staged)
    assert ids(ns, "t") == [1]
    on_branch = {"create_table_version": {"id": ["t"], "version": 2, "manifest_path": "x", "branch": "dev"}}
    with pytest.raises(UnsupportedOperationError, match="the versions of branch 'dev' of table 't' are in storage"):
        commit(ns, {"declare_table": {"id": ["new"]}}, on_branch)


def test_names_of_tables_in_storage_can(tmp_path):
    namespace = lancespace.connect("dir", {"root": str(tmp_path)})
    namespace.create_table("t", numbers(1))
    commit(namespace, {"deregister_table": {"id": ["t"]}}, {"declare_table": {"id": ["u"]}})
    assert list(namespace.tables()) == ["u"]


def test_a_directory_without_a_row_cannot(tmp_path):
    namespace = lancespace.connect("dir", {"root": str(tmp_path)})
    lance.write_dataset(numbers(1), str(tmp_path / "v.lance"))
    with pytest.raises(UnsupportedOperationError, match=r"operation 0 .*'v' is only a directory \(V1\)"):
        commit(namespace, {"deregister_table": {"id": ["v"]}}, {"declare_table": {"id": ["u"]}})
    assert list(namespace.tables()) == ["v"]


def test_v1_takes_batches_of_one(tmp_path):
    namespace = lancespace.connect("dir", {"root": str(tmp_path), "manifest_enabled": "false"})
    (done,) = commit(namespace, {"declare_table": {"id": ["t"]}})
    assert done.declare_table.location.endswith("t.lance")
    with pytest.raises(UnsupportedOperationError, match="got 2 operations"):
        commit(namespace, {"declare_table": {"id": ["u"]}}, {"deregister_table": {"id": ["t"]}})


def test_staged_commits_wait_for_the_batch(ns):
    staging = StagedCommits(ns)
    written = lance.write_dataset(numbers(2, 3), mode="append", **where(staging, "t"))
    lance.dataset(**where(staging, "u")).delete("id = 1")
    with pytest.raises(InvalidInputError, match="a commit to table 't' is staged already: go on with the dataset"):
        lance.dataset(**where(staging, "t"))
    written.delete("id = 3")
    assert (ids(ns, "t"), ids(ns, "u")) == ([1], [1])
    ns.batch_commit_tables(operations=staging.operations)
    assert (ids(ns, "t"), ids(ns, "u")) == ([1, 2], [])
    assert (versions(ns, "t"), versions(ns, "u")) == ([1, 2, 3], [1, 2])
    ns.create_table("stored", numbers(1), properties={"table_version_management": "false"})
    with pytest.raises(UnsupportedOperationError, match="'stored' keeps its versions in storage"):
        lance.write_dataset(numbers(2), mode="append", **where(staging, "stored"))
