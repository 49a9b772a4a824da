"""Tables whose versions the manifest keeps."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import lance
import pytest
from lance_namespace import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    TableNotFoundError,
    TableVersionNotFoundError,
    UnsupportedOperationError,
)

import lancespace
import lancespace_dir
from lancespace_tables import ManifestDirectory, StagedCommits
from plugins.dir.tests.managing import (
    MANAGED,
    bypass,
    connect,
    ids,
    numbers,
    staged_append,
    version_rows,
    versions,
    where,
)
from plugins.dir.tests.support import manifest_table, rows


@pytest.fixture
def ns(tmp_path: Path):
    namespace = connect(tmp_path)
    namespace.create_namespace("a")
    namespace.create_table("a.t", numbers(1))
    yield namespace
    namespace.close()


def files(namespace: lancespace.Namespace, table: str) -> list[str]:
    location = namespace.describe_table(table).location
    return sorted(path.name for path in Path(f"{location}/_versions").iterdir())


def test_a_version_is_a_row_as_the_spec_has_it(ns, tmp_path):
    ns.insert_into_table("a.t", numbers(2))
    assert version_rows(tmp_path) == ["a$t$1", "a$t$2"]
    metadata = json.loads(rows(tmp_path)["a$t$2"]["metadata"])
    assert metadata["manifest_path"] == f"_versions/{2**64 - 3:020}.manifest"
    assert metadata["naming_scheme"] == "V2"
    assert (
        Path(ns.describe_table("a.t").location, metadata["manifest_path"]).stat().st_size == metadata["manifest_size"]
    )


def test_describe_says_so_and_the_properties_are_the_users_own(ns):
    ns.create_table("a.owned", numbers(1), properties={"owner": "Ada"})
    described = ns.describe_table("a.owned")
    assert described.managed_versioning is True
    assert described.properties == {"owner": "Ada"}
    assert ns.deregister_table("a.owned").properties == {"owner": "Ada"}


@pytest.mark.parametrize("managed", ["true", "false"])
@pytest.mark.parametrize("mode", ["create", "overwrite"])
def test_whether_a_table_is_managed_stays_as_it_was_declared(tmp_path: Path, managed: str, mode: str):
    name = "table_version_management"
    with lancespace.connect("dir", {"root": str(tmp_path)}) as namespace:
        namespace.declare_table("t", properties={name: managed})
        other = "false" if managed == "true" else "true"
        with pytest.raises(InvalidInputError, match=f"'{name}' of the table 't' cannot change"):
            namespace.create_table("t", numbers(1), properties={name: other}, mode=mode)

        namespace.create_table("t", numbers(1), properties={name: managed, "owner": "Ada"}, mode=mode)
        namespace.create_table("t", numbers(2), properties={name: managed, "owner": "Bob"}, mode="overwrite")

        described = namespace.describe_table("t")
        assert (bool(described.managed_versioning), described.properties) == (managed == "true", {"owner": "Bob"})


@pytest.mark.usefixtures("ns")
def test_the_catalog_remembers_that_new_tables_are_managed(tmp_path):
    assert manifest_table(tmp_path).metadata["table_version_management"] == "true"
    other = lancespace.connect("dir", {"root": str(tmp_path)})
    other.create_table("a.u", numbers(1))
    assert other.describe_table("a.u").managed_versioning is True
    refuses = lancespace.connect("dir", {"root": str(tmp_path), "table_version_management": "false"})
    refuses.create_table("a.v", numbers(1))
    assert not refuses.describe_table("a.v").managed_versioning


def test_a_table_can_say_so_itself(tmp_path):
    namespace = lancespace.connect("dir", {"root": str(tmp_path)})
    namespace.create_table("t", numbers(1), properties={"table_version_management": "true"})
    namespace.create_table("u", numbers(1))
    assert version_rows(tmp_path) == ["t$1"]
    assert namespace.describe_table("t").managed_versioning is True
    assert namespace.describe_table("u").managed_versioning is None
    with pytest.raises(InvalidInputError, match="must be 'true' or 'false', not 'maybe'"):
        namespace.create_table("v", numbers(1), properties={"table_version_management": "maybe"})


def test_v1_has_no_place_for_it(tmp_path):
    with pytest.raises(InvalidInputError, match="table_version_management needs manifest_enabled=true"):
        connect(tmp_path, manifest_enabled="false")


def test_a_bypass_is_not_shown_and_not_in_the_way(ns, caplog):
    ns.insert_into_table("a.t", numbers(2))
    assert [bypass(ns, "a.t", 100), bypass(ns, "a.t", 101)] == [3, 4]
    with caplog.at_level(logging.WARNING):
        assert ids(ns, "a.t") == [1, 2]
    assert "bypassed the catalog" in caplog.text
    assert ns.describe_table("a.t", load_detailed_metadata=True).version == 2
    assert versions(ns, "a.t") == [1, 2]
    with pytest.raises(TableVersionNotFoundError):
        ns.count_table_rows("a.t", version=3)
    ns.insert_into_table("a.t", numbers(3))
    assert ids(ns, "a.t") == [1, 2, 3]
    assert versions(ns, "a.t") == [1, 2, 3]


def test_a_bypass_does_not_create_a_declared_table(ns):
    ns.declare_table("a.new")
    lance.write_dataset(numbers(100), ns.describe_table("a.new").location)
    assert ns.describe_table("a.new", check_declared=True).is_only_declared is True
    assert "new" not in ns.list_tables("a", include_declared=False).tables
    with pytest.raises(InvalidTableStateError):
        ns.count_table_rows("a.new")
    ns.create_table("a.new", numbers(1))
    assert ids(ns, "a.new") == [1]


def test_a_commit_on_top_of_a_bypass_is_refused_and_the_next_one_is_not(ns):
    dataset = lance.dataset(**where(ns, "a.t"))
    bypass(ns, "a.t", 100)
    with pytest.raises(OSError, match="commit reported a conflict"):
        lance.write_dataset(numbers(2), dataset, mode="append")
    lance.write_dataset(numbers(2), dataset, mode="append")
    assert ids(ns, "a.t") == [1, 2]


def test_a_reader_that_may_not_write_is_not_disturbed_by_a_bypass(ns, monkeypatch):
    bypass(ns, "a.t", 100)

    def refuse(*_: object) -> None:
        raise PermissionError("read only")

    monkeypatch.setattr("os.rename", refuse)
    assert ids(ns, "a.t") == [1]


def test_the_same_commit_again_has_the_same_answer(ns):
    commit = staged_append(ns, "a.t", 2)["create_table_version"]
    first = ns.create_table_version(commit)
    assert ns.create_table_version(commit) == first
    ns.insert_into_table("a.t", numbers(3))
    assert ns.create_table_version(commit) == first
    assert ids(ns, "a.t") == [1, 2, 3]


def test_of_two_commits_one_wins(ns):
    commits = [staged_append(ns, "a.t", value)["create_table_version"] for value in (2, 3)]
    ns.create_table_version(commits[0])
    with pytest.raises(ConcurrentModificationError, match=r"version 2 of table 'a\.t' was made by another writer"):
        ns.create_table_version(commits[1])
    with pytest.raises(InvalidInputError, match="the next one is 3, not 4"):
        ns.create_table_version({**commits[1], "version": 4})
    assert ids(ns, "a.t") == [1, 2]


def test_metadata_of_a_version_is_kept(ns):
    commit = staged_append(ns, "a.t", 2)["create_table_version"]
    ns.create_table_version({**commit, "metadata": {"author": "Ada"}})
    assert ns.describe_table_version("a.t", version=2).version.metadata == {"author": "Ada"}
    assert ns.describe_table_version("a.t", version=1).version.metadata is None


def test_a_commit_that_was_not_finished_is_finished_by_the_next_reader(ns, tmp_path):
    ns.insert_into_table("a.t", numbers(2))
    final, staged = files(ns, "a.t")[:2]
    Path(ns.describe_table("a.t").location, "_versions", final).unlink()
    assert ids(connect(tmp_path), "a.t") == [1, 2]
    assert files(ns, "a.t")[:2] == [final, staged]


def test_all_versions_that_a_dead_committer_left_are_put_in_place(ns, tmp_path, monkeypatch, caplog):
    """Lance lists the files to see what others committed, so the one below the latest must be there, too."""
    staging = StagedCommits(ns)
    lance.write_dataset(numbers(2, 3), mode="append", **where(staging, "a.t")).delete("id = 3")

    def fail(*_: object) -> None:
        raise OSError("the store is away")

    with monkeypatch.context() as broken, caplog.at_level(logging.WARNING):
        broken.setattr(ManifestDirectory, "copy", fail)
        ns.batch_commit_tables(operations=staging.operations)
    assert "is committed" in caplog.text
    assert len([name for name in files(ns, "a.t") if name.endswith(".manifest")]) == 1
    assert ids(connect(tmp_path), "a.t") == [1, 2]
    assert len([name for name in files(ns, "a.t") if name.endswith(".manifest")]) == 3


def test_a_bypass_in_the_place_of_an_unfinished_commit_is_replaced(ns, tmp_path):
    ns.insert_into_table("a.t", numbers(2))
    Path(ns.describe_table("a.t").location, "_versions", files(ns, "a.t")[0]).unlink()
    assert bypass(ns, "a.t", 100) == 2
    assert ids(connect(tmp_path), "a.t") == [1, 2]


def test_only_the_latest_version_keeps_its_staged_manifest(ns):
    for value in range(2, 6):
        ns.insert_into_table("a.t", numbers(value))
    assert len([name for name in files(ns, "a.t") if ".manifest-" in name]) == 1


def test_versions_are_deleted_as_rows_and_files(ns, tmp_path):
    for value in range(2, 5):
        ns.insert_into_table("a.t", numbers(value))
    ns.create_table_tag("a.t", tag="first", version=1)
    with pytest.raises(InvalidTableStateError, match="tag 'first' needs version 1"):
        ns.batch_delete_table_versions("a.t", ranges=[{"start_version": 1, "end_version": 3}])
    with pytest.raises(InvalidInputError, match="takes in version 4, the latest"):
        ns.batch_delete_table_versions("a.t", ranges=[{"start_version": 2, "end_version": -1}])
    answer = ns.batch_delete_table_versions("a.t", ranges=[{"start_version": 2, "end_version": 4}])
    assert answer.deleted_count == 2
    assert version_rows(tmp_path) == ["a$t$1", "a$t$4"]
    assert len([name for name in files(ns, "a.t") if name.endswith(".manifest")]) == 2
    assert ns.insert_into_table("a.t", numbers(5)).version == 5


def test_version_rows_follow_the_table(ns, tmp_path):
    ns.insert_into_table("a.t", numbers(2))
    ns.create_namespace("b")
    ns.rename_table("a.t", new_table_name="u", new_namespace_id=["b"])
    assert version_rows(tmp_path) == ["b$u$1", "b$u$2"]
    assert ids(ns, "b.u") == [1, 2]
    ns.insert_into_table("b.u", numbers(3))
    ns.drop_namespace("b", behavior="Cascade")
    assert version_rows(tmp_path) == []
    ns.create_table("a.t", numbers(7))
    ns.drop_table("a.t")
    assert version_rows(tmp_path) == []


def test_a_writer_of_a_table_that_was_replaced_is_told(ns):
    commit = staged_append(ns, "a.t", 2)["create_table_version"]
    ns.drop_table("a.t")
    with pytest.raises(TableNotFoundError):
        ns.create_table_version(commit)
    ns.create_table("a.t", numbers(1))
    with pytest.raises(InvalidInputError, match="is not a staged manifest under"):
        ns.create_table_version(commit)


def test_deregister_gives_the_table_to_storage_and_register_takes_it_back(ns, tmp_path):
    ns.insert_into_table("a.t", numbers(2))
    location = ns.deregister_table("a.t").location
    assert version_rows(tmp_path) == []
    assert lance.write_dataset(numbers(3), location, mode="append").count_rows() == 3
    ns.register_table("a.t", location=location)
    assert version_rows(tmp_path) == ["a$t$1", "a$t$2", "a$t$3"]
    assert ids(ns, "a.t") == [1, 2, 3]
    ns.insert_into_table("a.t", numbers(4))
    assert versions(ns, "a.t") == [1, 2, 3, 4]


def test_a_table_is_managed_by_registering_it_again(tmp_path):
    plain = lancespace.connect("dir", {"root": str(tmp_path)})
    plain.create_table("t", numbers(1))
    plain.insert_into_table("t", numbers(2))
    location = plain.describe_table("t").location
    plain.register_table("t", location=location, mode="overwrite", properties=MANAGED)
    bypass(plain, "t", 100)
    assert plain.describe_table("t").managed_versioning is True
    assert (ids(plain, "t"), versions(plain, "t")) == ([1, 2], [1, 2])
    plain.register_table("t", location=location, mode="overwrite")
    assert version_rows(tmp_path) == []


def test_a_snapshot_is_of_one_moment(ns):
    ns.create_table("a.u", numbers(1))
    ns.insert_into_table("a.t", numbers(2))
    assert lancespace_dir.snapshot(ns, ["a.t", "a.u"]) == {"a.t": 2, "a.u": 1}
    ns.declare_table("a.empty")
    with pytest.raises(InvalidTableStateError, match="has no version yet"):
        lancespace_dir.snapshot(ns, ["a.empty"])
    ns.create_table("a.stored", numbers(1), properties={"table_version_management": "false"})
    with pytest.raises(UnsupportedOperationError, match=r"'a\.stored' keeps its versions in storage"):
        lancespace_dir.snapshot(ns, ["a.stored"])
    with pytest.raises(TableNotFoundError):
        lancespace_dir.snapshot(ns, ["a.absent"])
