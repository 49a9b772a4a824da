"""The conformance suite of lancespace: what the backend supports is tested, what it does not is skipped by name."""

from __future__ import annotations

from pathlib import Path

from lance_namespace import LanceNamespace

from lancespace import Namespace, connect
from lancespace_testing import Conformance, Feature


class TestTemplate(Conformance):
    features = frozenset(Feature) - {Feature.ATOMIC_BATCHES}
    debts = {}  # noqa: RUF012 - "test_name": "why the backend does not pass it yet"

    def connect(self, workdir: Path) -> Namespace:
        """A fresh, empty catalog, all of it in this directory."""
        return connect("template", {"root": str(workdir)})

    def reconnect(self, namespace: LanceNamespace, workdir: Path) -> Namespace:  # noqa: ARG002 - two are alike
        """A second client on the same catalog."""
        return self.connect(workdir)
