"""Reads of a catalog that did not change: one look at when its directory last did."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from lancespace_dir.manifest import reader, versions
from lancespace_dir.manifest.versions import VersionFiles
from plugins.dir.tests.manifests import manifest_at, put

TICK_SECONDS = 0.05
"""Longer than the tick of the file systems that tests run on."""


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The versions that are looked for, while every change counts as long ago."""
    found: list[int] = []
    look = VersionFiles.exists

    def noted(files: VersionFiles, version: int) -> bool:
        found.append(version)
        return look(files, version)

    monkeypatch.setattr(VersionFiles, "exists", noted)
    monkeypatch.setattr(versions, "_TICK_NS", -1)
    monkeypatch.setattr(reader, "_MARK_SECONDS", 60.0)
    return found


def test_an_unchanged_catalog_is_not_searched_for_versions(tmp_path: Path, looks: list[int]):
    manifest = manifest_at(tmp_path)
    put(manifest, "a")
    manifest.get("a")
    looks.clear()

    for _ in range(5):
        assert manifest.get("a") is not None

    assert looks == []


def test_a_commit_of_another_is_seen(tmp_path: Path, looks: list[int]):
    ours, other = manifest_at(tmp_path), manifest_at(tmp_path)
    put(other, "a")

    for number in range(5):
        assert ours.get(f"b{number}") is None
        time.sleep(TICK_SECONDS)
        put(other, f"b{number}")
        assert ours.get(f"b{number}") is not None

    assert looks


@pytest.mark.usefixtures("looks")
def test_a_catalog_that_was_put_in_the_place_of_another_is_seen(tmp_path: Path):
    put(manifest_at(tmp_path / "two"), "b")
    manifest = manifest_at(tmp_path / "one")
    put(manifest, "c")
    put(manifest, "a")
    assert manifest.get("a") is not None

    (tmp_path / "one").rename(tmp_path / "old")
    (tmp_path / "two").rename(tmp_path / "one")

    assert (manifest.get("a"), manifest.get("b") is None) == (None, False)


@pytest.mark.usefixtures("looks")
def test_a_catalog_that_is_gone_is_seen(tmp_path: Path):
    manifest = manifest_at(tmp_path / "catalog")
    put(manifest, "a")
    assert manifest.get("a") is not None

    shutil.rmtree(tmp_path / "catalog")

    with pytest.raises(Exception, match="manifest"):
        manifest.get("a")


def test_a_change_that_just_was_says_nothing_about_the_next(tmp_path: Path):
    put(manifest_at(tmp_path), "a")
    files = manifest_at(tmp_path)._reader.files

    assert files.mark() is None


def test_a_file_system_without_marks_is_recognised(tmp_path: Path, looks: list[int], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(VersionFiles, "mark", lambda _: (1, 1, 1))
    ours, other = manifest_at(tmp_path), manifest_at(tmp_path)
    put(other, "a")
    assert ours.get("a") is not None

    put(other, "b")
    assert ours.get("b") is None
    monkeypatch.setattr(reader, "_MARK_SECONDS", 0.0)  # As if that time had gone by.
    assert ours.get("b") is not None

    monkeypatch.setattr(reader, "_MARK_SECONDS", 60.0)
    put(other, "c")
    assert ours.get("c") is not None
    assert looks
