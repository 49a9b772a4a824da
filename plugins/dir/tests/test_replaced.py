"""Catalogs that come, go and change places under a connection that knows them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from plugins.dir.tests.manifests import manifest_at, put


def test_a_catalog_that_was_put_in_the_place_of_another_is_seen(tmp_path: Path):
    put(manifest_at(tmp_path / "two"), "b")
    manifest = manifest_at(tmp_path / "one")
    put(manifest, "c")
    put(manifest, "a")
    assert manifest.get("a") is not None

    (tmp_path / "one").rename(tmp_path / "old")
    (tmp_path / "two").rename(tmp_path / "one")

    assert (manifest.get("a"), manifest.get("b") is None) == (None, False)


def test_a_catalog_that_is_gone_is_seen(tmp_path: Path):
    manifest = manifest_at(tmp_path / "catalog")
    put(manifest, "a")
    assert manifest.get("a") is not None

    shutil.rmtree(tmp_path / "catalog")

    with pytest.raises(Exception, match="manifest"):
        manifest.get("a")
