"""Upkeep of the manifest: few fragments, an index and few old versions, and never at the cost of a commit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pytest

from lancespace_dir.manifest import cleanup, plans, upkeep
from lancespace_dir.manifest.committer import ManifestTable
from lancespace_dir.manifest.plans import TIP_ROWS
from lancespace_dir.manifest.reader import ManifestReader
from lancespace_dir.manifest.schema import DIRECTORY, SCHEMA, TABLE, Entry, to_table
from lancespace_dir.manifest.versions import VersionFiles
from lancespace_dir.manifest.writer import ManifestWriter
from plugins.dir.tests.manifests import (
    as_rust_leaves_it,
    fragments,
    manifest_at,
    numbered,
    put,
    remove,
    rows,
    storage_at,
)


def test_upkeep_merges_small_fragments_and_leaves_the_tip(tmp_path: Path):
    manifest = manifest_at(tmp_path)
    for start in range(0, TIP_ROWS * 18, TIP_ROWS):
        put(manifest, *numbered(TIP_ROWS, start))
    remove(manifest, "t00010")
    before = rows(tmp_path)
    tip = plans.tip_of({str(fragment.id): fragment for fragment in fragments(tmp_path)})

    assert merge(tmp_path)

    assert len(fragments(tmp_path)) == 2
    assert tip in {str(fragment.id) for fragment in fragments(tmp_path)}
    assert rows(tmp_path) == before
    assert not merge(tmp_path)
    with manifest.reading() as reader:
        assert reader.load().all_of(TABLE) == sorted(before)


def test_upkeep_indexes_large_manifests_and_look_ups_use_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(upkeep, "INDEX_FROM_ROWS", 5000)
    as_rust_leaves_it(tmp_path, numbered(6000))
    manifest = manifest_at(tmp_path)

    upkeep.update_index(ManifestReader(storage_at(tmp_path)))
    put(manifest, "new")

    dataset = lance.dataset(str(tmp_path / DIRECTORY))
    assert [index.field_names for index in dataset.describe_indices()] == [["object_id"]]
    assert "ScalarIndexQuery" in dataset.scanner(filter="object_id = 't00007'").explain_plan()
    assert manifest_at(tmp_path).get("t00007") is not None
    assert manifest_at(tmp_path).get("new") is not None


def test_upkeep_runs_as_the_catalog_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(upkeep, "EVERY_VERSIONS", 4)
    monkeypatch.setattr(cleanup, "KEEP_VERSIONS", 3)
    manifest = ManifestTable(storage_at(tmp_path), commit_retries=20)
    for number in range(24):
        put(manifest, f"t{number}")
        manifest.close()

    files = VersionFiles(storage_at(tmp_path))
    assert [number for number in range(1, 26) if files.exists(number)] == [1, 22, 23, 24, 25]
    assert len(list((tmp_path / DIRECTORY / "data").iterdir())) == 4
    assert len(rows(tmp_path)) == 24


def test_without_a_tip_nothing_is_merged(tmp_path: Path):
    """A commit beside the merge would touch a fragment that the next commit does not touch, and both would pass."""
    for start in range(0, upkeep.MERGE_WIDTH * (TIP_ROWS + 1), TIP_ROWS + 1):
        table = to_table([Entry(name, TABLE) for name in numbered(TIP_ROWS + 1, start)], SCHEMA)
        lance.write_dataset(table, str(tmp_path / DIRECTORY), mode="append")
    assert not merge(tmp_path)

    put(manifest_at(tmp_path), "new")

    assert merge(tmp_path)
    assert [fragment.num_rows for fragment in fragments(tmp_path)] == [1, upkeep.MERGE_WIDTH * (TIP_ROWS + 1)]


@pytest.mark.parametrize("is_touched", [True, False])
def test_merge_beside_a_commit_loses_nothing(tmp_path: Path, is_touched: bool, monkeypatch: pytest.MonkeyPatch):
    manifest = manifest_at(tmp_path)
    for start in range(0, TIP_ROWS * 18, TIP_ROWS):
        put(manifest, *numbered(TIP_ROWS, start))
    publish = ManifestWriter.publish

    def publish_later(*arguments: Any) -> Any:
        monkeypatch.setattr(ManifestWriter, "publish", publish)
        put(manifest, "new")
        if is_touched:
            remove(manifest, "t00001")
        return publish(*arguments)

    monkeypatch.setattr(ManifestWriter, "publish", publish_later)
    assert merge(tmp_path) is not is_touched

    assert rows(tmp_path).keys() == {*numbered(TIP_ROWS * 18), "new"} - ({"t00001"} if is_touched else set())
    put(manifest, "newer")
    assert manifest.get("newer") is not None


def merge(root: Path) -> bool:
    return upkeep.merge(storage_at(root), ManifestReader(storage_at(root)))
