"""Our REST client on our REST server on the directory catalog: over the wire, all is as it is without."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest
from lance_namespace import LanceNamespace

import lancespace
from lancespace_testing import BackendFixtures, Conformance, Feature
from lancespace_testing.groups.commits import CommitTests
from plugins.server.tests.hosting import Running, catalog_url


class _OverRest(BackendFixtures):
    properties: ClassVar[Mapping[str, str]] = {}
    """Of the catalog that is served, beside its root."""

    @pytest.fixture(autouse=True)
    def _use_host(self, host: Running) -> None:
        self.host = host

    def connect(self, workdir: Path) -> lancespace.Namespace:
        return lancespace.connect("rest", {"uri": catalog_url(self.host, workdir, **self.properties)})

    def reconnect(self, namespace: LanceNamespace, workdir: Path) -> lancespace.Namespace:  # noqa: ARG002
        return self.connect(workdir)


class TestRest(_OverRest, Conformance):
    features = frozenset(Feature) - {Feature.ATOMIC_BATCHES}


class TestManaged(_OverRest, CommitTests):
    """Commits of several tables at once, which only a catalog that manages versions has."""

    properties: ClassVar[Mapping[str, str]] = {"table_version_management": "true"}
