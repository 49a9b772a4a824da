"""What the conformance suite needs to know of a directory catalog in a cloud."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import lance
import pytest
from lance_namespace import LanceNamespace

import lancespace
from lancespace.authoring import Storage
from lancespace_testing import BackendFixtures, Conformance, Feature
from lancespace_testing.samples import sample
from tests.emulators.clouds import Cloud


class InCloud(BackendFixtures):
    """The directory catalog, in the cloud that the fixture ``cloud`` answers."""

    features = frozenset(Feature) - {Feature.ATOMIC_BATCHES}

    properties: ClassVar[Mapping[str, str]] = {}
    """Of the catalog, beside its root and the options of the store."""

    @pytest.fixture(autouse=True)
    def _use(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._root = cloud.new_root()

    def connect(self, workdir: Path) -> lancespace.Namespace:  # noqa: ARG002 - the catalog is not on this machine
        return self._cloud.connect(self._root, **self.properties)

    def reconnect(self, namespace: LanceNamespace, workdir: Path) -> lancespace.Namespace:  # noqa: ARG002
        return self.connect(workdir)

    def connect_with_secret(self, workdir: Path, secret: str) -> lancespace.Namespace:  # noqa: ARG002
        return self._cloud.with_options(**{self._cloud.secret_option: secret}).connect(self._root, **self.properties)

    def place_table(self, workdir: Path, name: str) -> str:  # noqa: ARG002
        storage = self._cloud.storage(self._root)
        location = storage.uri(f"placed/{name}")
        lance.write_dataset(sample(), location, storage_options=storage.options)
        return location

    def storage(self, location: str) -> Storage:
        return self._cloud.storage(location)

    def snapshot(self, workdir: Path) -> Mapping[str, Any]:  # noqa: ARG002
        storage = self._cloud.storage(self._root)
        found: Mapping[str, Any] = storage.filesystem.find(storage.path(), detail=True)
        return {path: (entry["size"], entry.get("ETag") or entry.get("etag")) for path, entry in found.items()}


class CloudConformance(InCloud, Conformance):
    """The whole suite, in the cloud that the fixture ``cloud`` of a subclass answers."""
