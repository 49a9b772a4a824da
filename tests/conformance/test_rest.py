"""Our REST client on our REST server on the directory catalog: over the wire, all is as it is without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lance_namespace import LanceNamespace

import lancespace
from lancespace.testing import Conformance, Feature
from plugins.server.tests.hosting import Running, catalog_url, hosted


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One server process for the whole suite; every test has a catalog of its own in it."""
    with hosted(tmp_path_factory.mktemp("host")) as server:
        yield server


class TestRest(Conformance):
    features = frozenset(Feature) - {Feature.ATOMIC_BATCHES}

    @pytest.fixture(autouse=True)
    def _use_host(self, host: Running) -> None:
        self.host = host

    def connect(self, workdir: Path) -> lancespace.Namespace:
        return lancespace.connect("rest", {"uri": catalog_url(self.host, workdir)})

    def reconnect(self, namespace: LanceNamespace, workdir: Path) -> lancespace.Namespace:  # noqa: ARG002
        return self.connect(workdir)
